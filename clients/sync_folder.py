"""`reverie sync`: reads a folder of Markdown files, compares, and carries changes both ways.

The store is written first, then the files, each at once and only if nobody touched it meanwhile, then what is the
same now is noted. Whatever interrupts this, the next sync finds the changes that are left.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reverie.clients.importers import read_bounded
from reverie.clients.okf import (
    LARGEST_CONCEPT,
    RESERVED,
    SHARED,
    Concept,
    file_name,
    import_fields,
    index_page,
    parse_concept,
    shared_fields,
    written_concept,
)
from reverie.clients.sync import Known, Pull, Push, StoreView, SyncPlan, compare, fingerprint, resolved
from reverie.errors import InvalidInput
from reverie.memory import Memory
from reverie.text.shorten import title_of
from reverie.tools.export_jsonl import BadLine, Line, keep_out_of
from reverie.tools.forget import forget
from reverie.tools.import_files import Problem, supersede_each
from reverie.tools.import_jsonl import import_lines
from reverie.tools.requests import MOST_IDS, ForgetRequest
from reverie.tools.session import Session
from reverie.tools.sync_store import SharedMemories, ask_which_holds, shared_memories

MOST_FILES = 50_000
_STATE_VERSION = 1


@dataclass(slots=True)
class Bundle:
    """A folder as it is now: its files by path, and what in it cannot be read."""

    root: Path
    files: dict[str, Concept] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)


@dataclass(slots=True)
class Synced:
    """What a sync did, or would do."""

    added: int = 0  # memories from new files
    revised: int = 0  # memories with a new text from their file
    updated: int = 0  # memories with other values from their file
    forgotten: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)  # files
    removed: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)  # paths where both sides changed the text
    pending: list[str] = field(default_factory=list)  # files that are gone, whose memories stay until it is agreed
    merged: list[str] = field(default_factory=list)
    quarantined: int = 0
    redacted: int = 0
    questions: int = 0
    problems: list[Problem] = field(default_factory=list)

    @property
    def is_in_step(self) -> bool:
        """Whether there was nothing to do."""
        done = (self.added, self.revised, self.updated, self.forgotten, self.written, self.removed, self.conflicts)
        return not any(done) and not self.pending


def read_bundle(root: Path) -> Bundle:
    """Read every Markdown file of a folder; links that leave it are reported and not followed.

    Raises:
        InvalidInput: if the folder cannot be listed, or has too many files.
    """
    bundle = Bundle(root)
    if not root.exists():
        return bundle
    inside = root.resolve()
    for place, folders, names in os.walk(root, onerror=_raise):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.endswith(".md") or name.startswith(".") or name in RESERVED:
                continue
            path = Path(place) / name
            shown = path.relative_to(root).as_posix()
            if not path.resolve().is_relative_to(inside):
                _unreadable(bundle, Problem(shown, 0, "a link that leaves the folder: not followed"))
                continue
            data = read_bounded(path, LARGEST_CONCEPT)
            read = Problem(shown, 0, data) if isinstance(data, str) else parse_concept(shown, data)
            if isinstance(read, Problem):
                _unreadable(bundle, read)
            else:
                bundle.files[shown] = read
        if len(bundle.files) > MOST_FILES:
            raise InvalidInput("DIR", f"{root} has more than {MOST_FILES:,} files", "Sync a smaller folder.")
    return bundle


def _raise(error: OSError) -> None:
    raise InvalidInput("DIR", f"{error.filename} cannot be read ({error.strerror})", "Check its permissions.")


def _unreadable(bundle: Bundle, problem: Problem) -> None:
    bundle.unreadable.add(problem.file)
    bundle.problems.append(problem)


def checked_folder(session: Session, name: str, *, make: bool = False, may_lack: bool = False) -> Path:
    """Return a folder for memories, made if asked for; `may_lack` lets one pass that is not there yet.

    Raises:
        InvalidInput: if it is no folder, lies in the data folder, or cannot be made or written.
    """
    keep_out_of(session.settings.home, name, "DIR")
    root = Path(name)
    try:
        if make:
            root.mkdir(parents=True, exist_ok=True)
        if not root.is_dir() and not (may_lack and not root.exists()):
            raise InvalidInput("DIR", f"{name} is not a folder", "Name a folder for the files.")
    except OSError as error:
        raise InvalidInput("DIR", f"{name} cannot be made ({error.strerror})", "Name a folder of yours.") from None
    return root


class FolderWriter:
    """Writes files into a folder: whole or not at all, never outside it, never over what changed meanwhile."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._inside = root.resolve()

    def write(self, path: str, text: str, expected: str | None) -> Problem | None:
        """Write one file; say why if it is not written. `expected` is the digest it has now, None if it is new."""
        place = self._root / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            if problem := self._refused(path, place, expected):
                return problem
            beside = place.with_name(f".{place.name[:80]}.{secrets.token_hex(4)}.part")
            try:
                with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as out:
                    out.write(text.encode())
                    out.flush()
                    os.fsync(out.fileno())
                beside.replace(place)
            finally:
                beside.unlink(missing_ok=True)
        except OSError as error:
            return Problem(path, 0, f"cannot be written ({error.strerror or error})")
        return None

    def remove(self, concept: Concept) -> Problem | None:
        """Remove a file if it is still what was read."""
        place = self._root / concept.path
        try:
            if problem := self._refused(concept.path, place, concept.digest):
                return problem
            place.unlink(missing_ok=True)
        except OSError as error:
            return Problem(concept.path, 0, f"cannot be removed ({error.strerror or error})")
        return None

    def _refused(self, path: str, place: Path, expected: str | None) -> Problem | None:
        if not place.resolve().is_relative_to(self._inside):
            return Problem(path, 0, "leads out of the folder through a link: not written")
        now = hashlib.sha256(place.read_bytes()).hexdigest() if place.exists() else None
        return None if now == expected else Problem(path, 0, "changed while it was synced: the next sync takes it up")


