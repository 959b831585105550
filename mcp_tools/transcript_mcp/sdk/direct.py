"""A request that is one whole and wants one whole answer, without a session of the SDK around it: a tool call, a list.

The SDK makes a session, its streams and its tasks for every request, also where nothing of it is kept, and that takes
longer than a quick tool itself. What such a call is answered is the same.
"""

from collections.abc import Collection
from typing import Any, Final

from transcript_mcp.door.identity import Caller
from transcript_mcp.sdk.calls import ClientRequest, Receiver, cannot
from transcript_mcp.sdk.content import Wire
from transcript_mcp.sdk.context import Elicited, LogLevel
from transcript_mcp.sdk.dispatch import Dispatch, ProtocolError
from transcript_mcp.sdk.server import Server
from transcript_mcp.sdk.watch import Watch

__all__ = ["Direct", "is_plain_request", "is_tool_call"]

_PING: Final = "ping"
_LISTS: Final = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
_DEEPEST: Final = 64
"""Levels of arguments. The SDK refuses some hundreds; no tool of sense has so many."""


def is_tool_call(message: Any) -> bool:
    """True for a well-formed ``tools/call`` without anything unusual. All else is for the SDK, errors included."""
    if not isinstance(message, dict) or message.keys() != {"jsonrpc", "id", "method", "params"}:
        return False
    params = message["params"]
    return (
        message["jsonrpc"] == "2.0"
        and message["method"] == "tools/call"
        and type(message["id"]) in (int, str)
        and isinstance(params, dict)
        and params.keys() <= {"name", "arguments"}
        and isinstance(params.get("name"), str)
        and isinstance(params.get("arguments", {}), dict)
        and _is_flat(params, _DEEPEST)
    )


def is_plain_request(message: Wire, served: Collection[str]) -> bool:
    """True for a well-formed ``ping``, and for the request of a list that is ``served``, without anything unusual."""
    method = message.get("method")
    return (
        message.keys() - {"params"} == {"jsonrpc", "id", "method"}
        and message["jsonrpc"] == "2.0"
        and type(message["id"]) in (int, str)
        and message.get("params", {}) == {}
        and (method == _PING or (method in _LISTS and method in served))
    )


def _is_flat(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value
    nested = (each for each in inner if isinstance(each, (dict, list)))
    return levels > 0 and all(_is_flat(each, levels - 1) for each in nested)


class Direct:
    """One server's answers. ``watch`` is told of each tool call."""

    def __init__(self, server: Server, watch: Watch | None = None) -> None:
        self._server = server
        self._dispatch = Dispatch(server, watch)

    async def plain(self, message: Wire) -> Wire:
        """The JSON-RPC answer to what ``is_plain_request``."""
        head, method = {"jsonrpc": "2.0", "id": message["id"]}, message["method"]
        if method == _PING:
            return head | {"result": {}}
        nobody = _DirectCall(self._server, None, None, None)
        try:
            return head | {"result": await self._dispatch.methods[method](None, nobody)}
        except ProtocolError as error:
            return head | {"error": _shown(error)}

    async def answer(
        self, message: Wire, caller: Caller | None, receiver: Receiver | None = None, client: str | None = None
    ) -> Wire:
        """The JSON-RPC answer to what ``is_tool_call``; ``caller`` is who asks, as the hub made sure of.

        ``receiver`` is who waits for it, where somebody knows what becomes of the answer; ``client`` is the name of a
        client that has introduced itself.
        """
        params, head = message["params"], {"jsonrpc": "2.0", "id": message["id"]}
        call = _DirectCall(self._server, caller, receiver, client)
        try:
            return head | {"result": await self._dispatch.call_tool(params["name"], params.get("arguments"), call)}
        except ProtocolError as error:
            return head | {"error": _shown(error)}


def _shown(error: ProtocolError) -> Wire:
    data = {} if error.data is None else {"data": error.data}
    return {"code": error.code, "message": str(error), **data}


class _DirectCall(ClientRequest):
    """A client that hears nothing before the answer."""

    def __init__(self, server: Server, caller: Caller | None, receiver: Receiver | None, client: str | None) -> None:
        super().__init__(server, None, None)
        self.who = caller
        self.receiver = receiver
        self._client = client

    @property
    def client_name(self) -> str | None:
        return self._client

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        return

    async def send_log(self, level: LogLevel, text: str) -> None:
        return

    async def elicit(self, message: str, schema: dict[str, Any]) -> Elicited:
        raise cannot("ask its person")

    async def sample(self, prompt: str, *, system: str | None = None, max_tokens: int = 1000) -> str:
        raise cannot("ask its model")
