"""The Chromium of the machine, driven by playwright, which downloads no browser of its own."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Offline and without a sandbox, as root in a container has none; Chromium would ask its makers' hosts otherwise.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
AXE = Path(__file__).parents[1] / ".cache" / "axe.min.js"
PATIENCE_MS = 60_000
"""No machine is so slow: how long a page takes decides no test."""

REQUIRED = os.environ.get("BROWSER_TESTS", "") == "required"


def chromium() -> str | None:
    """Return where Chromium is, or None."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path), None)


def why_not() -> str:
    """Return why no browser can be driven here; nothing if one can."""
    if chromium() is None:
        return "no Chromium is installed (Debian: apt-get install chromium)"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed (pip install -e '.[dev]')"
    return ""


@contextmanager
def launched() -> "Iterator[Browser]":
    """Start the browser, and end it."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()
