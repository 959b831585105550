"""Passes the bots' requests on to the person's own model, so that the demo can show them.

The person's key stays in this process; the bots only know an address on loopback.
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from nanobot_transcript.cli.terminal.language import said
from transcript_channels.simulator import ModelRequest, Reply, ToolCall

__all__ = ["ModelEndpoint"]

_DEFAULT_URL: Final = "https://api.openai.com/v1"
_DEFAULT_MODEL: Final = "gpt-4o-mini"
_FORWARDED: Final = ("messages", "tools", "tool_choice")
_TRANSIENT: Final = frozenset({408, 409, 429})
_SECONDS: Final = 110.0


class ModelEndpoint:
    """An OpenAI-compatible endpoint at ``base_url``. Without a key no Authorization header is sent."""

    scripted: bool = False
    patience: float = 120.0
    phrases: Sequence[tuple[str, str]] = ()

    def __init__(self, base_url: str, api_key: str, model: str) -> None:
        self.base_url: str = base_url.rstrip("/")
        self.model: str = model
        self._api_key: str = api_key
        self._complaint: str = ""
        self._busy: set[str] = set()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "ModelEndpoint | None":
        """``OPENAI_API_KEY``, ``OPENAI_BASE_URL``, ``OPENAI_MODEL``; None when neither of the first two is set."""
        key, url = environment.get("OPENAI_API_KEY", "").strip(), environment.get("OPENAI_BASE_URL", "").strip()
        if not key and not url:
            return None
        return cls(url or _DEFAULT_URL, key, environment.get("OPENAI_MODEL", "").strip() or _DEFAULT_MODEL)

    @property
    def label(self) -> str:
        """The model and the host that runs it."""
        host = urlsplit(self.base_url).netloc or self.base_url
        return said("{model} at {host}", model=self.model, host=host)

    def complaint(self) -> str:
        """Why the endpoint refused the last request, ``""`` if it did not. Asking clears it."""
        complaint, self._complaint = self._complaint, ""
        return complaint

    def busy(self, name: str) -> bool:
        """True from a bot's request to an answer that calls no tool."""
        return name in self._busy

    async def reply(self, request: ModelRequest) -> Reply:
        """The endpoint's answer. Failed requests are not retried here: the bots' host does that."""
        self._busy.add(request.api_key)
        reply = await self._forward(request)
        if not reply.tool_calls:
            self._busy.discard(request.api_key)
        return reply

    async def _forward(self, request: ModelRequest) -> Reply:
        import aiohttp

        headers = {"Authorization": f"Bearer {self._api_key}"} if self._api_key else {}
        body = {"model": self.model, **{key: request[key] for key in _FORWARDED if request.get(key)}}
        timeout = aiohttp.ClientTimeout(total=_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(trust_env=True, timeout=timeout) as session,
                session.post(f"{self.base_url}/chat/completions", json=body, headers=headers) as answer,
            ):
                return self._read(answer.status, await answer.text())
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            reason = str(error) or type(error).__name__
            self._complaint = said("The model's endpoint {url} cannot be reached: {why}", url=self.base_url, why=reason)
            return Reply(status=502, error=self._complaint)

    def _read(self, status: int, text: str) -> Reply:
        try:
            body = json.loads(text)
        except ValueError:
            body = None
        if status == 200:
            reply = _reply_from(body)
            if reply is not None:
                return reply
        self._complain(status, _reason(body) or " ".join(text.split())[:200])
        return Reply(status=status if status >= 400 else 502, error=_reason(body))

    def _complain(self, status: int, reason: str) -> None:
        if status < 500 and status not in _TRANSIENT:
            told = {"url": self.base_url, "status": status, "why": reason}
            self._complaint = said("The model's endpoint {url} answered {status}: {why}", **told)


def _reply_from(body: Any) -> Reply | None:
    try:
        message = body["choices"][0]["message"]
        calls = [_call_from(call) for call in message.get("tool_calls") or ()]
        return Reply(message.get("content") or "", tool_calls=calls)
    except (KeyError, IndexError, TypeError, ValueError):
        return None


def _call_from(call: Any) -> ToolCall:
    function = call["function"]
    return ToolCall(function["name"], json.loads(function.get("arguments") or "{}"), id=call["id"])


def _reason(body: Any) -> str:
    error = body.get("error") if isinstance(body, dict) else None
    return str(error.get("message") or "") if isinstance(error, dict) else str(error or "")