async def export_okf(session: Session, name: str, *, project: str = "") -> Synced:
    """Write every shared memory, of all projects or of one, as a file; files that are there keep their names.

    Raises:
        InvalidInput: if the folder cannot be written.
        StoreError: if the store cannot be read.
    """
    root = checked_folder(session, name, make=True)
    bundle = read_bundle(root)
    shared = await shared_memories(session, project)
    result = Synced(problems=bundle.problems)
    writer = FolderWriter(root)
    by_id = {concept.memory_id: concept for concept in bundle.files.values() if concept.memory_id}
    paths: dict[str, Memory] = {}
    taken = {*bundle.files, *bundle.unreadable}
    for memory in shared.living.values():
        before = by_id.get(memory.id)
        path = before.path if before else file_name(memory, taken)
        taken.add(path)
        paths[path] = memory
        text = written_concept(memory, before.values if before else None, project=True)
        if before is None or hashlib.sha256(text.encode()).hexdigest() != before.digest:
            _note(result, writer.write(path, text, before.digest if before else None), result.written, path)
    _write_index(root, writer, index_page(paths), replace=True, result=result)
    if result.problems and not result.written and not bundle.files and shared.living:
        raise InvalidInput("DIR", str(result.problems[-1]), "Name a folder of yours.")
    result.added = len(paths)
    return result


def _write_index(root: Path, writer: FolderWriter, text: str, *, replace: bool, result: Synced) -> None:
    place = root / "index.md"
    expected = hashlib.sha256(place.read_bytes()).hexdigest() if place.is_file() else None
    if (expected is None or replace) and hashlib.sha256(text.encode()).hexdigest() != expected:
        _note(result, writer.write("index.md", text, expected), [], "index.md")


def _note(result: Synced, problem: Problem | None, done: list[str], path: str) -> None:
    if problem is None:
        done.append(path)
    else:
        result.problems.append(problem)


@dataclass(frozen=True, slots=True)
class Answers:
    """What a person decided about a sync, by path; what was not asked yet waits for the next time."""

    conflicts: Mapping[str, str] = field(default_factory=dict)  # both (the default), file or store
    gone: Mapping[str, bool] = field(default_factory=dict)  # whether to forget the memory of a file that is gone


