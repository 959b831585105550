"""The HTTP interface of claims, for guards that cannot read the database."""

import json
from collections.abc import Iterable
from typing import Any

from aiohttp import web

from nanobot_transcript.threads import in_thread
from transcript_mcp.mail.claims.ledger import Claims
from transcript_mcp.mail.service import MailService

__all__ = ["ClaimRoutes"]


class ClaimRoutes:
    """``GET /mail/claims?project_key=…&agent_name=…``. Raises our errors; the hub's guard turns them into answers."""

    def __init__(self, service: MailService) -> None:
        self._mail = service.mail
        self._claims = Claims(service.mail.reader, service.mail.now)  # read-only: guards do not wait for writers

    def __call__(self) -> Iterable[web.AbstractRouteDef]:
        """The routes, for an aiohttp application."""
        return (web.get("/mail/claims", self._answer),)

    async def _answer(self, request: web.Request) -> web.Response:
        asked = request.query
        document = await in_thread(self._claims_json, asked.get("project_key", ""), asked.get("agent_name", ""))
        return web.Response(body=document, content_type="application/json", headers={"Cache-Control": "no-store"})

    def _claims_json(self, key: str, name: str) -> bytes:
        """The active exclusive claims of other agents in the project, as JSON."""
        project = self._mail.project(key)
        shown: list[dict[str, Any]] = [
            {"path": each.path, "agent": each.agent, "reason": each.reason, "expires_ts": each.expires_ts}
            for each in self._claims.of_others(project.id, name)
        ]
        document = {"project": project.key, "claims": shown}
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
