"""Diagnoses a store, also one that cannot be opened."""

import asyncio
import platform
import shutil
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from reverie import __version__
from reverie.embeddings.base import Embedder, Embedding, embedder_from
from reverie.errors import ReverieError, StoreDamaged
from reverie.lifecycle.rules import WHOLE
from reverie.settings import HOME, Settings, meant_by, unknown_variables
from reverie.storage.audit import Report, ignore_report
from reverie.storage.homes import home_of
from reverie.storage.integrity import IntegrityCheck, VectorSample, holders, is_free
from reverie.storage.migrations import NEWEST
from reverie.storage.rows import Embedded
from reverie.storage.schema import MEMORY_TABLES

State = Literal["ok", "warn", "fail"]

_LITTLE_SPACE = 500 * 2**20
_NO_SPACE = 20 * 2**20
_MANY_PIECES = 200
_OWNER_ONLY = 0o700
_SHOWN = 5
_SAMPLED = 4  # of each layer and precision
_LOCKS = {"write.lock": "a change", "upkeep.lock": "upkeep", "reembed.lock": "`reverie reembed`"}
_PACKAGES = ("lancedb", "pyarrow", "mcp", "onnxruntime", "openai")
_RESTORE = "Restore the data folder from a backup, or move it away and import your last export."


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its subject, what was found, and what to do about it."""

    name: str
    state: State
    found: str
    advice: str = ""


class Doctor:
    """Checks one domain; with `fix` it also repairs what can be repaired without loss."""

    def __init__(self, settings: Settings, *, embedder: Embedder | None = None, fix: bool = False) -> None:
        self._settings = settings
        self._embedder = embedder
        self._fix = fix
        self._folder = settings.domain_folder
        self._home = home_of(settings.domain_uri, settings.domain_folder)

    async def examine(self, report: Report = ignore_report) -> list[Check]:
        """Run every check, whatever the others found; a broken store is a finding, not an error."""
        await report(0.0, "looking at the data folder")
        checks = [versions(), *_settings()]
        if self._settings.is_local:
            checks += await _safely("data folder", self._look_at_folder)
        else:
            checks += await _safely("bucket", self._look_at_bucket)
        checks += await _safely("lock", self._look_at_locks)
        found: dict[str, str] = {}
        if self._folder.is_dir():
            checks += await _safely("tables", lambda: self._look_at_tables(found, report))
        await report(0.95, "trying the embedder")
        return checks + await _safely("embedder", lambda: self._look_at_embedder(found.get("embedder")))

    async def _look_at_folder(self) -> list[Check]:
        home = Path(self._settings.home)
        existing = next(path for path in (self._folder, *self._folder.parents) if path.exists())
        checks = [await asyncio.to_thread(_writable, existing, is_made=self._folder.is_dir())]
        loose = [path for path in (home, self._folder.parent, self._folder) if path.is_dir() and _is_loose(path)]
        if loose and self._fix:
            for path in loose:
                path.chmod(_OWNER_ONLY)
            checks.append(Check("permissions", "ok", "now for the owner alone"))
        elif loose:
            checks.append(
                Check("permissions", "warn", f"others may look into {loose[0]}", f"Run `chmod 700 {loose[0]}`.")
            )
        elif self._folder.is_dir():
            checks.append(Check("permissions", "ok", "for the owner alone"))
        return [*checks, _space(existing)]

    async def _look_at_bucket(self) -> list[Check]:
        """Prove that the bucket answers and keeps to conditional writes; whatever it refuses is raised."""
        await self._home.prepare()
        generation = await self._home.refresh()
        own = f"generation {generation}; this host's part is in {self._folder}"
        return [Check("bucket", "ok", f"{self._settings.home} answers and keeps to conditional writes ({own})")]

    async def _look_at_locks(self) -> list[Check]:
        checks = []
        for name, work in _LOCKS.items():
            path = self._folder / "locks" / name
            if not await is_free(path):
                who = ", ".join(await holders(path)) or "another process"
                checks.append(
                    Check(
                        "lock", "warn", f"{work} is under way in {who}", "If it lasts for minutes, end that process."
                    )
                )
        return checks or [Check("lock", "ok", "free")]

    async def _look_at_tables(self, found: dict[str, str], report: Report) -> list[Check]:
        generation = await self._home.refresh()
        if not await self._home.has_tables(generation):
            return [Check("tables", "ok", "none yet; they are made when something is remembered")]
        checkup = await IntegrityCheck.of(self._home, generation, report)
        await report(0.85, "comparing the tables")
        found |= await checkup.meta()
        if not checkup.damaged and not _memories_in(checkup):
            found.pop("embedder", None)  # a store without memories takes the embedder that is set
        checks = [*_damage(checkup), _schema(found.get("schema"))]
        remade: list[Check] = []
        if self._fix and not checkup.damaged:
            async with self._home.lock("write").held():
                checks += await self._mend(checkup)
                remade = await self._remake_vectors(checkup, found.get("embedder"))
        else:
            checks += await _faults(checkup)
        checks += remade or await self._look_at_vectors(checkup, found.get("embedder"))
        return [*checks, *await self._leftovers()]

    async def _look_at_vectors(self, checkup: IntegrityCheck, stored: str | None) -> list[Check]:
        """Prove that vectors of every precision can be read, and that packed ones still mean their texts."""
        counts: Counter[int] = Counter()
        for report in checkup.reports:
            counts.update(report.precisions)
        by_bits = ", ".join(f"{count:,} of {bits} bits" for bits, count in sorted(counts.items(), reverse=True))
        unreadable = [one for report in checkup.reports for one in report.unreadable]
        if unreadable:
            found = f"of {_some(unreadable)} nothing can read; words still find the memory"
            return [Check("vectors", "fail", found, "Run `reverie doctor --fix`: it makes them from the texts.")]
        strange = await self._strangers(await checkup.sample(_SAMPLED), stored)
        if strange:
            advice = "Pin such a memory and run `reverie dream`: its vector is made from the text."
            return [Check("vectors", "warn", f"{by_bits}; far from the text: {_some(strange)}", advice)]
        return [Check("vectors", "ok", f"all can be read: {by_bits}" if by_bits else "none yet")]

    async def _strangers(self, samples: Sequence[VectorSample], stored: str | None) -> list[str]:
        """Return the ids of packed vectors that are farther from their texts than rounding explains."""
        texts = [sample.content for sample in samples]
        try:
            made = await self._embedded(texts, stored)
        except ReverieError:
            return []  # the check of the embedder says so
        return [sample.id for sample, one in zip(samples, made, strict=False) if not sample.means(one.vector)]

    async def _embedded(self, texts: Sequence[str], stored: str | None) -> Sequence[Embedding]:
        """Embed texts, unless the store's vectors are another model's."""
        embedder = self._embedder or embedder_from(self._settings)
        return await asyncio.to_thread(embedder.embed, texts) if texts and stored == embedder.stamp else []

    async def _remake_vectors(self, checkup: IntegrityCheck, stored: str | None) -> list[Check]:
        memories = await checkup.with_unreadable_vectors()
        made = await self._embedded([memory.content for memory in memories], stored)
        if not made:
            return []
        items = [
            Embedded(replace(memory, precision=WHOLE), one.vector, one.passages, one.pieces)
            for memory, one in zip(memories, made, strict=True)
        ]
        await checkup.replace_vectors(items)
        return [Check("vectors", "ok", f"made anew: those of {_some([memory.id for memory in memories])}")]

    async def _mend(self, checkup: IntegrityCheck) -> list[Check]:
        missing = [f"{report.name}.{column}" for report in checkup.reports for column in report.missing_indexes]
        doubled = await checkup.doubled()
        orphans = await checkup.orphans()
        if orphans:
            # Remembering writes passages a moment before their memory: look again.
            await asyncio.sleep(1.0)
            orphans &= await checkup.orphans()
        await checkup.build_indexes()
        await checkup.drop_doubles(doubled)
        if orphans:
            await checkup.drop_orphans(orphans)
        return [
            Check("indexes", "ok", f"built {_some(missing)}" if missing else "complete"),
            Check("doubled ids", "ok", f"kept the newer row of {_some(doubled)}" if doubled else "none"),
            Check("orphans", "ok", f"removed the passages of {_some(orphans)}" if orphans else "none"),
        ]

    async def _leftovers(self) -> list[Check]:
        if await self._home.older_than(self._home.current()) or await self._home.has_staging():
            return [
                Check(
                    "re-embedding",
                    "warn",
                    "tables that are not in use lie there, of an upgrade or of a conversion that was interrupted",
                    "After an upgrade they go by themselves. Else run `reverie reembed`: it goes on where it was.",
                )
            ]
        return []

    async def _look_at_embedder(self, stored: str | None) -> list[Check]:
        embedder = self._embedder or embedder_from(self._settings)
        checks = [Check("embedder", "ok", f"{embedder.stamp} works")]
        try:
            await asyncio.to_thread(embedder.embed, ["Does it work?"])
        except ReverieError as error:
            checks = [Check("embedder", "fail", str(error), "Until then recall works by words only.")]
        if stored is not None and stored != embedder.stamp:
            checks.append(
                Check(
                    "store's embedder",
                    "fail",
                    f"the memories are embedded with {stored}, but {embedder.stamp} is set",
                    "Run `reverie reembed` to convert the store, or set REVERIE_EMBEDDER back.",
                )
            )
        return checks


async def _safely(name: str, check: Callable[[], Awaitable[list[Check]]]) -> list[Check]:
    try:
        return await check()
    except StoreDamaged as error:
        return [Check(name, "fail", str(error).partition(" Run `reverie doctor`")[0], _RESTORE)]
    except ReverieError as error:
        return [Check(name, "fail", str(error))]
    except Exception as error:  # noqa: BLE001 - whatever is broken, the other checks still have to be made
        return [Check(name, "fail", f"{type(error).__name__}: {error}", "Please report this with the output above.")]


def versions() -> Check:
    """Return what is installed; a package that is missing cannot work."""
    found = [f"reverie {__version__}", f"python {platform.python_version()}"]
    missing = []
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            missing.append(package)
    if missing:
        return Check("versions", "fail", f"{', '.join(missing)} not installed", "Run `pip install reverie-mcp`.")
    return Check("versions", "ok", ", ".join(found))


def _settings() -> list[Check]:
    """Name the variables that look like settings of ours and are none."""
    return [
        Check(
            "settings",
            "warn",
            f"{name} is set, but there is no such setting",
            f"Correct or unset it{meant_by(name)}.",
        )
        for name in unknown_variables()
    ]


def _writable(folder: Path, *, is_made: bool) -> Check:
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        found = f"{folder} cannot be written ({error.strerror})"
        return Check("data folder", "fail", found, f"Check its owner, or set {HOME.variable} to a folder of yours.")
    return Check("data folder", "ok", f"{folder} can be written" + ("" if is_made else "; no store is there yet"))


def _is_loose(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o077)


def _space(folder: Path) -> Check:
    free = shutil.disk_usage(folder).free
    found = f"{free / 1e9:.1f} GB free"
    if free < _NO_SPACE:
        return Check("disk", "fail", found, "Free some space: nothing more can be remembered.")
    if free < _LITTLE_SPACE:
        return Check("disk", "warn", found, "Free some space soon: tidying the tables takes room.")
    return Check("disk", "ok", found)


def _memories_in(checkup: IntegrityCheck) -> int:
    return checkup.pending_memories + sum(report.rows for report in checkup.reports if report.name in MEMORY_TABLES)


def _damage(checkup: IntegrityCheck) -> list[Check]:
    if checkup.damaged:
        return [Check(f"table {report.name}", "fail", report.damage or "", _RESTORE) for report in checkup.damaged]
    rows = {report.name: report.rows for report in checkup.reports if report.rows}
    found = ", ".join(f"{name} {count:,}" for name, count in rows.items()) or "all empty"
    if checkup.pending_memories:
        found += f"; {checkup.pending_memories:,} more on their way"
    crowded = [report.name for report in checkup.reports if report.pieces > _MANY_PIECES]
    if crowded:
        advice = "A running session tidies them as it works; recall is slower until then."
        return [Check("tables", "warn", f"{found}; many small pieces in {', '.join(crowded)}", advice)]
    return [Check("tables", "ok", f"all can be read: {found}")]


def _schema(number: str | None) -> Check:
    if number is None:
        return Check(
            "schema", "fail", "the store does not say which it has", "Start a session: it completes the store."
        )
    if not number.isdigit() or int(number) > NEWEST:
        found = f"the store has schema {number}; this Reverie knows up to {NEWEST}"
        return Check("schema", "fail", found, "Upgrade with `pip install -U reverie-mcp`.")
    return Check("schema", "ok", f"{number} of {NEWEST}")


async def _faults(checkup: IntegrityCheck) -> list[Check]:
    missing = [f"{report.name}.{column}" for report in checkup.reports for column in report.missing_indexes]
    doubled = await checkup.doubled()
    orphans = await checkup.orphans()
    return [
        _fault("indexes", "complete", f"missing: {_some(missing)}" if missing else ""),
        _fault("doubled ids", "none", f"{_some(doubled)}: an interrupted move; the newer counts" if doubled else ""),
        _fault("orphans", "none", f"passages without their memory: {_some(orphans)}" if orphans else ""),
    ]


def _fault(name: str, fine: str, fault: str) -> Check:
    return Check(name, "warn", fault, "Run `reverie doctor --fix`.") if fault else Check(name, "ok", fine)


def _some(names: "list[str] | dict[str, list[str]] | set[str]") -> str:
    ordered = sorted(names)
    more = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    return ", ".join(ordered[:_SHOWN]) + more
