"""Servers for the official conformance suite, which cannot send a token: `python serve.py real|fixtures`.

`real` is what `reverie serve --http` serves, on a temporary store. `fixtures` has the tools, resources and prompts
that the suite's other scenarios call for, on the same server class and behind the same door. Both add a token to
every request before anything else sees it. The address is printed; the server ends with its stdin.
"""

import asyncio
import base64
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import (
    AudioContent,
    CallToolResult,
    Completion,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    SamplingMessage,
    TextContent,
    TextResourceContents,
    Tool,
)
from starlette.types import ASGIApp, Receive, Scope, Send

from reverie.server.app import ReverieServer, ServedClient, build_shared_server
from reverie.server.http_server import HttpServer, listen, read_plan
from reverie.server.http_telemetry import log_as_json
from reverie.server.tokens import TokenFolder
from reverie.settings import Settings
from reverie.time import system_clock

PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c02"
        "0000000b4944415478da63fcff1f0003030200efa7a1c50000000049454e44ae426082"
    )
).decode()
SILENCE = base64.b64encode(
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x08\0data\0\0\0\0"
).decode()

Body = list[ContentBlock]
Handler = Callable[[dict[str, Any], Context[Any, Any]], Awaitable[Body]]


def text(words: str) -> TextContent:
    return TextContent(type="text", text=words)


def image() -> ImageContent:
    return ImageContent(type="image", data=PIXEL, mime_type="image/png")


def embedded(uri: str, words: str, kind: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=kind, text=words))


def always(*body: ContentBlock) -> Handler:
    async def handler(arguments: dict[str, Any], context: Context[Any, Any]) -> Body:
        return list(body)

    return handler


async def logging(arguments: dict[str, Any], context: Context[Any, Any]) -> Body:
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.info(line)
        await asyncio.sleep(0.05)
    return [text("logged three lines")]


async def progress(arguments: dict[str, Any], context: Context[Any, Any]) -> Body:
    for done in (0, 50, 100):
        await context.report_progress(done, 100, f"{done} of 100")
        await asyncio.sleep(0.05)
    return [text("reported three times")]


async def failing(arguments: dict[str, Any], context: Context[Any, Any]) -> Body:
    raise ToolError("This tool intentionally returns an error for testing")


async def sampling(arguments: dict[str, Any], context: Context[Any, Any]) -> Body:
    asked = [SamplingMessage(role="user", content=text(arguments["prompt"]))]
    answer = await context.session.create_message(asked, max_tokens=100, related_request_id=context.request_id)
    return [text(f"LLM response: {getattr(answer.content, 'text', '')}")]


def asking(properties: dict[str, Any], *, words: str = "Please answer.") -> Handler:
    async def handler(arguments: dict[str, Any], context: Context[Any, Any]) -> Body:
        answer = await context.session.elicit_form(
            arguments.get("message", words),
            {"type": "object", "properties": properties, "required": []},
            related_request_id=context.request_id,  # on the stream of this call: the client may listen on no other
        )
        return [text(f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}")]

    return handler


OPTIONS = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]
STATUSES = ["active", "inactive", "pending"]
ADDRESS = {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}

