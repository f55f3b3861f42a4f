"""Exports of other memory servers (the official one, mem0, agentmemory, mcp-memory-service), of ChatGPT and Claude.

Each reader takes the JSON values of a file and yields one note per fact. A record that is not what it should be is
reported with its number; the others go on.

A conversation is mostly about its moment. Kept are the notes that the assistant wrote to its own memory, and from the
person's messages single sentences that state a rule, a preference, a decision or a lasting fact about them or their
work. Questions, pasted code and the assistant's answers are left out.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from reverie.clients.markdown_notes import blocks_of
from reverie.memory import Kind
from reverie.time import iso
from reverie.tools.import_files import Note, Problem

Found = Iterator[Note | Problem]

_MILLISECONDS = 100_000_000_000  # a number above this counts milliseconds
_LONGEST_TITLE = 200


def moment(value: Any) -> str | None:
    """Return a moment as ISO: from ISO with or without a zone, or from Unix seconds or milliseconds; else None."""
    try:
        if isinstance(value, str) and value.strip():
            found = datetime.fromisoformat(value.strip())
        elif isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            found = datetime.fromtimestamp(value / 1000 if value > _MILLISECONDS else value, UTC)
        else:
            return None
        return iso(found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC))
    except (ValueError, OverflowError, OSError):
        return None


def text_of(value: Any) -> str:
    """Return a text without spaces around it; nothing if the value is none."""
    return value.strip() if isinstance(value, str) else ""


def texts_of(value: Any) -> list[str]:
    """Return the texts of a list, or of one that is written with commas."""
    if isinstance(value, str):
        value = value.split(",")
    return (
        [text.strip() for text in value if isinstance(text, str) and text.strip()] if isinstance(value, list) else []
    )


def dated(record: dict[str, Any], *names: str) -> dict[str, str]:
    """Return `created_at` from the first of the names that holds a moment."""
    found = next((when for name in names if (when := moment(record.get(name)))), None)
    return {"created_at": found} if found else {}


def read_memory_server(file: str, records: Sequence[Any]) -> Found:
    """Read the official memory server's graph: each observation of an entity and each relation is a fact."""
    for number, record in enumerate(records, 1):
        kind = record.get("type") if isinstance(record, dict) else None
        if kind == "relation":
            names = [text_of(record.get(name)) for name in ("from", "relationType", "to")]
            if all(names):
                content = f"{names[0]} {names[1].replace('_', ' ')} {names[2]}"
                entities = list(dict.fromkeys([names[0], names[2]]))
                yield Note(file, {"content": content, "layer": "semantic", "entities": entities}, number, number)
                continue
        elif kind == "entity" and text_of(record.get("name")) and isinstance(record.get("observations"), list):
            yield from _observations(file, number, record)
            continue
        yield Problem(file, number, "neither an entity nor a relation of the memory server")


def _observations(file: str, number: int, record: dict[str, Any]) -> Found:
    name, sort = text_of(record["name"]), text_of(record.get("entityType"))
    for observation in record["observations"]:
        # Some forks keep an object with a date instead of a text.
        text = text_of(observation.get("content") if isinstance(observation, dict) else observation)
        if not text:
            yield Problem(file, number, f"an observation of {name[:60]!r} is not a text")
            continue
        content = text if text.casefold().startswith(name.casefold()) else f"{name}: {text}"
        fields: dict[str, Any] = {"content": content, "layer": "semantic", "entities": [name]}
        fields |= {"tags": [sort]} if sort else {}
        yield Note(file, fields, number, number)


def read_mem0(file: str, value: Any) -> Found:
    """Read what mem0 returns from `get_all`, an export job or OpenMemory; relations of its graph are facts too."""
    records, relations = _mem0_records(value)
    for number, record in enumerate(records, 1):
        payload = record.get("source_payload") if isinstance(record, dict) else None
        inner = payload if isinstance(payload, dict) else {}
        content = _first_text(record, "memory", "content", "text") or text_of(inner.get("data"))
        if not content:
            yield Problem(file, 0, f"record {number} has no text under `memory`")
            continue
        fields: dict[str, Any] = {"content": content, "layer": "semantic"}
        fields |= dated(record, "created_at", "createdAt") or dated(inner, "created_at")
        metadata = record.get("metadata")
        in_metadata = texts_of(metadata.get("tags")) if isinstance(metadata, dict) else []
        fields["tags"] = list(dict.fromkeys([*texts_of(record.get("categories")), *in_metadata]))
        key = text_of(record.get("id"))
        yield Note(file, fields, key=f"mem0:{key}" if key else "", place=key)
    for relation in relations:
        names = [_first_text(relation, *keys) for keys in (("source",), ("relationship", "relation"), _TARGETS)]
        if all(names):
            content = f"{names[0]} {names[1].replace('_', ' ')} {names[2]}"
            fields = {"content": content, "layer": "semantic", "entities": [names[0], names[2]]}
            yield Note(file, fields, place="relations")


