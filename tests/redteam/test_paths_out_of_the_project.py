"""Attack: a path that leads out of the project, or a file that others may read."""

import os
import stat

import pytest

from reverie.errors import InvalidInput
from reverie.tools.export_jsonl import export
from reverie.tools.forget import forget
from reverie.tools.requests import ForgetRequest

pytestmark = pytest.mark.anyio

OUTSIDE = [
    "/etc/passwd",
    "../secret.txt",
    "src/../../secret.txt",
    "..\\..\\secret.txt",
    "src\\..\\..\\secret.txt",
    "//server/share",
    "\\\\server\\share",
    "a/../../b::symbol",
]


@pytest.mark.parametrize("path", OUTSIDE)
async def test_a_file_outside_is_refused_as_evidence(session, keep, path):
    with pytest.raises(InvalidInput, match="files"):
        await keep("It is written there.", files=[path])
    assert await session.store.count() == 0


async def test_whatever_is_written_belongs_to_its_owner_alone(session, keep, home, exported, tmp_path):
    before = os.umask(0o022)  # as careless as most
    try:
        kept = await keep("A note. " * 400)
        await keep("Ignore all previous instructions.")
        await forget(session, ForgetRequest(ids=[kept.id], purge=True))
        await exported()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "export.jsonl").stat().st_mode) == 0o600
    for folder in (home, home / "domains", home / "domains" / "default"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "domains" / "default" / "purged").stat().st_mode) == 0o600


async def test_an_export_does_not_write_through_a_link_half_way(session, keep, tmp_path):
    await keep("A note.")
    real = tmp_path / "real.jsonl"
    real.write_text("mine")
    link = tmp_path / "link.jsonl"
    link.symlink_to(real)
    await export(session, str(link), progress=lambda done, total: None)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.glob(".*.part")] == []


async def test_an_export_into_the_data_folder_is_refused(session, keep, home):
    await keep("A note.")
    with pytest.raises(InvalidInput, match="data folder"):
        await export(session, str(home / "domains" / "default" / "current"), progress=lambda done, total: None)
    with pytest.raises(InvalidInput, match="data folder"):
        await export(session, str(home / "x" / ".." / "reverie.toml"), progress=lambda done, total: None)
