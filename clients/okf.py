"""The Open Knowledge Format 0.2: a memory as a Markdown file with YAML front matter, and back.

What the format has a key for is written there (type, title, tags, status, stale_after, generated, verified, sources);
the rest is under the one key `reverie`. Keys that are not ours stay in a file that is written again. What changes
with every recall, such as access counts, is left out: a file changes when the memory does.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reverie.clients.front_matter import Document, FrontMatterError, split_document, written_document
from reverie.clients.markdown_notes import decoded
from reverie.errors import InvalidInput
from reverie.ids import ID_PATTERN, short_id
from reverie.memory import KINDS, Memory, decode, to_record
from reverie.time import iso, parse_iso
from reverie.tools.import_files import Note, Problem
from reverie.tools.screening import screened_fields

OKF_VERSION = "0.2"
RESERVED = ("index.md", "log.md")
OWN_KEY = "reverie"
LARGEST_CONCEPT = 2**20
"""Bytes; the longest memory takes 400 KB."""

SHARED = (
    *("content", "title", "kind", "tags", "layer", "importance", "confidence", "pinned", "tier"),
    *("forget_after", "happened_at", "entities"),
)
"""The fields that a file and the store are compared by; a change of one is carried to the other side."""

_OWN = (*("layer", "importance", "confidence", "pinned", "tier", "happened_at", "entities", "forget_after"),)
_METADATA_FIELDS = ("project", "author", "source", "source_ref", "trust", "derived_from", "outcome")
"""Fields that a file says of a memory, which an edit there does not change."""

_ACTORS = {
    "human": "human:user",
    "ai": "reverie/ai",
    "interaction": "reverie/interaction",
    "dream": "process:dream",
    "import": "process:import",
    "ingest": "process:ingest",
    "code_scan": "process:index",
}
_LONGEST_NAME = 60
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ")
_GIT_CONFLICT = re.compile(r"^(<{7} |>{7} )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Concept:
    """A file of a bundle, read: its id if it has one, the fields that are compared, and its front matter as it is."""

    path: str
    memory_id: str
    fields: Mapping[str, Any]
    values: Mapping[str, Any]
    digest: str
    is_deprecated: bool = False
    metadata: Mapping[str, Any] | None = None


def shared_fields(memory: Memory) -> dict[str, Any]:
    """Return what a file says of a memory, as plain values and without secrets."""
    record, _ = screened_fields(to_record(memory))
    fields = {name: record[name] for name in SHARED}
    fields["content"] = normalised(str(fields["content"]))
    fields["title"] = _CONTROL.sub("\ufffd", " ".join(str(fields["title"]).split()))
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}


def normalised(text: str) -> str:
    """Return a text as a file keeps it: line breaks of one kind, no spaces around it, nothing a terminal obeys."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def file_name(memory: Memory, taken: Iterable[str] = ()) -> str:
    """Return the name of a memory's file, which it keeps: its kind, the words of its title, a part of its id."""
    plain = unicodedata.normalize("NFKD", memory.title).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LONGEST_NAME].rstrip("-")
    mark = re.sub(r"[^a-z0-9]+", "-", short_id(memory.id).lower())[:16].strip("-") or "memory"
    stem = f"{memory.kind}/{words}-{mark}" if words else f"{memory.kind}/{mark}"
    names = {name.casefold() for name in taken}
    if f"{stem}.md" not in names:
        return f"{stem}.md"
    return f"{stem}-{hashlib.sha256(memory.id.encode()).hexdigest()[:8]}.md"