_TARGETS = ("target", "destination")


def _mem0_records(value: Any) -> tuple[list[Any], list[Any]]:
    if isinstance(value, list):
        return value, []
    if not isinstance(value, dict):
        return [], []
    relations = value.get("relations")
    for name in ("results", "records", "memories", "data"):
        inner = value.get(name)
        if isinstance(inner, list):
            return inner, relations if isinstance(relations, list) else []
        if isinstance(inner, dict):
            return _mem0_records(inner)
    return [], []


def _first_text(record: Any, *names: str) -> str:
    if not isinstance(record, dict):
        return ""
    return next((text for name in names if (text := text_of(record.get(name)))), "")


_MEMORY_SERVICE_KINDS: dict[str, Kind] = {
    "decision": "decision",
    "preference": "preference",
    "error": "error_fix",
    "solution": "error_fix",
    "bugfix": "error_fix",
    "howto": "how_to",
    "pattern": "how_to",
}


def read_memory_service(file: str, value: Any) -> Found:
    """Read an export of mcp-memory-service: a list of memories with their content hash."""
    records = value.get("memories") if isinstance(value, dict) else value
    for number, record in enumerate(records if isinstance(records, list) else [], 1):
        content = _first_text(record, "content")
        if not content:
            yield Problem(file, 0, f"memory {number} has no text under `content`")
            continue
        sort = text_of(record.get("memory_type"))
        fields: dict[str, Any] = {"content": content, "layer": "semantic", "tags": texts_of(record.get("tags"))}
        fields |= dated(record, "created_at", "created_at_iso")
        fields |= {"kind": _MEMORY_SERVICE_KINDS[sort]} if sort in _MEMORY_SERVICE_KINDS else {}
        yield Note(file, fields, place=text_of(record.get("content_hash"))[:12])


_AGENT_MEMORY_KINDS: dict[str, Kind] = {
    "preference": "preference",
    "bug": "error_fix",
    "workflow": "how_to",
    "architecture": "decision",
}


def read_agent_memory(file: str, value: dict[str, Any]) -> Found:
    """Read an export of agentmemory: its memories, facts, procedures and lessons; not what it only observed."""
    for name, make in (
        ("memories", _agent_memory),
        ("semanticMemories", _agent_fact),
        ("proceduralMemories", _agent_procedure),
        ("lessons", _agent_lesson),
    ):
        records = value.get(name)
        for number, record in enumerate(records if isinstance(records, list) else [], 1):
            fields = make(record) if isinstance(record, dict) else None
            if fields is None:
                yield Problem(file, 0, f"{name} {number} has no text")
            elif record.get("isLatest") is not False:  # it keeps every version, each under an id of its own
                key = text_of(record.get("id"))
                values = {"layer": "semantic"} | fields | dated(record, "createdAt", "updatedAt")
                yield Note(file, values, key=f"agentmemory:{key}" if key else "", place=key)


def _agent_memory(record: dict[str, Any]) -> dict[str, Any] | None:
    content, title = text_of(record.get("content")), text_of(record.get("title"))
    if not (content or title):
        return None
    kind = _AGENT_MEMORY_KINDS.get(text_of(record.get("type")))
    return {
        "content": content or title,
        "tags": texts_of(record.get("concepts")),
        **({"title": title[:_LONGEST_TITLE]} if title and content else {}),
        **({"kind": kind} if kind else {}),
    }


def _agent_fact(record: dict[str, Any]) -> dict[str, Any] | None:
    fact = _first_text(record, "fact", "content")
    return {"content": fact} if fact else None


def _agent_procedure(record: dict[str, Any]) -> dict[str, Any] | None:
    steps = texts_of(record.get("steps"))
    if not steps:
        return None
    when = _first_text(record, "triggerCondition", "name")
    listed = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
    return {"content": f"{when}:\n{listed}" if when else listed, "kind": "how_to", "layer": "procedural"}


def _agent_lesson(record: dict[str, Any]) -> dict[str, Any] | None:
    content, context = text_of(record.get("content")), text_of(record.get("context"))
    if not content:
        return None
    return {"content": f"{content} ({context})" if context else content, "tags": texts_of(record.get("tags"))}


