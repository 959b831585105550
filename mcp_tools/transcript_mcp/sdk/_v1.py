"""The backend for SDK 1.26 to 1.30. Requests arrive as its typed objects; answers are plain dicts that bypass its
checks.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any, ClassVar, Final

import anyio
from mcp import types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import NotificationOptions
from mcp.server.lowlevel import Server as LowServer
from mcp.server.session import ServerSession
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.context import RequestContext
from mcp.shared.exceptions import McpError
from mcp.shared.message import SessionMessage
from pydantic import AnyUrl, ValidationError

from transcript_mcp.sdk.backend import HttpManager, HttpOptions
from transcript_mcp.sdk.calls import ClientRequest, cannot
from transcript_mcp.sdk.client_subscriptions import GoneError, Peer
from transcript_mcp.sdk.context import Elicited, LogLevel
from transcript_mcp.sdk.dispatch import Answer, Dispatch, ProtocolError
from transcript_mcp.sdk.logs import quiet
from transcript_mcp.sdk.server import Server

__all__ = ["BACKEND"]

_REQUESTS: dict[str, type] = {
    "tools/list": types.ListToolsRequest,
    "tools/call": types.CallToolRequest,
    "prompts/list": types.ListPromptsRequest,
    "prompts/get": types.GetPromptRequest,
    "resources/list": types.ListResourcesRequest,
    "resources/templates/list": types.ListResourceTemplatesRequest,
    "resources/read": types.ReadResourceRequest,
    "resources/subscribe": types.SubscribeRequest,
    "resources/unsubscribe": types.UnsubscribeRequest,
    "completion/complete": types.CompleteRequest,
    "logging/setLevel": types.SetLevelRequest,
}

_WITHDRAWING: Final = 2.0
"""Seconds that it may take to tell a client that its person's answer is not needed any more."""


@dataclass
class _Connection:
    """One client. The SDK makes it (as its lifespan context) before the client has introduced itself."""

    server: Server
    peer: Peer | None = None

    def meet(self, session: ServerSession) -> Peer:
        if self.peer is None:
            self.peer = Peer(self.server.updates, lambda uri: _tell(session, uri))
        return self.peer


@asynccontextmanager
async def _connected(server: Server) -> AsyncIterator[_Connection]:
    connection = _Connection(server)
    try:
        yield connection
    finally:
        if connection.peer is not None:
            with anyio.CancelScope(shield=True):
                await connection.peer.close()


async def _tell(session: ServerSession, uri: str | None) -> None:
    try:
        if uri is not None:
            await session.send_resource_updated(AnyUrl(uri))
            return
        await session.send_tool_list_changed()
        await session.send_prompt_list_changed()
        await session.send_resource_list_changed()
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        raise GoneError from None


class _V1Call(ClientRequest):
    def __init__(self, server: Server, request: RequestContext[ServerSession, _Connection, Any]) -> None:
        peer = request.lifespan_context.meet(request.session)
        super().__init__(server, peer, getattr(request.request, "scope", None))
        self._request = request
        self._session = request.session

    @property
    def client_name(self) -> str | None:
        params = self._session.client_params
        return params.clientInfo.name if params else None

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        token = self._request.meta.progressToken if self._request.meta else None
        if token is not None:
            await self._session.send_progress_notification(token, done, total, message, str(self._request.request_id))

    async def send_log(self, level: LogLevel, text: str) -> None:
        await self._session.send_log_message(level, text, self.server.name, self._request.request_id)

    @property
    def can_elicit(self) -> bool:
        return self._can(types.ClientCapabilities(elicitation=types.ElicitationCapability()))

    async def elicit(self, message: str, schema: dict[str, Any]) -> Elicited:
        if not self.can_elicit:
            raise cannot("ask its person")
        asking = _Asking(self._session, self._request.request_id)
        try:
            answer = await asking.answer(message, schema)
        except (McpError, ValidationError) as error:
            raise cannot("ask its person") from error
        return Elicited(answer.action, dict(answer.content or {}))

    async def sample(self, prompt: str, *, system: str | None = None, max_tokens: int = 1000) -> str:
        if not self._can(types.ClientCapabilities(sampling=types.SamplingCapability())):
            raise cannot("ask its model")
        message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt))
        answer = await self._session.create_message(
            [message], max_tokens=max_tokens, system_prompt=system, related_request_id=self._request.request_id
        )
        return answer.content.text if isinstance(answer.content, types.TextContent) else ""

    def _can(self, capability: types.ClientCapabilities) -> bool:
        return self._session.check_client_capability(capability)


