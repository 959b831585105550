"""The HTTP interface for people's programs: inputs go in, outputs come out."""

import json
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import parse_qs

from aiohttp import web

from transcript_mcp.door.bodies import whole_body
from transcript_mcp.door.delivery import has_left
from transcript_mcp.io_bridge import checking
from transcript_mcp.io_bridge.bridge import Bridge, Handed
from transcript_mcp.io_bridge.values import Item

__all__ = ["Routes", "handed_over"]

SEQUENCE: Final = "X-Sequence"
"""The number of an output; the same number again is the same output again."""

KEY: Final = "Idempotency-Key"


class Routes:
    """``POST /agent/input/{session_id}`` and ``GET /agent/output/{session_id}``.

    Errors of ours are raised: the hub says them with the status that programs go by.
    """

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    def __call__(self) -> Iterable[web.AbstractRouteDef]:
        """The routes, for an aiohttp application. HEAD has none: it would take an output and show it to nobody."""
        return (
            web.post("/agent/input/{session_id:[\\s\\S]*}", self._send),
            web.get("/agent/output/{session_id:[\\s\\S]*}", self._read, allow_head=False),
        )

    async def _send(self, request: web.Request) -> web.StreamResponse:
        session = checking.checked_session(request.match_info["session_id"])
        key = checking.checked_key(request.headers.get(KEY))
        text = checking.input_text(await whole_body(request), request.content_type.lower())
        put = await self._bridge.send_input(session, text, key)
        told = {"message": "Input accepted.", "session_id": session, "sequence": put.seq}
        return _answer(202, {**told, "repeated": True} if put.repeated else told)

    async def _read(self, request: web.Request) -> web.StreamResponse:
        if "Origin" not in request.headers and request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site"):
            # A page elsewhere cannot read the answer, but a picture of it with this address would take the output away.
            return _error(403, "wrong_origin", "Web pages from other sites may not read outputs.", "Use a program.")

        session = checking.checked_session(request.match_info["session_id"])
        asked = parse_qs(request.query_string, keep_blank_values=True)
        wait = checking.seconds(_last(asked, "wait"))
        if checking.flag(_last(asked, "peek"), "peek"):
            item = await self._bridge.peek_output(session, wait=wait, is_gone=lambda: has_left(request))
            return _nothing(session) if item is None else _output(item)
        handed = await self._bridge.read_output(session, wait=wait, is_gone=lambda: has_left(request))
        return _nothing(session) if handed is None else await handed_over(request, handed, _output(handed))


async def handed_over(request: web.Request, handed: Handed, response: web.Response) -> web.Response:
    """The answer that holds what is handed over, written here, to know whether it went out; else it goes back.

    Raises ConnectionError.
    """
    arrived = False
    try:
        if not has_left(request):
            await response.prepare(request)
            await response.write_eof()
            arrived = True
    finally:
        handed.arrived(arrived)
    return response


def _last(asked: dict[str, list[str]], name: str) -> str | None:
    return asked[name][-1] if name in asked else None


def _output(output: Handed | Item) -> web.Response:
    return _answer(200, {"output": output.text}, {SEQUENCE: str(output.seq)})


def _nothing(session: str) -> web.Response:
    hint = "Ask again, or add ?wait=30 to wait for it."
    return _error(404, "no_output", f"There is no output in session {session} yet.", hint)


def _error(status: int, code: str, message: str, hint: str) -> web.Response:
    """In the form that the hub's own errors have."""
    return _answer(status, {"error": {"code": code, "message": message, "hint": hint}})


def _answer(status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> web.Response:
    text = json.dumps(body, ensure_ascii=False)
    kept = {"Cache-Control": "no-store", **(headers or {})}
    return web.Response(status=status, text=text, content_type="application/json", headers=kept)
