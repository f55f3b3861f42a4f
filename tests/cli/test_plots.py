"""`reverie curves` and `reverie forecast`, as a person calls them."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reverie.cli.plots import LETTERS, drawn, save_png
from reverie.settings import RETENTION_MODES
from reverie.tools.forecast import typical_curves

Run = Callable[..., "subprocess.CompletedProcess[str]"]

LINES = [
    {"id": "faded-one", "content": "Deployed the gateway.", "layer": "episodic", "importance": 0.1},
    {"id": "known-one", "content": "The crane lifts 40 tons.", "layer": "semantic"},
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, called: Run) -> Run:
    """Run a command on a store of two memories that is only read."""
    folder = tmp_path_factory.mktemp("seeing")
    matplotlib = str(folder / "matplotlib")

    def start(*arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
        return called(folder, *arguments, MPLCONFIGDIR=matplotlib, **settings)

    assert start("import", "-", stdin="\n".join(map(json.dumps, LINES))).returncode == 0
    return start


def _json(result: "subprocess.CompletedProcess[str]") -> Any:
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_the_curves_fit_a_terminal_and_a_pipe(run: Run) -> None:
    lines = run("curves", PYTHONIOENCODING="ascii").stdout.splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    assert "".join(lines).isascii()
    for mode in RETENTION_MODES:
        assert f"{LETTERS[mode]} {mode}" in lines[-2]


def test_every_curve_is_in_the_picture() -> None:
    [_, *plot] = drawn(typical_curves("huber", 180, 70))[:18]
    for letter in LETTERS.values():
        assert any(letter in line[6:] for line in plot)


def test_no_two_curves_share_a_letter() -> None:
    assert len(set(LETTERS.values())) == len(RETENTION_MODES)


def test_the_curve_of_the_domain_lies_on_top_and_is_named(run: Run) -> None:
    lines = run("curves", REVERIE_RETENTION="power").stdout.splitlines()
    assert lines[1].startswith("1.00 |P")
    assert "P power *" in lines[-2]


def test_curves_need_no_store(run: Run, tmp_path: Path) -> None:
    assert run("curves", "--days", "30", REVERIE_HOME=str(tmp_path / "none")).returncode == 0
    assert not (tmp_path / "none").exists()


def test_a_memory_is_marked_on_its_curve(run: Run) -> None:
    told = run("curves", "faded-one", REVERIE_CLOCK="+20d").stdout
    lines = told.splitlines()
    assert len(lines) < 24
    # An import has a trust of 0.5 and so a half-life of ten days: at two of them huber leaves 0.4.
    assert lines[-2] == "@ faded-one on day 20.0: 0.40 left by the domain's curve *"
    assert "episodic, event, trust 0.5, importance 0.1, 0 recalls, 20 days old" in lines[-1]
    [marked] = [line for line in lines[1:18] if "@" in line]
    assert marked.index("@") == 6 + round(20 / 180 * 69)


def test_curves_in_json_give_points_and_place(run: Run) -> None:
    answer = _json(run("curves", "faded-one", "--days", "60", "--json", REVERIE_CLOCK="+10d"))
    assert set(answer["curves"]) == set(RETENTION_MODES)
    assert all(len(left) == len(answer["days"]) for left in answer["curves"].values())
    assert (answer["chosen"], answer["memory"]["id"]) == ("huber", "faded-one")
    assert answer["memory"]["retention"] == pytest.approx(0.5, abs=0.001)


def test_a_picture_is_written(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "curves.png"
    result = run("curves", "faded-one", "--png", str(file))
    assert (result.returncode, result.stderr) == (0, "")
    assert file.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_it_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(Exception, match=r"pip install 'reverie-mcp\[plots\]'"):
        save_png(typical_curves("huber", 180, 70), str(tmp_path / "curves.png"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["curves", "nothing-like-it"], "No memory has the id"),
        (["curves", "--days", "0"], "days: 0 is out of range"),
        (["curves", "--days", "nan"], "days: nan is out of range"),
        (["curves", "--png", "no/such/folder/x.png"], "cannot be written (No such file"),
        (["forecast", "--days", "-1"], "days: -1 is out of range"),
    ],
)
def test_what_goes_wrong_is_told_in_one_line(run: Run, arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert (result.returncode, result.stdout) == (1, "")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_forecast_lists_what_goes_and_counts_what_stays(run: Run) -> None:
    told = run("forecast", "--days", "91").stdout
    assert "1 memory expired (archived):" in told
    assert "faded-one" in told
    assert "Deployed the gateway." in told
    assert "1 memory kept: semantic 1.\nNothing was changed.\n" in told


def test_a_forecast_in_json_says_the_same_and_changes_nothing(run: Run) -> None:
    answer = _json(run("forecast", "--days", "91", "--json"))
    assert [going["id"] for going in answer["expired"]] == ["faded-one"]
    assert answer["kept"] == {"semantic": 1}
    assert _json(run("status", "--json"))["counts"]["episodic"] == {"active": 1}


def test_tune_says_what_fits_how_sure_it_is_and_changes_nothing(run: Run) -> None:
    told = run("tune").stdout
    assert "half_life_days: no recall shows it yet." in told
    assert told.rstrip().endswith("Nothing was changed.")
    assert _json(run("tune", "--json"))["fits"] == {"half_life_days": None}


def test_curves_name_the_parameters_that_the_file_sets(run: Run, tmp_path: Path) -> None:
    (tmp_path / "reverie.toml").write_text("[forgetting]\nhalf_life_days = 15\n", "utf-8")
    assert "half_life_days = 15 (reverie.toml; standard 30)" in run("curves", REVERIE_HOME=str(tmp_path)).stdout
    answer = _json(run("curves", "--json", REVERIE_HOME=str(tmp_path)))
    assert answer["parameters"]["half_life_days"] == 15.0
    fifteen = next(left for day, left in zip(answer["days"], answer["curves"]["l2"], strict=True) if day >= 15.0)
    assert fifteen <= 0.5