_SHORTEST, _LONGEST = 15, 400
_MOST_PER_CONVERSATION = 12
_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-ZÄÖÜ\"'`(])|\n+")
_LASTS = re.compile(
    r"^(?:(?:so|and|but|also|btw|note|please|ok(?:ay)?|yes|no)\b[, :]*)*"
    r"(?:"
    r"(?:i|we) (?:always|never|usually|generally|prefer|only|use|run|deploy|write|hate|avoid|don't use|do not use|"
    r"don't want|do not want|decided|agreed|chose|settled|switched|moved|migrated|standardi[sz]ed|"
    r"work (?:at|for|as|on)|"
    r"live in|am an?|are an?)\b|"
    r"i'(?:m|d) (?:an?|rather|prefer)\b|i would (?:rather|prefer)\b|"
    r"(?:my|our) (?:name|team|company|project|stack|editor|os|machine|database|backend|frontend|api|repo(?:sitory)?|"
    r"codebase|app|server|ci|pipeline|convention|style|rule|main language|default|preference|branch|tests?)\b"
    r"[^?]{0,80}?"
    r"\b(?:is|are|uses?|runs?|lives?|has|have|follows?|must|should)\b|"
    r"(?:always|never|don't ever|do not ever|from now on|going forward|in (?:the )?future)\b|"
    r"(?:remember|keep in mind|note) (?:that|to)\b|call me\b"
    r")",
    re.IGNORECASE,
)
_PASSES = re.compile(
    r"\b(right now|at the moment|currently trying|just now|today|this (?:error|time|file|code|one))\b", re.I
)


def lasting_statements(text: str) -> list[str]:
    """Return the sentences of a message that state something which lasts."""
    found: list[str] = []
    for sentence in _SENTENCE_END.split(_CODE.sub("\n", text)):
        one = " ".join(sentence.split()).lstrip("-*• ")
        if _SHORTEST <= len(one) <= _LONGEST and "?" not in one and _LASTS.match(one) and not _PASSES.search(one):
            found.append(one)
    return found


def read_chatgpt(file: str, conversations: Sequence[Any]) -> Iterator[Note | Problem]:
    """Read ChatGPT's conversations.json."""
    for number, conversation in enumerate(conversations, 1):
        mapping = conversation.get("mapping") if isinstance(conversation, dict) else None
        if not isinstance(mapping, dict):
            yield Problem(file, 0, f"conversation {number} has no messages")
            continue
        place = text_of(conversation.get("conversation_id")) or text_of(conversation.get("id")) or str(number)
        kept: list[Note] = []
        for node in mapping.values():
            message = node.get("message") if isinstance(node, dict) else None
            if isinstance(message, dict):
                kept += _chatgpt_notes(file, place, message)
        yield from kept[:_MOST_PER_CONVERSATION]


def _chatgpt_notes(file: str, place: str, message: dict[str, Any]) -> list[Note]:
    author = message.get("author")
    role = author.get("role") if isinstance(author, dict) else None
    content = message.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    text = "\n".join(part for part in parts if isinstance(part, str)) if isinstance(parts, list) else ""
    if message.get("recipient") == "bio" and role == "assistant":  # what it wrote to its own memory
        texts, layer = [line.strip() for line in text.splitlines() if line.strip()], {"layer": "semantic"}
    elif role == "user":
        texts, layer = lasting_statements(text), {}
    else:
        return []
    return _notes(file, place, texts, moment(message.get("create_time")), layer)


def read_claude(file: str, conversations: Sequence[Any]) -> Iterator[Note | Problem]:
    """Read Claude's conversations.json."""
    for number, conversation in enumerate(conversations, 1):
        messages = conversation.get("chat_messages") if isinstance(conversation, dict) else None
        if not isinstance(messages, list):
            yield Problem(file, 0, f"conversation {number} has no messages")
            continue
        place = text_of(conversation.get("uuid")) or str(number)
        kept: list[Note] = []
        for message in messages:
            if isinstance(message, dict) and message.get("sender") == "human":
                texts = lasting_statements(_claude_text(message))
                kept += _notes(file, place, texts, moment(message.get("created_at")), {})
        yield from kept[:_MOST_PER_CONVERSATION]


def _claude_text(message: dict[str, Any]) -> str:
    parts = message.get("content")
    texts = [text_of(part.get("text")) for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return text_of(message.get("text")) or "\n".join(filter(None, texts))


def read_claude_memories(file: str, records: Sequence[Any]) -> Iterator[Note | Problem]:
    """Read Claude's memories.json: what it remembers of all conversations, and of each project."""
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            yield Problem(file, 0, f"record {number} is not an object")
            continue
        projects = record.get("project_memories")
        texts = {"conversations": text_of(record.get("conversations_memory"))}
        texts |= {str(name): text_of(text) for name, text in projects.items()} if isinstance(projects, dict) else {}
        for place, text in texts.items():
            for block in blocks_of(text):
                yield Note(file, {"content": block.content, "layer": "semantic"}, place=place)


def _notes(file: str, place: str, texts: Sequence[str], when: str | None, fields: dict[str, Any]) -> list[Note]:
    created = {"created_at": when} if when else {}
    return [Note(file, {"content": text, **fields, **created}, place=place) for text in texts]