def written_concept(
    memory: Memory,
    before: Mapping[str, Any] | None = None,
    fields: Mapping[str, Any] | None = None,
    *,
    project: bool = False,
) -> str:
    """Return the file of a memory; `before` is the front matter it has, whose foreign keys and order are kept.

    `fields` are the shared fields if they are not just those of the memory.
    """
    fields = fields or shared_fields(memory)
    record, _ = screened_fields(to_record(memory))
    ours = _front_matter(record, fields, project=project)
    values = dict(before or {})
    if values.get("type") not in (None, *KINDS):
        ours["type"] = values["type"]  # another program's word for it
    own = values.get(OWN_KEY)
    ours[OWN_KEY] = (
        {**{k: v for k, v in own.items() if k not in _KNOWN_OWN}, **ours[OWN_KEY]}
        if isinstance(own, dict)
        else ours[OWN_KEY]
    )
    ours["sources"] = _sources(record, values.get("sources"))
    for name in ("type", "title", "tags", "status", "stale_after", "generated", "verified", "sources", OWN_KEY):
        if ours.get(name) in (None, [], ""):
            values.pop(name, None)
        else:
            values[name] = ours[name]
    return written_document(values, str(fields["content"]), blocks=(OWN_KEY,))


_KNOWN_OWN = frozenset({"id", *_OWN, *_METADATA_FIELDS, "confirmed_by"})


def _front_matter(record: Mapping[str, Any], fields: Mapping[str, Any], *, project: bool) -> dict[str, Any]:
    own: dict[str, Any] = {"id": record["id"]}
    usual = {"confidence": 1.0, "happened_at": record["created_at"]}
    own |= {n: fields[n] for n in _OWN if fields.get(n) not in (None, [], False) and fields[n] != usual.get(n)}
    metadata = {name: record[name] for name in _METADATA_FIELDS if record.get(name) not in (None, [], ())}
    own |= {
        name: list(v) if isinstance(v, tuple) else v for name, v in metadata.items() if project or name != "project"
    }
    return {
        "type": fields["kind"] or record["kind"],
        "title": fields["title"],
        "tags": fields["tags"],
        "status": "draft" if record["status"] == "challenged" else "stable",
        "stale_after": str(fields["forget_after"] or "")[:10],
        "generated": {"by": _ACTORS[record["source"]], "at": record["created_at"]},
        "verified": [_verified(voice) for voice in record["confirmed_by"]],
        OWN_KEY: own,
    }


def _verified(voice: str) -> dict[str, str]:
    """Return who confirmed a memory, and when if a voice says it; in which session is of no use elsewhere."""
    source, *rest = voice.split()
    by = {"by": _ACTORS.get(source, f"process:{source}")}
    if source == "human" and rest:
        return {"by": f"human:{' '.join(rest)}"}
    return by | {"at": rest[0]} if rest and _MOMENT.fullmatch(rest[0]) else by


def _sources(record: Mapping[str, Any], before: Any) -> list[Any]:
    """Return the files that a memory is anchored to, after what others wrote there."""
    listed = before if isinstance(before, list) else []
    named = {source.get("resource") for source in listed if isinstance(source, dict)}
    found = [f"{a['path']}::{a['symbol']}" if a["symbol"] else str(a["path"]) for a in record["anchors"]]
    return [*listed, *({"resource": one} for one in dict.fromkeys(found) if one not in named)]


def index_page(concepts: Mapping[str, Memory] | None = None) -> str:
    """Return the bundle's index: its version, and its concepts by folder if they are given."""
    lines = ["---", f'okf_version: "{OKF_VERSION}"', "---", ""]
    folders: dict[str, list[str]] = {}
    for path, memory in sorted((concepts or {}).items()):
        title = shared_fields(memory)["title"].replace("[", "(").replace("]", ")")
        folders.setdefault(path.rpartition("/")[0], []).append(f"* [{title}]({path})")
    for folder, entries in folders.items():
        lines += [f"# {folder or 'memories'}", "", *entries, ""]
    if not folders:
        lines += ["# Memories", "", "* [Memories](./) - one file each, in a folder for each kind", ""]
    return "\n".join(lines).rstrip() + "\n"


