"""The backend for SDK 2.x: protocols with a handshake, and 2026-07-28, which has none and no sessions."""

import json
from functools import partial
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions
from mcp.server.lowlevel import Server as LowServer
from mcp.server.session import ServerSession
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from transcript_mcp.sdk.backend import HttpOptions
from transcript_mcp.sdk.calls import ClientRequest, cannot, reaches
from transcript_mcp.sdk.client_subscriptions import MOST_SUBSCRIPTIONS, Peer
from transcript_mcp.sdk.context import Elicited, LogLevel
from transcript_mcp.sdk.dispatch import NOT_FOUND, Answer, Dispatch, ProtocolError, too_many_subscriptions
from transcript_mcp.sdk.logs import quiet
from transcript_mcp.sdk.server import Server

__all__ = ["BACKEND"]

_PARAMS: dict[str, type[BaseModel]] = {
    "tools/list": types.PaginatedRequestParams,
    "tools/call": types.CallToolRequestParams,
    "prompts/list": types.PaginatedRequestParams,
    "prompts/get": types.GetPromptRequestParams,
    "resources/list": types.PaginatedRequestParams,
    "resources/templates/list": types.PaginatedRequestParams,
    "resources/read": types.ReadResourceRequestParams,
    "resources/subscribe": types.SubscribeRequestParams,
    "resources/unsubscribe": types.UnsubscribeRequestParams,
    "completion/complete": types.CompleteRequestParams,
    "logging/setLevel": types.SetLevelRequestParams,
}
_PEER = "nanobot_transcript.peer"

_NEWER: dict[str, dict[str, Any]] = {
    method: {"resultType": "complete"}
    if method in ("tools/call", "prompts/get", "completion/complete")
    else {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    for method in _PARAMS
}
"""Fields that results of 2026-07-28 have in addition. Clients must not cache: the offer can change at any time."""

_Answer = TypeVar("_Answer", bound=BaseModel)


class _V2Call(ClientRequest):
    """A request of a client that shook hands; the server can send requests to the client meanwhile."""

    def __init__(self, server: Server, request: ServerRequestContext[Any, Any], peer: Peer | None) -> None:
        super().__init__(server, peer, getattr(request.request, "scope", None))
        self._request = request
        self._session: ServerSession = request.session

    @property
    def client_name(self) -> str | None:
        params = self._session.client_params
        return params.client_info.name if params else None

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        await self._session.report_progress(done, total, message)

    async def send_log(self, level: LogLevel, text: str) -> None:
        params = types.LoggingMessageNotificationParams(level=level, data=text, logger=self.server.name)
        await self._session.send_notification(
            types.LoggingMessageNotification(params=params), related_request_id=self._request.request_id
        )

    @property
    def can_elicit(self) -> bool:
        return self._has_forms

    @property
    def _has_forms(self) -> bool:
        capabilities = self._session.client_capabilities
        return capabilities is not None and capabilities.elicitation is not None

    async def elicit(self, message: str, schema: dict[str, Any]) -> Elicited:
        if not self._has_forms:
            raise cannot("ask its person")
        params = types.ElicitRequestFormParams(message=message, requested_schema=schema)
        answer = await self._ask(types.ElicitRequest(params=params), types.ElicitResult)
        return Elicited(answer.action, dict(answer.content or {}))

    async def sample(self, prompt: str, *, system: str | None = None, max_tokens: int = 1000) -> str:
        capabilities = self._session.client_capabilities
        if capabilities is None or capabilities.sampling is None:
            raise cannot("ask its model")
        message = types.SamplingMessage(role="user", content=types.TextContent(text=prompt))
        params = types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens, system_prompt=system)
        answer = await self._ask(types.CreateMessageRequest(params=params), types.CreateMessageResult)
        return answer.content.text if isinstance(answer.content, types.TextContent) else ""

    async def _ask(self, request: types.ElicitRequest | types.CreateMessageRequest, answer: type[_Answer]) -> _Answer:
        metadata = ServerMessageMetadata(related_request_id=self._request.request_id)
        try:
            return await self._session.send_request(request, answer, metadata=metadata)
        except NoBackChannelError:
            raise cannot("be asked anything on this connection") from None
        except (MCPError, ValidationError) as error:
            raise cannot("be asked now") from error


class _ModernCall(_V2Call):
    """A request of 2026-07-28. A question to the client ends the request; the client repeats it with the answer."""

    def __init__(self, server: Server, request: ServerRequestContext[Any, Any], params: BaseModel) -> None:
        super().__init__(server, request, None)
        self._answers = _answers_so_far(params)
        self._asked = 0

    @property
    def can_elicit(self) -> bool:
        return False  # a question would end the call, and run the function again

    async def log(self, level: LogLevel, text: str) -> None:
        wanted = (self._request.meta or {}).get(types.LOG_LEVEL_META_KEY)
        if reaches(level, wanted):
            await self.send_log(level, text)

    async def _ask(self, request: types.ElicitRequest | types.CreateMessageRequest, answer: type[_Answer]) -> _Answer:
        self._asked += 1
        given = self._answers.get(str(self._asked))
        if given is None:
            wire = request.model_dump(by_alias=True, mode="json", exclude_none=True)
            raise _Suspended({str(self._asked): wire}, json.dumps(self._answers))
        return answer.model_validate(given, by_name=False)


class _Suspended(BaseException):
    """Unwinds the function that asked. A BaseException, so that the function's own ``except Exception`` cannot catch
    it.
    """

    def __init__(self, questions: dict[str, Any], state: str) -> None:
        super().__init__()
        self.wire = {"resultType": "input_required", "inputRequests": questions, "requestState": state}


