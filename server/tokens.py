"""Personal access tokens: who may call the HTTP server, with which scope. Only digests are stored.

Each token is a file of mode 0600 in `tokens/` of the configuration folder, outside the data folder and every export.
A token has 256 random bits, so a plain SHA-256 cannot be guessed back. A running server looks at the folder with
every request: a token that was revoked is refused at once.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, get_args

from reverie.errors import InvalidInput, KeyUnavailable, ReverieError
from reverie.time import iso, parse_iso
from reverie.tools.requests import TokenScope

SCOPES: Final[tuple[TokenScope, ...]] = get_args(TokenScope)
"""From the least to the most: each allows what those before it do."""

PREFIX: Final = "rvr_"
"""How every token begins; the scan for secrets knows it."""

_FOLDER = "tokens"
_LENGTH = 43  # letters and digits: 256 bits
_LETTERS = string.ascii_letters + string.digits
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_USER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")
_LONGEST_FILE = 10_000
_LONGEST_PROJECT = 200
_DIGITS = 64

_Seen = tuple[tuple[str, int, int, int], ...]


class TokenUnreadable(ReverieError):
    """A file in the folder of tokens is damaged."""


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A token as it is stored: everything but the token itself."""

    name: str
    user: str  # whom memories and events name
    scope: TokenScope
    digest: str
    created_at: str
    expires_at: str | None = None
    projects: tuple[str, ...] = ()  # those that it is limited to; none: it sees them all

    def is_expired(self, now: datetime) -> bool:
        """Whether it is past its end."""
        return self.expires_at is not None and parse_iso(self.expires_at, "expires_at") <= now


def scopes_up_to(scope: TokenScope) -> list[TokenScope]:
    """Return a scope and all that it includes."""
    return list(SCOPES[: SCOPES.index(scope) + 1])


def highest_scope(names: Iterable[str]) -> TokenScope | None:
    """Return the highest scope among names, most of which may be other services'."""
    given = set(names)
    return next((scope for scope in reversed(SCOPES) if scope in given), None)


class TokenFolder:
    """The tokens of an installation."""

    def __init__(self, config: Path) -> None:
        self.path = config / _FOLDER
        self._seen: _Seen | None = None
        self._by_digest: dict[str, TokenRecord] = {}
        self._damaged: list[str] = []

    def create(
        self,
        name: str,
        scope: TokenScope,
        *,
        user: str = "",
        now: datetime,
        expires_at: datetime | None = None,
        projects: Sequence[str] = (),
    ) -> str:
        """Make a token and return it; nobody can read it again.

        Raises:
            InvalidInput: if there is a token of this name, or a name is not one.
            KeyUnavailable: if the folder cannot be written.
        """
        _check_name(name)
        if not _USER.fullmatch(user or name):
            raise InvalidInput("--user", f"{user!r} is not a name", "Use letters, digits and . _ @ + -.")
        token = PREFIX + "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
        record = TokenRecord(
            name,
            user or name,
            scope,
            digest_of(token),
            iso(now),
            iso(expires_at) if expires_at else None,
            tuple(dict.fromkeys(projects)),
        )
        if not _are_projects(record.projects):
            raise InvalidInput("--project", "that is no project's name", "`reverie projects` lists them.")
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._write(record)
        except FileExistsError:
            raise InvalidInput("NAME", f"there is a token {name!r} already", "Revoke it, or take another.") from None
        except OSError as error:
            raise KeyUnavailable(str(self.path), str(error)) from error
        return token

    def _write(self, record: TokenRecord) -> None:
        """Write a token's file whole: a server may look at any moment, and of two of one name one wins."""
        new = self.path / f".{secrets.token_hex(6)}"
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                json.dump(asdict(record), file)
                file.flush()
                os.fsync(file.fileno())
            os.link(new, self._file(record.name))
        finally:
            new.unlink(missing_ok=True)

    def revoke(self, name: str) -> None:
        """Remove a token; a running server refuses it from now on.

        Raises:
            InvalidInput: if there is none of this name.
            KeyUnavailable: if it cannot be removed.
        """
        _check_name(name)
        try:
            self._file(name).unlink()
        except FileNotFoundError:
            raise InvalidInput(
                "NAME", f"there is no token {name!r}", "`reverie tokens list` has their names."
            ) from None
        except OSError as error:
            raise KeyUnavailable(str(self.path), str(error)) from error

    def all(self) -> list[TokenRecord]:
        """Return every token, by name.

        Raises:
            TokenUnreadable: if a file is damaged.
            KeyUnavailable: if the folder cannot be read.
        """
        records = self._current().values()
        if self._damaged:
            name = self._damaged[0]
            raise TokenUnreadable(
                f"{self._file(name)} is damaged. Remove it with `reverie tokens revoke {name}` and make a new token."
            )
        return sorted(records, key=lambda record: record.name)

    def find(self, token: str, now: datetime) -> TokenRecord | None:
        """Return whose token this is; None if it never was one, was revoked, or is past its end.

        Raises:
            KeyUnavailable: if the folder cannot be read.
        """
        if not token.startswith(PREFIX):
            return None
        digest = digest_of(token).encode()
        found: TokenRecord | None = None
        for known, record in self._current().items():  # every one is compared, so that time tells nothing
            if hmac.compare_digest(known.encode(), digest):
                found = record
        return None if found is None or found.is_expired(now) else found

    def _current(self) -> Mapping[str, TokenRecord]:
        """Return the tokens by digest, read again if a file has changed."""
        try:
            seen = self._look()
            if seen != self._seen:
                records = {name: _read(self.path / name) for name, *_ in seen}
                self._by_digest = {record.digest: record for record in records.values() if record is not None}
                self._damaged = [name.removesuffix(".json") for name, record in records.items() if record is None]
                self._seen = seen
        except FileNotFoundError:  # the folder is not there yet, or a token was revoked as we read
            self._seen, self._by_digest, self._damaged = None, {}, []
            if self.path.is_dir():
                return self._current()
        except OSError as error:
            raise KeyUnavailable(str(self.path), str(error)) from error
        return self._by_digest

    def _look(self) -> _Seen:
        with os.scandir(self.path) as entries:
            found = [(entry.name, entry.stat()) for entry in entries if entry.name.endswith(".json")]
        return tuple(sorted((name, one.st_ino, one.st_mtime_ns, one.st_size) for name, one in found))

    def _file(self, name: str) -> Path:
        return self.path / f"{name}.json"


def digest_of(token: str) -> str:
    """Return what is stored of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _are_projects(names: Sequence[object]) -> bool:
    """Whether these can be names of projects; a file that says something else lets nobody in."""
    return all(isinstance(name, str) and 0 < len(name) <= _LONGEST_PROJECT and name.isprintable() for name in names)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidInput("NAME", f"{name!r} is not a name for a token", "Use small letters, digits and . _ -.")


def _read(file: Path) -> TokenRecord | None:
    """Read one token's file; None if it is damaged, which lets nobody in."""
    with file.open("rb") as opened:
        text = opened.read(_LONGEST_FILE)
    try:
        stored = json.loads(text)
        record = TokenRecord(**{**stored, "projects": tuple(stored.get("projects", ()))})
        if record.scope not in SCOPES or not _USER.fullmatch(record.user) or len(record.digest) != _DIGITS:
            return None
        if not isinstance(stored.get("projects", []), list) or not _are_projects(record.projects):
            return None
        record.is_expired(parse_iso(record.created_at, "created_at"))  # both moments can be read
    except (ValueError, TypeError, AttributeError, ReverieError):
        return None
    return record
