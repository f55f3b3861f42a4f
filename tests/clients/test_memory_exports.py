"""Exports of other programs, in the shapes that those write: what each gives, and what is not believed of them."""

import json
from typing import Any

import pytest

from reverie.clients.formats import Format
from reverie.clients.importers import read_notes, recognised
from reverie.clients.memory_exports import lasting_statements
from reverie.tools.import_files import Note, Problem

GRAPH = [
    {"type": "entity", "name": "Anna", "entityType": "person", "observations": ["Anna likes tea", "works in Oslo"]},
    {"type": "relation", "from": "Anna", "to": "Anvil", "relationType": "maintains_since_2024"},
]
MEM0 = {
    "results": [
        {"id": "a1", "memory": "Prefers tabs", "created_at": "2026-01-02T03:04:05-08:00", "categories": ["style"]},
        {"id": "a2", "memory": " "},
    ],
    "relations": [{"source": "ben", "relationship": "works_with", "target": "anna"}],
}
SERVICE = {
    "export_metadata": {"source_machine": "x"},
    "memories": [
        {
            "content": "Use uv",
            "content_hash": "c0ffee",
            "tags": ["py"],
            "created_at": 1767225600.0,
            "memory_type": "decision",
        }
    ],
}
AGENT = {
    "version": "0.9.29",
    "exportedAt": "2026-01-01T00:00:00Z",
    "sessions": [],
    "observations": {"s": [{"title": "read a file"}]},
    "memories": [
        {
            "id": "m1",
            "type": "preference",
            "title": "Tabs",
            "content": "Uses tabs",
            "concepts": ["style"],
            "createdAt": 1767225600000,
        },
        {"id": "m0", "content": "Uses spaces", "isLatest": False},
    ],
    "proceduralMemories": [{"id": "p1", "name": "Release", "steps": ["tag", "push"]}],
    "lessons": [{"id": "l1", "content": "Pin the image"}, {"id": "l2"}],
    "summaries": [],
}
CHATGPT = [
    {
        "conversation_id": "c1",
        "mapping": {
            "1": {
                "message": {
                    "author": {"role": "user"},
                    "create_time": 1767225600,
                    "content": {
                        "parts": [
                            "I prefer tabs over spaces. Can you fix it? It fails right now.\n```\nI always crash\n```"
                        ]
                    },
                }
            },
            "2": {
                "message": {
                    "author": {"role": "assistant"},
                    "recipient": "bio",
                    "content": {"parts": ["Works in Oslo."]},
                }
            },
            "3": {"message": {"author": {"role": "assistant"}, "content": {"parts": ["I always help."]}}},
            "4": {"message": None},
        },
    },
    {"mapping": None},
]
CLAUDE = [
    {
        "uuid": "u1",
        "chat_messages": [
            {
                "sender": "human",
                "text": "",
                "content": [{"type": "text", "text": "We decided to use Postgres."}],
                "created_at": "2026-01-01T00:00:00Z",
            },
            {"sender": "assistant", "text": "We use MySQL."},
        ],
    }
]
MEMORIES = [{"conversations_memory": "**Work**\n\nBuilds Anvil.", "project_memories": {"p": "- Ships on Fridays"}}]


def lines(values: list[Any]) -> str:
    return "\n".join(map(json.dumps, values))


