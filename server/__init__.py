"""The MCP server: the only folder that knows MCP."""
