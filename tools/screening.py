"""Looking over what comes in, before it is embedded or written: private parts, secrets, orders to the assistant."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from reverie.embeddings.embedder import Embedder
from reverie.guard.instructions import orders_in
from reverie.guard.private import without_private
from reverie.guard.secrets import redact
from reverie.memory import Memory
from reverie.record import checked_text
from reverie.tools.arguments import checked_content, checked_files, checked_label, checked_tags
from reverie.tools.judging import orders_by_meaning

if TYPE_CHECKING:
    from reverie.tools.remember import Request

PRIVATE = "private"
_TEXTS = ("content", "title", "source_ref", "status_reason", "project", "branch")
_TEXT_LISTS = ("tags", "entities")
_RECALLED = ("active", "challenged")


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
    public = without_private(text)
    redacted = redact(public.text)
    return redacted.text, (*([PRIVATE] * public.dropped), *redacted.found)


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
    """Return the fields of an imported memory as they may be kept, and what was taken out of them."""
    kept = dict(fields)
    found: list[str] = []
    for name in _TEXTS:
        if kept.get(name):
            kept[name], parts = cleaned(kept[name])
            found += parts
    for name in _TEXT_LISTS:
        if kept.get(name):
            values, parts = _each(kept[name])
            kept[name] = tuple(values)
            found += parts
    return kept, tuple(found)


def held_if_suspect(memory: Memory, known: Memory | None, embedder: Embedder | None = None) -> Memory:
    """Return an imported memory, in quarantine if its text gives orders.

    A file cannot vouch for a human, so it makes no difference what source it claims. A memory that is here already
    with the same text keeps what was decided about it.
    """
    if memory.status not in _RECALLED:
        return memory
    if known is not None and known.content_hash == memory.content_hash and known.title == memory.title:
        return (
            memory
            if known.status != "quarantined"
            else replace(memory, status="quarantined", status_reason=known.status_reason)
        )
    orders = addressing(memory.content, memory.title, memory.tags, embedder)
    if not orders:
        return memory
    return replace(memory, status="quarantined", status_reason=Screening(orders=orders).held_back("import"))


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
    return tuple(dict.fromkeys(found)) or orders_by_meaning(content, title, embedder)


def _each(texts: Iterable[str]) -> tuple[list[str], tuple[str, ...]]:
    kept: list[str] = []
    found: list[str] = []
    for text in texts:
        clean, parts = cleaned(checked_text("text", text))
        kept.append(clean)
        found += parts
    return kept, tuple(found)
