"""One module per MCP tool: plain functions that know no protocol."""
