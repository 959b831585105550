"""Tool calls over stdin that need nothing of the SDK: answered beside it, in a fraction of its time.

A plain function can neither report its progress nor ask the client for anything, so all it takes is the call and all it
gives is the answer. Such calls go past the SDK's session, streams and models; what they are answered is the same. A
client's first request is the SDK's, whatever it is: from then on the SDK knows whom to tell of news.
"""

import inspect
from typing import Any, Final

import msgspec

from transcript_mcp.sdk.content import Wire
from transcript_mcp.sdk.direct import Direct, is_tool_call
from transcript_mcp.sdk.dispatch import Dispatch
from transcript_mcp.sdk.server import Server

__all__ = ["Shortcut"]


class Shortcut:
    """One connection's calls of plain functions."""

    def __init__(self, server: Server) -> None:
        self._server: Final = server
        self._direct: Final = Direct(server)
        self._client: str | None = None
        self._served: Final = frozenset(Dispatch(server).methods)
        self._asked: Final[set[Any]] = set()
        self._greeted = self._begun = False

    def call(self, line: bytes) -> Wire | None:
        """The tool call in a line, None for what is the SDK's. Has to see every line: it learns who the client is."""
        try:
            message = msgspec.json.decode(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        if not isinstance(message, dict):
            return None
        if self._begun:
            return self._plain(message)
        self._follow(message)
        return None

    def answered(self, request_id: Any) -> None:
        """The SDK has answered a request."""
        if not self._begun and request_id in self._asked:
            self._begun = True
            self._asked.clear()

    async def answer(self, call: Wire) -> bytes:
        """The answer as a line."""
        return msgspec.json.encode(await self._direct.answer(call, None, client=self._client)) + b"\n"

    def _follow(self, message: Wire) -> None:
        params = message.get("params")
        if message.get("method") == "initialize" and isinstance(params, dict):
            about = params.get("clientInfo")
            name = about.get("name") if isinstance(about, dict) else None
            self._greeted, self._client = True, name if isinstance(name, str) else None
        elif self._greeted and message.get("method") in self._served and isinstance(message.get("id"), int | str):
            self._asked.add(message["id"])

    def _plain(self, message: Wire) -> Wire | None:
        """The call of a plain function without what clients say about it, such as where they want its progress."""
        params = message.get("params")
        if isinstance(params, dict) and isinstance(params.get("_meta"), dict):
            message = message | {"params": {name: value for name, value in params.items() if name != "_meta"}}
        tool = self._server.tools.get(message["params"]["name"]) if is_tool_call(message) else None
        return message if tool is not None and not inspect.iscoroutinefunction(tool.function) else None
