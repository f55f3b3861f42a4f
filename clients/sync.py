"""What a folder and the store changed since they were last in step: a three-way comparison, which changes nothing.

For every file it is known what the file and the memory said at the last sync. A field that only one side changed is
carried to the other. Where both changed a text, both are kept. A file that is gone means that its memory is to be
forgotten, unless the memory changed since; a memory that somebody forgot takes its file along, unless that changed.
"""

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Literal

from reverie.clients.okf import SHARED, Concept, shared_fields
from reverie.ids import content_hash, derived_id
from reverie.memory import Memory
from reverie.tools.import_files import Problem

StoredState = Literal["living", "quarantined", "expired", "forgotten", "elsewhere", "unknown"]
"""What became of a memory: there, in quarantine, expired by itself, forgotten by somebody, of another project or not
shared, not in this store."""


@dataclass(frozen=True, slots=True)
class Known:
    """What was the same at the last sync: a file's memory, and what each side said of it."""

    memory_id: str
    file: Mapping[str, Any]
    store: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoreView:
    """What the store has: the living memories to be shared, and what became of ids that files name."""

    living: Mapping[str, Memory]
    heads: Mapping[str, str] = field(default_factory=dict)  # an id, and the living memory that stands in for it
    states: Mapping[str, StoredState] = field(default_factory=dict)

    def head(self, memory_id: str) -> Memory | None:
        """Return the living memory of an id: itself, or what it was revised to or merged into."""
        return self.living.get(self.heads.get(memory_id, memory_id))

    def state(self, memory_id: str) -> StoredState:
        """Return what became of an id."""
        return "living" if self.head(memory_id) is not None else self.states.get(memory_id, "unknown")


@dataclass(frozen=True, slots=True)
class Pull:
    """A file's change that goes to the store: a new memory, a new version of one, or other values for it."""

    path: str
    memory_id: str
    concept: Concept
    replaces: str = ""  # the living memory whose new version it is
    fields: Mapping[str, Any] = field(default_factory=dict)  # what the file changed of an existing memory
    parent: str = ""  # what it derives from, if that is no longer there or stays beside it
    is_past: bool = False  # kept as history only: the store's version stands

    @property
    def is_update(self) -> bool:
        """Whether an existing memory keeps its text and gets other values."""
        return bool(self.fields) and not self.replaces


@dataclass(frozen=True, slots=True)
class Push:
    """A file to be written, for a memory as it is after the pulls; `expected` is the digest it must still have."""

    path: str
    memory_id: str
    before: Concept | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """Both sides changed a text since the last sync."""

    path: str
    concept: Concept
    memory: Memory
    base_id: str


@dataclass(slots=True)
class SyncPlan:
    """What a sync would do."""

    pulls: list[Pull] = field(default_factory=list)
    pushes: list[Push] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    forget: dict[str, str] = field(default_factory=dict)  # a memory's id, and the path of its file that is gone
    deprecated: set[str] = field(default_factory=set)  # of those, the paths of files that are there and say so
    remove: list[Concept] = field(default_factory=list)  # files whose memory somebody forgot here
    tracked: dict[str, Known] = field(default_factory=dict)  # path to what is the same now, before anything is done
    problems: list[Problem] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)  # paths where both sides changed one field, and the file's stands

    @property
    def is_empty(self) -> bool:
        """Whether both sides are in step."""
        return not (self.pulls or self.pushes or self.conflicts or self.forget or self.remove)


def compare(
    known: Mapping[str, Known], files: Mapping[str, Concept], unreadable: Set[str], store: StoreView
) -> SyncPlan:
    """Compare what both sides say now with what they said at the last sync."""
    plan = SyncPlan()
    known = _renamed(known, files, unreadable, store)
    taken: set[str] = set()  # memories that have a file
    for path, base in known.items():
        if path in unreadable:
            plan.tracked[path] = base
            taken |= {base.memory_id, store.heads.get(base.memory_id, base.memory_id)}
            continue
        _tracked_file(plan, path, base, files.get(path), store, taken)
    for path, concept in files.items():
        if path not in known:
            _new_file(plan, path, concept, store, taken)
    for memory_id in store.living:
        if memory_id not in taken:
            plan.pushes.append(Push("", memory_id))
    return plan


