"""A client for tests of servers, without a connection: calls go straight to the registered functions.

    client = InMemoryClient(server, caller="ada")
    answer = await client.call("transcript_recent", chat="oc_1")
    assert answer.text == "..."

It gets the same answers as a real client, from the same code; only SDK and transport are left out.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from transcript_mcp.door.identity import Caller
from transcript_mcp.sdk.calls import CALLER, ClientRequest, cannot
from transcript_mcp.sdk.client_subscriptions import Peer
from transcript_mcp.sdk.content import Wire
from transcript_mcp.sdk.context import Elicited, LogLevel
from transcript_mcp.sdk.dispatch import Dispatch
from transcript_mcp.sdk.server import Server
from transcript_mcp.sdk.watch import Watch

__all__ = ["Answer", "InMemoryClient"]


@dataclass(frozen=True)
class Answer:
    """A tool's result."""

    wire: Wire

    @property
    def is_error(self) -> bool:
        """Whether the tool failed."""
        return bool(self.wire["isError"])

    @property
    def text(self) -> str:
        """The text blocks, one after the other."""
        return "\n".join(block["text"] for block in self.wire["content"] if block["type"] == "text")

    @property
    def data(self) -> Any:
        """The structured result, else the text read as JSON."""
        return self.wire["structuredContent"] if "structuredContent" in self.wire else json.loads(self.text)


class InMemoryClient:
    """``caller`` is the ``Caller.text`` that the hub would pass. ``elicit`` and ``sample`` answer for person and model.

    ``progressed``, ``logged`` and ``told`` (URIs of updated resources) collect what the server sent.
    """

    def __init__(
        self,
        server: Server,
        *,
        caller: str | None = None,
        elicit: Callable[[str, dict[str, Any]], Elicited] | None = None,
        sample: Callable[[str], str] | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.server = server
        self.progressed: list[tuple[float, float | None, str | None]] = []
        self.logged: list[tuple[str, str]] = []
        self.told: list[str | None] = []
        self._dispatch = Dispatch(server, watch)
        self._caller = caller
        self._peer: Peer | None = None
        self.on_elicit = elicit
        self.on_sample = sample

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Answer:
        """Call a tool. Raises ProtocolError when it does not exist."""
        return Answer(await self.request("tools/call", name=tool, arguments={**(arguments or {}), **named}))

    async def prompt(self, name: str, **arguments: Any) -> list[Wire]:
        """The messages of a prompt. Raises ProtocolError."""
        return (await self.request("prompts/get", name=name, arguments=arguments))["messages"]

    async def read(self, uri: str) -> list[Wire]:
        """The contents of a resource. Raises ProtocolError."""
        return (await self.request("resources/read", uri=uri))["contents"]

    async def subscribe(self, uri: str) -> None:
        """Have ``told`` collect the updates of a resource."""
        await self.request("resources/subscribe", uri=uri)

    async def request(self, method: str, **params: Any) -> Wire:
        """Any method of the protocol, with its parameters."""
        return await self._dispatch.methods[method](_Params(params), _InMemoryCall(self, self._met(), self._caller))

    async def close(self) -> None:
        """Disconnect, ending all subscriptions."""
        if self._peer is not None:
            await self._peer.close()

    def _met(self) -> Peer:
        if self._peer is None:
            self._peer = Peer(self.server.updates, self._note)
        return self._peer

    async def _note(self, uri: str | None) -> None:
        self.told.append(uri)


class _InMemoryCall(ClientRequest):
    def __init__(self, client: InMemoryClient, peer: Peer, caller: str | None) -> None:
        super().__init__(client.server, peer, {CALLER: Caller.of_text(caller) if caller is not None else None})
        self._client = client
        self._caller = caller

    @property
    def caller(self) -> str | None:
        return self._caller

    @property
    def client_name(self) -> str | None:
        return "in-memory"

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        self._client.progressed.append((done, total, message))

    async def send_log(self, level: LogLevel, text: str) -> None:
        self._client.logged.append((level, text))

    @property
    def can_elicit(self) -> bool:
        return self._client.on_elicit is not None

    async def elicit(self, message: str, schema: dict[str, Any]) -> Elicited:
        if self._client.on_elicit is None:
            raise cannot("ask its person")
        return self._client.on_elicit(message, schema)

    async def sample(self, prompt: str, *, system: str | None = None, max_tokens: int = 1000) -> str:
        if self._client.on_sample is None:
            raise cannot("ask its model")
        return self._client.on_sample(prompt)


@dataclass(eq=False)
class _Params:
    """Parameters with attributes as the SDK's objects have them; None where nothing was given."""

    _values: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        value = self._values.get(name)
        return _Params(value) if isinstance(value, Mapping) and name != "arguments" else value