async def sync(
    session: Session,
    root: Path,
    state_file: Path,
    *,
    project: str,
    trust: bool = False,
    dry_run: bool = False,
    answers: Answers | None = None,
) -> Synced:
    """Bring a folder and the memories of a project in step; call it inside `one_sync_at_a_time`.

    Raises:
        InvalidInput: if the folder cannot be read, or lost all its files.
        StoreError: if the store cannot be read or written.
    """
    bundle = read_bundle(root)
    known = _read_state(state_file)
    if known and not bundle.files and not bundle.unreadable and len(known) > 1:
        raise InvalidInput(
            "DIR",
            f"{root} has no memory left of {len(known)} that were synced",
            f"If that is meant, forget them with `reverie forget`; to begin anew, remove {state_file}.",
        )
    ids = [*(base.memory_id for base in known.values()), *(c.memory_id for c in bundle.files.values() if c.memory_id)]
    shared = await shared_memories(session, project, ids)
    store = _view(shared)
    plan = compare(known, bundle.files, bundle.unreadable, store)
    result = Synced(problems=[*bundle.problems, *plan.problems], merged=plan.merged)
    if dry_run:
        return _foreseen(result, plan)
    answers = answers or Answers()
    settled = resolved(plan, answers.conflicts, store)
    result.conflicts = [conflict.path for conflict, _ in settled]
    await _forget_gone(session, plan, answers, result)
    await _pull(session, plan.pulls, store, result, project=project, trust=trust)
    beside = {push.memory_id for push in plan.pushes if not push.path}
    kept_both = [(c.memory.id, new_id, c.path) for c, new_id in settled if c.memory.id in beside]
    result.questions = await ask_which_holds(session, kept_both) if kept_both else 0
    after = await shared_memories(session, project, [pull.memory_id for pull in plan.pulls])
    tracked = _push(root, plan, after, bundle, result)
    _write_state(state_file, _with_pulled(tracked, plan, after))
    return result


def _view(shared: SharedMemories) -> StoreView:
    return StoreView(shared.living, shared.heads, shared.states)


def _foreseen(result: Synced, plan: SyncPlan) -> Synced:
    result.added = sum(not (pull.replaces or pull.is_update) for pull in plan.pulls)
    result.revised = sum(bool(pull.replaces) for pull in plan.pulls)
    result.updated = sum(pull.is_update for pull in plan.pulls)
    result.written = [push.path or push.memory_id for push in plan.pushes]
    result.removed = [concept.path for concept in plan.remove]
    result.conflicts = [conflict.path for conflict in plan.conflicts]
    result.pending = list(plan.forget.values())
    return result


async def _forget_gone(session: Session, plan: SyncPlan, answers: Answers, result: Synced) -> None:
    """Forget the memories whose files are gone, softly, if that is agreed to; if it is not, write the files again."""
    agreed = [one for one, path in plan.forget.items() if answers.gone.get(path) is True]
    forgotten: set[str] = set()
    session.served.note_ids(agreed)
    for start in range(0, len(agreed), MOST_IDS):
        part = tuple(agreed[start : start + MOST_IDS])
        done = await forget(session, ForgetRequest(ids=part, reason="its file was removed from the synced folder"))
        forgotten.update(done.forgotten)
    result.forgotten = sorted(forgotten)
    for one, path in plan.forget.items():
        if path not in answers.gone:
            result.pending.append(path)
            continue
        base = plan.tracked.pop(path, None)
        if one in forgotten:
            continue
        if path in plan.deprecated and base is not None:
            plan.tracked[path] = base
        else:
            plan.pushes.append(Push(path, one))
        if answers.gone[path]:
            result.problems.append(Problem(path, 0, f"{one} is pinned: it stays, and so does its file"))


async def _pull(
    session: Session, pulls: Sequence[Pull], store: StoreView, result: Synced, *, project: str, trust: bool
) -> None:
    """Write what the files changed, through the gate that every import passes."""
    if not pulls:
        return
    lines: list[Line | BadLine] = [Line(number, _line(pull, store, project)) for number, pull in enumerate(pulls, 1)]
    tally = await import_lines(session, lines, lambda _: None, trust=trust)
    result.revised = await supersede_each(
        session, {pull.replaces: (pull.memory_id, f"edited in {pull.path}") for pull in pulls if pull.replaces}
    )
    result.updated = sum(pull.is_update for pull in pulls)
    past = sum(pull.is_past for pull in pulls)
    result.added = max(0, tally.added - tally.quarantined - result.revised - past)
    result.quarantined, result.redacted = tally.quarantined, tally.redacted
    result.problems += [Problem(pulls[bad.line - 1].path, 0, bad.reason) for bad in tally.bad_lines]
    texts = {pull.path: str(pull.concept.fields["content"]) for pull in pulls}
    purged = session.store.purged_texts.among(texts.values()) if tally.purged else set()
    for pull in pulls:
        if texts[pull.path] in purged:
            result.problems.append(Problem(pull.path, 0, "its text was purged from this store and stays out"))
        elif pull.memory_id in tally.forgotten_ids:
            result.problems.append(Problem(pull.path, 0, f"{pull.memory_id} was forgotten here and stays so"))


