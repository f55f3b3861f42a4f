"""What is installed: every package and its data, under one name, and nothing else."""

import configparser
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from reverie import __version__

pytestmark = pytest.mark.slow  # a build takes half a minute; CI runs it

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
FOLDERS: dict[str, str] = PYPROJECT["tool"]["setuptools"]["package-dir"]
DIST_INFO = f"reverie_mcp-{__version__}.dist-info"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source archive, and the wheel from it, in a copy: a build in place would leave files here."""
    source = tmp_path_factory.mktemp("source")
    for folder in FOLDERS.values():
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", PYPROJECT["project"]["readme"], *PYPROJECT["project"]["license-files"]):
        shutil.copy(ROOT / name, source)
    target = tmp_path_factory.mktemp("built")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(source)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return target


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    [path] = built.glob("*.whl")
    return zipfile.ZipFile(path)


def _expected_files() -> set[str]:
    return {
        f"{package.replace('.', '/')}/{file.relative_to(ROOT / folder).as_posix()}"
        for package, folder in FOLDERS.items()
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def test_the_wheel_holds_every_file_of_every_folder_and_no_other(wheel: zipfile.ZipFile) -> None:
    packed = {name for name in wheel.namelist() if not name.startswith(DIST_INFO) and not name.endswith("/")}
    assert packed == _expected_files()


def test_the_wheel_has_one_name_at_the_top(wheel: zipfile.ZipFile) -> None:
    assert {name.partition("/")[0] for name in wheel.namelist()} == {"reverie", DIST_INFO}


def test_type_checkers_are_told_that_reverie_is_typed(wheel: zipfile.ZipFile) -> None:
    assert "reverie/py.typed" in wheel.namelist()


def test_the_bundled_model_travels_with_the_wheel(wheel: zipfile.ZipFile) -> None:
    bundle = {name.rpartition("/")[2] for name in wheel.namelist() if "/bundle/" in name}
    assert any(name.endswith(".onnx") for name in bundle)


def test_the_lists_of_words_travel_with_the_wheel(wheel: zipfile.ZipFile) -> None:
    lists = {path.name for path in (ROOT / "text").glob("*.txt")}
    assert lists
    assert lists <= {name.removeprefix("reverie/text/") for name in wheel.namelist()}


def test_the_command_is_installed(wheel: zipfile.ZipFile) -> None:
    commands = configparser.ConfigParser()
    commands.read_string(wheel.read(f"{DIST_INFO}/entry_points.txt").decode())
    assert dict(commands["console_scripts"]) == {
        "reverie": "reverie.__main__:main",
        "reverie-mcp": "reverie.__main__:main",
        "reverie-hook": "reverie.clients.hook:main",
    }


def test_the_licence_and_the_notice_travel_with_the_wheel(wheel: zipfile.ZipFile) -> None:
    for name in ("LICENSE", "NOTICE"):
        assert wheel.read(f"{DIST_INFO}/licenses/{name}") == (ROOT / name).read_bytes()


def test_the_metadata_names_the_distribution_and_the_python_it_needs(wheel: zipfile.ZipFile) -> None:
    metadata = Parser().parsestr(wheel.read(f"{DIST_INFO}/METADATA").decode())
    assert metadata["Name"] == "reverie-mcp"
    assert metadata["Version"] == __version__
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"


def test_the_source_archive_is_complete_enough_to_build_from(built: Path) -> None:
    # The wheel above was built from it; what remains is that it carries its own terms.
    [path] = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "NOTICE", "core/__init__.py"} <= names
