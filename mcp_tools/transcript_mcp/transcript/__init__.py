"""The transcript server: what was said in the groups, for any agent that speaks MCP."""

from transcript_mcp.transcript.server import build_server

__all__ = ["build_server"]
