"""Import from files of other programs: notes become lines of the one import, again without doubles.

A note is known by its own id where its program has one, and by its text otherwise. When a file is imported again,
what it says unchanged stays as it is, a changed line takes the place of the old one, and what is gone is reported.
"""

import asyncio
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import reduce
from pathlib import Path
from typing import Any

from reverie.codebase.evidence import line_digest, lines_of
from reverie.ids import content_hash, derived_id
from reverie.memory import Anchor, Memory, encode
from reverie.storage.filters import Condition, one_of, starts_with
from reverie.storage.scope import RECALLED
from reverie.tools.export_jsonl import BadLine, Line
from reverie.tools.import_jsonl import Imported, Progress, import_lines
from reverie.tools.remember import supersede
from reverie.tools.screening import cleaned
from reverie.tools.session import Session

LIKE = 0.6
"""From this share of common characters on, a new line is taken for a changed version of one that is gone."""

_COMPARED = 400
_MOST_COMPARISONS = 20_000
_GENERATIONS = 20
_AT_ONCE = 200
_CHANGED = "changed in "


@dataclass(frozen=True, slots=True)
class Note:
    """One fact that was read from a file: its fields as in an import line, and where it stands."""

    file: str
    values: Mapping[str, Any]
    first: int = 0  # line, from 1; 0 where a file has no lines worth naming
    last: int = 0
    key: str = ""  # what it is known by in its own program; without it, its text
    memory_id: str = ""  # its id in Reverie, where a file of ours says so
    place: str = ""  # where in the file, if not on a line: a conversation, an entity
    is_anchored: bool = False  # the line itself is its evidence

    @property
    def source_ref(self) -> str:
        """Return where it comes from, in one line."""
        where = self.place or (str(self.first) if self.first else "")
        return f"{self.file}:{where}" if where else self.file


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that cannot be read: the file, the line if it is known, and why."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}" if self.line else f"{self.file}: {self.reason}"


@dataclass(slots=True)
class ImportPlan:
    """What an import of notes would do."""

    lines: list[Line | BadLine] = field(default_factory=list)
    new: list[str] = field(default_factory=list)  # ids that are not in the store yet
    known: int = 0  # notes that are remembered already, word for word, under another id
    repeated: int = 0  # notes that another one of this import says too
    replaces: dict[str, str] = field(default_factory=dict)  # a changed line's id, and the id of what it replaces
    gone: list[Memory] = field(default_factory=list)  # what came from lines that are no longer there


@dataclass(slots=True)
class ImportedNotes:
    """The counts of the import gate, and what a changed file led to."""

    tally: Imported
    superseded: int = 0
    gone: list[Memory] = field(default_factory=list)


async def plan_import(
    session: Session,
    notes: Sequence[Note],
    root: Path | None = None,
    *,
    files: Iterable[str] = (),
    project: str = "",
) -> ImportPlan:
    """Say what would be added, updated, replaced and reported; changes nothing.

    `root` is the folder that the names of the files are relative to; `files` are those without a note too.
    """
    project = session.project_for(project)
    plan = ImportPlan()
    wanted: dict[str, Note] = {}
    for note in notes:
        wanted.setdefault(_id_of(note, cleaned(str(note.values["content"]))[0], project), note)
    plan.repeated = len(notes) - len(wanted)
    before = await _get(session, list(wanted))
    wanted, before = await _current(session, wanted, before)
    elsewhere = await _texts_elsewhere(session, wanted, before, project)
    named = [*files, *(note.file for note in wanted.values() if not (note.key or note.memory_id))]
    earlier = await _from_the_same_files(session, named, project)
    gone = await _no_longer_there(session, earlier, wanted)
    for number, (memory_id, note) in enumerate(wanted.items(), 1):
        if memory_id in elsewhere:
            plan.known += 1
            continue
        if memory_id not in before:
            plan.new.append(memory_id)
        anchors = await asyncio.to_thread(_anchors, session, note, root, before.get(memory_id), project)
        plan.lines.append(Line(number, _values(note, memory_id, project, anchors)))
    plan.replaces = _changed_lines({one: wanted[one] for one in plan.new}, gone, Counter(n.file for n in notes))
    for line in plan.lines:
        if isinstance(line, Line) and (old := plan.replaces.get(line.values["id"])) is not None:
            line.values["derived_from"] = [old]
            if any(memory.pinned for memory in gone if memory.id == old):
                line.values["pinned"] = True
    plan.gone = [memory for memory in gone if memory.id not in plan.replaces.values()]
    return plan