TOOLS: dict[str, tuple[Handler, dict[str, Any]]] = {
    "test_simple_text": (always(text("This is a simple text response for testing.")), {}),
    "test_image_content": (always(image()), {}),
    "test_audio_content": (always(AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")), {}),
    "test_embedded_resource": (always(embedded("test://embedded-resource", "An embedded resource.")), {}),
    "test_multiple_content_types": (
        always(
            text("Multiple content types test:"),
            image(),
            embedded("test://mixed-content-resource", '{"test": "data"}', "application/json"),
        ),
        {},
    ),
    "test_tool_with_logging": (logging, {}),
    "test_tool_with_progress": (progress, {}),
    "test_error_handling": (failing, {}),
    "test_sampling": (sampling, {"properties": {"prompt": {"type": "string"}}, "required": ["prompt"]}),
    "test_elicitation": (
        asking({"username": {"type": "string"}, "email": {"type": "string"}}),
        {"properties": {"message": {"type": "string"}}, "required": ["message"]},
    ),
    "test_elicitation_sep1034_defaults": (
        asking(
            {
                "name": {"type": "string", "default": "John Doe"},
                "age": {"type": "integer", "default": 30},
                "score": {"type": "number", "default": 95.5},
                "status": {"type": "string", "enum": STATUSES, "default": "active"},
                "verified": {"type": "boolean", "default": True},
            }
        ),
        {},
    ),
    "test_elicitation_sep1330_enums": (
        asking(
            {
                "untitledSingle": {"type": "string", "enum": OPTIONS},
                "titledSingle": {"type": "string", "oneOf": TITLED},
                "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
                "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
                "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
            }
        ),
        {},
    ),
    "json_schema_2020_12_tool": (
        always(text("read")),
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": {"address": ADDRESS},
            "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
            "additionalProperties": False,
        },
    ),
}


class FixtureServer(ReverieServer):
    """Our server class with the suite's tools in place of the catalog's."""

    async def list_tools(self) -> list[Tool]:
        return [
            Tool(name=name, description=f"For the suite: {name}.", input_schema={"type": "object", **schema})
            for name, (_, schema) in TOOLS.items()
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult:
        assert context is not None
        client = self._client_of()  # raises if nobody is known to call: the door and the middleware are ours
        async with client.rate_limit.kept(writes=False):
            return CallToolResult(content=await TOOLS[name][0](arguments, context))


def build_fixtures(client_of: Callable[[], ServedClient]) -> ReverieServer:
    server = FixtureServer(client_of)
    add_resources(server)
    add_prompts(server)

    @server.completion()
    async def complete(ref: Any, argument: Any, context: Any) -> Completion:
        return Completion(values=[], total=0, has_more=False)

    return server


def add_resources(server: MCPServer[Any]) -> None:
    @server.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        """A text."""
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        """A picture."""
        return base64.b64decode(PIXEL)

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:  # noqa: A002 - the name in the address
        """What an id names."""
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def add_prompts(server: MCPServer[Any]) -> None:
    from mcp.server.mcpserver.prompts.base import UserMessage

    @server.prompt()
    def test_simple_prompt() -> list[UserMessage]:
        """One message."""
        return [UserMessage(text("This is a simple prompt for testing."))]

    @server.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> list[UserMessage]:
        """Two arguments."""
        return [UserMessage(text(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))]

    @server.prompt()
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803 - the suite's name
        """A resource in a message."""
        return [
            UserMessage(embedded(resourceUri, "Embedded resource content for testing.")),
            UserMessage(text("Please process the embedded resource above.")),
        ]

    @server.prompt()
    def test_prompt_with_image() -> list[UserMessage]:
        """A picture in a message."""
        return [UserMessage(image()), UserMessage(text("Please analyze the image above."))]


class WithToken(HttpServer):
    """Adds a token and a project to every request, as a client that the suite is not would."""

    token = ""

    def application(self) -> ASGIApp:
        app = super().application()
        added = [(b"authorization", f"Bearer {self.token}".encode()), (b"reverie-project", b"conformance")]

        async def with_token(scope: Scope, receive: Receive, send: Send) -> None:
            await app({**scope, "headers": [*scope["headers"], *added]}, receive, send)

        return with_token


async def main(which: str, folder: Path) -> None:
    settings = Settings(home=str(folder / "home"), config=str(folder / "config"), http_rate=100_000)
    tokens = TokenFolder(folder / "config")
    plan = read_plan("127.0.0.1:0", tls_cert="", tls_key="", behind_proxy="", public_url="")
    build = build_fixtures if which == "fixtures" else build_shared_server
    server = WithToken(plan, lambda: settings, settings, tokens, listen(plan), build)
    server.token = tokens.create("conformance", "admin", now=system_clock())
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), server.stop)
    sys.stdout.write(f"{server.address}\n")
    sys.stdout.flush()
    await server.serve()


if __name__ == "__main__":
    log_as_json()
    with tempfile.TemporaryDirectory() as temporary:
        asyncio.run(main(sys.argv[1], Path(temporary)))
