"""Connect's unary calls over plain HTTP: how agents' programs ask, and how scripts answer.

    curl http://127.0.0.1:8765/agentassistproto.SrvAgentAssist/AskQuestion -H 'content-type: application/json' \\
        -d '{"ID": "1", "UserToken": "test-token", "Request": {"Question": "Deploy?", "Timeout": 60}}'
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from nanobot_transcript.errors import (
    InvalidQuestionError,
    StoreError,
    TokenRefusedError,
    TranscriptError,
    UnknownQuestionError,
)
from transcript_mcp.assistant import frames, wire
from transcript_mcp.assistant.aside import Aside
from transcript_mcp.assistant.checking import clean_name
from transcript_mcp.assistant.schema import PACKAGE, SERVICES
from transcript_mcp.assistant.scopes import Scopes
from transcript_mcp.assistant.service import Assistant
from transcript_mcp.assistant.sizes import LARGEST, LARGEST_ASKED, MOST_VALUES, SMALL
from transcript_mcp.assistant.values import Kind, Record
from transcript_mcp.sdk.bodies import body_pieces

__all__ = ["Calls"]

_LONGEST_NICKNAME: Final = 100
_LOOK: Final = 1.0
"""Seconds between two looks at whether the caller is still there."""

_ANSWER: Final = web.RequestKey("answer", Record)
"""The record whose answer brings messages."""

_WORTH_PACKING: Final = 1024
_WORTH_PACKING_ASIDE: Final = 256 * 1024
_MOST_ARRIVING: Final = 4
"""Bodies of the largest size that are taken in at the same time."""


_Admit: TypeAlias = Callable[[dict[str, Any]], object]
_Read: TypeAlias = Callable[[str, bytes, int, _Admit], Any]
_CODECS: Final[Mapping[str, tuple[_Read, Callable[[Any], bytes]]]] = {
    "application/json": (wire.from_json, wire.to_json),
    "application/proto": (
        lambda name, data, most, _admit: wire.decoded(name, data, most),
        lambda message: message.SerializeToString(),
    ),
}
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


class _RefusedError(Exception):
    """A call that ends with one of Connect's error codes."""

    def __init__(self, code: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.code = code
        self.headers = headers


@dataclass(frozen=True, slots=True)
class _Method:
    """``most``: bytes of a request. ``in_head``: whether its token stands there, and not in its body."""

    request: str
    work: Callable[[web.Request, Any], Awaitable[Any]]
    most: int = LARGEST_ASKED
    in_head: bool = False


class _Counted:
    """The bytes of one body among those of all that are being taken in; small ones find their way whatever arrives.

    ``all`` counts by ``most``, the bytes that such a body may have.
    """

    def __init__(self, all: Counter[int], most: int) -> None:
        self._all = all
        self._most = most
        self._size = 0

    def check(self, size: int) -> None:
        """Raises _RefusedError."""
        if size > self._most:
            raise _RefusedError("resource_exhausted", f"A request may have {self._most} bytes.")
        if size > SMALL and self._all[self._most] > _MOST_ARRIVING * self._most:
            raise _RefusedError("unavailable", "Too much arrives at once; come again.")

    def add(self, size: int) -> None:
        """Raises _RefusedError."""
        self._size += size
        self._all[self._most] += size
        self.check(self._size)

    def end(self) -> None:
        self._all[self._most] -= self._size


class Calls:
    """Answers calls of the two services."""

    def __init__(self, assistant: Assistant, scopes: Scopes) -> None:
        self._assistant = assistant
        self._scopes = scopes
        self._aside = Aside()
        self._reading = Aside(SMALL)  # by strangers, too, before their token is known
        self._callers = _Callers()
        works: Mapping[str, Callable[[web.Request, Any], Awaitable[Any]]] = {
            "AskQuestion": self._asking("question", "AskQuestion"),
            "WorkReport": self._asking("report", "WorkReport"),
            "TaskFinish": self._asking("report", "TaskFinish"),
            "Withdraw": self._withdraw,
            "SendMcpClientInfo": self._introduce,
            "Heartbeat": self._alive,
        }
        self._methods = {
            f"{PACKAGE}.{service}/{call.name}": (
                _Method(call.request, works[call.name])
                if call.name in works
                else _Method(call.request, self._reply, LARGEST, in_head=True)
            )
            for service, calls in SERVICES.items()
            for call in calls
        }
        self._arriving: Counter[int] = Counter()
        """Bytes of larger bodies that are being read, by how much such a body may have."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """An aiohttp handler for ``/{service}/{method}``."""
        arrived = False
        try:
            response = await self._response(request)
            arrived = await _written(request, response)
            # Whoever is answered in the same moment comes before what the hub notes of this call.
            await asyncio.sleep(0)
            return response
        finally:
            if (record := request.get(_ANSWER)) is not None:
                self._assistant.delivered(record, arrived=arrived)

    async def _response(self, request: web.Request) -> web.StreamResponse:
        method = self._methods.get(f"{request.match_info['service']}/{request.match_info['method']}")
        if method is None:
            return _refusal("unimplemented", "There is no such method.")
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
                self._bearer(request)  # before more is read
            message = await self._message(request, method, read)
            answer = await self._callers.until(request, method.work(request, message))
        except wire.UnreadableError as error:
            return _refusal("invalid_argument", f"{error}.")
        except _RefusedError as error:
            return _refusal(error.code, str(error), **error.headers)
        except TranscriptError as error:
            code = next((code for kind, code in _CODES if isinstance(error, kind)), "unavailable")
            return _refusal(code, f"{error} {error.hint}".strip())
        written = await self._aside(answer.ByteSize(), write, answer)
        response = web.Response(
            body=written, content_type=request.content_type.lower(), zlib_executor_size=_WORTH_PACKING_ASIDE
        )
        if len(written) > _WORTH_PACKING and "gzip" in request.headers.get("Accept-Encoding", ""):
            response.enable_compression(web.ContentCoding.gzip)
        return response

    async def _message(self, request: web.Request, method: _Method, read: _Read) -> Any:
        """What the request says. Raises _RefusedError, UnreadableError and TokenRefusedError."""
        counted = _Counted(self._arriving, method.most)
        admit = _everything if method.in_head else self._admit
        try:
            body = await _body(request, counted)
            return await self._reading(len(body), read, method.request, body, MOST_VALUES, admit)
        finally:
            counted.end()

    def _asking(self, kind: Kind, said_as: str) -> Callable[[web.Request, Any], Awaitable[Any]]:
        async def ask(request: web.Request, message: Any) -> Any:
            scope = self._scopes.of_token(message.UserToken)
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

    async def _delivered(self, request: web.Request, record: Record) -> Any:
        answered = record.state in ("answered", "notified")
        messages = await self._assistant.messages_for(record) if answered else ()
        if messages:
            request[_ANSWER] = record
        return frames.response_of(record, messages)

    async def _withdraw(self, _request: web.Request, message: Any) -> Any:
        scope = self._scopes.of_token(message.UserToken)
        return frames.response_of(await self._assistant.withdraw(scope, message.ID))

    async def _introduce(self, _request: web.Request, message: Any) -> Any:
        self._scopes.of_token(message.UserToken)
        return wire.new("McpClientInfoResponse", Success=message.HasField("Request"))

    async def _alive(self, _request: web.Request, message: Any) -> Any:
        # Other servers drop the questions of a program that sends none; here they live with their connection.
        self._scopes.of_token(message.UserToken)
        return wire.new("McpHeartbeatResponse", Success=True)

    async def _reply(self, request: web.Request, message: Any) -> Any:
        scope, by = self._bearer(request), clean_name(message.Meta.get("nickname", ""), _LONGEST_NICKNAME)
        contents = await self._aside(message.ByteSize(), frames.contents_of, message.contents)
        outcome = await self._assistant.answer(scope, message.ID, contents, by=by, where="connect")
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
        self._scopes.of_token(token if isinstance(token, str) else "")

    def _bearer(self, request: web.Request) -> str:
        """The scope of the token in the head. Raises TokenRefusedError."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return self._scopes.of_token(token if scheme.lower() == "bearer" else "")


def _everything(_document: dict[str, Any]) -> None:
    pass


async def _body(request: web.Request, counted: _Counted) -> bytes:
    """The request's body, unpacked. Raises _RefusedError."""
    packing = request.headers.get("Content-Encoding", "identity").lower()
    if packing not in ("identity", "gzip"):
        raise _RefusedError("unimplemented", "Bodies are plain or gzip.")
    pieces: list[bytes] = []
    try:
        counted.check(request.content_length or 0)
        async for piece in body_pieces(request):
            counted.add(len(piece))
            pieces.append(piece)
    except TimeoutError as error:  # the hub bounds how long a body takes
        raise _RefusedError("deadline_exceeded", "The request did not arrive in time.") from error
    except ConnectionError as error:
        raise _RefusedError("canceled", "The caller has left.") from error
    except (web.RequestPayloadError, HttpProcessingError) as error:
        raise _RefusedError("invalid_argument", "The body cannot be unpacked.") from error
    return b"".join(pieces)


async def _written(request: web.Request, response: web.StreamResponse) -> bool:
    """Write an answer now; whether it is one, and the caller was still there."""
    if response.status != 200 or _has_left(request):
        return False
    try:
        await response.prepare(request)
        await response.write_eof()
    except ConnectionError:
        return False
    return True


class _Callers:
    """Everybody who waits. One look every now and then tells who has left."""

    def __init__(self) -> None:
        self._limits: dict[asyncio.Timeout, web.Request] = {}
        self._looking: asyncio.TimerHandle | None = None

    async def until(self, request: web.Request, work: Awaitable[Any]) -> Any:
        """What the work gives, unless the caller leaves or has said how long it waits at the most."""
        left = _milliseconds(request.headers.get("Connect-Timeout-Ms"))
        try:
            async with asyncio.timeout(None if left is None else left / 1000) as limit:
                self._limits[limit] = request
                if self._looking is None:
                    self._look()
                try:
                    return await work
                finally:
                    del self._limits[limit]
        except TimeoutError:
            if _has_left(request):
                raise _RefusedError("canceled", "The caller has left.") from None
            why = "The caller's own time is over; ask with the same ID again."
            raise _RefusedError("deadline_exceeded", why) from None

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        for limit, request in self._limits.items():
            if _has_left(request) and not limit.expired():
                limit.reschedule(loop.time())
        self._looking = loop.call_later(_LOOK, self._look) if self._limits else None


def _has_left(request: web.Request) -> bool:
    return request.transport is None or request.transport.is_closing()


def _milliseconds(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 10 else None


def _invalid(kind: Kind, id: str, why: str) -> Any:
    """Callers of this protocol look for what is wrong with a request in its answer."""
    contents = [wire.new("McpResultContent", type=1, text=wire.new("TextContent", type="text", text=why))]
    name = "AskQuestionResponse" if kind == "question" else "WorkReportResponse"
    return wire.new(name, ID=id, IsError=True, Meta={"error": "invalid_request"}, contents=contents)


def _refusal(code: str, message: str, **headers: str) -> web.Response:
    body = json.dumps({"code": code, "message": message}, ensure_ascii=False)
    return web.Response(
        status=_STATUS.get(code, 500), text=body, content_type="application/json", headers=headers or None
    )
