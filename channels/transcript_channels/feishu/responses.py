"""Answers of the open API: reads their bytes, and turns failures into our errors.

The platform's codes: https://open.feishu.cn/document/server-docs/api-call-guide/generic-error-code and, for messages,
https://open.feishu.cn/document/server-docs/im-v1/message/error-code
"""

import asyncio
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any, BinaryIO, Final

import httpx
import msgspec

from nanobot_transcript.errors import (
    CredentialsRefusedError,
    MessageGoneError,
    NoAnswerError,
    NotPermittedError,
    PlatformError,
    QuotaExhaustedError,
    RateLimitedError,
    RequestRefusedError,
    TooLargeError,
    UnexpectedAnswerError,
)

__all__ = [
    "CHECK_APP",
    "CHECK_NETWORK",
    "LARGE",
    "ApiAnswer",
    "Saving",
    "decode",
    "failure",
    "grant_url",
    "read_answer",
]

LARGE: Final = 256 * 1024
"""Bytes from which an answer is parsed in a thread."""

CHECK_APP: Final = "Compare app id and app secret with the credentials page of the app in the developer console."
CHECK_NETWORK: Final = "Check the network, the proxies and the address of the API."

_LARGEST_ANSWER: Final = 16 * 1024 * 1024
_PIECE: Final = 1024 * 1024
_MOST_PARTS: Final = 150_000

_Kind = tuple[type[PlatformError], str, str]

_UNAUTHORIZED: Final = 401
_SERVER_FAULT: Final = 500
_LONGEST_MESSAGE: Final = 300
_SCOPE_MISSING: Final = (99991672, 230027)
_CHAT_LIMIT: Final = 230020
_URL: Final = re.compile(r"https?://[^\s\"'<>，。]+")


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """One answer. ``body`` is None if it was no JSON object; header names are in lower case. ``is_file``: it was a file
    and has been saved.
    """

    status: int
    body: dict[str, Any] | None
    headers: Mapping[str, str] = field(default_factory=dict)
    is_file: bool = False

    @property
    def code(self) -> int | None:
        """The platform's code: 0 for success, None when there is none."""
        code = self.body.get("code") if self.body is not None else None
        return code if isinstance(code, int) and not isinstance(code, bool) else None

    @property
    def ok(self) -> bool:
        """True for a success the platform itself reports."""
        return self.code == 0

    @property
    def token_refused(self) -> bool:
        """True when another token may help."""
        return self.code in _STALE_TOKEN or (self.status == _UNAUTHORIZED and self.code != 0)

    @property
    def log_id(self) -> str:
        """What the platform's support asks for."""
        return self.headers.get("x-tt-logid", "") or self.headers.get("x-request-id", "")


async def read_answer(response: httpx.Response) -> bytes:
    """The whole of an answer. Raises httpx.DecodingError beyond 16 MB."""
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > _LARGEST_ANSWER:
            raise httpx.DecodingError("the answer is too large")
        parts.append(part)
    return b"".join(parts)


@dataclass(slots=True, eq=False)
class Saving:
    """Writes a download into ``file``, at most ``most`` bytes; a failure, which comes as JSON, is not written.

    Each answer starts the file from the beginning, so that a call may be tried again.
    """

    file: BinaryIO
    most: int

    async def read(self, response: httpx.Response) -> bytes | None:
        """None for a file, which is then written, else the answer. Raises TooLargeError and OSError."""
        if not _gives_file(response):
            return await read_answer(response)
        self._refuse_above(_announced(response))
        await asyncio.to_thread(self._begin)
        size = 0
        async for part in response.aiter_bytes(_PIECE):
            size += len(part)
            self._refuse_above(size)
            await asyncio.to_thread(self.file.write, part)  # a disk may be slow, and the event loop has other work
        return None

    def _begin(self) -> None:
        self.file.seek(0)
        self.file.truncate()

    def _refuse_above(self, size: int) -> None:
        if size > self.most:
            raise TooLargeError(
                f"The file has more than {self.most // (1024 * 1024)} MB.",
                hint="Get it another way, for example in Feishu.",
            )


