"""Completion scripts: what they offer, and that each shell can read them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from reverie.cli.commands import COMMANDS
from reverie.cli.completion import SHELLS, Shell, completion_script
from reverie.cli.main import build_parser, main

CHECKS = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}


@pytest.fixture(scope="module")
def scripts() -> dict[str, str]:
    return {shell: completion_script(build_parser(), shell) for shell in SHELLS}


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_its_options_are_in_the_script_and_the_shell_can_read_it(
    scripts: dict[str, str], shell: Shell, tmp_path: Path
) -> None:
    script = scripts[shell]
    assert [command.name for command in COMMANDS if command.name not in script] == []
    assert "all-projects" in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "script"
    file.write_text(script, "utf-8")
    subprocess.run([*CHECKS[shell], str(file)], check=True)


def test_the_command_prints_the_script(capsys: pytest.CaptureFixture[str], scripts: dict[str, str]) -> None:
    assert main(["completion", "bash"]) == 0
    assert capsys.readouterr().out == scripts["bash"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        pytest.param(["rev"], {"review", "revise"}, id="a command"),
        pytest.param(["--co"], {"--color"}, id="an option of reverie"),
        pytest.param(["forget", "--d"], {"--dry-run"}, id="an option of a command"),
        pytest.param(["list", "--sort", "o"], {"oldest"}, id="a value of an option"),
        pytest.param(["--color", "never", "list", "--la"], {"--layer"}, id="after an option of reverie"),
        pytest.param(["completion", ""], {"bash", "zsh", "fish"}, id="a positional argument"),
        pytest.param(["projects", "re"], {"rename"}, id="an action"),
        pytest.param(["recall", "list", "--as"], {"--as-of"}, id="a word that is also a command"),
    ],
)
def test_bash_offers_what_fits(scripts: dict[str, str], typed: list[str], offered: set[str]) -> None:
    words = " ".join(f"'{word}'" for word in ("reverie", *typed))
    press_tab = f"COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _reverie; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    result = subprocess.run(
        ["bash", "-c", f"{scripts['bash']}\n{press_tab}"], capture_output=True, text=True, check=True
    )
    assert set(result.stdout.split()) == offered
