import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from reverie.errors import KeyUnavailable, SettingError
from reverie.installation import Installation
from reverie.settings import load_settings


def test_a_seal_fits_its_purpose_and_payload_only(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    seal = installation.seal("journal", b"head 7")
    assert installation.fits("journal", b"head 7", seal)
    assert not installation.fits("export", b"head 7", seal)
    assert not installation.fits("journal", b"head 8", seal)
    assert not installation.fits("journal", b"head 7", "not even hex \udcff")


def test_another_installation_makes_other_seals(tmp_path: Path) -> None:
    assert Installation(tmp_path / "a").seal("x", b"y") != Installation(tmp_path / "b").seal("x", b"y")


@pytest.mark.skipif(sys.platform == "win32", reason="modes are a matter of POSIX")
def test_nobody_else_can_read_the_key(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    Installation(folder).seal("x", b"y")
    [key] = folder.iterdir()
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_processes_that_start_at_once_agree_on_one_key(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib; from reverie.installation import Installation; "
        "print(Installation(pathlib.Path(sys.argv[1])).seal('x', b'y'))"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "config")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    assert len({process.communicate(timeout=60)[0] for process in running}) == 1
    assert len(list((tmp_path / "config").iterdir())) == 1


def test_a_key_that_was_cut_short_is_reported_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "installation.key").write_bytes(b"short")
    with pytest.raises(KeyUnavailable, match="5 bytes instead of 32"):
        Installation(tmp_path).seal("x", b"y")
    assert (tmp_path / "installation.key").read_bytes() == b"short"


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(KeyUnavailable, match="REVERIE_CONFIG"):
        Installation(tmp_path / "file" / "config").seal("x", b"y")


def test_the_key_may_not_lie_in_the_data_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for given in (str(home), str(home / "keys"), "relative"):
        with pytest.raises(SettingError, match="outside the data folder"):
            load_settings({"REVERIE_HOME": str(home), "REVERIE_CONFIG": given})
    settings = load_settings({"REVERIE_HOME": str(home), "REVERIE_CONFIG": str(tmp_path / "config")})
    assert settings.installation.folder == tmp_path / "config"
    assert os.fspath(load_settings({"REVERIE_HOME": str(home)}).installation.folder).endswith("reverie")
