"""The web pages of the rooms: parameters of a request, handlers that answer with JSON, and news of changes.

Rooms that keep plain files on this machine are polled: a poll costs one ``stat`` per file, in a thread.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
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
    "as_json",
    "body_of",
    "event_json",
    "get_handler",
    "polling",
    "post_handler",
    "stamp",
]

_LONGEST: Final = 2000
_EVERY: Final = 0.25

PageAction: TypeAlias = "Callable[[PageCall], Any]"
"""Reads or changes something; runs in a thread. What it returns becomes JSON."""


class Tell(Protocol):
    """Tells the open pages of one room that something changed."""

    def __call__(self, **news: Any) -> None: ...


PageWatch: TypeAlias = Callable[[Tell, Callable[[], None]], Awaitable[None]]
"""Watches a room until it is cancelled: calls the first argument on each change, and the second once, when it is ready
to see changes.
"""

Look: TypeAlias = "Callable[[], Mapping[tuple[tuple[str, str], ...], Any]]"
"""The state of a room: a value for each piece of news (pairs of names and values) that is told when the value changes.
"""


class WebPage:
    """One page of the web UI. A room overrides the parts it needs."""

    def routes(self) -> Iterable[web.RouteDef]:
        """The routes of the page's API, below ``/api``."""
        return ()

    @property
    def watch(self) -> PageWatch | None:
        """What watches for changes; None where nothing has to be watched."""
        return None

    @property
    def is_there(self) -> bool:
        """False as long as there is nothing to show."""
        return True

    @property
    def is_for_askers(self) -> bool:
        """True for the page shown to people with a token of ``assistant.tokens``; they see no other."""
        return False

    @property
    def about(self) -> Mapping[str, Any]:
        """What the page needs to know before its first request."""
        return {}

    def close(self) -> None:
        """The hub ends."""


@dataclass(eq=False)
class PageCall:
    """The values of one request. A value that is missing or has the wrong type raises RequestError."""

    values: Mapping[str, Any]
    caller: str = ""

    def text(self, name: str, default: str | None = None, *, longest: int | None = _LONGEST) -> str:
        """A text; an error where there is none and no default."""
        value = self.values.get(name)
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
        value = self.values.get(name)
        try:
            return min(max(least, int(value)), most) if value is not None else default
        except (TypeError, ValueError):
            raise _wrong(f"{name} is not a whole number.") from None

    def numbers(self, name: str) -> list[int]:
        """Whole numbers separated by commas; empty where there are none."""
        try:
            return [int(each) for each in self.text(name, "").split(",") if each]
        except ValueError:
            raise _wrong(f"{name} are no whole numbers with commas between them.") from None

    def flag(self, name: str) -> bool:
        """True for ``true``, ``1`` and the like."""
        return self.values.get(name) in (True, "1", "true", "yes")

    def texts(self, name: str) -> list[str]:
        """A list of texts, empty where there is none."""
        value = self.values.get(name) or []
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise _wrong(f"{name} is not a list of texts.")
        return value


def get_handler(finding: PageAction) -> Handler:
    """A handler for GET: the query's parameters."""

    async def handle(request: web.Request) -> web.StreamResponse:
        return as_json(await in_thread(finding, PageCall(request.query, request[CALLER].name)))

    return handle


def post_handler(doing: PageAction) -> Handler:
    """A handler for POST: the fields of a JSON object."""

    async def handle(request: web.Request) -> web.StreamResponse:
        return as_json(await in_thread(doing, await body_of(request)))

    return handle


def as_json(value: Any) -> web.Response:
    """An answer as JSON that browsers do not cache."""
    return web.Response(text=event_json(value), content_type="application/json", headers={"Cache-Control": "no-store"})


def event_json(value: Any) -> str:
    """One line of JSON. Lone surrogates in texts, which UTF-8 cannot carry, are replaced."""
    return well_formed(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


async def body_of(request: web.Request) -> PageCall:
    """The fields of a JSON body. Only JSON is taken: another site's page cannot send that type without a preflight."""
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


def polling(look: Look, every: float = _EVERY) -> PageWatch:
    """Call ``look`` every so many seconds, and tell what has changed."""

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
    """Modification time, size and inode of a file; None where there is none."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
