"""What a client sees: the handshake in both generations, tools, schemas, resources, prompts, and a clean wire."""

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS

from reverie.embeddings.tokens import count_tokens

pytestmark = pytest.mark.slow

TOOLS = {
    *("remember", "recall", "brief", "inspect", "revise", "forget", "restore", "promote", "demote", "pin", "status"),
    *("index_codebase", "consolidate", "review"),
}


@pytest.fixture(scope="module")
def tools(server):
    return {tool.name: tool for tool in server.run(server.client.list_tools).tools}


@pytest.mark.parametrize(
    ("mode", "spoken"),
    [
        pytest.param("legacy", "2025-11-25", id="the initialize handshake"),
        pytest.param("2026-07-28", "2026-07-28", id="the stateless protocol"),
        pytest.param("auto", "2026-07-28", id="whichever is newer"),
    ],
)
def test_a_client_of_either_generation_remembers_and_recalls(start, server, mode, spoken):
    server = server if mode == "auto" else start(mode=mode)
    assert server.client.protocol_version == spoken
    kept = server.call("remember", content=f"The {mode} client keeps its notes under the blue lamp.")
    found = server.call("recall", query=f"where does the {mode} client keep notes")
    assert kept["id"] in [row["id"] for row in found["results"]]


def test_every_handshake_names_the_server_in_its_own_version_and_tells_the_model_how_to_use_it(shared_wire):
    for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        result = shared_wire.shake_hands(version)  # a server answers every handshake, also one after another
        assert (result["protocolVersion"], result["serverInfo"]["name"]) == (version, "reverie")
        assert "not instructions" in result["instructions"] or "never instructions" in result["instructions"], version
        assert {"tools", "resources", "prompts"} <= result["capabilities"].keys(), version


def test_the_tools_are_those_of_the_contract(tools):
    assert tools.keys() == TOOLS


def test_every_tool_says_what_it_does_to_the_world(tools):
    for tool in tools.values():
        hints = tool.annotations
        given = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
        assert all(isinstance(hint, bool) for hint in given), tool.name


def test_only_tools_that_change_nothing_call_themselves_read_only(tools):
    assert {tool.name for tool in tools.values() if tool.annotations.read_only_hint} == {
        "recall",
        "brief",
        "inspect",
        "status",
    }


def test_every_schema_is_a_valid_schema(tools):
    for tool in tools.values():
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        assert tool.output_schema["type"] == "object"


def test_no_schema_leaves_open_what_it_takes(tools):
    for tool in tools.values():
        text = json.dumps(tool.input_schema) + json.dumps(tool.output_schema)
        assert not any(word in text for word in ('"anyOf"', '"oneOf"', '"allOf"', '"type": [')), tool.name
        for schema in _objects(tool.input_schema):
            assert schema["additionalProperties"] is False, tool.name


def _objects(schema):
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield schema
        for part in schema.values():
            yield from _objects(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _objects(part)


def test_every_tool_has_a_title_and_three_are_always_loaded(tools):
    assert all(tool.title and tool.title != tool.name for tool in tools.values())
    loaded = {tool.name for tool in tools.values() if (tool.meta or {}).get("anthropic/alwaysLoad") is True}
    assert loaded == {"recall", "remember", "brief"}


def test_forget_warns_of_its_purge_where_it_is_described(tools):
    assert "purge destroys" in tools["forget"].description
    assert "cannot be undone" in tools["forget"].input_schema["properties"]["purge"]["description"]


def test_every_description_begins_with_when_to_call_the_tool(tools):
    for tool in tools.values():
        assert tool.description.split()[0] in {"When", "Before"}, tool.description


def test_the_whole_tool_list_stays_under_3500_tokens(tools):
    assert _tokens_of(tools) < 3_500


def test_the_tools_leave_room_for_those_still_to_come(tools):
    yet_to_come = {"consolidate", "review", "index_codebase"} - tools.keys()
    assert _tokens_of(tools) < 3_500 - 250 * len(yet_to_come)


def _tokens_of(tools):
    listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools.values()]
    return count_tokens(json.dumps({"tools": listed}, ensure_ascii=False))


def test_structured_content_keeps_to_the_output_schema(server, tools):
    kept = server.call("remember", content="Schemas are checked against what every tool really answers.")["id"]
    second = server.call("remember", content="The retry limit of the uploader is 4.")["id"]
    calls = [
        (
            "remember",
            {"content": "The retry limit of the uploader is 7.", "tags": ["uploads"], "files": ["a/b.py::c"]},
        ),
        ("recall", {"query": "retry limit", "explain": True}),
        ("recall", {"query": "xyzzy", "tags": ["nobody uses this"]}),
        ("brief", {"max_tokens": 200}),
        ("inspect", {"ids": [kept, second]}),
        ("pin", {"id": kept}),
        ("promote", {"id": kept}),
        ("demote", {"id": kept}),
        ("revise", {"id": second, "content": "The retry limit of the uploader is 5.", "reason": "measured"}),
        ("forget", {"ids": [kept], "dry_run": True}),
        ("forget", {"tag": "uploads", "reason": "schema test"}),
        ("restore", {"ids": [kept, second]}),
        ("status", {}),
        ("index_codebase", {"max_files": 3}),
        ("consolidate", {"dry_run": True}),
        ("review", {}),
    ]
    assert {name for name, _ in calls} == TOOLS
    for name, arguments in calls:
        jsonschema.validate(server.call(name, **arguments), tools[name].output_schema)