def _answers_so_far(params: BaseModel) -> dict[str, Any]:
    """All answers so far: those in this request, and earlier ones, which the client sends back in ``requestState``.

    The state is not signed: it only holds what this client answered itself, so changing it gains nothing.
    """
    if not isinstance(params, types.InputResponseRequestParams):
        return {}
    now = {
        key: answer.model_dump(by_alias=True, mode="json", exclude_none=True)
        for key, answer in (params.input_responses or {}).items()
    }
    try:
        carried = json.loads(params.request_state or "{}")
    except ValueError:
        carried = None
    if not isinstance(carried, dict):
        raise MCPError(types.INVALID_PARAMS, "requestState is not what this server sent")
    return carried | now


class _LowServer(LowServer[Any]):
    def __init__(self, dispatch: Dispatch) -> None:
        self._dispatch = dispatch
        self._offering = server = dispatch.server
        super().__init__(
            server.name,
            version=server.version,
            title=server.title,
            instructions=server.instructions,
            get_tool_input_schema=self._input_schema,
            on_subscriptions_listen=self._listen,
        )
        for method, answer in dispatch.methods.items():
            self.add_request_handler(method, _PARAMS[method], partial(self._answer, answer))

    def _input_schema(self, name: str) -> dict[str, Any] | None:
        tool = self._offering.tools.get(name)
        return tool.signature.schema if tool else None

    async def _answer(
        self, answer: Answer, request: ServerRequestContext[Any, Any], params: BaseModel
    ) -> dict[str, Any]:
        modern = request.protocol_version in MODERN_PROTOCOL_VERSIONS
        try:
            if modern:
                return _NEWER[request.method] | await answer(params, _ModernCall(self._offering, request, params))
            return await answer(params, _V2Call(self._offering, request, _met(self._offering, request.session)))
        except _Suspended as suspended:
            return suspended.wire
        except ProtocolError as error:
            # 2026-07-28 has no error code for "resource not found" (-32002) any more.
            code = types.INVALID_PARAMS if modern and error.code == NOT_FOUND else error.code
            raise MCPError(code, str(error), error.data) from None

    async def _listen(
        self, request: ServerRequestContext[Any, Any], params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        bus = InMemorySubscriptionBus()
        wanted = params.notifications.resource_subscriptions or ()
        try:
            if len(set(wanted)) > MOST_SUBSCRIPTIONS:
                raise too_many_subscriptions()
            for uri in wanted:
                await self._dispatch.admit(uri, _ModernCall(self._offering, request, params))
        except ProtocolError as error:
            raise MCPError(error.code, str(error), error.data) from None
        peer = Peer(self._offering.updates, partial(_publish, bus))
        try:
            for uri in wanted:
                await peer.subscribe(uri)
            return await ListenHandler(bus)(request, params)
        finally:
            with anyio.CancelScope(shield=True):
                await peer.close()

    def get_capabilities(
        self, notification_options: NotificationOptions | None = None, *args: Any, **kwargs: Any
    ) -> types.ServerCapabilities:
        options = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return super().get_capabilities(options, *args, **kwargs)


def _met(server: Server, session: ServerSession) -> Peer:
    """The client of a connection; all requests of the connection share one ``Peer``."""
    connection: Connection = session._connection  # the SDK has no public way to it
    peer = connection.state.get(_PEER)
    if peer is None:
        peer = connection.state[_PEER] = Peer(server.updates, partial(_tell, connection))
        connection.exit_stack.push_async_callback(peer.close)
    return peer


async def _tell(connection: Connection, uri: str | None) -> None:
    if uri is not None:
        await connection.send_resource_updated(uri)
        return
    await connection.send_tool_list_changed()
    await connection.send_prompt_list_changed()
    await connection.send_resource_list_changed()


async def _publish(bus: InMemorySubscriptionBus, uri: str | None) -> None:
    if uri is not None:
        await bus.publish(ResourceUpdated(uri))
        return
    for event in (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()):
        await bus.publish(event)


class _V2:
    async def serve(self, dispatch: Dispatch, read: Any, write: Any) -> None:
        server = _LowServer(dispatch)
        await server.run(read, write, server.create_initialization_options())

    def decode(self, line: bytes) -> SessionMessage:
        try:
            return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValidationError as error:
            raise ValueError("not a JSON-RPC message") from error

    def encode(self, message: SessionMessage) -> bytes:
        return message.message.model_dump_json(by_alias=True, exclude_unset=True).encode()

    def request_id(self, message: SessionMessage) -> Any:
        root = message.message
        return root.id if isinstance(root, types.JSONRPCRequest) else None

    def answered_id(self, message: SessionMessage) -> Any:
        root = message.message
        return root.id if isinstance(root, (types.JSONRPCResponse, types.JSONRPCError)) else None

    def is_error(self, message: SessionMessage) -> bool:
        return isinstance(message.message, types.JSONRPCError)

    def user(self, caller: str) -> AuthenticatedUser:
        return AuthenticatedUser(AccessToken(token="", client_id=caller, scopes=[]))

    def http_manager(self, dispatch: Dispatch, options: HttpOptions) -> StreamableHTTPSessionManager:
        security = TransportSecuritySettings(
            enable_dns_rebinding_protection=bool(options.allowed_hosts),
            allowed_hosts=list(options.allowed_hosts),
            allowed_origins=list(options.allowed_origins),
        )
        return StreamableHTTPSessionManager(
            _LowServer(dispatch),
            json_response=options.json,
            stateless=options.stateless,
            security_settings=security,
            session_idle_timeout=None if options.stateless else options.idle_timeout,
            max_request_body_size=options.max_body,
        )


quiet()
BACKEND = _V2()
