"""Every use of private parts of the `mcp` SDK, and what we rely on beyond its documentation.

`tests/server/test_compat.py` names the version that this was written for, and says what broke with another one.
"""

from typing import Any

from mcp.server import MCPServer

WRITTEN_FOR = "2.3"
"""The version of `mcp` that this module was checked with, major and minor."""

OVERRIDDEN = ("list_tools", "call_tool", "get_prompt")
"""Methods of `MCPServer` that its request handlers call, so that a subclass can answer in their place."""


async def run_on_streams(server: MCPServer[Any], reads: Any, writes: Any) -> None:
    """Serve on a pair of message streams; the SDK offers this only for its own transports."""
    lowlevel = server._lowlevel_server
    await lowlevel.run(reads, writes, lowlevel.create_initialization_options())
