"""``ScriptedModel``: an OpenAI-compatible endpoint on loopback that says what it is told and records what it
is asked.
"""

# ruff: noqa: ASYNC109 - callers give a deadline in seconds; the waits themselves use asyncio.timeout

import asyncio
import inspect
import json
import logging
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from aiohttp import web

from transcript_channels.simulator import wire
from transcript_channels.simulator.changes import PATIENCE, Changes, Notice

__all__ = ["ModelRequest", "Reply", "ScriptedModel", "ToolCall"]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

JSON = dict[str, Any]

MODEL_NAME = "scripted"
_RUNTIME_CONTEXT = re.compile(r"\[Runtime Context[^\]\n]*\].*?\[/Runtime Context\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of one of the agent's tools."""

    name: str
    arguments: JSON = field(default_factory=dict)
    id: str = field(default_factory=lambda: f"call_{uuid.uuid4().hex[:24]}")

    def as_json(self) -> JSON:
        """The protocol's form; arguments are a JSON string."""
        arguments = json.dumps(self.arguments, ensure_ascii=False)
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": arguments}}


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answers.

    ``delay`` seconds before the first byte; streamed text comes in ``chunks`` (default: word by word) with
    ``chunk_delay`` seconds between them. ``status`` other than 200 answers with ``error`` as an error of the
    API; ``drop_after`` cuts the line after so many chunks (0 = before any).
    """

    text: str = ""
    tool_calls: Sequence[ToolCall] = ()
    delay: float = 0.0
    chunks: Sequence[str] | None = None
    chunk_delay: float = 0.0
    status: int = 200
    error: str = ""
    drop_after: int | None = None

    @property
    def pieces(self) -> list[str]:
        """The text as it is streamed."""
        if self.chunks is not None:
            return list(self.chunks)
        words = self.text.split(" ")
        return [word + " " for word in words[:-1]] + [words[-1]] if self.text else []

    @property
    def whole(self) -> str:
        """The text as one."""
        return self.text or "".join(self.chunks or ())


class ModelRequest(dict[str, Any]):
    """One recorded request body, with its headers and some questions often asked of it."""

    def __init__(self, body: JSON, headers: dict[str, str]) -> None:
        super().__init__(body)
        self.headers = headers
        self.at_ms = time.time_ns() // 1_000_000

    @property
    def api_key(self) -> str:
        """The key the client used: tells bots apart that share an endpoint."""
        return self.headers.get("Authorization", "").removeprefix("Bearer ")

    @property
    def messages(self) -> list[JSON]:
        """The conversation."""
        return list(self.get("messages", []))

    @property
    def tool_names(self) -> list[str]:
        """The tools that were offered."""
        return [tool.get("function", {}).get("name", "") for tool in self.get("tools") or []]

    @property
    def last_user_text(self) -> str:
        """The newest message of the user, with whatever the bot's program added to it."""
        return next((text_of(one) for one in reversed(self.messages) if one.get("role") == "user"), "")

    @property
    def question(self) -> str:
        """The person's own words in it: without the blocks of runtime context that nanobot adds."""
        return _RUNTIME_CONTEXT.sub("", self.last_user_text).strip()

    @property
    def tool_results(self) -> list[str]:
        """What tools returned after the newest message of the user."""
        results: list[str] = []
        for message in reversed(self.messages):
            if message.get("role") == "user":
                break
            if message.get("role") == "tool":
                results.append(text_of(message))
        return results[::-1]

    @property
    def text(self) -> str:
        """Everything the model was given, as one string."""
        return "\n".join(text_of(message) for message in self.messages)


def text_of(message: JSON) -> str:
    """The text of a message whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


Answer = str | ToolCall | Reply | Sequence[ToolCall]
Script = Iterable[Answer] | Callable[[ModelRequest], Answer | Awaitable[Answer]]


class ScriptedModel:
    """Answers ``/chat/completions`` (streamed or not) and ``/models`` under ``base_url``.

    ``replies`` is a list, used up one per request (then HTTP 500), or a function of the request, plain or
    async. A reply is a text, a ``ToolCall`` (or several), or a ``Reply``. ``requests`` holds every request
    body, in order.
    """

    def __init__(self, replies: Script = (), *, port: int = 0) -> None:
        self._script = replies if callable(replies) else iter(list(replies))
        self._port = port
        self._runner: web.AppRunner | None = None
        self._changes = Changes()
        self.requests: list[ModelRequest] = []
        self.base_url: str = ""
        """``http://127.0.0.1:<port>/v1`` once started."""

    async def start(self) -> None:
        """Open the port."""
        application = web.Application(client_max_size=64 * 1024 * 1024)
        for prefix in ("", "/v1"):
            application.router.add_post(prefix + "/chat/completions", self._complete)
            application.router.add_get(prefix + "/models", self._models)
        self._runner = web.AppRunner(application, handle_signals=False, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def stop(self) -> None:
        """Close the port."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> Literal[False]:
        await self.stop()
        return False

    def listen(self, listener: Callable[[Notice], None]) -> Callable[[], None]:
        """Call ``listener`` with a Notice ``request`` for each request; returns the function that ends it."""
        return self._changes.listen(listener)

    async def wait_for(self, predicate: Callable[[], _T], timeout: float = PATIENCE, what: str = "") -> _T:
        """The first true value of ``predicate()``. Raises TimeoutError after ``timeout`` seconds."""
        return await self._changes.wait_for(predicate, timeout, what)

    async def _models(self, request: web.Request) -> web.Response:
        del request
        return web.json_response(
            {"object": "list", "data": [{"id": MODEL_NAME, "object": "model", "owned_by": "simulator"}]}
        )

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        try:
            body = await request.json()
        except ValueError:
            return _error(400, "the body is not JSON")
        asked = ModelRequest(body, dict(request.headers))
        self.requests.append(asked)
        self._changes.tell("request", asked)
        reply = await self._reply(asked)
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if reply.status != 200:
            return _error(reply.status, reply.error)
        if reply.drop_after == 0:
            return _cut(request)
        if asked.get("stream"):
            try:
                return await _stream(request, asked, reply)
            except ConnectionResetError:
                logger.info("the client hung up in the middle of an answer")
                return _cut(request)
        return web.json_response(_completion(asked, reply))

    async def _reply(self, asked: ModelRequest) -> Reply:
        if callable(self._script):
            answer = self._script(asked)
            if inspect.isawaitable(answer):
                answer = await answer
        else:
            answer = next(self._script, None)
        if answer is None:
            return Reply(status=500, error="the script has no reply left")
        if isinstance(answer, Reply):
            return answer
        if isinstance(answer, str):
            return Reply(answer)
        return Reply(tool_calls=[answer] if isinstance(answer, ToolCall) else list(answer))


def _error(status: int, message: str) -> web.Response:
    body = {"error": {"message": message or "scripted error", "type": "scripted", "code": str(status)}}
    return web.json_response(body, status=status)


def _cut(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=499)


def _usage(asked: ModelRequest, reply: Reply) -> JSON:
    given, made = max(1, len(asked.text) // 4), max(1, len(reply.whole) // 4)
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


def _completion(asked: ModelRequest, reply: Reply) -> JSON:
    message: JSON = {"role": "assistant", "content": reply.whole or None}
    if reply.tool_calls:
        message["tool_calls"] = [call.as_json() for call in reply.tool_calls]
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
    return {**_envelope(asked, "chat.completion"), "choices": [choice], "usage": _usage(asked, reply)}


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.tool_calls else "stop"


def _envelope(asked: ModelRequest, kind: str) -> JSON:
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": kind,
        "created": int(time.time()),
        "model": asked.get("model", MODEL_NAME),
    }


async def _stream(request: web.Request, asked: ModelRequest, reply: Reply) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    envelope = _envelope(asked, "chat.completion.chunk")
    for number, delta in enumerate(_deltas(reply)):
        if reply.drop_after is not None and number >= reply.drop_after:
            return _cut(request)
        if number and reply.chunk_delay:
            await asyncio.sleep(reply.chunk_delay)
        await _event(response, {**envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    end = {"index": 0, "delta": {}, "finish_reason": _finish(reply)}
    await _event(response, {**envelope, "choices": [end]})
    if (asked.get("stream_options") or {}).get("include_usage"):
        await _event(response, {**envelope, "choices": [], "usage": _usage(asked, reply)})
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response


def _deltas(reply: Reply) -> list[JSON]:
    deltas: list[JSON] = [{"content": piece} for piece in reply.pieces]
    deltas += [{"tool_calls": [{"index": number, **call.as_json()}]} for number, call in enumerate(reply.tool_calls)]
    if deltas:
        deltas[0] = {"role": "assistant", **deltas[0]}
    return deltas


async def _event(response: web.StreamResponse, body: JSON) -> None:
    await response.write(b"data: " + wire.encode(body) + b"\n\n")
