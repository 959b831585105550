"""Answers simple requests (a tool call, a list, a ping) without the SDK.

Even for a stateless request the SDK sets up a session with streams and tasks, which takes longer than a quick tool. The
answers here are the same.
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
"""Levels of nested arguments. Deeper ones go to the SDK, which refuses them at some hundreds."""


def is_tool_call(message: Any) -> bool:
    """True for a well-formed ``tools/call`` with nothing unusual in it. The SDK handles everything else."""
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
    """True for a well-formed ``ping``, and for a request without parameters of a list that is ``served``."""
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
    """One server's answers. ``watch`` hears of each tool call."""

    def __init__(self, server: Server, watch: Watch | None = None) -> None:
        self._server = server
        self._dispatch = Dispatch(server, watch)

    async def plain(self, message: Wire) -> Wire:
        """The JSON-RPC answer to a message that ``is_plain_request``."""
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
        """The JSON-RPC answer to a message that ``is_tool_call``, for an authenticated ``caller``.

        ``receiver`` can tell whether the answer arrives; ``client`` is the name of a client that introduced itself.
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
    """A request whose client can receive nothing but the answer."""

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
