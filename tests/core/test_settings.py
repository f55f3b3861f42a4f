import os
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from reverie.errors import SettingError
from reverie.parameters import LIMITS, STANDARD
from reverie.settings import (
    RETENTION_MODES,
    TABLE,
    Settings,
    default_home,
    load_settings,
    project_from,
    unknown_variables,
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def _load(home: Path, **settings: str) -> Settings:
    return load_settings({"REVERIE_HOME": str(home)} | {f"REVERIE_{k.upper()}": v for k, v in settings.items()})


def _write(home: Path, text: str) -> None:
    home.mkdir()
    (home / "reverie.toml").write_text(text, "utf-8")


def test_with_nothing_set_the_defaults_hold(home: Path) -> None:
    settings = load_settings({"REVERIE_HOME": str(home)})
    assert (settings.home, settings.domain, settings.project) == (str(home), "default", None)
    assert (settings.embedder, settings.retention, settings.max_distance) == ("bundled", "huber", 1.4)
    assert settings.clock is None


def test_every_default_that_is_a_value_is_one_the_setting_takes(home: Path) -> None:
    shown = {s.variable: s.default for s in TABLE}
    by_default = load_settings({"REVERIE_HOME": str(home)})
    spelled_out = load_settings(
        {"REVERIE_HOME": str(home)}
        | {v: shown[v] for v in ("REVERIE_DOMAIN", "REVERIE_EMBEDDER", "REVERIE_RETENTION", "REVERIE_MAX_DISTANCE")}
    )
    assert spelled_out == by_default


def test_every_setting_can_be_set_from_the_environment(home: Path) -> None:
    settings = load_settings(
        {
            "REVERIE_HOME": str(home),
            "REVERIE_DOMAIN": "alfred",
            "REVERIE_PROJECT": "github.com/acme/anvil",
            "REVERIE_EMBEDDER": "openai:text-embedding-3-small",
            "REVERIE_RETENTION": "power",
            "REVERIE_MAX_DISTANCE": "0.9",
            "REVERIE_SEARCH_MEMORY": "64",
            "REVERIE_CLOCK": "+90d",
        }
    )
    assert (settings.domain, settings.project) == ("alfred", "github.com/acme/anvil")
    assert settings.embedder == "openai:text-embedding-3-small"
    assert (settings.retention, settings.max_distance, settings.clock) == ("power", 0.9, "+90d")
    assert settings.search_memory == 64.0


@pytest.mark.parametrize("mode", RETENTION_MODES)
def test_every_retention_mode_is_taken(home: Path, mode: str) -> None:
    assert load_settings({"REVERIE_HOME": str(home), "REVERIE_RETENTION": mode}).retention == mode


@pytest.mark.parametrize(
    ("variable", "value", "takes"),
    [
        ("REVERIE_HOME", "memories", "absolute path"),
        ("REVERIE_HOME", "./memories", "absolute path"),
        ("REVERIE_HOME", "/two\nlines", "UTF-8 without control characters"),
        ("REVERIE_HOME", "/not-utf-8-\udcff", "UTF-8 without control characters"),
        ("REVERIE_DOMAIN", "../other", "letters, digits"),
        ("REVERIE_DOMAIN", "a/b", "letters, digits"),
        ("REVERIE_DOMAIN", ".hidden", "letters, digits"),
        ("REVERIE_DOMAIN", "x" * 65, "letters, digits"),
        ("REVERIE_EMBEDDER", "word2vec", "openai:MODEL"),
        ("REVERIE_EMBEDDER", "openai", "openai:MODEL"),
        ("REVERIE_EMBEDDER", "openai: ", "openai:MODEL"),
        ("REVERIE_EMBEDDER", "bundled:x", "openai:MODEL"),
        ("REVERIE_RETENTION", "Huber", "`huber`"),
        ("REVERIE_MAX_DISTANCE", "far", "from 0 to 2"),
        ("REVERIE_MAX_DISTANCE", "2.01", "from 0 to 2"),
        ("REVERIE_MAX_DISTANCE", "-0.1", "from 0 to 2"),
        ("REVERIE_MAX_DISTANCE", "nan", "from 0 to 2"),
        ("REVERIE_SEARCH_MEMORY", "2 GB", "megabytes"),
        ("REVERIE_SEARCH_MEMORY", "-1", "megabytes"),
    ],
)
def test_a_wrong_value_is_an_error_that_names_the_setting_and_what_it_takes(
    home: Path, variable: str, value: str, takes: str
) -> None:
    with pytest.raises(SettingError, match=variable) as caught:
        load_settings({"REVERIE_HOME": str(home)} | {variable: value})
    assert takes in str(caught.value)
    assert caught.value.name == variable
    assert caught.value.value == value.strip()


def test_an_empty_variable_counts_as_not_set(home: Path) -> None:
    blank = {s.variable: "  " for s in TABLE} | {"REVERIE_HOME": f"  {home}  "}
    assert load_settings(blank) == load_settings({"REVERIE_HOME": str(home)})


def test_the_home_of_the_user_is_spelled_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert load_settings({"REVERIE_HOME": "~/memories"}).home == str(tmp_path / "memories")


# ── reverie.toml ──────────────────────────────────────────────────────────────────────────────────────────


def test_the_file_in_the_data_folder_is_read_and_the_environment_wins(home: Path) -> None:
    _write(home, 'domain = "alfred"\nmax_distance = 1.1\nretention = "power"\n')
    settings = load_settings({"REVERIE_HOME": str(home), "REVERIE_RETENTION": "l2"})
    assert (settings.domain, settings.max_distance, settings.retention) == ("alfred", 1.1, "l2")


def test_every_setting_but_the_home_can_stand_in_the_file(home: Path) -> None:
    _write(
        home,
        'domain = "d"\nproject = "p"\nembedder = "openai:m"\nretention = "l2"\nmax_distance = 1\nclock = "+1d"\n',
    )
    settings = load_settings({"REVERIE_HOME": str(home)})
    assert (settings.domain, settings.project, settings.embedder) == ("d", "p", "openai:m")
    assert (settings.retention, settings.max_distance, settings.clock) == ("l2", 1.0, "+1d")


def test_a_wrong_value_in_the_file_names_the_setting(home: Path) -> None:
    _write(home, 'retention = "forever"\n')
    with pytest.raises(SettingError, match="REVERIE_RETENTION is 'forever'"):
        _load(home)


@pytest.mark.parametrize("line", ['domian = "x"', 'home = "/elsewhere"', "[domain]\nname = 1"])
def test_what_the_file_cannot_hold_is_an_error_that_names_the_file(home: Path, line: str) -> None:
    _write(home, line)
    with pytest.raises(SettingError):
        _load(home)


def test_an_unknown_key_in_the_file_is_answered_with_the_known_ones(home: Path) -> None:
    _write(home, 'domian = "x"\n')
    with pytest.raises(
        SettingError, match=r"domian in .*reverie\.toml.*one of: capture, clock, domain, dream, embedder"
    ):
        _load(home)


@pytest.mark.parametrize("written", [b"domain = ", b"\xff\xfe", b'domain = "a"\ndomain = "b"'])
def test_a_file_that_is_no_toml_is_an_error_that_names_it(home: Path, written: bytes) -> None:
    home.mkdir()
    (home / "reverie.toml").write_bytes(written)
    with pytest.raises(SettingError, match=r"reverie\.toml.*TOML"):
        _load(home)


def test_a_file_that_cannot_be_read_is_an_error_that_names_it(home: Path) -> None:
    (home / "reverie.toml").mkdir(parents=True)
    with pytest.raises(SettingError, match=r"reverie\.toml"):
        _load(home)


def test_nothing_is_read_from_the_working_directory(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reverie.toml").write_text('domain = "trap"')
    (tmp_path / ".env").write_text("REVERIE_DOMAIN=trap")
    monkeypatch.chdir(tmp_path)
    assert load_settings({"REVERIE_HOME": str(home)}).domain == "default"


def test_each_domain_may_forget_in_its_own_way(home: Path) -> None:
    _write(home, 'retention = "power"\n[domains.alfred]\nretention = "l2"\ntier = "elephant"\n[domains.jeeves]\n')
    chosen = {name: _load(home, domain=name) for name in ("alfred", "jeeves", "default")}
    assert {name: (settings.retention, settings.tier) for name, settings in chosen.items()} == {
        "alfred": ("l2", "elephant"),
        "jeeves": ("power", None),
        "default": ("power", None),
    }


def test_each_domain_may_have_parameters_of_its_own_over_those_of_all(home: Path) -> None:
    _write(home, "[forgetting]\nhalf_life_days = 20\ngamma = 2\n[domains.alfred.forgetting]\nhalf_life_days = 10.5\n")
    everywhere = load_settings({"REVERIE_HOME": str(home)}).parameters
    assert (everywhere.half_life_days, everywhere.gamma, everywhere.archive_days) == (20.0, 2.0, 90.0)
    alfred = load_settings({"REVERIE_HOME": str(home), "REVERIE_DOMAIN": "alfred"}).parameters
    assert (alfred.half_life_days, alfred.gamma) == (10.5, 2.0)


def test_every_parameter_has_limits_that_its_standard_keeps_to() -> None:
    assert LIMITS.keys() == asdict(STANDARD).keys()
    assert all(LIMITS[name].low <= value <= LIMITS[name].high for name, value in asdict(STANDARD).items())


def test_the_environment_wins_over_the_section_of_a_domain(home: Path) -> None:
    _write(home, 'domain = "alfred"\n[domains.alfred]\nretention = "l2"\ntier = "elephant"\n')
    settings = _load(home, retention="huber")
    assert (settings.domain, settings.retention, settings.tier) == ("alfred", "huber", "elephant")


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ('[domains.alfred]\nretention = "forever"', r"retention in \[domains\.alfred\] of .*'forever'.*`huber`"),
        ('[domains.alfred]\ntier = "cat"', r"tier in \[domains\.alfred\] of .*'cat'.*`goldfish`"),
        ('[domains.alfred]\nclock = "+1d"', r"clock in \[domains\.alfred\] of .*one of: retention, tier\."),
        ("[domains.alfred]\ntier = true", r"tier in \[domains\.alfred\] of .*'True'"),
        ('[domains."a/b"]\ntier = "elephant"', r"\[domains\.a/b\].*letters, digits"),
        ('domains = "alfred"', r"domains in .*reverie\.toml.*\[domains\.alfred\]"),
        ('[domains]\nretention = "l2"', r"domains\.retention in .*reverie\.toml.*\[domains\.alfred\]"),
        ('[domain.alfred]\ntier = "elephant"', r"domain in .*reverie\.toml"),
        ("[forgetting]\nhalf_life = 3", r"half_life in \[forgetting\] of .*one of: .*half_life_days"),
        ("[forgetting]\nhalf_life_days = 0", r"half_life_days in \[forgetting\] of .*'0'.*from 0.1 to 36500"),
        ('[forgetting]\ngamma = "2"', r"gamma in \[forgetting\] of .*a number from"),
        ("[domains.alfred.forgetting]\npromote_recalls = 2.5", r"alfred\.forgetting\] of .*a whole number"),
        ("forgetting = 3", r"\[forgetting\] of .*a section with numbers"),
        ('[alfred]\ntier = "elephant"', r"alfred in .*reverie\.toml.*sections \[domains\.NAME\]"),
    ],
)
def test_a_mistake_in_a_section_names_the_section_and_the_key(home: Path, written: str, told: str) -> None:
    _write(home, written)
    with pytest.raises(SettingError, match=told):
        _load(home)


