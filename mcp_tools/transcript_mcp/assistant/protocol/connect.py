"""Unary calls of the Connect protocol over plain HTTP: agents' programs ask, and scripts answer.

    curl http://127.0.0.1:8765/agentassistproto.SrvAgentAssist/AskQuestion -H 'content-type: application/json' \\
        -d '{"ID": "1", "UserToken": "test-token", "Request": {"Question": "Deploy?", "Timeout": 60}}'
"""

import asyncio
import json
import os
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, TypeAlias

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from google.protobuf.message import Message

from nanobot_transcript.errors import (
    InvalidQuestionError,
    StoreError,
    TokenRefusedError,
    TranscriptError,
    UnknownQuestionError,
)
from transcript_mcp.assistant.protocol import frames, proto, wire
from transcript_mcp.assistant.protocol.limits import LARGEST, LARGEST_ASKED, MOST_VALUES, SMALL
from transcript_mcp.assistant.protocol.offload import Offload
from transcript_mcp.assistant.protocol.schema import PACKAGE, SERVICES
from transcript_mcp.assistant.protocol.screens import Screens
from transcript_mcp.assistant.protocol.shown_ids import ShownIds
from transcript_mcp.assistant.protocol.sockets import Sockets
from transcript_mcp.assistant.questions.rules import clean_name
from transcript_mcp.assistant.questions.service import Assistant
from transcript_mcp.assistant.questions.values import Inquiry, Kind
from transcript_mcp.door.bodies import BodyIntake, BodyTooLargeError, CrowdedError
from transcript_mcp.door.delivery import ClientLeftError, deliver, takes_gzip
from transcript_mcp.door.identity import Tokens, bearer
from transcript_mcp.door.waits import TimeIsOverError, Waits

__all__ = ["routes"]

_LONGEST_NICKNAME: Final = 100

_ANSWER: Final = web.RequestKey("answer", Inquiry)
"""The inquiry whose answer also carries messages from people."""

_MOST_ARRIVING: Final = 4
"""The global limit of bodies being read, in bodies of the largest size."""

_IN_A_ROW: Final = 8
"""Answers after which the clients that were answered get the processor for a moment."""

_WORTH_PACKING: Final = 1024
_WORTH_PACKING_ASIDE: Final = 256 * 1024

# Source: https://connectrpc.com/docs/protocol#error-codes
_STATUS: Final = {
    "canceled": 499,
    "invalid_argument": 400,
    "deadline_exceeded": 504,
    "not_found": 404,
    "unauthenticated": 401,
    "resource_exhausted": 413,
    "unimplemented": 404,
    "unavailable": 503,
}
_CODES: Final[tuple[tuple[type[TranscriptError], str], ...]] = (
    (TokenRefusedError, "unauthenticated"),
    (UnknownQuestionError, "not_found"),
    (InvalidQuestionError, "invalid_argument"),
    (StoreError, "unavailable"),
)

_Work: TypeAlias = Callable[[web.Request, Any], Coroutine[Any, Any, Message]]
_Admit: TypeAlias = Callable[[dict[str, Any]], object]
_Read: TypeAlias = Callable[[type[Message], bytes, int, _Admit], Message]
_CODECS: Final[Mapping[str, tuple[_Read, Callable[[Message], bytes]]]] = {
    "application/json": (wire.from_json, wire.to_json),
    "application/proto": (
        lambda kind, data, most, _admit: wire.decoded(kind, data, most),
        lambda message: message.SerializeToString(),
    ),
}


def routes(assistant: Assistant, tokens: Tokens) -> Iterable[web.AbstractRouteDef]:
    """Connect's calls and ``/ws``. Tokens are checked here, because they are in the payloads."""
    calls, sockets = ConnectCalls(assistant, tokens), Sockets(Screens(assistant, tokens))
    return [
        web.route("*", f"/{{service:{PACKAGE}\\.[A-Za-z]+}}/{{method}}", calls.handle),
        web.get("/ws", sockets.handle),
        web.get("/health", _healthy),
    ]