def decode(raw: bytes) -> dict[str, Any] | None:
    """A JSON object, or None for anything else.

    None also for a large text with very many brackets: while it is parsed, the interpreter's lock is held and no other
    thread runs.
    """
    if len(raw) > LARGE and raw.count(b"{") + raw.count(b"[") > _MOST_PARTS:
        return None
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:  # Python's own parser accepts lone surrogates and a few other things
            value = json.loads(raw)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def failure(answer: ApiAnswer, app_id: str, console: str, needs: Sequence[str] = ()) -> PlatformError:
    """The error for an answer that is no success. ``needs``: scopes of which any one allows the call."""
    code, status = answer.code, answer.status
    known = _KNOWN.get(code) if code is not None else None
    if code in _SCOPE_MISSING:
        error: PlatformError = _scope_missing(answer, app_id, console, needs)
    elif known is not None:
        kind, sentence, hint = known
        error = kind(f"{sentence} (code {code}{_said(answer)})", hint=hint)
    elif answer.token_refused:
        said = f"code {code}{_said(answer)}" if code is not None else f"HTTP {status}"
        error = CredentialsRefusedError(f"Feishu does not accept the token ({said})", hint=CHECK_APP)
    elif status == _TOO_MANY:
        error = RateLimitedError("Feishu reports too many calls (HTTP 429)", hint=_FEWER_CALLS)
    elif status >= _SERVER_FAULT:
        error = NoAnswerError(f"Feishu has an internal error (HTTP {status}{_said(answer)})", hint=_LATER)
    elif code is None:
        error = UnexpectedAnswerError(f"The answer is not from Feishu's API: HTTP {status}, not JSON", hint=_BETWEEN)
    else:
        error = RequestRefusedError(f"Feishu refused the call (code {code}{_said(answer)})", hint=_LOOK_UP)
    error.platform_code, error.status, error.log_id = code, status, answer.log_id
    if isinstance(error, RateLimitedError):
        error.retry_after = _reset_seconds(answer)
        error.chat_only = code == _CHAT_LIMIT
    return error


def grant_url(console: str, app_id: str, scopes: Sequence[str]) -> str:
    """The page of the developer console where scopes are applied for."""
    return f"{console}/app/{app_id}/auth?q={','.join(scopes)}&op_from=openapi&token_type=tenant"


def _gives_file(response: httpx.Response) -> bool:
    """True for a download. JSON is a failure, unless it has a file name: people send each other JSON files, too."""
    if not response.is_success:
        return False
    named = "content-disposition" in response.headers
    return named or not response.headers.get("content-type", "").lower().startswith("application/json")


def _announced(response: httpx.Response) -> int:
    length = response.headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdecimal() and len(length) < 20 else 0


def _scope_missing(answer: ApiAnswer, app_id: str, console: str, needs: Sequence[str]) -> NotPermittedError:
    scopes = tuple(_violated(answer)) or tuple(needs)
    given = _URL.search(_message(answer))
    url = given.group() if given else grant_url(console, app_id, scopes)
    named = " or ".join(scopes) if scopes else "a scope Feishu does not name"
    error = NotPermittedError(
        f"The app {app_id} lacks {named} (code {answer.code})",
        hint=f"Grant it at {url} and publish a new version of the app.",
    )
    error.scopes, error.grant_url = scopes, url
    return error


def _violated(answer: ApiAnswer) -> list[str]:
    details = (answer.body or {}).get("error")
    violations = details.get("permission_violations") if isinstance(details, Mapping) else None
    items = violations if isinstance(violations, list) else []
    subjects = [item.get("subject") for item in items if isinstance(item, Mapping)]
    return [subject for subject in subjects if isinstance(subject, str) and subject]


def _message(answer: ApiAnswer) -> str:
    message = (answer.body or {}).get("msg")
    return message if isinstance(message, str) else ""


def _said(answer: ApiAnswer) -> str:
    message = " ".join(_message(answer).split()).rstrip(".;")[:_LONGEST_MESSAGE]
    return f": {message}" if message else ""