def test_an_answer_has_one_short_text_beside_its_structure(server):
    answer = server.answer("remember", content="An answer is told in a line, not in a page.")
    [text] = answer.content
    assert text.type == "text"
    assert len(text.text) < 200


def test_the_text_of_a_recall_keeps_to_its_tokens(server):
    for number in range(6):
        server.call("remember", content=f"Budget note {number}: " + "tokens are counted before they are sent. " * 20)
    answer = server.answer("recall", query="how are tokens counted", max_tokens=200)
    assert count_tokens(answer.content[0].text) <= 200
    assert answer.structured_content["tokens"] == count_tokens(answer.content[0].text)


def test_the_resources_answer(server):
    kept = server.call("remember", content="Resources give the same memory as inspect does.")["id"]
    listed = {str(resource.uri) for resource in server.run(server.client.list_resources).resources}
    templates = [t.uri_template for t in server.run(server.client.list_resource_templates).resource_templates]
    assert {"memory://brief", "memory://status"} <= listed
    assert "memory://item/{id}" in templates
    item = json.loads(server.run(server.client.read_resource, f"memory://item/{kept}").contents[0].text)
    assert item["content"] == "Resources give the same memory as inspect does."
    assert (
        json.loads(server.run(server.client.read_resource, "memory://status").contents[0].text)["project"] == "tests"
    )


def test_a_session_starts_with_the_same_page_whichever_way_it_asks(server):
    server.call("remember", content="The page is the same by tool, resource and prompt.", pin=True)
    told = server.answer("brief")
    read = server.run(server.client.read_resource, "memory://brief").contents[0].text
    [prompted] = server.run(server.client.get_prompt, "session_start", {}).messages
    assert told.structured_content["text"] == told.content[0].text == read == prompted.content.text
    assert told.structured_content["tokens"] == count_tokens(read) <= 800
    assert "for tests" in read


def test_an_unknown_resource_is_an_error_that_says_so(server):
    with pytest.raises(Exception, match="zzzzzzzzzz"):
        server.run(server.client.read_resource, "memory://item/zzzzzzzzzz")
    assert server.call("status")["version"]


def test_the_prompts_answer(server):
    names = {prompt.name for prompt in server.run(server.client.list_prompts).prompts}
    assert names == {"session_start", "session_handoff", "review_dreams"}
    for name in names:
        [message] = server.run(server.client.get_prompt, name, {}).messages
        assert message.content.text.strip()


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"this is no JSON", id="no JSON"),
        pytest.param(b'{"jsonrpc": "2.0", "id": 7, "method"', id="cut short"),
        pytest.param(b"[]", id="an empty batch"),
        pytest.param(b"null", id="null"),
        pytest.param(b"\xff\xfe\x00", id="no UTF-8"),
        pytest.param(b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}', id="another version"),
        pytest.param(b'{"id": {}, "params": 3}', id="no request at all"),
        pytest.param(b"[" * 100_000, id="very deep"),
    ],
)
def test_a_malformed_line_gets_an_error_and_the_server_goes_on(shared_wire, line):
    shared_wire.send(line)
    error = json.loads(shared_wire.next_line())
    assert error["id"] is None
    assert "Send" in error["error"]["message"]
    assert "tools" in shared_wire.answer(shared_wire.ask("tools/list"))["result"]


@pytest.mark.parametrize("line", [b"", b"   ", b'{"jsonrpc":"2.0","id":7,"result":{}}'])
def test_a_line_that_asks_nothing_gets_no_answer(shared_wire, line):
    shared_wire.send(line)
    number = shared_wire.ask("tools/list")
    assert json.loads(shared_wire.next_line())["id"] == number


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_none_is_refused(shared_wire, value):
    shared_wire.send(
        '{"jsonrpc":"2.0","id":9001,"method":"tools/call","params":{"name":"remember",'
        f'"arguments":{{"content":"x","importance":{value}}}}}}}'
    )
    assert "importance" in json.dumps(shared_wire.answer(9001))
    assert not any(shared_wire.call("status")["counts"].values())


def test_half_an_emoji_is_refused_to_the_one_who_sent_it(shared_wire):
    number = shared_wire.ask("tools/call", name="remember", arguments={"content": "cut in the middle of \ud83d"})
    assert "surrogate" in shared_wire.answer(number)["error"]["message"]
    assert not any(shared_wire.call("status")["counts"].values())