class ConnectError(Exception):
    """A call that ends with one of Connect's error codes."""

    def __init__(self, code: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.code = code
        self.headers = headers


@dataclass(frozen=True, slots=True)
class _Method:
    """``most``: bytes of a request. ``in_head``: its token is in the Authorization header, not in the body."""

    request: type[Message]
    work: _Work
    most: int = LARGEST_ASKED
    in_head: bool = False


class ConnectCalls:
    """Answers calls of the two services."""

    def __init__(self, assistant: Assistant, tokens: Tokens) -> None:
        self._assistant = assistant
        self._tokens = tokens
        self._ids = ShownIds(tokens.shared)
        self._aside = Offload()
        self._reading = Offload(SMALL)  # of bodies whose token is not checked yet, so small work only stays on the loop
        self._waits = Waits()
        works: Mapping[str, _Work] = {
            "AskQuestion": self._asking("question", "AskQuestion"),
            "WorkReport": self._asking("report", "WorkReport"),
            "TaskFinish": self._asking("report", "TaskFinish"),
            "Withdraw": self._withdraw,
            "SendMcpClientInfo": self._introduce,
            "Heartbeat": self._alive,
        }
        self._methods = {
            f"{PACKAGE}.{service}/{call.name}": (
                _Method(getattr(proto, call.request), works[call.name])
                if call.name in works
                else _Method(getattr(proto, call.request), self._reply, LARGEST, in_head=True)
            )
            for service, calls in SERVICES.items()
            for call in calls
        }
        self._arrivals = BodyIntake(_MOST_ARRIVING, SMALL)
        self._written = count(1)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """An aiohttp handler for ``/{service}/{method}``."""
        arrived = False
        try:
            response = await self._response(request)
            if response.status == 200:
                with suppress(ConnectionError):
                    await deliver(request, response)
                    arrived = True
            if next(self._written) % _IN_A_ROW == 0:
                os.sched_yield()  # a client that was just answered may be waiting for this very processor
            # Let other calls that are ready send their answers before the hub does its bookkeeping for this one.
            await asyncio.sleep(0)
            return response
        finally:
            if (record := request.get(_ANSWER)) is not None:
                self._assistant.delivered(record, arrived=arrived)

    async def _response(self, request: web.Request) -> web.StreamResponse:
        method = self._methods.get(f"{request.match_info['service']}/{request.match_info['method']}")
        if method is None:
            return refusal("unimplemented", "There is no such method.")
        if request.method != "POST":
            return web.Response(status=405, headers={"Allow": "POST"}, text="Call this with POST.\n")
        codec = _CODECS.get(request.content_type.lower())
        if codec is None:
            kinds = ", ".join(_CODECS)
            return web.Response(
                status=415, headers={"Accept-Post": kinds}, text=f"Content-Type must be one of: {kinds}\n"
            )
        read, write = codec
        try:
            if method.in_head:
                self._answering(request)  # checks the token before the body is read
            message = await self._message(request, method, read)
            work = method.work(request, message)
            answer = await self._waits.until(request, work, _seconds(request.headers.get("Connect-Timeout-Ms")))
        except wire.UnreadableError as error:
            return refusal("invalid_argument", f"{error}.")
        except ConnectError as error:
            return refusal(error.code, str(error), **error.headers)
        except ClientLeftError:
            return refusal("canceled", "The caller has disconnected.")
        except TimeIsOverError:
            return refusal("deadline_exceeded", "The caller's own timeout has passed; ask again with the same ID.")
        except TranscriptError as error:
            return refusal_of(error)
        written = await self._aside(answer.ByteSize(), write, answer)
        response = web.Response(
            body=written, content_type=request.content_type.lower(), zlib_executor_size=_WORTH_PACKING_ASIDE
        )
        if len(written) > _WORTH_PACKING and takes_gzip(request):
            response.enable_compression(web.ContentCoding.gzip)
        return response

    async def _message(self, request: web.Request, method: _Method, read: _Read) -> Message:
        """The request's message. Raises ConnectError, UnreadableError and TokenRefusedError."""
        admit = _everything if method.in_head else self._admit
        if request.headers.get("Content-Encoding", "identity").lower() not in ("identity", "gzip"):
            raise ConnectError("unimplemented", "Send the body plain or as gzip.")
        async with AsyncExitStack() as taken:
            with _readable():
                body = await taken.enter_async_context(self._arrivals.body(request, method.most))
            return await self._reading(len(body), read, method.request, body, MOST_VALUES, admit)

    def _asking(self, kind: Kind, said_as: str) -> _Work:
        async def ask(request: web.Request, message: frames.RequestMessage) -> Message:
            scope = self._tokens.asking(message.UserToken).scopes[0]
            if message.HasField("Request"):
                question = frames.question_of(message, scope, kind, said_as)
                try:
                    record = await self._assistant.ask(question)
                except InvalidQuestionError as error:
                    return _invalid(kind, message.ID, f"{error} {error.hint}")
            else:
                try:
                    record = await self._assistant.wait(scope, message.ID, 0)
                except UnknownQuestionError as error:
                    return _invalid(kind, message.ID, f"{error} {error.hint} To ask, send a Request.")
            if record.state == "waiting":
                seconds = float(max(0, message.Wait)) if message.HasField("Wait") else None
                record = await self._assistant.wait(scope, record.question.id, seconds)
            return await self._delivered(request, record)

        return ask

    async def _delivered(self, request: web.Request, record: Inquiry) -> Message:
        answered = record.state in ("answered", "notified")
        messages = await self._assistant.messages_for(record) if answered else ()
        if messages:
            request[_ANSWER] = record
        return frames.response_of(record, messages)

    async def _withdraw(self, _request: web.Request, message: proto.AskQuestionRequest) -> Message:
        scope = self._tokens.asking(message.UserToken).scopes[0]
        return frames.response_of(await self._assistant.withdraw(scope, message.ID))

    async def _introduce(self, _request: web.Request, message: proto.McpClientInfoRequest) -> Message:
        self._tokens.asking(message.UserToken)
        return proto.McpClientInfoResponse(Success=message.HasField("Request"))

    async def _alive(self, _request: web.Request, message: proto.McpHeartbeatRequest) -> Message:
        # Other servers drop the questions of a program that sends no heartbeat; here the connection counts.
        self._tokens.asking(message.UserToken)
        return proto.McpHeartbeatResponse(Success=True)

    async def _reply(self, request: web.Request, message: frames.ResponseMessage) -> Message:
        scopes, by = self._answering(request), clean_name(message.Meta.get("nickname", ""), _LONGEST_NICKNAME)
        contents = await self._aside(message.ByteSize(), frames.reply_of, message)
        key = self._ids.key_of(scopes, message.ID) or await self._assistant.key_of(scopes, message.ID)
        outcome = await self._assistant.answer(*key, contents, by=by, where="connect", refuses=message.IsError)
        meta = {"status": "accepted"}
        if not outcome.accepted:
            record = outcome.record
            meta = {"status": record.state, "error": "already_ended"} | (
                {"answered_by": record.by} if record.by else {}
            )
        return type(message)(ID=message.ID, IsError=not outcome.accepted, Meta=meta)

    def _admit(self, document: dict[str, Any]) -> None:
        """Raises TokenRefusedError."""
        token = document.get("UserToken")
        self._tokens.asking(token if isinstance(token, str) else "")

    def _answering(self, request: web.Request) -> tuple[str, ...]:
        """The scopes of the person whose token is in the header. Raises TokenRefusedError."""
        return self._tokens.answering(bearer(request.headers.get("Authorization"))).scopes


def _everything(_document: dict[str, Any]) -> None:
    pass


@contextmanager
def _readable() -> Iterator[None]:
    """Turns errors of reading a body into ConnectError."""
    try:
        yield
    except BodyTooLargeError as error:
        raise ConnectError("resource_exhausted", str(error)) from error
    except CrowdedError as error:
        raise ConnectError("unavailable", "Too many requests are arriving; try again.") from error
    except TimeoutError as error:  # the guard's limit on how long a body may take
        raise ConnectError("deadline_exceeded", "The request did not arrive in time.") from error
    except ConnectionError as error:
        raise ConnectError("canceled", "The caller has disconnected.") from error
    except (web.RequestPayloadError, HttpProcessingError) as error:
        raise ConnectError("invalid_argument", "The body cannot be decompressed.") from error


def _seconds(milliseconds: str | None) -> float | None:
    """The caller's own timeout, from the header; None for no limit and for anything that is not a number."""
    text = milliseconds or ""
    return int(text) / 1000 if text.isascii() and text.isdigit() and len(text) <= 10 else None


def _invalid(kind: Kind, id: str, why: str) -> frames.ResponseMessage:
    """A refusal inside a normal response: the existing clients of this protocol look for it there."""
    contents = [proto.McpResultContent(type=1, text=proto.TextContent(type="text", text=why))]
    response = proto.AskQuestionResponse if kind == "question" else proto.WorkReportResponse
    return response(ID=id, IsError=True, Meta={"error": "invalid_request"}, contents=contents)


def refusal(code: str, message: str, **headers: str) -> web.Response:
    """An error response of the Connect protocol."""
    body = json.dumps({"code": code, "message": message}, ensure_ascii=False)
    return web.Response(
        status=_STATUS.get(code, 500), text=body, content_type="application/json", headers=headers or None
    )


def refusal_of(error: TranscriptError) -> web.Response:
    """One of our errors as an error response."""
    code = next((code for kind, code in _CODES if isinstance(error, kind)), "unavailable")
    return refusal(code, f"{error} {error.hint}".strip())


async def _healthy(_request: web.Request) -> web.Response:
    """The health check of this protocol's programs."""
    return web.Response(text="OK")
