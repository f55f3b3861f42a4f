"""A server of Azure's blob storage for the tests: Azurite, which `scripts/azurite` fetches, on a loopback port."""

import base64
import hashlib
import hmac
import itertools
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from email.utils import formatdate
from pathlib import Path

from tests.s3_server import free_port

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / ".cache" / "azurite" / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
ACCOUNT = "reverietests"
KEY = base64.b64encode(b"a key of the tests and of nobody").decode()
_VERSION = "2021-08-06"
_NUMBERS = itertools.count()


class AzureServer:
    """Azurite in one process, with its data in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    @staticmethod
    def why_not() -> str:
        """Return why it cannot be started here; nothing if it can."""
        if shutil.which("node") is None:
            return "Azurite needs Node"
        return "" if PROGRAM.exists() else "Azurite is not here: run scripts/azurite"

    @property
    def environment(self) -> dict[str, str]:
        """What a client of it needs."""
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
            "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{self.port}/{ACCOUNT}",
            "AZURE_ALLOW_HTTP": "true",
        }

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = ["node", str(PROGRAM), "--blobHost", "127.0.0.1", "--blobPort", str(self.port), "--silent"]
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--location", str(self._folder / "data"), "--skipApiVersionCheck", "--disableTelemetry"],
                env={"AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}", "PATH": "/usr/local/bin:/usr/bin:/bin"},
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + 60
        while not self._answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError((self._folder / "server.log").read_text("utf-8", "replace")[-3_000:])
            time.sleep(0.2)

    def _answers(self) -> bool:
        try:
            self.make_container("ready")
        except (urllib.error.URLError, OSError):
            return False
        return True

    def make_container(self, name: str | None = None) -> str:
        """Make a container, unless there is one, and return its name."""
        name = name or f"container-{next(_NUMBERS)}"
        headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": _VERSION}
        named = "".join(f"{key}:{value}\n" for key, value in headers.items())
        text = "PUT" + "\n" * 12 + named + f"/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
        signature = base64.b64encode(hmac.digest(base64.b64decode(KEY), text.encode(), hashlib.sha256)).decode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/{ACCOUNT}/{name}?restype=container",
            method="PUT",
            headers={**headers, "Authorization": f"SharedKey {ACCOUNT}:{signature}", "Content-Length": "0"},
        )
        try:
            with urllib.request.urlopen(request, timeout=5):  # noqa: S310 - our own server
                return name
        except urllib.error.HTTPError as error:
            if error.code != 409:  # it is there
                raise
            return name

    def pause(self) -> None:
        """Stop it answering; killed, it would forget what it acknowledged in its last seconds."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it answer again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