def _renamed(
    known: Mapping[str, Known], files: Mapping[str, Concept], unreadable: Set[str], store: StoreView
) -> dict[str, Known]:
    """Follow files that were moved: the old path is gone and a new one has the same id."""
    moved: dict[str, str] = {}
    for path, concept in files.items():
        if path not in known and concept.memory_id:
            moved[store.heads.get(concept.memory_id, concept.memory_id)] = path
            moved[concept.memory_id] = path
    found: dict[str, Known] = {}
    for path, base in known.items():
        is_gone = path not in files and path not in unreadable
        found[moved.get(base.memory_id, path) if is_gone else path] = base
    return found


def _tracked_file(
    plan: SyncPlan, path: str, base: Known, concept: Concept | None, store: StoreView, taken: set[str]
) -> None:
    memory = store.head(base.memory_id)
    if memory is not None and memory.id in taken:  # two were merged into one, which has its file
        if concept is not None and not changed_fields(concept.fields, base.file):
            plan.remove.append(concept)
        elif concept is not None:
            _pull_as_new(plan, path, base, concept, store)
        return
    if memory is not None:
        taken.add(memory.id)
    if concept is None:
        _missing_file(plan, path, base, memory, store)
    elif memory is None:
        _without_memory(plan, path, base, concept, store)
    elif concept.is_deprecated:
        plan.forget[memory.id] = path
        plan.deprecated.add(path)
        plan.tracked[path] = base
    else:
        _both_there(plan, path, base, concept, memory, store)


def _missing_file(plan: SyncPlan, path: str, base: Known, memory: Memory | None, store: StoreView) -> None:
    if memory is None:
        if store.state(base.memory_id) == "quarantined":
            plan.tracked[path] = base
        return
    if memory.id != base.memory_id or changed_fields(shared_fields(memory), base.store):
        plan.pushes.append(Push(path, memory.id))  # it changed since: written again
        return
    plan.forget[memory.id] = path
    plan.tracked[path] = base


def _without_memory(plan: SyncPlan, path: str, base: Known, concept: Concept, store: StoreView) -> None:
    state = store.state(base.memory_id)
    if state == "quarantined" or concept.is_deprecated:
        plan.tracked[path] = base
    elif changed_fields(concept.fields, base.file):
        _pull_as_new(plan, path, base, concept, store)
    elif state == "forgotten":
        plan.remove.append(concept)
    elif state == "unknown":  # purged, and then the gate keeps it out, or the store is an older one
        plan.pulls.append(Pull(path, base.memory_id, concept))
    else:  # it faded here by itself: that is no decision about the folder
        plan.tracked[path] = base


def _pull_as_new(plan: SyncPlan, path: str, base: Known, concept: Concept, store: StoreView) -> None:
    """Keep the text of a file whose memory is no longer there."""
    memory_id = _id_for(concept, base.memory_id, store)
    plan.pulls.append(Pull(path, memory_id, concept, parent=base.memory_id))
    plan.pushes.append(Push(path, memory_id, concept))


def _both_there(plan: SyncPlan, path: str, base: Known, concept: Concept, memory: Memory, store: StoreView) -> None:
    here = shared_fields(memory)
    in_file, in_store = changed_fields(concept.fields, base.file), changed_fields(here, base.store)
    disputed = {name for name in in_file & in_store if concept.fields[name] != here[name]}
    if "content" in disputed:
        plan.conflicts.append(Conflict(path, concept, memory, base.memory_id))
        return
    if disputed:
        plan.merged.append(path)
    carried = {name: concept.fields[name] for name in in_file if concept.fields[name] != here[name]}
    if "tags" in disputed:
        carried["tags"] = list(dict.fromkeys([*concept.fields["tags"], *here["tags"]]))
    if "content" in carried:
        memory_id = _id_for(concept, memory.id, store)
        plan.pulls.append(Pull(path, memory_id, concept, replaces=memory.id, fields=carried))
        plan.pushes.append(Push(path, memory_id, concept))
        return
    if carried:
        plan.pulls.append(Pull(path, memory.id, concept, fields=carried))
    after = {**here, **carried}
    # An id alone is no reason to write: two stores that know one text by two ids would never rest.
    if not concept.memory_id or any(concept.fields[name] != after[name] for name in in_store):
        plan.pushes.append(Push(path, memory.id, concept))
    elif not carried:
        plan.tracked[path] = Known(memory.id, concept.fields, here)


