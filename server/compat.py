"""Every use of private parts of the `mcp` SDK, in one module so that a new version breaks in one place.

`tests/server/test_compat.py` names the version that this was written for, and fails with what another one changed.
"""

from typing import Any

from mcp.server import MCPServer
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, authorization_context
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

WRITTEN_FOR = "2.3"
"""The version of `mcp` that this module was checked with, major and minor."""

OVERRIDDEN = ("list_tools", "call_tool", "get_prompt")
"""Methods of `MCPServer` that its request handlers call, so that a subclass can answer in their place."""


async def run_on_streams(server: MCPServer[Any], reads: Any, writes: Any) -> None:
    """Serve on a pair of message streams; the SDK offers this only for its own transports."""
    lowlevel = server._lowlevel_server
    await lowlevel.run(reads, writes, lowlevel.create_initialization_options())


def session_manager(server: MCPServer[Any], longest_body: int) -> StreamableHTTPSessionManager:
    """Return the manager that serves streamable HTTP; the SDK makes one only inside its own application.

    Host and origin are checked earlier, for every path.
    """
    return StreamableHTTPSessionManager(
        server._lowlevel_server,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=longest_body,
    )


def sessions_of(manager: StreamableHTTPSessionManager, user: AuthenticatedUser) -> int:
    """Count the open MCP sessions of a user; the SDK only limits those of all users together."""
    owner = authorization_context(user)
    return sum(1 for one in manager._session_owners.values() if one == owner)


def open_sessions(manager: StreamableHTTPSessionManager) -> int:
    """Count the open MCP sessions."""
    return len(manager._server_instances)
