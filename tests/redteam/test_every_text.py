"""Attack: a secret in every text there is. The columns come from the schema and the arguments from the protocol, so
that a new one is fed here before anybody remembers to screen it."""

import dataclasses
import json
import random
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from mcp import Client

from reverie.memory import Anchor
from reverie.server.app import build_server
from reverie.server.engine import Engine, LazySession
from reverie.settings import Settings
from reverie.storage.schema import SIDE_TABLES, memory_schema, side_schema
from reverie.tools.requests import ConsolidateRequest, IndexRequest, RememberRequest, ReviewRequest
from reverie.tools.session import Session

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CHOICES = frozenset({"kind", "layer", "source", "status", "tier", "visibility"})  # a word of a short list, or refused
MADE_HERE = frozenset({"content_hash", "embedder", "search_text"})  # computed from the others

# What writes the texts of the other tables. A column that is not named here has no known way in: name it, and if
# callers can reach it, feed it below.
SIDE_TEXTS = {
    "passages": {"id", "memory_id", "project"},  # of a memory
    "archived_passages": {"id", "memory_id", "project"},
    "events": {
        "id",
        "action",
        "memory_id",
        "actor",
        "session",
        "batch",
        "digest",
        "hash",
        "state",
        "seal",
    }  # made here
    | {"reason", "before", "after"},  # of memories and of the tools' `reason`
    "accesses": {"id", "memory_id", "session"},
    "dreams": {"id", "status", "report"},
    "questions": {"id", "kind", "memory_ids", "status", "body"},
    "meta": {"id", "value"},
}


def is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or (pa.types.is_list(kind) and pa.types.is_string(kind.value_type))


def text_columns(schema: pa.Schema) -> set[str]:
    return {column.name for column in schema if is_text(column.type)}


class Tokens:
    """Made-up tokens, each fed to one place, so that a leak names its place."""

    def __init__(self) -> None:
        self._chance = random.Random(7)  # noqa: S311 - no secrets here
        self.places: dict[str, str] = {}

    def __call__(self, place: str) -> str:
        letters = self._chance.choices(string.ascii_letters + string.digits, k=36)
        token = "ghp_" + "".join(letters)
        self.places[token] = place
        return token


def leaks(tokens: Tokens, on_disk: Callable[[str], list[str]]) -> dict[str, list[str]]:
    return {place: files for token, place in tokens.places.items() if (files := on_disk(token))}


def test_every_text_column_of_the_other_tables_is_known():
    assert {table: text_columns(side_schema(table, 4)) for table in SIDE_TABLES} == SIDE_TEXTS


@pytest.mark.parametrize("trust", [False, True])
async def test_no_column_of_a_memory_takes_a_secret_from_a_file(session: Session, on_disk, trust: bool):
    tokens = Tokens()
    schema = memory_schema(4)
    lines: list[dict[str, Any]] = []
    for column in sorted(text_columns(schema) - CHOICES - MADE_HERE):
        line: dict[str, Any] = {"content": f"What is kept about the column {column}."}
        if column == "anchors":
            texts = [part.name for part in dataclasses.fields(Anchor) if part.name not in ("span", "freshness")]
            for part in texts:
                token = tokens(f"anchors.{part}")
                anchor = {"path": "src/lib.py", part: [token] if part == "missing_on" else token}
                lines.append(line | {"content": f"What is kept about the part {part}.", "anchors": [anchor]})
            continue
        token = tokens(column)
        lines.append(line | {column: [token] if pa.types.is_list(schema.field(column).type) else token})
    import io

    from reverie.tools.import_jsonl import import_memories

    file = io.BytesIO("\n".join(map(json.dumps, lines)).encode())
    tally = await import_memories(session, file, lambda _: None, trust=trust)
    ignored = [line for line in lines if "author" in line]  # whoever imports is the author
    assert len(ignored) == 1
    assert (tally.skipped, tally.redacted) == (0, len(lines) - len(ignored))
    assert on_disk("What is kept about the part root")
    assert leaks(tokens, on_disk) == {}


def said_by(schema: dict[str, Any], token: str) -> Any:
    """Return a value that carries the token wherever an argument's schema lets a text stand; None if nowhere."""
    if "enum" in schema or "const" in schema:
        return None
    if "anyOf" in schema:
        return next((said for one in schema["anyOf"] if (said := said_by(one, token)) is not None), None)
    if schema.get("type") == "string":
        return token
    if schema.get("type") == "array":
        item = said_by(schema.get("items", {}), token)
        return None if item is None else [item]
    if schema.get("type") == "object":
        names = schema.get("properties") or {"question_id": {}, "verdict": {}, "text": {}}
        return dict.fromkeys(names, token)
    return None