# ── where memories live ───────────────────────────────────────────────────────────────────────────────────


def test_an_object_store_is_a_home_and_has_no_file_of_settings() -> None:
    settings = load_settings({"REVERIE_HOME": "s3://bucket/memories/", "REVERIE_DOMAIN": "alfred"})
    assert not settings.is_local
    assert settings.domain_uri == "s3://bucket/memories/domains/alfred"


def test_a_host_keeps_its_own_part_of_a_bucket_apart_by_address_and_domain(tmp_path: Path) -> None:
    given = {"REVERIE_HOST_FOLDER": str(tmp_path)}
    homes = [
        load_settings(given | {"REVERIE_HOME": home}) for home in ("s3://one/team", "s3://one/team/", "s3://two/team")
    ]
    assert homes[0].domain_folder == homes[1].domain_folder != homes[2].domain_folder
    assert tmp_path in homes[0].domain_folder.parents
    assert homes[0].domain_folder.name == "default"


@pytest.mark.parametrize(
    "home", ["db://team", "ftp://host/x", "s3://", "s3:///prefix", "http://localhost/x", "s3://a b"]
)
def test_an_address_that_is_no_bucket_is_refused(home: str) -> None:
    with pytest.raises(SettingError, match=r"REVERIE_HOME.*s3://bucket/prefix"):
        load_settings({"REVERIE_HOME": home})


