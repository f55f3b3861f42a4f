"""Secrets and private parts, removed from every text before it is embedded, written, exported or sent anywhere."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from reverie.guard.assignments import assigned_secrets_in
from reverie.guard.credentials import credentials_in
from reverie.guard.entropy import Span, is_mask, lowered, runs_of
from reverie.guard.positional_secrets import positional_secrets_in, secrets_after_cues_in
from reverie.guard.vendor_rules import SHAPES, prefixed_in

_TAG = re.compile(r"<\s*(?P<closing>/?)\s*private\b[^<>]{0,100}>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Public:
    """A text without its private parts, and how many there were."""

    text: str
    dropped: int = 0


def without_private(text: str) -> Public:
    """Drop everything within `<private>…</private>`; a part that is never closed goes to the end of the text."""
    if "private" not in text.lower():
        return Public(text)
    kept: list[str] = []
    depth = at = dropped = 0
    for tag in _TAG.finditer(text):
        if tag["closing"]:
            if depth:
                depth -= 1
                at = tag.end()
        else:
            if depth == 0:
                kept.append(text[at : tag.start()])
                dropped += 1
            depth += 1
            at = tag.end()
    if depth == 0:
        kept.append(text[at:])
    return Public("".join(kept), dropped) if dropped else Public(text)


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and what kinds they were, in their order."""

    text: str
    found: tuple[str, ...] = ()


def redact(text: str) -> Redacted:
    """Replace each secret by a mark that names its kind: `[redacted: aws-access-key]`."""
    if len(text) < _SHORTEST:
        return Redacted(text)
    spans = _without_overlaps(span for span in _found_in(text) if not _is_public(text, span))
    if not spans:
        return Redacted(text)
    parts: list[str] = []
    at = 0
    for span in spans:
        parts += [text[at : span.start], mark(span.kind)]
        at = span.end
    return Redacted("".join([*parts, text[at:]]), tuple(span.kind for span in spans))


def mark(kind: str) -> str:
    """Return the mark that replaces a secret."""
    return f"[redacted: {kind}]"


_SHORTEST = 7


def _found_in(text: str) -> Iterator[Span]:
    runs = runs_of(text)
    for span in (*_shaped(runs.text), *prefixed_in(runs.text)):
        yield Span(*runs.place(span.start, span.end), span.kind)
    lower = lowered(text)
    yield from credentials_in(text, lower)
    yield from assigned_secrets_in(text, lower)
    yield from positional_secrets_in(text, lower)
    yield from secrets_after_cues_in(text, lower)


def _shaped(text: str) -> Iterator[Span]:
    present = {needle for needle in _needles() if needle in text}
    for shape in SHAPES:
        if not present.isdisjoint(shape.needles):
            for found in shape.compiled.finditer(text):
                if not is_mask(found[0]):
                    yield Span(*found.span(), shape.kind)


_PUBLIC_BEFORE = re.compile(
    r"(?:public|publishable|site|search-only|client-side|verification)[ _-]?keys?\W{0,4}(?:is|are|="
    r"|:)?\W{0,4}$|publickey\W{0,6}$"
    r"|(?:fingerprint|message[ -]id|recipient|request[ -]id|trace[ -]id|public key (?:of|for|from)(?: \w{1,20}){1,4}?)"
    r"\W{0,4}(?:is|=|:)?\W{0,4}$",
    re.IGNORECASE,
)
_PUBLIC_SHAPE = re.compile(r"(?:pk_(?:live|test)_|pk\.eyJ|sb_publishable_|age1|ssh-|AAAA[BCE]|G-|GTM-|UA-)")
_DOCUMENTED = re.compile(r"EXAMPLE(?:KEY)?$|^(?:sk|pk|ghp|xox\w|AKIA)[-_]?(?:\.{3}|x{4,}|X{4,})")


def _is_public(text: str, span: Span) -> bool:
    """Return whether a match is meant to be public: a public key, a documented example, a tutorial's password."""
    value = text[span.start : span.end]
    if _DOCUMENTED.search(value) or (_PUBLIC_SHAPE.match(value) and span.kind in _VAGUE):
        return True
    before = text[max(0, span.start - 40) : span.start]
    if span.kind == "password-in-address":
        user = re.search(r"//(\w+):$", before)
        return user is not None and user[1] == value and bool(_LOCAL.match(text, span.end))
    return span.kind in _VAGUE and bool(_PUBLIC_BEFORE.search(before))


_LOCAL = re.compile(r"@(?:localhost|127\.0\.0\.1|db|postgres|mysql)\b")


@cache
def _needles() -> frozenset[str]:
    return frozenset(needle for shape in SHAPES for needle in shape.needles)


def _without_overlaps(spans: Iterable[Span]) -> list[Span]:
    """Keep the spans of vendor patterns, and of the others the longest that covers each overlap."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        last = kept[-1] if kept else None
        if last is None or span.start >= last.end:
            kept.append(span)
        else:
            kind = last.kind if last.kind not in _VAGUE else span.kind
            kept[-1] = Span(last.start, max(last.end, span.end), kind)
    return kept


_VAGUE = ("secret", "password", "authorization", "cookie", "prefixed-token")