async def test_no_argument_of_a_tool_takes_a_secret_to_the_disk(home: Path, tmp_path: Path, on_disk):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "lib.py").write_text("def answer():\n    return 42\n")
    tokens = Tokens()
    parts = LazySession(Engine(lambda: Settings(home=str(home), project="tests")), tmp_path)
    async with Client(build_server(parts)) as client:

        async def call(tool: str, **arguments: Any) -> Any:
            return await client.call_tool(tool, arguments)

        fed: set[str] = set()
        for tool in (await client.list_tools()).tools:
            for argument, schema in tool.input_schema["properties"].items():
                token = tokens(f"{tool.name}({argument})")
                said = said_by(schema, token)
                if said is None:
                    del tokens.places[token]
                    continue
                fed.add(f"{tool.name}({argument})")
                kept = await call("remember", content=f"A note for {tool.name} and its {argument}.", layer="working")
                own = kept.structured_content["id"]
                needed: dict[str, dict[str, Any]] = {
                    "remember": {"content": f"Another note for {argument} of {tool.name}."},
                    "revise": {"id": own, "content": f"A better note for {argument}."},
                    "forget": {"ids": [own]} if argument not in ("project", "tag", "older_than") else {},
                    "recall": {"query": "note"},
                    "inspect": {"ids": [own]},
                    "restore": {"ids": [own]} if argument == "ids" else {},
                    "promote": {"id": own},
                    "demote": {"id": own},
                    "pin": {"id": own},
                    "consolidate": {"steps": ["sweep"]},
                    "index_codebase": {"path": str(tmp_path / "code")},
                }
                await call(tool.name, **(needed.get(tool.name, {}) | {argument: said}))
        await call("consolidate")
        session = await parts.session()
        await session.store.journal.flush()
        await parts.engine.close()
    assert {"forget(reason)", "index_codebase(project)", "revise(reason)", "remember(files)"} <= fed
    assert {"review(decisions)", "restore(event_id)", "consolidate(project)", "remember(supersedes)"} <= fed
    assert on_disk("A note for forget and its reason")
    assert leaks(tokens, on_disk) == {}


async def test_an_answer_in_review_takes_neither_a_secret_nor_a_private_part(session: Session, keep, clock, on_disk):
    from reverie.errors import InvalidInput
    from reverie.tools.consolidate import consolidate
    from reverie.tools.review import review

    for port in (8080, 9090):
        await keep(f"The Billing service listens on port {port} in production", layer="semantic", confidence=0.9)
        clock.advance(days=1)
    await consolidate(session, ConsolidateRequest(steps=["beliefs"]))
    [question] = (await review(session, ReviewRequest())).questions
    tokens = Tokens()
    for text in (
        f"Billing listens on 9090 with {tokens('text')}",
        "Billing listens <private>zanzibar</private> 9090",
    ):
        decision = {"question_id": question["id"], "verdict": "revise", "text": text}
        with pytest.raises(InvalidInput, match="holds a secret, a private part or orders"):
            await review(session, ReviewRequest(decisions=[decision]))
    assert leaks(tokens, on_disk) == {}
    assert on_disk("zanzibar") == []


async def test_a_branch_and_a_file_name_are_texts_too(open_session, repo, home, on_disk):
    from reverie.tools.index_codebase import index_codebase
    from reverie.tools.remember import remember

    tokens = Tokens()
    branch, name, folder = tokens("branch"), tokens("file name"), tokens("folder name")
    repo.write("src/app.py", "def answer():\n    return 42\n")
    repo.write(f"src/{name}.py", "def other():\n    return 42\n")
    repo.write(f"{folder}/deep.py", "def deep():\n    return 42\n")
    repo.commit()
    repo.git("checkout", "--quiet", "-b", f"feature/{branch}")
    session = await open_session(folder=repo.root)
    result = await index_codebase(session, IndexRequest())
    await remember(
        session, RememberRequest(content="The answer is in src/app.py, the rest in deep.py.", files=["src/app.py"])
    )
    await session.store.journal.flush()
    assert result.skipped["secret in the name"] == 2
    assert on_disk("src/app.py")
    assert leaks(tokens, on_disk) == {}
