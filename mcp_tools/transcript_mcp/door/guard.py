"""The middleware that admits or refuses requests, and gives all errors one form."""

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
"""Set on each request that was admitted with a token, or where none is needed."""

Way: TypeAlias = Entrance | Literal["open", "own"]
"""``open`` needs no token: the page itself, which asks for one, and health checks. ``own``: the room checks tokens and
body sizes of its routes itself.
"""


@dataclass(frozen=True, slots=True)
class Door:
    """The tokens and addresses that one hub accepts."""

    tokens: Tokens
    addresses: Addresses


class Entrances:
    """What is behind each route of an application."""

    def __init__(self) -> None:
        self._ways: dict[web.AbstractRoute, tuple[Way, tuple[str, ...]]] = {}

    def add(self, way: Way, routes: Iterable[web.AbstractRoute], servers: Iterable[str] = ()) -> None:
        """Say what is behind these routes, and behind the HEAD routes that aiohttp adds to each GET without returning
        them; those are found through the resource.
        """
        behind = (way, tuple(servers))
        self._ways.update((each, behind) for route in routes for each in route.resource or ())

    def admit(self, request: web.Request, tokens: Tokens) -> bool:
        """Check the token and set ``CALLER``. True when the body size has to be checked, too. Raises RequestError."""
        way, servers = self._ways.get(request.match_info.route, (None, ()))
        if way in ("open", "own"):
            return way == "open"
        caller = tokens.authenticate(request.headers.get("Authorization"), way)
        if way is not None:  # None: no such route, which becomes a 404
            require(caller, way, servers, path=request.path)
        request[CALLER] = caller
        return True


def guard(door: Door, max_body: int, entrances: Entrances, reading: float = READING) -> Middleware:
    """Checks Host, Origin, token and Content-Length, in this order, before the body is read.

    The body must arrive within ``reading`` seconds.
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
                return web.Response(status=CLIENT_GONE)  # for the log and metrics only
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
    """The path still percent-encoded: decoded, it could contain a line break and so forge a line of the log."""
    return request.rel_url.raw_path
