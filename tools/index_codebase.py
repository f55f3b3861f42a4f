"""Fills the codebase layer: one memory for each folder and source file, updated by each scan."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from reverie.codebase.git import GitUnavailable
from reverie.codebase.identity import ProjectIdentity, identify_project
from reverie.codebase.outline import FileOutline, Scan, begin_scan, folders_of, read_file
from reverie.codebase.tree import SourceTree, stored_folder
from reverie.errors import InvalidInput
from reverie.ids import content_hash
from reverie.lifecycle.vitals import first_stability, trust_of
from reverie.memory import GLOBAL_PROJECT, Anchor, Memory
from reverie.storage.filters import equals
from reverie.storage.rows import Embedded
from reverie.tools.catalog import Progress, ignore_progress
from reverie.tools.project_identity import recognise
from reverie.tools.requests import IndexRequest
from reverie.tools.results import Indexed
from reverie.tools.screening import cleaned, quarantined_if_suspect, screened_evidence
from reverie.tools.session import Session

IMPORTANCE = 0.4
"""Below what people say: a scan can be repeated, a decision cannot."""

_READ_AT_ONCE = 64
_TEXTS_AT_ONCE = 64
_WRITTEN_AT_ONCE = 512

_LIVING = ("active", "challenged", "quarantined")
_KEPT = (
    *("created_at", "access_count", "access_times", "last_accessed_at"),
    *("sessions", "pinned", "core", "stability"),
)

_OF_THE_SYSTEM = ("boot", "dev", "etc", "proc", "run", "sys")


@dataclass(slots=True)
class _Work:
    """The state of a running scan."""

    scan: Scan
    known: Mapping[str, Memory]
    fresh: list[FileOutline] = field(default_factory=list)
    there: set[str] = field(default_factory=set)  # the references of every memory that has its place
    purposes: dict[str, str] = field(default_factory=dict)  # of every file, in its order
    symbols: int = 0


async def index_codebase(session: Session, request: IndexRequest, progress: Progress = ignore_progress) -> Indexed:
    """Scan a project and write what changed since the last scan.

    Raises:
        InvalidInput: if there is no such folder.
        EmbedderError: if the texts cannot be embedded.
        StoreError: if they cannot be written; what was written stays, and the next scan goes on from there.
    """
    here, under = await asyncio.to_thread(_place, session, request.path)
    if here is not session.here:
        here = replace(here, project=(await recognise(session.store, here)).project)
    given = cleaned(request.project)[0]
    owner = session.project_for(given) if given else here.project
    root = here.root
    assert root is not None  # noqa: S101 - _place has seen to it
    known, doubled = await _known(session, owner, root)
    try:
        scan = await asyncio.to_thread(begin_scan, SourceTree(root), under, request.max_files)
    except GitUnavailable as error:
        raise InvalidInput("path", f"{error}", "Try a folder further down.") from error
    work = _Work(scan, known)
    await _read_all(work, progress)
    work.fresh += _changed_folders(work, under)
    updated, added = await _write(session, work, replace(here, project=owner), progress)
    gone = [*_gone(work, under), *doubled]
    await _expire(session, gone)
    if added or updated or gone:
        session.maintenance.note_write()
    return Indexed(
        project=owner,
        files=len(work.purposes),
        symbols=work.symbols,
        memories=added,
        updated=updated,
        removed=len(gone),
        skipped=dict(sorted(scan.skipped.items())),
    )


def _place(session: Session, path: str) -> tuple[ProjectIdentity, str]:
    """Return the project that a path lies in, and the part of it that is meant."""
    if not path and session.here.root is not None:
        return session.here, ""
    tree = session.evidence.tree
    start = tree.root if tree is not None else session.folder
    try:
        folder = (start / Path(path).expanduser()).resolve()
        exists = folder.is_dir()
    except (OSError, ValueError, RuntimeError):
        exists = False
    if not exists:
        raise InvalidInput("path", f"{path!r} is not a folder", "Give a folder, or leave it out for this project.")
    here = identify_project(folder)
    if session.here.root is not None and here.root == session.here.root:
        here = session.here
    if here.root is None:
        if _is_no_project(folder):
            raise InvalidInput("path", f"{folder} is not a project", "Give the folder of a project.")
        return replace(here, root=folder), ""
    return here, "" if folder == here.root else folder.relative_to(here.root).as_posix()


def _is_no_project(folder: Path) -> bool:
    """Return whether a folder without git contains settings and keys, which an injected instruction could ask for."""
    home = Path.home()
    if folder in (Path(folder.anchor), home) or folder.parts[1] in _OF_THE_SYSTEM:
        return True
    return folder.is_relative_to(home) and folder.relative_to(home).parts[0].startswith(".")


async def _known(session: Session, project: str, root: Path) -> tuple[dict[str, Memory], list[Memory]]:
    """Return what earlier scans wrote of this project, by what each is about; the dead are kept to be revived.

    Projects that were merged may both have been scanned: of two living ones about the same, the older expires.
    """
    where = session.of_project(project) & equals("source", "code_scan")
    memories = await session.store.find(where, ["codebase"])
    if project == GLOBAL_PROJECT:  # several folders without git share it
        memories = [m for m in memories if m.anchors and m.anchors[0].root == stored_folder(root)]
    memories.sort(key=lambda memory: (memory.status in _LIVING, memory.pinned, memory.updated_at))
    known = {memory.source_ref or "": memory for memory in memories}
    kept = {memory.id for memory in known.values()}
    return known, [m for m in memories if m.id not in kept and m.status in _LIVING and not m.pinned]


async def _read_all(work: _Work, progress: Progress) -> None:
    paths = work.scan.paths
    digests = {
        ref.removeprefix("file:"): memory.anchors[0].digest or ""
        for ref, memory in work.known.items()
        if ref.startswith("file:") and memory.anchors and memory.status in _LIVING
    }
    for start in range(0, len(paths), _READ_AT_ONCE):
        await asyncio.to_thread(_read_some, work, paths[start : start + _READ_AT_ONCE], digests)
        await progress(min(start + _READ_AT_ONCE, len(paths)), 2 * len(paths), "")


def _read_some(work: _Work, paths: Sequence[str], digests: Mapping[str, str]) -> None:
    for path in paths:
        if cleaned(path)[1]:  # its name would be kept with it
            work.scan.skipped["secret in the name"] = work.scan.skipped.get("secret in the name", 0) + 1
            continue
        seen = _screened(read_file(work.scan, path, digests))
        if seen is None:
            continue
        if isinstance(seen, str):
            memory = work.known[f"file:{path}"]
            work.symbols += len(memory.entities)
            text = memory.content
        else:
            work.symbols += len(seen.symbols)
            text = seen.text
        if text != path:  # of a file that says nothing of itself its folder says enough
            work.there.add(f"file:{path}")
            if isinstance(seen, FileOutline):
                work.fresh.append(seen)
        work.purposes[path] = text.partition("\n")[0].removeprefix(path).removeprefix(": ")


def _screened(seen: FileOutline | str | None) -> FileOutline | str | None:
    """Remove secrets from an outline; constants and defaults often contain them."""
    if not isinstance(seen, FileOutline):
        return seen
    text, _ = cleaned(seen.text)
    essence, _ = cleaned(seen.essence)
    symbols = tuple(symbol for symbol in seen.symbols if not cleaned(symbol)[1])
    return replace(seen, text=text, essence=essence, symbols=symbols)


def _changed_folders(work: _Work, under: str) -> list[FileOutline]:
    changed = []
    for folder in folders_of(work.purposes, work.purposes):
        if under and folder.path != under and not folder.path.startswith(f"{under}/"):
            continue
        memory = work.known.get(f"folder:{folder.path}")
        if memory is None or memory.content != folder.text or memory.status not in _LIVING:
            changed.append(folder)
        work.there.add(f"folder:{folder.path}")
    return changed


async def _write(session: Session, work: _Work, here: ProjectIdentity, progress: Progress) -> tuple[int, int]:
    """Embed and write in parts, so that other calls run in between; return how many were updated and added."""
    updated = added = 0
    commit = await asyncio.to_thread(lambda: _standing(session, here))
    total = len(work.scan.paths)
    for start in range(0, len(work.fresh), _WRITTEN_AT_ONCE):
        part = work.fresh[start : start + _WRITTEN_AT_ONCE]
        items: list[Embedded] = []
        for first in range(0, len(part), _TEXTS_AT_ONCE):
            seen = part[first : first + _TEXTS_AT_ONCE]
            vectors = await session.embed([one.essence for one in seen])
            memories = await asyncio.to_thread(_memories, session, work, seen, here, commit)
            items += [
                Embedded(memory, made.vector, pieces=made.pieces)
                for memory, made in zip(memories, vectors, strict=True)
            ]
            done = (start + first + len(seen)) / len(work.fresh)
            await progress(total + int(done * total), 2 * total, "")
        replaced = await _write_part(session, items)
        updated, added = updated + replaced, added + len(items) - replaced
    return updated, added


async def _write_part(session: Session, items: Sequence[Embedded]) -> int:
    """Write memories, new or over their earlier versions; return how many existed before."""
    store, now = session.store, session.now
    purged = store.purged_texts.among([item.memory.content for item in items])
    items = [item for item in items if item.memory.content not in purged]
    async with store.changing():  # another session may be scanning the same project
        present = await store.get([item.memory.id for item in items])
        old = [item for item in items if item.memory.id in present]
        new = [item for item in items if item.memory.id not in present]
        if new:
            await store.add(new, actor="index", at=now)
        if old:
            await store.replace(old, actor="index", at=now)
    return len(old)


def _standing(session: Session, here: ProjectIdentity) -> str | None:
    return session.evidence.checkout().commit if here.root == session.here.root else here.commit


def _memories(
    session: Session, work: _Work, part: Sequence[FileOutline], here: ProjectIdentity, commit: str | None
) -> list[Memory]:
    return [_memory(session, work, seen, here, commit, session.now) for seen in part]


def _memory(
    session: Session, work: _Work, seen: FileOutline, here: ProjectIdentity, commit: str | None, now: datetime
) -> Memory:
    ref = f"{seen.kind}:{seen.path}"
    known = work.known.get(ref)
    anchor = Anchor(
        path=seen.path,
        kind=seen.kind,
        digest=seen.digest if seen.kind == "file" else None,
        commit=commit,
        freshness="verified",
        root=stored_folder(here.root) if here.root and here.project == GLOBAL_PROJECT else None,
    )
    written = Memory(
        id=_id(here, ref) if known is None else known.id,  # the project may have had another name
        content=seen.text,
        content_hash=content_hash(seen.text),
        title=seen.text.partition("\n")[0][:80],
        kind="code",
        layer="codebase",
        tags=(seen.kind,),
        entities=seen.symbols,
        project=here.project,
        branch=here.branch,
        session=session.store.session,
        source="code_scan",
        source_ref=ref,
        trust=trust_of("code_scan"),
        importance=IMPORTANCE,
        stability=first_stability(IMPORTANCE),
        created_at=now,
        happened_at=now,
        updated_at=now,
        anchors=(anchor,),
        embedder=session.embedder.stamp,
    )
    if known is not None:
        written = replace(written, **{name: getattr(known, name) for name in _KEPT})
    return quarantined_if_suspect(screened_evidence(written), known)  # a README can speak to assistants too


def _id(here: ProjectIdentity, ref: str) -> str:
    """Return the same id for the same file in every session: two scans at once must not write it twice."""
    place = stored_folder(here.root) if here.root and here.project == GLOBAL_PROJECT else here.project
    return f"code-{content_hash(f'{place} {ref}')[:20]}"


def _gone(work: _Work, under: str) -> list[Memory]:
    """Return the memories of files and folders that a scan no longer finds; a partial scan counts for its part."""
    inside = f"{under}/" if under else ""
    cut = "beyond max_files" in work.scan.skipped
    return [
        memory
        for ref, memory in work.known.items()
        if memory.status in _LIVING
        and not memory.pinned
        and ref not in work.there
        and (path := ref.partition(":")[2]).startswith(inside)
        and path != under
        and not (cut and work.scan.tree.locate(path))
    ]


async def _expire(session: Session, gone: Sequence[Memory]) -> None:
    if not gone:
        return
    now = session.now
    values = {"status": "expired", "expired_at": now, "status_reason": "no longer in the project"}
    async with session.store.changing():
        await session.store.change(gone, values, action="expired", actor="index", at=now)