_FEWER_CALLS: Final = "Wait; all bots of a group share its limit of 5 messages a second."
_LATER: Final = "Try again later; if it keeps failing, check Feishu's status page."
_BETWEEN: Final = "Check the address of the API and any proxies in between."
_LOOK_UP: Final = "Look up the code in the open platform's documentation."
_JOIN: Final = "Add the bot to the group."
_NOT_ANY_MORE: Final = "Nothing can be done about this message; send a new one."
_SHORTER: Final = "A text may have 150 KB, a post or card 30 KB."
_KNOWN: Final[dict[int, _Kind]] = {
    10003: (CredentialsRefusedError, "Feishu knows no such app id", CHECK_APP),
    10012: (CredentialsRefusedError, "Feishu knows no such app id", CHECK_APP),
    10014: (CredentialsRefusedError, "The app secret is wrong", CHECK_APP),
    10015: (CredentialsRefusedError, "The app secret is wrong", CHECK_APP),
    11232: (RateLimitedError, "The tenant sends too many messages", _FEWER_CALLS),
    99991400: (RateLimitedError, "Too many calls in too short a time", _FEWER_CALLS),
    230020: (RateLimitedError, "Too many messages to this chat in too short a time", _FEWER_CALLS),
    99991403: (
        QuotaExhaustedError,
        "The tenant's calls of this month are used up, for every app of the tenant",
        "Wait for the next month, or buy more calls in the admin console. Fewer bots that read history help.",
    ),
    230002: (NotPermittedError, "The bot is not in the chat", _JOIN),
    232011: (NotPermittedError, "The bot is not in the chat", _JOIN),
    230006: (
        NotPermittedError,
        "The app has no bot",
        "Enable the bot feature in the developer console and publish a new version.",
    ),
    230013: (
        NotPermittedError,
        "The app is not available to this person",
        "Extend the app's availability to this person.",
    ),
    230018: (NotPermittedError, "The group's settings do not allow this", "Ask the owner of the group."),
    230035: (
        NotPermittedError,
        "The bot may not write in this chat",
        "Ask the owner of the group whether it is muted.",
    ),
    230073: (NotPermittedError, "The topic is not visible to the bot", _JOIN),
    230011: (MessageGoneError, "The message was recalled", _NOT_ANY_MORE),
    230019: (MessageGoneError, "The topic does not exist", _NOT_ANY_MORE),
    230110: (MessageGoneError, "The message was deleted", _NOT_ANY_MORE),
    231003: (MessageGoneError, "The message is not there or not visible to the bot", _NOT_ANY_MORE),
    234002: (NotPermittedError, "The app may not access this file", _JOIN),
    234004: (NotPermittedError, "The bot is not in the chat", _JOIN),
    234006: (
        NotPermittedError,
        "The app has no bot",
        "Enable the bot feature in the developer console and publish a new version.",
    ),
    234038: (
        NotPermittedError,
        "The chat is in restricted mode, in which nothing may be downloaded",
        "Ask the owner of the group.",
    ),
    234040: (MessageGoneError, "The message is not visible to the bot", _NOT_ANY_MORE),
    234001: (RequestRefusedError, "A parameter is wrong", _LOOK_UP),
    234003: (RequestRefusedError, "The message has no such file", "Use a key from the message's text."),
    234037: (TooLargeError, "The file has more than 100 MB", "Open it in Feishu."),
    234041: (
        RequestRefusedError,
        "The key that the tenant encrypts its files with is gone",
        "Ask the tenant's admin.",
    ),
    234043: (RequestRefusedError, "Feishu does not give out files from this kind of message", "Open it in Feishu."),
    230001: (RequestRefusedError, "A parameter is wrong", _LOOK_UP),
    230022: (RequestRefusedError, "The message has content that Feishu blocks", "Rephrase it."),
    230025: (RequestRefusedError, "The message is too long", _SHORTER),
    230026: (RequestRefusedError, "Only the sender can recall the message", "Recall it with the app that sent it."),
    230028: (RequestRefusedError, "The tenant's content audit rejected the message", "Ask the tenant's admin."),
    230031: (RequestRefusedError, "The card is older than 14 days and cannot be changed", _NOT_ANY_MORE),
    230054: (RequestRefusedError, "This kind of message does not allow it", _LOOK_UP),
    230071: (RequestRefusedError, "Only the sender can change the message", "Change it with the app that sent it."),
    230072: (RequestRefusedError, "The message was edited 20 times, which is the limit", _NOT_ANY_MORE),
    230075: (RequestRefusedError, "The message is too old to be edited", _NOT_ANY_MORE),
    230099: (RequestRefusedError, "The card is not valid", "Check the card's JSON in Feishu's card builder."),
    232006: (RequestRefusedError, "There is no such chat", "A group's id begins with oc_."),
    99992361: (
        RequestRefusedError,
        "The open id belongs to another app",
        "A person's open id differs for each app; use the union id, or the id this app sees.",
    ),
    99992402: (RequestRefusedError, "A field is missing or wrong", _LOOK_UP),
}


_TOO_MANY: Final = 429


_LONGEST_RESET: Final = 3600.0


_STALE_TOKEN: Final = frozenset({99991661, 99991663, 99991664, 99991668, 99991671, 99991677})


def _reset_seconds(answer: ApiAnswer) -> float:
    """Seconds until the limit is over; one second if neither the platform nor a gateway in front of it says."""
    told = _seconds(answer.headers.get("x-ogw-ratelimit-reset", "")) or _retry_after(answer.headers)
    return min(told, _LONGEST_RESET) if told else 1.0


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if isfinite(seconds) and seconds > 0 else None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """``Retry-After``: seconds, or a time, which counts from the answer's own ``Date``: our clock may be wrong."""
    text = headers.get("retry-after", "")
    until = _moment(text)
    if until is None:
        return _seconds(text)
    now = _moment(headers.get("date", ""))
    left = until - (now if now is not None else time.time())
    return left if left > 0 else None


def _moment(text: str) -> float | None:
    """Seconds since 1970 of an HTTP date."""
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
