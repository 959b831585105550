"""What a page asks for, and the answers: parameters of a query or fields of a JSON body, one form of JSON, and how it
hears of what changes.

Rooms whose files lie on this machine alone are looked at again and again: a look costs one ``stat`` per file, in a
thread.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from aiohttp import web
from aiohttp.typedefs import Handler

from nanobot_transcript.entry import well_formed
from nanobot_transcript.threads import in_thread
from transcript_mcp.door.bodies import whole_body
from transcript_mcp.door.errors import RequestError
from transcript_mcp.door.guard import CALLER

__all__ = [
    "Look",
    "PageAction",
    "PageCall",
    "PageWatch",
    "Tell",
    "WebPage",
    "answered",
    "as_json",
    "body_of",
    "done",
    "event_json",
    "looked_at",
    "stamp",
]

_LONGEST: Final = 2000
_EVERY: Final = 0.25

PageAction: TypeAlias = "Callable[[PageCall], Any]"
"""Looks something up or does it; runs in a thread. What it returns becomes JSON."""


class Tell(Protocol):
    """Tell the pages of one room that there is something new."""

    def __call__(self, **news: Any) -> None: ...


PageWatch: TypeAlias = Callable[[Tell, Callable[[], None]], Awaitable[None]]
"""Tells what changes in a room, without end, from the moment on in which it has called the second: it has looked."""

Look: TypeAlias = "Callable[[], Mapping[tuple[tuple[str, str], ...], Any]]"
"""What there is in a room, as news about it (pairs of names and values) and how it looks now."""


class WebPage:
    """One page of the web UI. A room overrides what it has."""

    def routes(self) -> Iterable[web.RouteDef]:
        """What the page asks for, below ``/api``."""
        return ()

    @property
    def watch(self) -> PageWatch | None:
        """Tells what changes; None where nothing has to be watched for it."""
        return None

    @property
    def is_there(self) -> bool:
        """False as long as there is nothing to show."""
        return True

    @property
    def is_for_askers(self) -> bool:
        """True for what people see who show a token of ``assistant.tokens``; they see no other page."""
        return False

    @property
    def about(self) -> Mapping[str, Any]:
        """What the page has to know before it asks for anything."""
        return {}

    def close(self) -> None:
        """The hub ends."""


class PageCall:
    """The values of one request. What is missing or of another kind becomes an answer that says so."""

    def __init__(self, values: Mapping[str, Any], caller: str = "") -> None:
        self._values = values
        self.caller: str = caller

    def text(self, name: str, default: str | None = None, *, longest: int | None = _LONGEST) -> str:
        """A text; an error where there is none and no default."""
        value = self._values.get(name)
        if value is None or value == "":
            if default is None:
                raise _wrong(f"{name} is missing.")
            return default
        if not isinstance(value, str) or (longest is not None and len(value) > longest):
            raise _wrong(f"{name} is not a text{f' of at most {longest} characters' if longest is not None else ''}.")
        return value

    def optional(self, name: str) -> str | None:
        """A text, or None."""
        return self.text(name, "") or None

    def number(self, name: str, default: int, most: int, least: int = 1) -> int:
        """A whole number from ``least`` to ``most``."""
        value = self._values.get(name)
        try:
            return min(max(least, int(value)), most) if value is not None else default
        except (TypeError, ValueError):
            raise _wrong(f"{name} is not a whole number.") from None

    def numbers(self, name: str) -> list[int]:
        """Whole numbers with a comma between each two, empty where there are none."""
        try:
            return [int(each) for each in self.text(name, "").split(",") if each]
        except ValueError:
            raise _wrong(f"{name} are no whole numbers with commas between them.") from None

    def flag(self, name: str) -> bool:
        """True for ``true``, ``1`` and the like."""
        return self._values.get(name) in (True, "1", "true", "yes")

    def texts(self, name: str) -> list[str]:
        """A list of texts, empty where there is none."""
        value = self._values.get(name) or []
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise _wrong(f"{name} is not a list of texts.")
        return value


def answered(finding: PageAction) -> Handler:
    """A handler for GET: the query's parameters."""

    async def handle(request: web.Request) -> web.StreamResponse:
        return as_json(await in_thread(finding, PageCall(request.query, request[CALLER].name)))

    return handle


def done(doing: PageAction) -> Handler:
    """A handler for POST: the fields of a JSON object. A page from elsewhere cannot send that kind of body."""

    async def handle(request: web.Request) -> web.StreamResponse:
        return as_json(await in_thread(doing, await body_of(request)))

    return handle


def as_json(value: Any) -> web.Response:
    """An answer that no browser keeps."""
    return web.Response(text=event_json(value), content_type="application/json", headers={"Cache-Control": "no-store"})


def event_json(value: Any) -> str:
    """One line of JSON, also of texts that hold halves of characters."""
    return well_formed(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


async def body_of(request: web.Request) -> PageCall:
    """The fields of a JSON body; a page from elsewhere cannot send that kind."""
    if request.content_type.lower() != "application/json":
        raise _wrong("The body must be JSON, with that Content-Type.", 415)
    try:
        values = json.loads(await whole_body(request))
    except (ValueError, RecursionError):
        raise _wrong("The body is not JSON.") from None
    if not isinstance(values, dict):
        raise _wrong("The body is not a JSON object.")
    return PageCall(values, request[CALLER].name)


def _wrong(sentence: str, status: int = 400) -> RequestError:
    return RequestError(status, "wrong_request", sentence, "docs/en/web.md lists what the page requests.")


def looked_at(look: Look, every: float = _EVERY) -> PageWatch:
    """Look again and again, every so many seconds, and tell what is different."""

    async def watch(tell: Tell, looked: Callable[[], None]) -> None:
        before = await in_thread(look)
        looked()
        while True:
            await asyncio.sleep(every)
            found = await in_thread(look)
            for news in [key for key, value in found.items() if before.get(key) != value]:
                tell(**dict(news))
            if any(key not in found for key in before):
                tell()
            before = found

    return watch


def stamp(path: Path | str) -> tuple[int, int, int] | None:
    """When a file was written last, its size and which file it is; None where there is none."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
