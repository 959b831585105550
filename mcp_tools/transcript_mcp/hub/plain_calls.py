"""Calls as people type them into curl: one POST, no session, no Accept header.

    curl http://127.0.0.1:8765/mcp -H 'content-type: application/json' \\
        -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"transcript_chats","arguments":{}}}'

They go to a stateless session manager. Programs written for servers without MCP envelopes read the fields of an answer
at the top of ``result``, so a tool's JSON object is copied there, too.
"""

import json
import math
import re
from collections.abc import Mapping, MutableMapping
from typing import Any, Final, TypeAlias

from transcript_mcp.sdk import HttpApp

__all__ = [
    "SESSION",
    "VERSION",
    "answer_plainly",
    "begins_session",
    "fields_on_top",
    "is_plain",
    "json_bytes",
    "parsed",
    "with_fields_on_top",
]

_Message: TypeAlias = MutableMapping[str, Any]

SESSION: Final = "Mcp-Session-Id"
"""The header that names the session of a request."""

VERSION: Final = "MCP-Protocol-Version"
"""The header that names the client's protocol version. Plain HTTP programs do not send it."""

_ITS_OWN: Final = frozenset({"_meta", "structuredContent"})
"""Optional fields of a result in the protocol; a tool's JSON object must not supply them."""

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_WITHOUT_SESSIONS: Final = "2026"
"""From the protocol versions of this year on, clients have no session; the version header tells them apart."""


def is_plain(headers: Mapping[str, str], message: Any) -> bool:
    """True for a POST that neither belongs to a session nor begins one."""
    version = headers.get(VERSION, "")
    if SESSION in headers or (_DATE.fullmatch(version) and version >= _WITHOUT_SESSIONS):
        return False
    return not begins_session(headers, message)


def begins_session(headers: Mapping[str, str], message: Any) -> bool:
    """True for a POST with which a client introduces itself."""
    return SESSION not in headers and any(one.get("method") == "initialize" for one in _messages(message))


def parsed(body: bytes) -> Any:
    """The message of a request. Raises ValueError for what is not JSON, RecursionError for what is nested too deeply.

    Python reads NaN, Infinity and 1e999 as numbers; JSON has none of them, so they raise ValueError. So does an id with
    a lone surrogate, which could not be encoded in the answer.
    """
    message = json.loads(body, parse_constant=_refuse, parse_float=_finite)
    for one in _messages(message):
        str(one.get("id")).encode()  # raises UnicodeEncodeError, a ValueError
    return message


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON.")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits[:40])


async def answer_plainly(app: HttpApp, scope: _Message, body: bytes) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an app's answer to one whole request."""
    accepting = [(name, value) for name, value in scope["headers"] if name != b"accept"]
    accepting.append((b"accept", b"application/json, text/event-stream"))
    answer = _Answer(body)
    await app({**scope, "headers": accepting}, answer.receive, answer.send)
    headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
    return answer.status, headers, with_fields_on_top(b"".join(answer.pieces))


def with_fields_on_top(answer: bytes) -> bytes:
    """The answer with the fields of a tool's or resource's JSON object copied to the top of ``result``."""
    try:
        document = json.loads(answer)
    except (ValueError, RecursionError):
        return answer
    on_top = fields_on_top(document) if isinstance(document, dict) else document
    return answer if on_top is document else json_bytes(on_top)


def fields_on_top(document: _Message) -> _Message:
    """The same for an answer that is not serialised yet."""
    if not isinstance(result := document.get("result"), dict):
        return document
    fields = _fields(result)
    return {**document, "result": {**fields, **result}} if fields else document


def json_bytes(document: Mapping[str, Any]) -> bytes:
    """The answer as bytes; a lone surrogate, which UTF-8 cannot carry, becomes a question mark."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def _fields(result: _Message) -> _Message:
    parts = result.get("content") or result.get("contents")
    if result.get("isError") or not isinstance(parts, list) or len(parts) != 1:
        return {}
    try:
        value = json.loads(parts[0]["text"])
    except (ValueError, RecursionError, TypeError, KeyError):
        return {}
    if not isinstance(value, dict):
        return {}
    return {name: each for name, each in value.items() if name not in _ITS_OWN}


def _messages(message: Any) -> list[_Message]:
    return [one for one in (message if isinstance(message, list) else [message]) if isinstance(one, dict)]


class _Answer:
    """ASGI's two functions for a request and an answer that are each held in memory as a whole."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self.status = 500
        self.headers: dict[str, str] = {}
        self.pieces: list[bytes] = []

    async def receive(self) -> _Message:
        body, self._body = self._body, None
        if body is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: _Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {
                name.decode("latin-1").lower(): value.decode("latin-1") for name, value in message.get("headers", ())
            }
        else:
            self.pieces.append(message.get("body", b""))