def _line(pull: Pull, store: StoreView, project: str) -> dict[str, Any]:
    """Return the import line of a file's change."""
    given = {name: value for name, value in pull.fields.items() if value is not None or name == "forget_after"}
    if pull.is_update:
        memory = store.living[pull.memory_id]
        if given.get("title") == "":
            given["title"] = title_of(memory.content)
        return {"id": memory.id, "content": memory.content, **given}
    here = {"project": project, "id": pull.memory_id, "source_ref": pull.path}
    if not pull.replaces:
        derived = {"derived_from": [pull.parent]} if pull.parent else {}
        past = {"status": "superseded", "superseded_by": pull.parent} if pull.is_past else {}
        return {**import_fields(pull.concept), **here, **derived, **past}
    old = store.living[pull.replaces]
    kept = {name: value for name, value in shared_fields(old).items() if value not in (None, [], "")}
    del kept["happened_at"]  # the new text is of now
    if not given.get("title") and old.title == title_of(old.content):
        given["title"] = title_of(str(pull.concept.fields["content"]))
    return {**kept, **given, **here, "trust": old.trust, "source": old.source, "derived_from": [old.id]}


def _push(root: Path, plan: SyncPlan, after: SharedMemories, bundle: Bundle, result: Synced) -> dict[str, Known]:
    """Write and remove files, and return what is the same now."""
    writer = FolderWriter(root)
    tracked = dict(plan.tracked)
    taken = {*bundle.files, *bundle.unreadable, *tracked}
    for concept in plan.remove:
        _note(result, writer.remove(concept), result.removed, concept.path)
    for push in plan.pushes:
        memory = after.living.get(push.memory_id)
        if memory is None:
            continue  # held back, or purged: what the file says stays there
        path = push.path or file_name(memory, taken)
        taken.add(path)
        fields = shared_fields(memory)
        text = written_concept(memory, push.before.values if push.before else None, fields)
        expected = push.before.digest if push.before else None
        if expected != hashlib.sha256(text.encode()).hexdigest():
            problem = writer.write(path, text, expected)
            _note(result, problem, result.written, path)
            if problem is not None:
                continue
        written = parse_concept(path, text.encode())
        if isinstance(written, Concept):
            tracked[path] = Known(memory.id, written.fields, fields)
    _write_index(root, writer, index_page(), replace=False, result=result)
    return tracked


def _with_pulled(tracked: dict[str, Known], plan: SyncPlan, after: SharedMemories) -> dict[str, Known]:
    """Add the files whose change went to the store and that were not written again."""
    for pull in plan.pulls:
        if pull.path in tracked:
            continue
        memory = after.living.get(pull.memory_id)
        held = after.states.get(pull.memory_id) == "quarantined"
        if memory is not None:
            tracked[pull.path] = Known(memory.id, pull.concept.fields, shared_fields(memory))
        elif held and pull.replaces in after.living:  # not believed: the store goes on with what it had
            old = after.living[pull.replaces]
            tracked[pull.path] = Known(old.id, pull.concept.fields, shared_fields(old))
        elif held:
            tracked[pull.path] = Known(pull.memory_id, pull.concept.fields, {})
    return tracked


def _read_state(file: Path) -> dict[str, Known]:
    """Return what was noted at the last sync; nothing if there was none or it cannot be read."""
    try:
        noted = json.loads(file.read_text("utf-8"))
        if noted["version"] != _STATE_VERSION:
            return {}
        return {
            str(path): Known(str(one["id"]), dict(one["file"]), dict(one["store"]))
            for path, one in noted["files"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _write_state(file: Path, tracked: Mapping[str, Known]) -> None:
    noted = {
        "version": _STATE_VERSION,
        "files": {
            path: {"id": one.memory_id, "file": _noted(one.file), "store": _noted(one.store)}
            for path, one in sorted(tracked.items())
        },
    }
    text = json.dumps(noted, ensure_ascii=False, indent=1)
    if file.is_file() and file.read_text("utf-8") == text:
        return
    beside = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        beside.write_text(text, "utf-8")
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def _noted(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fingerprint(fields.get(name)) for name in SHARED}
