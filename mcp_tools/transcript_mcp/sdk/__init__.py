"""MCP servers from plain functions. The only room that imports the MCP SDK, 1.x or 2.x.

    from transcript_mcp.sdk import Server, serve_stdio

    server = Server("clock", version="1.0")
    server.tool(now, read_only=True)
    asyncio.run(serve_stdio(server))

Importing this package imports neither the SDK nor an HTTP server; serving does.
"""

from transcript_mcp.sdk.calls import CALLER
from transcript_mcp.sdk.content import Audio, Content, Embedded, Image, Link, Message, Result, Text
from transcript_mcp.sdk.context import Context, Elicited
from transcript_mcp.sdk.http import HttpApp, http_app
from transcript_mcp.sdk.server import Server, merged
from transcript_mcp.sdk.stdio import serve_stdio
from transcript_mcp.sdk.watch import Kind, Watch, WorkOutcome

__all__ = [
    "CALLER",
    "Audio",
    "Content",
    "Context",
    "Elicited",
    "Embedded",
    "HttpApp",
    "Image",
    "Kind",
    "Link",
    "Message",
    "Result",
    "Server",
    "Text",
    "Watch",
    "WorkOutcome",
    "http_app",
    "merged",
    "serve_stdio",
]