async def import_notes(
    session: Session, plan: ImportPlan, progress: Progress, *, trust: bool = False, revive: bool = False
) -> ImportedNotes:
    """Write what was planned, through the gate that every import passes.

    Raises:
        EmbedderError: if the texts cannot be embedded.
        StoreError: if they cannot be written; the same files can be imported again.
    """
    tally = await import_lines(session, plan.lines, progress, trust=trust, revive=revive, planned=True)
    places = {line.number: str(line.values["source_ref"]) for line in plan.lines if isinstance(line, Line)}
    tally.bad_lines = [replace(bad, reason=f"{places.get(bad.line, '')}: {bad.reason}") for bad in tally.bad_lines]
    files = {
        line.values["id"]: places[line.number].rpartition(":")[0] for line in plan.lines if isinstance(line, Line)
    }
    superseded = await supersede_each(
        session, {old: (new, f"{_CHANGED}{files[new]}") for new, old in plan.replaces.items()}
    )
    return ImportedNotes(tally, superseded, plan.gone)


async def supersede_each(session: Session, pairs: Mapping[str, tuple[str, str]]) -> int:
    """Let new memories stand in for old ones: old id to new id and reason. What is held back silences nothing."""
    done = 0
    if not pairs:
        return done
    async with session.store.changing():
        found = await session.store.get([*pairs, *(new for new, _ in pairs.values())])
        for old_id, (new_id, reason) in pairs.items():
            old, new = found.get(old_id), found.get(new_id)
            if old is None or new is None or old.status not in RECALLED or new.status not in RECALLED:
                continue
            await supersede(session, old, by=new, reason=reason, now=session.now)
            done += 1
    session.maintenance.note_write()
    return done


def _id_of(note: Note, text: str, project: str) -> str:
    """Return the id of a note: from its own id where it has one, so that a changed text is an update."""
    if note.memory_id:
        return note.memory_id
    said = f"key\0{note.key}" if note.key else f"text\0{text}"
    return derived_id(f"note\0{project}\0{said}".encode())


def _values(note: Note, memory_id: str, project: str, anchors: Sequence[Anchor]) -> dict[str, Any]:
    values = {**note.values, "id": memory_id, "project": note.values.get("project") or project}
    values["source_ref"] = note.source_ref
    if anchors:
        values["anchors"] = [encode(anchor) for anchor in anchors]
    return values


async def _get(session: Session, ids: Sequence[str]) -> dict[str, Memory]:
    found: dict[str, Memory] = {}
    for start in range(0, len(ids), _AT_ONCE):
        found |= await session.store.get(ids[start : start + _AT_ONCE])
    return found


async def _current(
    session: Session, wanted: Mapping[str, Note], before: Mapping[str, Memory]
) -> tuple[dict[str, Note], dict[str, Memory]]:
    """Follow texts that a file said, changed and says again: they go on under the id of the last version."""
    chosen: dict[str, Note] = {}
    known = dict(before)
    for memory_id, note in wanted.items():
        last = known.get(memory_id)
        for _ in range(_GENERATIONS):
            if last is None or not (last.superseded_by and str(last.status_reason).startswith(_CHANGED)):
                break
            last = (await session.store.get([last.superseded_by])).get(last.superseded_by)
        if last is None or last.id == memory_id:
            chosen[memory_id] = note
            continue
        same = last.content == known[memory_id].content
        current = last.id if same else derived_id(f"again\0{last.id}\0{memory_id}".encode())
        known.pop(memory_id)
        known |= await session.store.get([current])
        chosen[current] = note
    return chosen, known


async def _texts_elsewhere(
    session: Session, wanted: Mapping[str, Note], before: Mapping[str, Memory], project: str
) -> set[str]:
    """Return the ids of new notes whose very text the project remembers already, from whatever source."""
    hashes: dict[str, list[str]] = defaultdict(list)
    for memory_id, note in wanted.items():
        if memory_id not in before:
            hashes[content_hash(cleaned(str(note.values["content"]))[0])].append(memory_id)
    found: set[str] = set()
    for part in _parts(list(hashes)):
        where = one_of("content_hash", part) & one_of("status", RECALLED) & session.of_project(project)
        for memory in await session.store.find(where):
            if memory.owner is None:  # the team does not know what is personal
                found.update(hashes[memory.content_hash])
    return found


