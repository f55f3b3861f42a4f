"""Screening what comes in, before it is embedded or written: private parts, secrets, planted instructions."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from reverie.embeddings.base import Embedder, Embedding
from reverie.embeddings.classifier import bundled_model, embedder_for_models, lower_layers
from reverie.guard.injection import orders_in
from reverie.guard.injection_features import cues_in, marks_in, statements_in
from reverie.guard.secrets import redact, without_private
from reverie.ids import derived_id
from reverie.memory import Anchor, Memory
from reverie.record import checked_text
from reverie.tools.arguments import checked_content, checked_files, checked_label, checked_tags

if TYPE_CHECKING:
    from reverie.tools.remember import Request


PROBABLE = 0.90
"""A statement is held back from here on: 2 % of the near-miss notes are, each judged unseen (decision 0012)."""
_MOST_STATEMENTS = 1_500
_MOST_JUDGED = 48


def likelihood(statement: str, cues: Sequence[float]) -> float:
    """Return how likely one statement is a planted order, given its cues."""
    return bundled_model("orders").probabilities_of_pieces(lower_layers().pieces(statement), cues)["order"]


def injection_by_meaning(content: str, title: str, embedder: Embedder | None) -> tuple[str, ...]:
    """Say why a text is held back by its meaning; nothing if it is not, or if there is no model to judge by.

    Each statement is judged alone. A title that only repeats the text is left out.
    """
    if embedder_for_models(embedder) is None:
        return ()
    statements = list(dict.fromkeys(islice(statements_in(content), _MOST_STATEMENTS)))
    if title and not content.startswith(title.rstrip("…")):
        statements += statements_in(title)
    for statement, cues in _likeliest(statements):
        if likelihood(statement, cues) >= PROBABLE:
            marks = ", ".join(marks_in(statement))
            return (f"reads like a planted order ({marks})" if marks else "reads like a planted order",)
    return ()


def _likeliest(statements: list[str]) -> list[tuple[str, list[float]]]:
    """Return statements with their cues: all, or of very many those that are likeliest by their cues alone."""
    if len(statements) > _MOST_JUDGED:
        model = bundled_model("orders")
        scored = [(model.without_vector(cues_in(statement))["order"], statement) for statement in statements]
        scored.sort(key=lambda row: -row[0])  # the rows themselves would be many megabytes
        statements = [statement for _, statement in scored[:_MOST_JUDGED]]
    return [(statement, cues_in(statement)) for statement in statements]


PRIVATE = "private"
_TEXTS = ("content", "title", "source_ref", "status_reason", "project", "branch", "session")
_TEXT_LISTS = ("tags", "entities", "confirmed_by", "sessions")
_IDS = ("id", "superseded_by")
_ID_LISTS = ("derived_from",)
_OWN_ID: Final = re.compile(r"[0-9a-z]{1,16}")
"""The form of the ids that we make: no vendor's token is so short and plain."""

_SHORT = 1_000


@dataclass(frozen=True, slots=True)
class Screening:
    """What was taken out of a text, and what in it speaks to the assistant."""

    redactions: tuple[str, ...] = ()
    orders: tuple[str, ...] = ()

    def held_back(self, source: str) -> str | None:
        """Return why a text of this source goes to quarantine; None if it does not."""
        if not self.orders or source == "human":
            return None
        return f"held back for review: {'; '.join(self.orders)}"

    def warnings(self, source: str) -> list[str]:
        """Say what the caller should know."""
        told = []
        if self.redactions:
            kinds = ", ".join(dict.fromkeys(self.redactions))
            told.append(f"{len(self.redactions)} secret or private part(s) were not kept: {kinds}")
        if self.orders and source == "human":
            told.append(
                f"kept as the user's word, though it reads like orders to an assistant: {'; '.join(self.orders)}"
            )
        elif self.orders:
            told.append(f"quarantined, not recalled until somebody reviews it: {'; '.join(self.orders)}")
        return told