def parse_concept(path: str, data: bytes) -> Concept | Problem:
    """Read a file of a bundle; say why if it cannot be."""
    text = decoded(path, data, LARGEST_CONCEPT)
    if isinstance(text, Problem):
        return text
    if found := _GIT_CONFLICT.search(text):
        return Problem(path, text[: found.start()].count("\n") + 1, "has an unresolved conflict of git")
    try:
        document = split_document(text)
    except FrontMatterError as error:
        return Problem(path, error.line, str(error))
    if not document.has_front_matter:
        return Problem(path, 1, "has no front matter: it begins with --- in the Open Knowledge Format")
    if not normalised(document.body):
        return Problem(path, document.body_line, "there is no text below the front matter")
    try:
        return _concept(path, document, hashlib.sha256(data).hexdigest())
    except InvalidInput as error:
        return Problem(path, 0, " ".join(str(error).split())[:300])


def _concept(path: str, document: Document, digest: str) -> Concept:
    values = document.values
    if not isinstance(values.get("type"), str) or not values["type"].strip():
        raise InvalidInput("type", "is missing", "Every file of the Open Knowledge Format names its type.")
    own = values.get(OWN_KEY)
    own = own if isinstance(own, dict) else {}
    given = own.get("id")
    fields: dict[str, Any] = dict.fromkeys(SHARED)
    fields |= {"content": normalised(document.body), "title": _title(values), "tags": _tags(values)}
    fields["kind"] = values["type"] if values["type"] in KINDS else None
    fields |= {"pinned": False, "entities": []}
    fields |= {name: _plain(name, own[name]) for name in _OWN if own.get(name) is not None}
    fields["forget_after"] = _stale_after(values, fields["forget_after"])
    return Concept(
        path=path,
        memory_id=given if isinstance(given, str) and ID_PATTERN.fullmatch(given) else "",
        fields=fields,
        values=values,
        digest=digest,
        is_deprecated=values.get("status") == "deprecated",
        metadata={name: own[name] for name in _METADATA_FIELDS if own.get(name) is not None} | _generated_at(values),
    )


def _plain(name: str, value: Any) -> Any:
    """Return the value of a field, checked by the rules for every import, as a plain value."""
    read = decode(name, value)
    return list(read) if isinstance(read, tuple) else value if name in ("forget_after", "happened_at") else read


def _generated_at(values: Mapping[str, Any]) -> dict[str, str]:
    """Return when a concept was written, under the name that a memory has for it; nothing if it says no moment."""
    generated = values.get("generated")
    try:
        moment = (
            parse_iso(str(generated["at"]), "at") if isinstance(generated, dict) and generated.get("at") else None
        )
    except InvalidInput:
        return {}
    return {"created_at": iso(moment)} if moment else {}


def _title(values: Mapping[str, Any]) -> str:
    return " ".join(str(values.get("title") or "").split())


def _tags(values: Mapping[str, Any]) -> list[str]:
    given = values.get("tags")
    if given is None:
        return []
    if not isinstance(given, list):
        raise InvalidInput("tags", "is not a list", "Write them as [one, two].")
    return [str(tag).strip() for tag in given if str(tag).strip()]


def _stale_after(values: Mapping[str, Any], exact: Any) -> str | None:
    """Return the moment a memory expires: the exact one while the day agrees, the day if somebody changed it."""
    day = str(values.get("stale_after") or "").strip()
    if not day:
        return None
    if exact and str(exact)[:10] == day[:10]:
        return str(exact)
    parse_iso(day, "stale_after")
    return f"{day}T00:00:00Z" if len(day) == len("2026-01-31") else day


def read_concept(name: str, data: bytes) -> Iterator[Note | Problem]:
    """Read a file of a bundle as a note, for `reverie import`."""
    concept = parse_concept(name, data)
    if isinstance(concept, Problem):
        yield concept
        return
    fields = import_fields(concept)
    expired = {"status": "expired"} if concept.is_deprecated else {}
    yield Note(name, fields | expired, memory_id=concept.memory_id)


def import_fields(concept: Concept) -> dict[str, Any]:
    """Return the fields of an import line for a file: what it says, without what it leaves open."""
    said = {name: value for name, value in concept.fields.items() if value not in (None, [], "")}
    metadata = dict(concept.metadata or {})
    said |= {name: metadata[name] for name in ("created_at", "derived_from", "project") if name in metadata}
    return said
