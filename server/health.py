"""`reverie doctor`: telling a person, or a script, what is wrong and what to do."""

from argparse import Namespace
from dataclasses import asdict

from reverie.errors import SettingError
from reverie.server.terminal import say, say_json
from reverie.settings import load_settings
from reverie.tools.doctor import Check, Doctor, versions

_MARKS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


async def run_doctor(given: Namespace) -> int:
    """Look at everything and tell it; 1 if anything has failed."""
    try:
        checks = await Doctor(load_settings(), fix=given.fix).examine()
    except SettingError as error:
        checks = [versions(), Check("settings", "fail", str(error))]
    failed = sum(check.state == "fail" for check in checks)
    if given.json:
        say_json({"healthy": not failed, "checks": [asdict(check) for check in checks]})
    else:
        say(*_told(checks))
    return 1 if failed else 0


def _told(checks: list[Check]) -> list[str]:
    width = max(len(check.name) for check in checks)
    lines = []
    for check in checks:
        lines.append(f"{_MARKS[check.state]}  {check.name.ljust(width)}  {check.found}")
        if check.advice and check.state != "ok":
            lines.append(f"      {' ' * width}  → {check.advice}")
    failed, warned = (sum(check.state == state for check in checks) for state in ("fail", "warn"))
    if failed:
        verdict = f"{failed} of {len(checks)} checks failed."
    elif warned:
        verdict = f"It works; {warned} of {len(checks)} checks would like your attention."
    else:
        verdict = "Everything is in order."
    return [*lines, "", verdict]
