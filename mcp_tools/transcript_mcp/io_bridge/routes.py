"""The HTTP interface for programs: send inputs, read outputs."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs

from aiohttp import web

from transcript_mcp.door.bodies import whole_body
from transcript_mcp.door.delivery import hand_over, has_left
from transcript_mcp.door.errors import RequestError
from transcript_mcp.io_bridge import rules
from transcript_mcp.io_bridge.bridge import Bridge, HandedItem
from transcript_mcp.io_bridge.values import Item

__all__ = ["QueueRoutes"]

SEQUENCE: Final = "X-Sequence"
"""The number of an output; the same number again is the same output again."""

KEY: Final = "Idempotency-Key"


@dataclass(eq=False)
class QueueRoutes:
    """``POST /agent/input/{session_id}`` and ``GET /agent/output/{session_id}``.

    Raises our errors; the hub's guard turns them into answers.
    """

    bridge: Bridge

    def __call__(self) -> Iterable[web.AbstractRouteDef]:
        """The routes, for an aiohttp application. Without HEAD, which would take an output and discard it."""
        return (
            web.post("/agent/input/{session_id:[\\s\\S]*}", self._send),
            web.get("/agent/output/{session_id:[\\s\\S]*}", self._read, allow_head=False),
        )

    async def _send(self, request: web.Request) -> web.StreamResponse:
        session = rules.checked_session(request.match_info["session_id"])
        key = rules.checked_key(request.headers.get(KEY))
        text = rules.input_text(await whole_body(request), request.content_type.lower())
        put = await self.bridge.send_input(session, text, key)
        told = {"message": "Input accepted.", "session_id": session, "sequence": put.seq}
        return _answer(202, {**told, "repeated": True} if put.repeated else told)

    async def _read(self, request: web.Request) -> web.StreamResponse:
        if "Origin" not in request.headers and request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site"):
            # Another site's page cannot read the answer, but an <img> with this address would take the output away.
            raise RequestError(
                403, "wrong_origin", "Web pages from other sites may not read outputs.", "Use a program."
            )

        session = rules.checked_session(request.match_info["session_id"])
        asked = parse_qs(request.query_string, keep_blank_values=True)
        wait = rules.seconds(_last(asked, "wait"))
        if rules.flag(_last(asked, "peek"), "peek"):
            item = await self.bridge.peek_output(session, wait=wait, is_gone=lambda: has_left(request))
            if item is None:
                raise _nothing(session)
            return _output(item)
        handed = await self.bridge.read_output(session, wait=wait, is_gone=lambda: has_left(request))
        if handed is None:
            raise _nothing(session)
        return await hand_over(request, _output(handed), handed.arrived)


def _last(asked: dict[str, list[str]], name: str) -> str | None:
    return asked[name][-1] if name in asked else None


def _output(output: HandedItem | Item) -> web.Response:
    return _answer(200, {"output": output.text}, {SEQUENCE: str(output.seq)})


def _nothing(session: str) -> RequestError:
    hint = "Ask again, or add ?wait=30 to wait for it."
    return RequestError(404, "no_output", f"There is no output in session {session} yet.", hint)


def _answer(status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> web.Response:
    text = json.dumps(body, ensure_ascii=False)
    kept = {"Cache-Control": "no-store", **(headers or {})}
    return web.Response(status=status, text=text, content_type="application/json", headers=kept)
