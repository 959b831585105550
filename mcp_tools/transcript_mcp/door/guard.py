"""The middleware that lets requests in or sends them away, and puts errors into one form."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from nanobot_transcript.errors import TranscriptError
from transcript_mcp.door.address import Addresses
from transcript_mcp.door.bodies import READING, SlowBodyError, read_in_time
from transcript_mcp.door.delivery import CLIENT_GONE, error_response, failure, has_left
from transcript_mcp.door.errors import RequestError
from transcript_mcp.door.identity import Caller, Entrance, Tokens, require

__all__ = ["CALLER", "Door", "Entrances", "guard", "shown_path"]

logger = logging.getLogger(__name__)

CALLER: Final = web.RequestKey("caller", Caller)
"""Set on each request that was let in with a token, or where none is needed."""

Way: TypeAlias = Entrance | Literal["open", "own"]
"""``open`` needs no token: the page itself, which asks for one, and what a supervisor asks. ``own`` neither: the room
looks at the tokens of its routes itself, where they stand, and at how large a body is.
"""


@dataclass(frozen=True, slots=True)
class Door:
    """Who may come into one hub, and under which addresses."""

    tokens: Tokens
    addresses: Addresses


class Entrances:
    """What is behind each route of an application."""

    def __init__(self) -> None:
        self._ways: dict[web.AbstractRoute, tuple[Way, tuple[str, ...]]] = {}

    def add(self, way: Way, routes: Iterable[web.AbstractRoute], servers: Iterable[str] = ()) -> None:
        """These routes lead there, to these ``servers``, and so do the ones for HEAD that aiohttp puts beside GET
        without handing them out.
        """
        behind = (way, tuple(servers))
        self._ways.update((each, behind) for route in routes for each in route.resource or ())

    def admit(self, request: web.Request, tokens: Tokens) -> bool:
        """Whether the size of the body is to be looked at. Raises RequestError; sets ``CALLER``."""
        way, servers = self._ways.get(request.match_info.route, (None, ()))
        if way in ("open", "own"):
            return way == "open"
        caller = tokens.authenticate(request.headers.get("Authorization"), way)
        if way is not None:  # else nothing is there
            require(caller, way, servers, path=request.path)
        request[CALLER] = caller
        return True


def guard(door: Door, max_body: int, entrances: Entrances, reading: float = READING) -> Middleware:
    """Checks the address, the page, the token and the announced size, in this order, before anything is read.

    A body has to be there within ``reading`` seconds.
    """

    def check(request: web.Request) -> None:
        door.addresses.require(request.headers.get("Host"), request.headers.get("Origin"))
        if entrances.admit(request, door.tokens) and (request.content_length or 0) > max_body:
            raise RequestError(413, "too_large", f"A request may have at most {max_body} bytes.", "Send less at once.")

    @web.middleware
    async def let_in(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            with read_in_time(request, reading):
                check(request)
                return await handler(request)
        except RequestError as error:
            return _refused(error)
        except TranscriptError as error:
            return failure(error)
        except SlowBodyError as error:
            return error_response(408, "http_408", str(error), _HINTS[408])
        except web.RequestPayloadError:
            return error_response(
                400, "http_400", "The body cannot be decompressed.", "Send it uncompressed, or correct the compression."
            )
        except web.HTTPException as answer:
            if answer.status < 400 or answer.content_type == "application/json":
                raise
            return error_response(
                answer.status, f"http_{answer.status}", f"{answer.reason}.", _HINTS.get(answer.status, "")
            )
        except Exception as error:
            if isinstance(error, ConnectionError) and has_left(request):
                return web.Response(status=CLIENT_GONE)  # nobody is there to see it
            logger.exception("%s %s failed", request.method, shown_path(request))
            return error_response(500, "internal", "The hub failed.", "Its log says why.")

    return let_in


_HINTS: Final = {
    404: "The MCP servers are at /mcp and /mcp/<server>.",
    405: "This address needs another HTTP method.",
    408: "Send the whole request at once.",
    413: "Send less at once, or raise hub.max_body.",
}


def _refused(error: RequestError) -> web.Response:
    response = error_response(error.status, error.code, str(error), error.hint)
    if error.status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="nanobot-transcript"'
    return response


def shown_path(request: web.Request) -> str:
    """The path as it was sent: decoded it could hold the end of a line, and a line of the log of its own."""
    return request.rel_url.raw_path