@pytest.mark.parametrize(
    ("text", "kind", "contents", "problems"),
    [
        pytest.param(
            lines(GRAPH),
            "memory-server",
            ["Anna likes tea", "Anna: works in Oslo", "Anna maintains since 2024 Anvil"],
            0,
            id="memory server, lines",
        ),
        pytest.param(
            json.dumps({"entities": GRAPH[:1], "relations": GRAPH[1:]}),
            "memory-server",
            ["Anna likes tea", "Anna: works in Oslo", "Anna maintains since 2024 Anvil"],
            0,
            id="memory server, graph",
        ),
        pytest.param(json.dumps(MEM0), "mem0", ["Prefers tabs", "ben works with anna"], 1, id="mem0"),
        pytest.param(json.dumps(MEM0["results"][:1], indent=2), "mem0", ["Prefers tabs"], 0, id="mem0, a list"),
        pytest.param(lines(MEM0["results"][:1] * 2), "mem0", ["Prefers tabs"] * 2, 0, id="mem0, lines"),
        pytest.param(json.dumps(SERVICE), "mcp-memory-service", ["Use uv"], 0, id="mcp-memory-service"),
        pytest.param(
            json.dumps(AGENT),
            "agentmemory",
            ["Uses tabs", "Release:\n1. tag\n2. push", "Pin the image"],
            1,
            id="agentmemory",
        ),
        pytest.param(
            json.dumps(CHATGPT), "chatgpt", ["I prefer tabs over spaces.", "Works in Oslo."], 1, id="ChatGPT"
        ),
        pytest.param(json.dumps(CLAUDE), "claude", ["We decided to use Postgres."], 0, id="Claude"),
        pytest.param(
            json.dumps(MEMORIES),
            "claude-memories",
            ["Work: Builds Anvil.", "Ships on Fridays"],
            0,
            id="Claude's memory",
        ),
    ],
)
def test_each_export_is_recognised_and_read(text: str, kind: Format, contents: list[str], problems: int) -> None:
    data = text.encode()
    assert recognised("export.json", data) == kind
    found = list(read_notes("export.json", kind, data))
    assert [note.values["content"] for note in found if isinstance(note, Note)] == contents
    assert sum(isinstance(one, Problem) for one in found) == problems


def test_dates_tags_and_ids_come_along() -> None:
    [mem0, *_] = read_notes("m.json", "mem0", json.dumps(MEM0).encode())
    [service] = read_notes("s.json", "mcp-memory-service", json.dumps(SERVICE).encode())
    [agent, *_] = read_notes("a.json", "agentmemory", json.dumps(AGENT).encode())
    assert isinstance(mem0, Note)
    assert isinstance(service, Note)
    assert isinstance(agent, Note)
    assert (mem0.values["created_at"], mem0.values["tags"], mem0.key) == (
        "2026-01-02T11:04:05Z",
        ["style"],
        "mem0:a1",
    )
    assert (service.values["created_at"], service.values["kind"]) == ("2026-01-01T00:00:00Z", "decision")
    assert (agent.values["created_at"], agent.values["kind"], agent.key) == (
        "2026-01-01T00:00:00Z",
        "preference",
        "agentmemory:m1",
    )


def test_a_large_export_is_recognised_by_its_beginning_alone() -> None:
    text = json.dumps(CHATGPT)[:150]
    assert recognised("conversations.json", text.encode()) == "chatgpt"
    assert recognised("memories.jsonl", b'{"content": "ours"}\n') == "jsonl"
    assert recognised("notes.txt", b"hello") == "jsonl"


@pytest.mark.parametrize(
    "kind", ["memory-server", "mem0", "agentmemory", "mcp-memory-service", "chatgpt", "claude", "claude-memories"]
)
@pytest.mark.parametrize(
    "text",
    ['[{"a": 1}, {"b"', '[1, null, [], "x"]', "{}", "null", "[" * 50_000, '{"memories": 7, "results": 7}', "\xff"],
    ids=["cut off", "odd values", "empty", "null", "too deep", "numbers", "bytes"],
)
def test_no_reader_falls_over_a_file_that_is_not_its_own(kind: Format, text: str) -> None:
    data = text.encode("latin-1")
    assert not any(isinstance(one, Note) for one in read_notes("x.json", kind, data))


@pytest.mark.parametrize(
    ("sentence", "lasts"),
    [
        ("I always write commit messages in English.", True),
        ("We use pnpm, not npm.", True),
        ("From now on answer in German.", True),
        ("Our API runs on Cloud Run.", True),
        ("Remember that Anna owns the billing service.", True),
        ("Please never touch the generated files.", True),
        ("I'm a backend engineer in Oslo.", True),
        ("Why do we use pnpm here?", False),
        ("This does not work.", False),
        ("Fix this error for me please.", False),
        ("I use this file right now to test it.", False),
        ("Thanks!", False),
        ("Write a function that sorts a list.", False),
    ],
)
def test_of_a_conversation_only_what_lasts_is_kept(sentence: str, lasts: bool) -> None:
    assert lasting_statements(sentence) == ([sentence] if lasts else [])
