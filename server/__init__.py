"""The only folder that knows MCP, and the command line."""
