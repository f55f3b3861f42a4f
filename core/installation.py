"""The secret key of this installation, in a file outside the data folder.

What is sealed with it (the head of the journal, an export file) can be checked later: whoever can write the data
folder or a file, but not the user's configuration folder, cannot make a seal that fits.
"""

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reverie.errors import KeyUnavailable

_FILE = "installation.key"
_BYTES = 32


@dataclass(frozen=True, slots=True)
class Installation:
    """The folder of the key; the first use makes the key."""

    folder: Path

    def seal(self, purpose: str, payload: bytes) -> str:
        """Return the HMAC of a payload, in hex; a seal made for one purpose fits no other.

        Raises:
            KeyUnavailable: if the key can be neither read nor made.
        """
        own = hmac.digest(self._key(), purpose.encode(), hashlib.sha256)
        return hmac.digest(own, payload, hashlib.sha256).hex()

    def fits(self, purpose: str, payload: bytes, seal: str) -> bool:
        """Return whether a seal was made by this installation, for this purpose and payload.

        Raises:
            KeyUnavailable: if the key can be neither read nor made.
        """
        return hmac.compare_digest(self.seal(purpose, payload).encode(), seal.encode("utf-8", "replace"))

    @property
    def has_key(self) -> bool:
        """Return whether a key was made before."""
        return (self.folder / _FILE).is_file()

    def _key(self) -> bytes:
        path = self.folder / _FILE
        try:
            if not path.exists():
                _make(path)
            key = path.read_bytes()
        except OSError as error:
            raise KeyUnavailable(str(path), str(error)) from error
        if len(key) != _BYTES:
            raise KeyUnavailable(str(path), f"it has {len(key)} bytes instead of {_BYTES}")
        return key


def _make(path: Path) -> None:
    """Write a new key. Of several processes that do so at once one wins, and all use its key."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    mine = path.with_name(f".{_FILE}.{secrets.token_hex(6)}")
    handle = os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(mine, path)  # fails if the key is there by now, which a rename would overwrite
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            if not path.exists():
                mine.replace(path)
    finally:
        mine.unlink(missing_ok=True)


def default_config_folder(environment: Mapping[str, str], platform: str) -> Path:
    """Return the platform's folder for configuration that belongs to the user."""
    if platform == "win32":
        return Path(environment.get("APPDATA") or Path.home() / "AppData" / "Roaming") / "reverie"
    if platform == "darwin":
        return Path.home() / "Library" / "Preferences" / "reverie"
    given = Path(environment.get("XDG_CONFIG_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".config") / "reverie"
