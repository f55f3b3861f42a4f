"""A memory from the fields that a line of an import gives."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from reverie.errors import InvalidInput
from reverie.identity import content_hash
from reverie.lifecycle.stability import first_stability
from reverie.lifecycle.trust import imported_trust, trust_of
from reverie.memory import Anchor, Memory, Source
from reverie.record import FIELDS, decode
from reverie.tools.arguments import checked_content, checked_label
from reverie.tools.classify import classified, classify
from reverie.tools.remember import title_of
from reverie.tools.screening import held_if_suspect, says_the_same, still_held
from reverie.tools.workspace import Workspace

if TYPE_CHECKING:
    from reverie.storage.rows import Vector

_MADE_ANEW = ("vector", "content_hash", "embedder")
_MAY_BE_NULL = frozenset(part.name for part in dataclasses.fields(Memory) if part.default is None)
_LET_GO = ("expired", "superseded")
_AN_INSTANT = timedelta(microseconds=1)
_VOUCHED = ("source", "trust", "confirmations", "confirmed_by")


def checked_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a line gives, read and checked; null where there must be a value counts as not given.

    Raises:
        InvalidInput: naming the first field that is wrong.
    """
    if values.get("content") is None:
        raise InvalidInput("content", "is missing", "Every memory needs its text there.")
    fields: dict[str, Any] = {}
    for name, value in values.items():
        if name in _MADE_ANEW or (value is None and name not in _MAY_BE_NULL):
            continue
        fields[name] = decode(name, value)
    checked_content(fields["content"])
    for name in ("title", "project"):
        checked_label(name, fields.get(name, ""))
    if any(not checked_label("tags", tag).strip() for tag in fields.get("tags", ())):
        raise InvalidInput("tags", "a tag is empty", "Leave it out.")
    return fields


@dataclass(frozen=True, slots=True)
class Read:
    """A line that was read: its fields, when it was, and whether it is taken at its word."""

    fields: Mapping[str, Any]
    at: datetime
    believed: bool


def drafted(workspace: Workspace, read: Read, base: Memory | None, now: datetime) -> Memory:
    """Lay out the memory a line stands for: over the one it updates, or with the defaults of `remember`.

    A line that proves nothing speaks for itself only: its source is the import, its trust is capped, nobody has
    confirmed it, its evidence is of no folder, and its text is judged whatever status it claims.
    """
    fields = read.fields
    if base is None:
        memory = _new(workspace, fields, read.at, now)
        return (
            memory
            if read.believed
            else held_if_suspect(_unproven(memory, fields.get("trust")), None, workspace.embedder)
        )
    given = {name: value for name, value in fields.items() if name in FIELDS}
    given["content_hash"] = content_hash(fields["content"])
    if given["content_hash"] != base.content_hash:
        given.setdefault("title", title_of(fields["content"]))
        if given.get("updated_at") == base.updated_at:
            del given["updated_at"]
    if read.believed:
        given["trust"] = _trust(fields, base)
    memory = replace(base, **given, embedder=workspace.embedder.stamp)
    if read.believed:
        memory = still_held(memory, base)
    elif says_the_same(memory, base):  # what was said here before is worth what it was
        vouched = {name: getattr(base, name) for name in _VOUCHED}
        memory = held_if_suspect(
            replace(memory, **vouched, anchors=_nowhere(memory.anchors, base)), base, workspace.embedder
        )
    else:
        trust = min(base.trust, imported_trust(fields.get("trust")))
        memory = held_if_suspect(_unproven(memory, trust, base), base, workspace.embedder)
    if memory == base or "updated_at" in given:
        return memory
    # Never the moment it had: other sessions tell by it that the vector is another.
    return replace(memory, updated_at=max(now, base.updated_at + _AN_INSTANT))


def _unproven(memory: Memory, trust: float | None, base: Memory | None = None) -> Memory:
    return replace(
        memory,
        source="import",
        trust=imported_trust(trust),
        confirmations=0,
        confirmed_by=(),
        anchors=_nowhere(memory.anchors, base),
    )


def _nowhere(anchors: tuple[Anchor, ...], base: Memory | None) -> tuple[Anchor, ...]:
    """Return anchors without the folder that a file names: where to look comes from the session, not from data."""
    known = base.anchors if base is not None else ()
    return tuple(anchor if anchor in known else replace(anchor, root=None) for anchor in anchors)


def completed(workspace: Workspace, memory: Memory, fields: Mapping[str, Any], vector: "Vector | None") -> Memory:
    """Return a new memory with the kind and layer that its line leaves open, now that its vector is known."""
    return classified(
        memory,
        vector,
        kind_given="kind" in fields,
        layer_given="layer" in fields,
        default_tier=workspace.settings.tier,
    )


def _new(workspace: Workspace, fields: Mapping[str, Any], at: datetime, now: datetime) -> Memory:
    content = fields["content"]
    guess = classify(content, kind=fields.get("kind"))  # by words, until its vector is there
    created_at = fields.get("created_at", at)
    defaults: dict[str, Any] = {
        "title": title_of(content),
        "kind": guess.kind,
        "layer": guess.layer,
        "project": workspace.here.project,
        "source": "import",
        "stability": first_stability(fields.get("importance", 0.5)),
        "created_at": created_at,
        "happened_at": created_at,
        "updated_at": now,
        "expired_at": now if fields.get("status") in _LET_GO else None,
    }
    made = {
        "trust": _trust(fields, None),
        "content_hash": content_hash(content),
        "embedder": workspace.embedder.stamp,
    }
    return Memory(**{**defaults, **fields, **made})


def _trust(fields: Mapping[str, Any], base: Memory | None) -> float:
    """Return the trust of a line that is taken at its word: what it says, or what its source has."""
    if "trust" in fields:
        return float(fields["trust"])
    if base is not None and "source" not in fields:
        return base.trust
    source: Source = fields.get("source") or "import"
    return trust_of(source)
