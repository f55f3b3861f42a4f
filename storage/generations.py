"""Which set of tables a domain uses now.

A domain's folder holds numbered generations of its tables and a small file, `current`, that names the one
in use. Re-embedding writes the next generation beside the old one and then replaces that file, which the
file system does in one step: a process killed at any point leaves a complete store behind.
"""

import os
import secrets
import shutil
from pathlib import Path

from reverie.errors import StoreDamaged, StoreUnavailable

FIRST = 1
_POINTER = "current"
_TABLES = "tables-"
_DROPPED = "dropped-"


class Generations:
    """The numbered sets of tables in one domain's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def prepare(self) -> None:
        """Make the folder, for its owner only.

        Raises:
            StoreUnavailable: if it cannot be made or written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            for part in (self.folder.parent.parent, self.folder.parent, self.folder):
                part.chmod(0o700)
            (self.folder / "locks").mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise StoreUnavailable(
                f"The data folder {self.folder} cannot be written ({error.strerror}). "
                "Set REVERIE_HOME to a folder that you own."
            ) from error

    def current(self) -> int:
        """Return the number of the generation in use; a new store starts with the first."""
        try:
            return int((self.folder / _POINTER).read_text("ascii"))
        except FileNotFoundError:
            return FIRST
        except (OSError, ValueError) as error:
            raise StoreDamaged(_POINTER, str(error)) from error

    def path(self, number: int) -> Path:
        """Return the folder that holds the tables of a generation."""
        return self.folder / f"{_TABLES}{number}"

    def switch(self, number: int) -> None:
        """Make a generation the one in use, in one step that survives a crash."""
        fresh = self.folder / f"{_POINTER}.new"
        with fresh.open("w", encoding="ascii") as file:
            file.write(str(number))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.folder / _POINTER)

    def older_than(self, number: int) -> list[Path]:
        """Return the folders of earlier generations that were not dropped."""
        numbers = sorted(int(path.name.removeprefix(_TABLES)) for path in self.folder.glob(f"{_TABLES}*"))
        return [self.path(earlier) for earlier in numbers if earlier < number]

    def drop_others(self, keep: int) -> None:
        """Remove every generation but one.

        Each gets another name first: a removal that is cut short leaves nothing that looks like tables.
        """
        for path in self.folder.glob(f"{_TABLES}*"):
            if path != self.path(keep):
                path.rename(self.folder / f"{_DROPPED}{path.name}-{secrets.token_hex(4)}")
        for path in self.folder.glob(f"{_DROPPED}*"):
            shutil.rmtree(path, ignore_errors=True)  # a process that still reads it may write there meanwhile
