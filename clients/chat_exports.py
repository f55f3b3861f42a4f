"""Data exports of ChatGPT and Claude: what the assistant had noted as memory, and what the person stated for good.

A conversation is mostly about its moment. Kept are the notes that the assistant wrote to its own memory, and from the
person's messages single sentences that state a rule, a preference, a decision or a lasting fact about them or their
work. Questions, pasted code and the assistant's answers are left out.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from reverie.clients.markdown_notes import blocks_of
from reverie.clients.memory_exports import moment, text_of
from reverie.tools.import_files import Note, Problem

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


def standing_statements(text: str) -> list[str]:
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
        texts, layer = standing_statements(text), {}
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
                texts = standing_statements(_claude_text(message))
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
