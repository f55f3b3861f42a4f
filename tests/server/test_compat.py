"""What we rely on in the `mcp` SDK beyond its documentation; each failure says what broke and with which version."""

import ast
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, GetPromptResult, PromptMessage, TextContent, Tool

from reverie.server.compat import OVERRIDDEN, WRITTEN_FOR, open_sessions, session_manager, sessions_of

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
BROKE = f"mcp {version('mcp')} is installed, server/compat.py was written for {WRITTEN_FOR}:"


class Overriding(MCPServer[Any]):
    """A server that answers in the place of the SDK's own registries."""

    async def list_tools(self) -> list[Tool]:
        return [Tool(name="own", input_schema={"type": "object"})]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text=f"called {name}")])

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult:
        return GetPromptResult(
            messages=[PromptMessage(role="user", content=TextContent(type="text", text=f"wrote {name}"))]
        )


async def test_a_subclass_answers_in_place_of_the_registries() -> None:
    async with Client(Overriding("own")) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert listed == ["own"], f"{BROKE} tools/list no longer calls MCPServer.list_tools."
        [told] = (await client.call_tool("own", {})).content
        assert told.text == "called own", f"{BROKE} tools/call no longer calls MCPServer.call_tool."
        [wrote] = (await client.get_prompt("page")).messages
        assert wrote.content.text == "wrote page", f"{BROKE} prompts/get no longer calls MCPServer.get_prompt."
    for name in OVERRIDDEN:
        assert name in vars(MCPServer), f"{BROKE} MCPServer has no method {name}."


async def test_the_server_under_the_server_runs_on_any_streams() -> None:
    lowlevel = getattr(MCPServer("own"), "_lowlevel_server", None)
    assert lowlevel is not None, f"{BROKE} MCPServer has no _lowlevel_server."
    for name in ("run", "create_initialization_options"):
        assert callable(getattr(lowlevel, name, None)), f"{BROKE} the low-level server has no {name}."


async def test_the_sessions_over_http_can_be_counted_by_their_owner() -> None:
    manager = session_manager(MCPServer("own"), 1_000)
    assert open_sessions(manager) == 0, f"{BROKE} the session manager has no _server_instances."
    user = AuthenticatedUser(AccessToken(token="t", client_id="c", scopes=[], subject="s"))  # noqa: S106 - made up
    assert sessions_of(manager, user) == 0, f"{BROKE} the session manager has no _session_owners."


@pytest.mark.parametrize("folder", ["server", "cli"])
def test_no_other_module_uses_private_parts_of_the_sdk(folder: str) -> None:
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for file in sorted((ROOT / folder).rglob("*.py"))
        if file.name != "compat.py" and "mcp" in (source := file.read_text("utf-8"))
        for node in ast.walk(ast.parse(source))
        if _is_private(node)
    ]
    assert found == []


def _is_private(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return bool(node.module) and node.module.startswith("mcp") and "._" in node.module
    if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr.startswith("__"):
        return False
    return not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "os", "argparse"))
