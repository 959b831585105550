"""App and tenant access tokens."""

import secrets
import time
from dataclasses import dataclass
from typing import Any, Literal

from transcript_channels.simulator.errors import ApiError
from transcript_channels.simulator.world import App, World

__all__ = ["Token", "Tokens"]

Kind = Literal["tenant", "app"]

_RENEW_BELOW_SECONDS = 30 * 60


@dataclass(frozen=True, slots=True)
class Token:
    """A token and when it ends (seconds of the monotonic clock)."""

    value: str
    kind: Kind
    app: App
    ends: float


class Tokens:
    """Hands out tokens of ``ttl`` seconds; like the platform, the same one again while it is fresh."""

    def __init__(self, world: World, ttl: int) -> None:
        self.ttl = ttl
        self._world = world
        self._tokens: dict[str, Token] = {}
        self._newest: dict[tuple[App, Kind], Token] = {}

    def app_named_in(self, body: Any) -> App | None:
        """The app of a request that carries its credentials in the body."""
        if not isinstance(body, dict):
            return None
        return self._world.apps.get(str(body.get("app_id") or body.get("AppID") or ""))

    def issue(self, body: dict[str, Any], kind: Kind) -> tuple[str, int]:
        """A token for credentials, and the seconds it still lasts. Raises ApiError for wrong ones."""
        app = self.app_named_in(body)
        if app is None:
            raise ApiError(10003, status=200)
        if body.get("app_secret") != app.app_secret:
            raise ApiError(10014, status=200)
        token = self._newest.get((app, kind))
        now = time.monotonic()
        if token is None or token.ends - now < min(_RENEW_BELOW_SECONDS, self.ttl / 2):
            token = Token(f"{'t' if kind == 'tenant' else 'a'}-{secrets.token_hex(18)}", kind, app, now + self.ttl)
            self._tokens[token.value] = self._newest[app, kind] = token
        return token.value, max(1, round(token.ends - now))

    def find(self, authorization: str | None) -> Token | None:
        """The token in an ``Authorization`` header, ended or not."""
        return self._tokens.get((authorization or "").removeprefix("Bearer "))

    def check(self, authorization: str | None, *, tenant_only: bool) -> App:
        """The app of a valid token. Raises ApiError 99991661, 99991663 or 99991664."""
        if not authorization:
            raise ApiError(99991661)
        token = self.find(authorization)
        if token is None or token.ends <= time.monotonic():
            raise ApiError(99991664 if token and token.kind == "app" else 99991663)
        if tenant_only and token.kind != "tenant":
            raise ApiError(99991663)
        return token.app

    def expire(self, app: App | None = None) -> None:
        """Make the tokens of an app (None = of all) invalid now."""
        for value, token in list(self._tokens.items()):
            if app is None or token.app is app:
                self._tokens[value] = Token(value, token.kind, token.app, 0.0)
                self._newest.pop((token.app, token.kind), None)
