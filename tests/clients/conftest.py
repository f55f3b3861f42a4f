"""A home folder of its own for each test, and the machine that lives there; the real home is never looked at."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from reverie.clients.catalog import SCOPES, Client, Machine, Scope, client_named
from reverie.clients.plans import ClientPlan, apply
from reverie.clients.setup import Planner, plan_uninstall
from reverie.clients.setup_files import Records
from tests.server.conftest import called

__all__ = ["Desk", "called", "desk", "write"]


@dataclass
class Desk:
    """Somebody's machine: setup and uninstall work on it as the commands do."""

    folder: Path
    machine: Machine = field(init=False)

    def __post_init__(self) -> None:
        for name in ("home", "project"):
            (self.folder / name).mkdir()
        self.machine = self.of("linux")

    def of(self, platform: str, executable: str = "/opt/bin/reverie", hook: str = "/opt/bin/reverie-hook") -> Machine:
        """Return the machine as another platform would have it."""
        return Machine(
            home=self.folder / "home",
            project=self.folder / "project",
            platform=platform,
            executable=executable,
            hook=hook,
            environment={"PATH": "", "APPDATA": str(self.folder / "home" / "Roaming")},
        )

    @property
    def records(self) -> Records:
        """The records as a new process reads them."""
        return Records(self.folder / "config" / "reverie")

    def setup(self, *names: str, scope: Scope = "user", hooks: bool = True) -> list[ClientPlan]:
        """Connect clients."""
        planner, records = Planner(self.machine, self.records), self.records
        plans = [planner.plan(client_named(name), scope, hooks=hooks) for name in names]
        for plan in plans:
            apply(plan, records)
        return plans

    def uninstall(self, *names: str, scopes: tuple[Scope, ...] = SCOPES) -> list[ClientPlan]:
        """Disconnect clients."""
        records = self.records
        plans = [plan_uninstall(client_named(name), scopes, self.machine, records) for name in names]
        for plan in plans:
            apply(plan, records)
        return plans

    def files_of(self, client: Client, scope: Scope = "user") -> list[Path]:
        """Return the files that a client is configured by."""
        files = [*client.servers, *([client.hooks] if client.hooks else [])]
        return list(dict.fromkeys(self.machine.path(file.paths[scope]) for file in files if scope in file.paths))

    def everything(self) -> dict[str, bytes | None]:
        """Return every file with its bytes, and every folder."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes() if path.is_file() else None
            for path in sorted(self.folder.rglob("*"))
        }


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A machine with an empty home."""
    folder = tmp_path / "desk"
    folder.mkdir()
    return Desk(folder)


@pytest.fixture
def write(desk: Desk) -> Callable[[Path, str | bytes], Path]:
    """Write a file that somebody has already, with its folders."""

    def written(path: Path, content: str | bytes) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written