def _new_file(plan: SyncPlan, path: str, concept: Concept, store: StoreView, taken: set[str]) -> None:
    if concept.is_deprecated:
        return
    memory = store.head(concept.memory_id) if concept.memory_id else None
    state = store.state(concept.memory_id) if concept.memory_id else "unknown"
    if memory is not None and memory.id in taken:
        if concept.fields["content"] == shared_fields(memory)["content"]:
            plan.problems.append(Problem(path, 0, f"a copy of the file of {memory.id}: left out"))
        else:
            plan.pulls.append(Pull(path, _id_for(concept, concept.memory_id, store), concept))
            plan.pushes.append(Push(path, plan.pulls[-1].memory_id, concept))
    elif memory is not None:
        taken.add(memory.id)
        here = shared_fields(memory)
        if concept.fields["content"] == here["content"]:
            plan.tracked[path] = Known(memory.id, concept.fields, here)
        else:
            plan.conflicts.append(Conflict(path, concept, memory, memory.id))
    elif state in _NOT_TAKEN:
        plan.problems.append(Problem(path, 0, f"{concept.memory_id} {_NOT_TAKEN[state]}; the file is left as it is"))
    else:
        memory_id = concept.memory_id or _id_for(concept, path, store)
        taken.add(memory_id)
        plan.pulls.append(Pull(path, memory_id, concept))
        if not concept.memory_id:
            plan.pushes.append(Push(path, memory_id, concept))


_NOT_TAKEN: Mapping[str, str] = {
    "forgotten": "was forgotten here (`reverie restore` brings it back)",
    "expired": "has expired here (`reverie restore` brings it back)",
    "quarantined": "is held back for review (see `reverie quarantine`)",
    "elsewhere": "is a memory of another project here, or one that is not shared",
}


def _id_for(concept: Concept, base_id: str, store: StoreView) -> str:
    """Return the id of a new version: the file's own if it is new, else one that every store gives it alike."""
    given = concept.memory_id
    if given and given != base_id and store.state(given) == "unknown":
        return given
    return derived_id(f"sync\0{base_id}\0{content_hash(concept.fields['content'])}".encode())


def changed_fields(now: Mapping[str, Any], before: Mapping[str, Any]) -> set[str]:
    """Return the fields that differ; each side may be given as values or as what was noted of them."""
    return {name for name in SHARED if fingerprint(now.get(name)) != fingerprint(before.get(name))}


def fingerprint(value: Any) -> str:
    """Return what is noted of a field until the next sync: no text, so that a purge leaves none behind."""
    if isinstance(value, str) and value.startswith(_FINGERPRINT):
        return value
    return _FINGERPRINT + content_hash(json.dumps(value, sort_keys=True))[:24]


_FINGERPRINT = "noted:"


def resolved(plan: SyncPlan, choices: Mapping[str, str], store: StoreView) -> Sequence[tuple[Conflict, str]]:
    """Turn each conflict into what was chosen for its path: `both` (the default), `file` or `store`.

    Returns the conflicts with the id of the file's version.
    """
    settled: list[tuple[Conflict, str]] = []
    for conflict in plan.conflicts:
        path, concept, memory = conflict.path, conflict.concept, conflict.memory
        memory_id = _id_for(concept, conflict.base_id, store)
        if memory_id == memory.id:
            memory_id = derived_id(f"sync\0both\0{memory.id}\0{content_hash(concept.fields['content'])}".encode())
        match choices.get(path, "both"):
            case "file":
                given = {name: value for name, value in concept.fields.items() if value not in (None, [], "")}
                plan.pulls.append(Pull(path, memory_id, concept, replaces=memory.id, fields=given))
                plan.pushes.append(Push(path, memory_id, concept))
            case "store":
                # Its text is kept in the store's history, where the memory can be found again.
                plan.pulls.append(Pull(path, memory_id, concept, parent=memory.id, is_past=True))
                plan.pushes.append(Push(path, memory.id, concept))
            case _:
                plan.pulls.append(Pull(path, memory_id, concept, parent=conflict.base_id))
                plan.pushes += [Push(path, memory_id, concept), Push("", memory.id)]
        settled.append((conflict, memory_id))
    plan.conflicts = []
    return settled