class _Asking:
    """One question to the client's person that can be withdrawn."""

    _open: ClassVar[set[asyncio.Task[types.ElicitResult]]] = set()

    def __init__(self, session: ServerSession, during: types.RequestId) -> None:
        self._session = session
        self._during = during
        self._id: types.RequestId | None = None

    async def answer(self, message: str, schema: dict[str, Any]) -> types.ElicitResult:
        asking = asyncio.create_task(self._ask(message, schema))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            if self._id is None:
                asking.cancel()
                raise
            # Keep waiting: the SDK would take a late answer for an unknown one and report an error to the client.
            self._open.add(asking)
            asking.add_done_callback(self._forget)
            await self._withdraw(self._id)
            raise

    async def _ask(self, message: str, schema: dict[str, Any]) -> types.ElicitResult:
        self._id = self._session._request_id  # the id of the next request; the SDK has no public way to learn it
        return await self._session.elicit(message, schema, self._during)

    async def _withdraw(self, asked: types.RequestId) -> None:
        params = types.CancelledNotificationParams(requestId=asked, reason="The answer is not needed any more.")
        notice = types.ServerNotification(types.CancelledNotification(params=params))
        with (
            anyio.move_on_after(_WITHDRAWING, shield=True),
            suppress(anyio.ClosedResourceError, anyio.BrokenResourceError),
        ):
            await self._session.send_notification(notice, self._during)

    @classmethod
    def _forget(cls, asked: "asyncio.Task[types.ElicitResult]") -> None:
        cls._open.discard(asked)
        if not asked.cancelled():
            asked.exception()  # retrieved, or asyncio logs "Task exception was never retrieved"


class _LowServer(LowServer[_Connection, Any]):
    def __init__(self, dispatch: Dispatch) -> None:
        server = dispatch.server
        super().__init__(server.name, server.version, server.instructions, lifespan=lambda _: _connected(server))
        for method, answer in dispatch.methods.items():
            self._serve(server, _REQUESTS[method], answer)

    def _serve(self, server: Server, kind: type, answer: Answer) -> None:
        async def handle(request: Any) -> types.ServerResult:
            try:
                wire = await answer(request.params, _V1Call(server, self.request_context))
            except ProtocolError as error:
                raise McpError(types.ErrorData(code=error.code, message=str(error), data=error.data)) from None
            # EmptyResult accepts any fields, so the SDK does not check the answer again by its own models.
            return types.ServerResult(types.EmptyResult(**wire))

        self.request_handlers[kind] = handle

    def get_capabilities(
        self, notification_options: NotificationOptions, experimental_capabilities: dict[str, dict[str, Any]]
    ) -> types.ServerCapabilities:
        options = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        told = super().get_capabilities(options, experimental_capabilities)
        if told.resources is not None:
            told.resources.subscribe = True
        return told


class _V1:
    async def serve(self, dispatch: Dispatch, read: Any, write: Any) -> None:
        server = _LowServer(dispatch)
        await server.run(read, write, server.create_initialization_options())

    def decode(self, line: bytes) -> SessionMessage:
        try:
            return SessionMessage(types.JSONRPCMessage.model_validate_json(line))
        except ValidationError as error:
            raise ValueError("not a JSON-RPC message") from error

    def encode(self, message: SessionMessage) -> bytes:
        return message.message.model_dump_json(by_alias=True, exclude_none=True).encode()

    def request_id(self, message: SessionMessage) -> Any:
        root = message.message.root
        return root.id if isinstance(root, types.JSONRPCRequest) else None

    def answered_id(self, message: SessionMessage) -> Any:
        root = message.message.root
        return root.id if isinstance(root, (types.JSONRPCResponse, types.JSONRPCError)) else None

    def is_error(self, message: SessionMessage) -> bool:
        return isinstance(message.message.root, types.JSONRPCError)

    def user(self, caller: str) -> AuthenticatedUser:
        return AuthenticatedUser(AccessToken(token="", client_id=caller, scopes=[]))

    def http_manager(self, dispatch: Dispatch, options: HttpOptions) -> HttpManager:
        making = partial(
            StreamableHTTPSessionManager,
            _LowServer(dispatch),
            json_response=options.json,
            stateless=options.stateless,
            security_settings=_security(options),
        )
        if "max_request_body_size" not in signature(StreamableHTTPSessionManager).parameters:
            from transcript_mcp.sdk._v1_older import OlderManager

            return OlderManager(making, options)
        return making(
            session_idle_timeout=None if options.stateless else options.idle_timeout,
            max_request_body_size=options.max_body,
        )


def _security(options: HttpOptions) -> TransportSecuritySettings:
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=bool(options.allowed_hosts),
        allowed_hosts=list(options.allowed_hosts),
        allowed_origins=list(options.allowed_origins),
    )


quiet()
BACKEND = _V1()
