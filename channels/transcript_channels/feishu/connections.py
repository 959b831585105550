"""The pooled HTTP client of one app, made when it is first needed."""

import asyncio
from contextlib import suppress
from typing import Final

import httpx

from nanobot_transcript.errors import ConfigError

__all__ = ["Connections"]

_POOL: Final = httpx.Limits(max_connections=20, max_keepalive_connections=10, keepalive_expiry=60.0)
_ENVIRONMENT: Final = "Look at SSL_CERT_FILE, SSL_CERT_DIR and the proxies in the environment."


class Connections:
    """``given`` is used as it is and stays open; without it a client is made and closed here.

    Making one reads all the certificates of the trust store, tens of milliseconds: that is left to a thread.
    """

    def __init__(self, given: httpx.AsyncClient | None = None, *, trust_env: bool = True) -> None:
        self._given: httpx.AsyncClient | None = given
        self._trust_env: bool = trust_env
        self._making: asyncio.Task[httpx.AsyncClient] | None = None

    async def get(self) -> httpx.AsyncClient:
        """The client; the same for all who ask. Raises ConfigError when proxies or certificates are set up wrongly."""
        if self._given is not None:
            return self._given
        if self._making is None:
            self._making = asyncio.create_task(asyncio.to_thread(_made, self._trust_env))
        try:
            return await asyncio.shield(self._making)  # who gives up waiting does not take it from the others
        except (OSError, ValueError, httpx.InvalidURL) as error:
            raise ConfigError(f"No connection can be made: {error}.", hint=_ENVIRONMENT) from None

    async def close(self) -> None:
        """Close what was made here."""
        if self._making is not None:
            with suppress(OSError, ValueError, httpx.InvalidURL):
                await (await self._making).aclose()


def _made(trust_env: bool) -> httpx.AsyncClient:
    return httpx.AsyncClient(limits=_POOL, trust_env=trust_env)
