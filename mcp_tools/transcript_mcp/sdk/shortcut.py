"""Tool calls over stdin that need nothing of the SDK: answered beside it, in a fraction of its time.

A plain function can neither report its progress nor ask the client for anything, so all it takes is the call and all it
gives is the answer. Such calls go past the SDK's session, streams and models, once the client has introduced itself;
what they are answered is the same.
"""

import inspect
from typing import Any, Final

import msgspec

from transcript_mcp.sdk.content import Wire
from transcript_mcp.sdk.direct import Direct, is_tool_call
from transcript_mcp.sdk.server import Server

__all__ = ["Shortcut"]


class Shortcut:
    """One connection's calls of plain functions."""

    def __init__(self, server: Server) -> None:
        self._server: Final = server
        self._direct: Final = Direct(server)
        self._client: str | None = None
        self._greeting: Any = None
        self._greeted = self._begun = False

    def call(self, line: bytes) -> Wire | None:
        """The tool call in a line, None for what is the SDK's. Has to see every line: it learns who the client is."""
        try:
            message = msgspec.json.decode(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        if not isinstance(message, dict):
            return None
        self._follow(message)
        return self._plain(message) if self._greeted and self._begun else None

    def answered(self, request_id: Any) -> None:
        """The SDK has answered a request: nobody is answered before the first one, in which the client greets."""
        if request_id is not None and request_id == self._greeting:
            self._greeted = True

    async def answer(self, call: Wire) -> bytes:
        """The answer as a line."""
        return msgspec.json.encode(await self._direct.answer(call, None, client=self._client)) + b"\n"

    def _follow(self, message: Wire) -> None:
        if message.get("method") == "notifications/initialized":
            self._begun = True
        elif message.get("method") == "initialize" and isinstance(params := message.get("params"), dict):
            about = params.get("clientInfo")
            name = about.get("name") if isinstance(about, dict) else None
            self._greeting, self._client = message.get("id"), name if isinstance(name, str) else None

    def _plain(self, message: Wire) -> Wire | None:
        """The call of a plain function without what clients say about it, such as where they want its progress."""
        params = message.get("params")
        if isinstance(params, dict) and isinstance(params.get("_meta"), dict):
            message = message | {"params": {name: value for name, value in params.items() if name != "_meta"}}
        tool = self._server.tools.get(message["params"]["name"]) if is_tool_call(message) else None
        return message if tool is not None and not inspect.iscoroutinefunction(tool.function) else None