def test_the_folder_of_a_host_does_not_depend_on_where_it_starts() -> None:
    with pytest.raises(SettingError, match=r"REVERIE_HOST_FOLDER.*absolute"):
        load_settings({"REVERIE_HOME": "s3://bucket/x", "REVERIE_HOST_FOLDER": "here"})


def test_each_domain_has_a_folder_of_its_own(home: Path) -> None:
    settings = load_settings({"REVERIE_HOME": str(home), "REVERIE_DOMAIN": "alfred"})
    assert settings.is_local
    assert settings.domain_uri == str(home / "domains" / "alfred")


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the XDG folders are a Linux matter")
def test_on_linux_the_default_home_is_the_xdg_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_home(os.environ) == tmp_path / "reverie"
    monkeypatch.setenv("XDG_DATA_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_home(os.environ) == tmp_path / ".local" / "share" / "reverie"
    assert load_settings(os.environ | {"REVERIE_HOME": ""}).home == str(default_home(os.environ))


@pytest.mark.parametrize(
    ("platform", "folder"),
    [("darwin", "Library/Application Support/reverie"), ("win32", "AppData/Local/reverie")],
)
def test_other_platforms_have_their_own_default_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, platform: str, folder: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert default_home(os.environ) == tmp_path / folder


def test_the_table_has_a_row_for_every_setting_and_says_what_it_takes() -> None:
    assert len({s.variable for s in TABLE}) == len(TABLE)
    for setting in TABLE:
        assert setting.variable.startswith("REVERIE_")
        assert setting.takes
        assert setting.default
        assert setting.meaning.endswith(".")


# ── known faults of core/settings.py, reported; a fix turns these into passes and the marks must go ───────


def test_the_default_home_never_depends_on_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", "data")
    assert default_home(os.environ).is_absolute()


def test_an_empty_windows_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "")
    assert default_home(os.environ).is_absolute()