async def _from_the_same_files(session: Session, files: Iterable[str], project: str) -> list[Memory]:
    """Return the living memories that earlier imports took from these files."""
    found: list[Memory] = []
    for part in _parts(list(dict.fromkeys(f"{file}:" for file in files))):
        named = reduce(Condition.__or__, [starts_with("source_ref", name) for name in part])
        found += await session.store.find(named & one_of("status", RECALLED) & session.of_project(project))
    return found


async def _no_longer_there(session: Session, earlier: Sequence[Memory], wanted: Mapping[str, Note]) -> list[Memory]:
    """Return those whose text the files no longer say; one that was revised here stands for what it came from."""
    gone = {memory.id: memory for memory in earlier if memory.id not in wanted}
    ancestors = {one: set(memory.derived_from) for one, memory in gone.items()}
    looked_up: set[str] = set()
    for _ in range(_GENERATIONS):
        unknown = {one for ids in ancestors.values() for one in ids} - looked_up
        if not unknown:
            break
        looked_up |= unknown
        found = await _get(session, sorted(unknown))
        for ids in ancestors.values():
            ids |= {parent for one in ids & found.keys() for parent in found[one].derived_from}
    return [memory for one, memory in gone.items() if not ancestors[one] & wanted.keys()]


def _changed_lines(new: Mapping[str, Note], gone: Sequence[Memory], notes_in: Mapping[str, int]) -> dict[str, str]:
    """Pair each new note with the gone memory of the same file that it reads like most.

    The only note of a file takes the place of the only one before, whatever it says.
    """
    likeness: list[tuple[float, str, str]] = []
    by_file: dict[str, list[Memory]] = defaultdict(list)
    for memory in gone:
        by_file[str(memory.source_ref).rpartition(":")[0]].append(memory)
    room = _MOST_COMPARISONS
    for memory_id, note in new.items():
        for memory in by_file.get(note.file, ()):
            room -= 1
            if room < 0:
                break
            if notes_in[note.file] == 1 == len(by_file[note.file]):
                likeness.append((1.0, memory_id, memory.id))
                continue
            matcher = SequenceMatcher(None, memory.content[:_COMPARED], str(note.values["content"])[:_COMPARED])
            if matcher.quick_ratio() >= LIKE and (ratio := matcher.ratio()) >= LIKE:
                likeness.append((ratio, memory_id, memory.id))
    pairs: dict[str, str] = {}
    for _, memory_id, old_id in sorted(likeness, reverse=True):
        if memory_id not in pairs and old_id not in pairs.values():
            pairs[memory_id] = old_id
    return pairs


def _anchors(
    session: Session, note: Note, root: Path | None, known: Memory | None, project: str
) -> tuple[Anchor, ...]:
    """Return the line of a note as evidence, and the code it names; those it has if they still say the same."""
    tree = session.evidence.tree
    if not note.is_anchored or root is None or tree is None or project not in session.evidence.names:
        return ()
    try:
        path = (root / note.file).resolve().relative_to(tree.root.resolve()).as_posix()
    except ValueError:
        return ()
    source, digest = tree.read(path), tree.digest(path)
    if source is None or digest is None:
        return ()
    line = Anchor(
        path=path,
        kind="line",
        span=(note.first, note.last),
        digest=line_digest(lines_of(source)[note.first - 1 : note.last]),
        file_digest=digest,
        commit=session.evidence.checkout().commit,
        freshness="verified",
    )
    if known is not None and any(_is_same(line, anchor) for anchor in known.anchors):
        return known.anchors
    return (line, *session.evidence.anchor(str(note.values["content"]), (), project).anchors)


def _is_same(one: Anchor, other: Anchor) -> bool:
    return (one.path, one.kind, one.span, one.digest) == (other.path, other.kind, other.span, other.digest)


def _parts(values: Sequence[str]) -> Iterable[Sequence[str]]:
    return (values[start : start + _AT_ONCE] for start in range(0, len(values), _AT_ONCE))


def shown_name(path: Path, root: Path) -> str:
    """Return a file's name relative to a folder, or a short one that tells it apart."""
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        mark = hashlib.sha256(str(path.resolve().parent).encode()).hexdigest()[:6]
        return f"{path.parent.name}-{mark}/{path.name}"