def cleaned(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a text without its private parts and secrets, and what those were."""
    # Paths, branches and sessions come again and again; a scan takes a third of a millisecond.
    return _cleaned_before(text) if len(text) <= _SHORT else _cleaned_now(text)


def cleaned_label(argument: str, text: str) -> str:
    """Return a short text that a caller gave, as it may be kept.

    Raises:
        InvalidInput: if it is too long or not valid Unicode.
    """
    return cleaned(checked_label(argument, text))[0]


def _cleaned_now(text: str) -> tuple[str, tuple[str, ...]]:
    public = without_private(text)
    redacted = redact(public.text)
    return redacted.text, (*([PRIVATE] * public.dropped), *redacted.found)


_cleaned_before = lru_cache(maxsize=4096)(_cleaned_now)


def screened(request: "Request") -> tuple["Request", Screening]:
    """Return a request as it may be kept, and what was found in it.

    Raises:
        InvalidInput: if there is no text, or more than is ever looked at.
    """
    # Sizes come before the scan: a text of any length could keep it busy.
    checked_content(request.content)
    for name in ("title", "project"):
        checked_label(name, getattr(request, name))
    checked_tags(request.tags)
    checked_files(request.files)
    content, found = cleaned(request.content)
    title, in_title = cleaned(request.title)
    tags, in_tags = _each(request.tags)
    files, in_files = _each(request.files)
    project, in_project = cleaned(request.project)
    clean = replace(request, content=content, title=title, tags=tags, files=files, project=project)
    return clean, Screening((*found, *in_title, *in_tags, *in_files, *in_project), addressing(content, title, tags))


def screened_fields(fields: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the fields of a memory as they may be kept or leave, and what was taken out of them."""
    kept = dict(fields)
    found: list[str] = []
    for name in _TEXTS:
        if kept.get(name):
            kept[name], parts = cleaned(kept[name])
            found += parts
    for name in _TEXT_LISTS:
        if kept.get(name):
            values, parts = _each(kept[name])
            kept[name] = tuple(value for value in values if value.strip()) if parts else kept[name]
            found += parts
    for name in _IDS:
        if kept.get(name):
            kept[name], parts = _cleaned_id(kept[name])
            found += parts
    for name in _ID_LISTS:
        cleaned_ids = [_cleaned_id(one) for one in kept.get(name) or ()]
        if any(parts for _, parts in cleaned_ids):
            kept[name] = tuple(one for one, _ in cleaned_ids)
            found += [part for _, parts in cleaned_ids for part in parts]
    if kept.get("anchors"):
        anchors = [_cleaned_anchor(anchor) for anchor in kept["anchors"]]
        if any(parts for _, parts in anchors):
            kept["anchors"] = tuple(anchor for anchor, _ in anchors)
            found += [part for _, parts in anchors for part in parts]
    return kept, tuple(found)


def screened_evidence(memory: Memory) -> Memory:
    """Return a memory with its branch and anchors, which were read from the project, as they may be kept."""
    fields = {"branch": memory.branch, "anchors": memory.anchors}
    clean, found = screened_fields(fields)
    return replace(memory, **clean) if found else memory


def _cleaned_id(given: str) -> tuple[str, tuple[str, ...]]:
    """Return an id; one that is a secret gives way to another that follows from it, so that references still fit."""
    if _OWN_ID.fullmatch(given):
        return given, ()
    _, found = cleaned(given)
    return (derived_id(given.encode()), found) if found else (given, ())


def _cleaned_anchor(anchor: Anchor | Mapping[str, Any]) -> tuple[Anchor | dict[str, Any], tuple[str, ...]]:
    """Return an anchor, as a value or as a line of a file has it, without secrets in any of its texts."""
    parts = asdict(anchor) if isinstance(anchor, Anchor) else dict(anchor)
    clean: dict[str, Any] = {}
    found: list[str] = []
    for name, part in parts.items():
        if isinstance(part, str):
            clean[name], here = cleaned(part)
            found += here
        elif name == "missing_on":
            days, here = _each(part)
            clean[name] = tuple(days)
            found += here
    if not found:
        return anchor if isinstance(anchor, Anchor) else parts, ()
    return replace(anchor, **clean) if isinstance(anchor, Anchor) else parts | clean, tuple(found)


def held_if_suspect(memory: Memory, known: Memory | None, embedder: Embedder | None = None) -> Memory:
    """Return a memory that nobody vouches for, in quarantine if its text gives orders.

    It makes no difference what source it claims, nor what status: what comes in as expired could be restored. A
    memory that is here already with the same text keeps what was decided about it.
    """
    if known is not None and says_the_same(memory, known):
        return still_held(memory, known)
    orders = addressing(memory.content, memory.title, memory.tags, embedder)
    if not orders:
        return memory
    reason = Screening(orders=orders).held_back("import")
    return replace(memory, status="quarantined", status_reason=reason, expired_at=None, superseded_by=None)


def says_the_same(memory: Memory, known: Memory) -> bool:
    """Say whether nothing that a reader sees of a memory would change."""
    return (memory.content_hash, memory.title, memory.tags) == (known.content_hash, known.title, known.tags)


def still_held(memory: Memory, known: Memory) -> Memory:
    """Return a memory, in quarantine if what it is written over is held there with the same text."""
    if known.status != "quarantined" or not says_the_same(memory, known):
        return memory
    return replace(memory, status="quarantined", status_reason=known.status_reason)


def addressing(content: str, title: str, tags: Iterable[str], embedder: Embedder | None = None) -> tuple[str, ...]:
    """Say what in a memory speaks to the assistant; a title that only repeats the text is not looked at twice.

    With an embedder it is also judged by its meaning, unless the signs suffice.
    """
    found = [*orders_in(content)]
    if title and not content.startswith(title):
        found += orders_in(title)
    labels = " \n".join(tags)
    if labels and not labels.isascii():
        labels = labels.encode("ascii", "ignore").decode()  # odd characters in a label are shown to nobody
    found += orders_in(labels)
    return tuple(dict.fromkeys(found)) or injection_by_meaning(content, title, embedder)


def told_of_share(embedding: Embedding) -> list[str]:
    """Say so if a text was too long to be embedded whole."""
    if embedding.share == 1.0:
        return []
    return [
        f"long text: about {embedding.share:.0%} of it, spread evenly, can be found by meaning, all of it "
        "by its words; split it to have every part found"
    ]


def _each(texts: Iterable[str]) -> tuple[list[str], tuple[str, ...]]:
    kept: list[str] = []
    found: list[str] = []
    for text in texts:
        clean, parts = cleaned(checked_text("text", text))
        kept.append(clean)
        found += parts
    return kept, tuple(found)
