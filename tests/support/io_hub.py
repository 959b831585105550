"""A hub with the IO bridge in this process, and what curl would say to it."""

import json
from typing import Any

import aiohttp

__all__ = ["Person"]


class Person:
    """Sends inputs and reads outputs over HTTP, as a script does."""

    def __init__(self, http: aiohttp.ClientSession, url: str, token: str | None = None) -> None:
        self.http = http
        self.url = url
        self.bridge: object = None
        """The bridge of a hub in the same process."""
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def send(self, session: str, data: Any, **headers: str) -> tuple[int, Any]:
        """``POST /agent/input/SESSION`` with ``{"data": …}``; the status and the document."""
        body = json.dumps({"data": data})
        kind = {"Content-Type": "application/json"}
        async with self.http.post(
            f"{self.url}/agent/input/{session}", data=body, headers={**kind, **self.headers, **headers}
        ) as answer:
            return answer.status, await answer.json()

    async def read(self, session: str, query: str = "") -> tuple[int, Any]:
        """``GET /agent/output/SESSION``; the status and the document."""
        async with self.http.get(f"{self.url}/agent/output/{session}{query}", headers=self.headers) as answer:
            return answer.status, await answer.json()
