"""The middleware that lets requests in or sends them away, and puts errors into one form."""

import logging
import re
from collections.abc import Set
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from nanobot_transcript.errors import TranscriptError
from transcript_mcp.door.bodies import READING, SlowBodyError, read_in_time
from transcript_mcp.door.delivery import CLIENT_GONE, error_response, failure, has_left
from transcript_mcp.door.identity import Access, Caller, Refusal

__all__ = ["CALLER", "OPEN_ROUTES", "QUESTION_ROUTES", "guard", "not_for_this_token", "shown_path"]

logger = logging.getLogger(__name__)

CALLER: Final = web.RequestKey("caller", Caller)
"""Set on each request that was let in."""

OPEN_ROUTES: Final = frozenset({"healthz", "readyz"})
"""What a supervisor asks without a token; neither says anything about what is served. By name, as the paths are others
when the hub is mounted below an application."""

QUESTION_ROUTES: Final = frozenset({"about"})
"""What the page of questions asks for, and is told with a token that opens nothing else."""


def guard(
    access: Access,
    max_body: int,
    on_their_own: Set[web.AbstractRoute] = frozenset(),
    of_pages: Set[web.AbstractRoute] = frozenset(),
    reading: float = READING,
) -> Middleware:
    """Checks the address, the page, the token and the announced size, in this order, before anything is read.

    Routes that are ``on_their_own`` look at the token and at the size themselves; those ``of_pages`` are for people. A
    body has to be there within ``reading`` seconds.
    """

    def checked(request: web.Request) -> web.Response | None:
        refusal = access.refuse_address(request.headers.get("Host"), request.headers.get("Origin"))
        if refusal is not None:
            return _refused(refusal)
        route = request.match_info.route
        if route in on_their_own:
            return None
        if route.name not in OPEN_ROUTES:
            questions = route.name in QUESTION_ROUTES
            caller = access.caller(request.headers.get("Authorization"), questions=questions)
            if isinstance(caller, Refusal):
                return _refused(caller)
            if not (questions and caller.questions_only) and not _may_enter(caller, route, route in of_pages):
                return not_for_this_token(caller, request)
            request[CALLER] = caller
        if (request.content_length or 0) > max_body:
            return error_response(
                413, "too_large", f"A request may have at most {max_body} bytes.", "Send less at once."
            )
        return None

    @web.middleware
    async def let_in(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            with read_in_time(request, reading):
                return checked(request) or await handler(request)
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


def _may_enter(caller: Caller, route: web.AbstractRoute, is_of_pages: bool) -> bool:
    """Whether a token is for a door of this kind; which MCP servers are behind it, they look at themselves."""
    if route.resource is None:
        return True  # there is nothing behind it
    if is_of_pages:
        return caller.opens_pages
    return caller.is_program and (caller.agent is None or _MCP.fullmatch(route.resource.canonical) is not None)


_MCP: Final = re.compile(r".*/mcp(/[a-z_]+)?/?")
_HINTS: Final = {
    404: "The MCP servers are at /mcp and /mcp/<server>.",
    405: "This address needs another HTTP method.",
    408: "Send the whole request at once.",
    413: "Send less at once, or raise hub.max_body.",
}


def _refused(refusal: Refusal) -> web.Response:
    response = error_response(refusal.status, refusal.code, refusal.message, refusal.hint)
    if refusal.status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="nanobot-transcript"'
    return response


def not_for_this_token(caller: Caller, request: web.Request) -> web.Response:
    """The answer to a known token at another door than its own."""
    if caller.agent is not None:
        message, hint = "This token is for a mailbox agent.", f"It opens /mcp/filebox only, not {request.path}."
    elif caller.person:
        message, hint = "This token opens only the pages.", "Programs use a token from hub.tokens."
    else:
        message = "This token is for programs. It does not open the pages or their API."
        hint = "People use hub.page_token. If there is none, set it and restart the hub."
    return error_response(403, "not_for_this_token", message, hint)


def shown_path(request: web.Request) -> str:
    """The path as it was sent: decoded it could hold the end of a line, and a line of the log of its own."""
    return request.rel_url.raw_path
