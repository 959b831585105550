"""The command mcp-config."""