def test_the_home_of_an_unknown_user_is_refused_by_name() -> None:
    with pytest.raises(SettingError, match="REVERIE_HOME"):
        load_settings({"REVERIE_HOME": "~no-such-user-here/memories"})


def test_an_empty_value_in_the_file_counts_as_not_set(home: Path) -> None:
    _write(home, 'project = ""\nclock = " "\n')
    settings = load_settings({"REVERIE_HOME": str(home)})
    assert (settings.project, settings.clock) == (None, None)


def test_a_value_of_the_wrong_kind_in_the_file_is_refused(home: Path) -> None:
    _write(home, 'project = ["a", "b"]\n')
    with pytest.raises(SettingError, match="project"):
        _load(home)


def test_a_misspelled_variable_is_noticed() -> None:
    assert unknown_variables({"REVERIE_EMBEDER": "bundled", "REVERIE_HOME": "/x", "PATH": "/bin"}) == [
        "REVERIE_EMBEDER"
    ]


def test_an_engine_stays_ten_minutes_and_with_a_moved_clock_a_moment(home: Path) -> None:
    at = {"REVERIE_HOME": str(home)}
    moved = at | {"REVERIE_CLOCK": "+90d"}
    minutes = [load_settings(one).engine_idle for one in (at, moved, moved | {"REVERIE_ENGINE_IDLE": "3"})]
    assert minutes == [10.0, 0.2, 3.0]
    for wrong in ("-1", "soon", "1e9"):
        with pytest.raises(SettingError, match="REVERIE_ENGINE_IDLE"):
            load_settings(at | {"REVERIE_ENGINE_IDLE": wrong})


def test_a_sessions_project_is_text_that_an_answer_can_name() -> None:
    assert project_from({"REVERIE_PROJECT": " alfred "}) == "alfred"
    assert project_from({"REVERIE_PROJECT": " "}) is None
    with pytest.raises(SettingError, match=r"REVERIE_PROJECT.*a name in UTF-8"):
        project_from({"REVERIE_PROJECT": "not-utf-8-\udcff"})