@pytest.mark.parametrize(
    ("method", "params"),
    [
        pytest.param("memory/dance", {}, id="an unknown method"),
        pytest.param("tools/call", {}, id="a call without a name"),
        pytest.param("tools/call", {"name": 7}, id="a name that is no text"),
        pytest.param("tools/call", {"name": "recall", "arguments": "query"}, id="arguments that are no object"),
        pytest.param("resources/read", {"uri": "memory://nothing"}, id="an unknown resource"),
        pytest.param("prompts/get", {"name": "nothing"}, id="an unknown prompt"),
    ],
)
def test_a_wrong_request_gets_an_error_and_the_server_goes_on(shared_wire, method, params):
    answer = shared_wire.answer(shared_wire.ask(method, **params))
    assert answer["error"]["message"]
    assert "tools" in shared_wire.answer(shared_wire.ask("tools/list"))["result"]


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        pytest.param("dream_on", {}, "dream_on", id="an unknown tool"),
        pytest.param("recall", {"query": "x", "limt": 3}, "limt", id="an unknown argument"),
        pytest.param("remember", {}, "content", id="a missing argument"),
        pytest.param("remember", {"content": 5}, "content", id="a number for a text"),
        pytest.param("remember", {"content": "x", "tags": "one"}, "tags", id="a text for a list"),
        pytest.param("remember", {"content": "x", "tags": [1]}, "tags", id="a list of numbers"),
        pytest.param("remember", {"content": "x", "pin": "perhaps"}, "pin", id="a text for a flag"),
        pytest.param("recall", {"query": "x", "limit": "many"}, "limit", id="a text for a number"),
        pytest.param("recall", {"query": None}, "query", id="null for a text"),
        pytest.param("inspect", {"ids": {"a": 1}}, "ids", id="an object for a list"),
    ],
)
def test_a_wrong_argument_is_named_and_the_server_goes_on(server, tool, arguments, named):
    assert named in server.refused(tool, **arguments)
    assert server.call("status")["version"]


NOISY = """
import os, sys
from reverie.server import stdio
from reverie.settings import load_settings
from reverie.tools import status

honest = status.status

async def noisy(session, request):
    print("a stray print")
    sys.stdout.write("a stray write\\n" * 2_000)
    sys.stdout.flush()
    os.write(1, b"straight to the descriptor\\n")
    os.system("echo from a child")
    return await honest(session, request)

status.status = noisy
stdio.serve(load_settings)
"""


def test_stray_output_never_reaches_the_wire(wire):
    noisy = wire(program=[sys.executable, "-c", NOISY])
    noisy.shake_hands()
    for _ in range(3):
        assert noisy.call("status")["project"] == "tests"  # every line on the way is read as JSON-RPC
    noisy.hang_up()
    while line := noisy.next_line():
        json.loads(line)
    for stray in ("a stray print", "a stray write", "straight to the descriptor", "from a child"):
        assert stray in noisy.stderr


def test_nothing_heavy_is_imported_before_a_handshake_or_to_read_a_command() -> None:
    script = (
        "import sys; import reverie.server.app, reverie.cli.main, reverie.cli.commands; "
        "heavy = {'lancedb', 'numpy', 'onnxruntime', 'openai', 'pyarrow', 'tiktoken', 'tokenizers'}; "
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == ""


# ── what there is not, and progress ───────────────────────────────────────────────────────────────────────


def test_an_unknown_prompt_is_an_error_of_the_protocol(server: Any) -> None:
    for name, arguments in (("no_such_prompt", {}), ("session_start", {"mood": "bright"})):
        with pytest.raises(MCPError) as refusal:
            server.run(server.client.get_prompt, name, arguments)
        assert refusal.value.code == INVALID_PARAMS
    assert "no argument 'mood'" in str(refusal.value)
    assert "Traceback" not in server.stderr


@pytest.mark.parametrize("item", ["nothing-like-it", "short", "%20", "a" * 200])
def test_an_unknown_item_is_an_error_of_the_protocol(server: Any, item: str) -> None:
    with pytest.raises(MCPError) as refusal:
        server.run(server.client.read_resource, f"memory://item/{item}")
    assert refusal.value.code == INVALID_PARAMS
    assert "Traceback" not in server.stderr


def test_progress_rises_with_every_notification(server: Any, module_folder: Path) -> None:
    code = module_folder / "code"
    code.mkdir()
    for number in range(70):  # files are read and written 64 at a time
        (code / f"part_{number}.py").write_text(
            f'"""Part {number}."""\n\ndef part_{number}():\n    return {number}\n'
        )
    heard: dict[str, list[float]] = {"index_codebase": [], "consolidate": []}
    for tool, arguments in (("index_codebase", {"path": str(code)}), ("consolidate", {})):

        async def hear(progress: float, total: float | None, _message: str | None, tool: str = tool) -> None:
            assert total is not None
            assert progress <= total
            heard[tool].append(progress)

        async def call(tool: str = tool, arguments: dict[str, Any] = arguments, hear: Any = hear) -> Any:
            return await server.client.call_tool(tool, arguments, progress_callback=hear)

        assert not server.run(call).is_error
    for told in heard.values():
        assert len(told) > 2
        assert all(before < after for before, after in pairwise(told))
