"""Pushing events to an address of the app instead of a long connection, encrypted and signed as the platform does.

https://open.feishu.cn/document/event-subscription-guide/event-subscriptions/event-subscription-configure-/request-url-configuration-case
"""

import asyncio
import base64
import hashlib
import json
import secrets
import time
from dataclasses import dataclass
from typing import Any

import aiohttp

from transcript_channels.simulator import wire

__all__ = ["Answered", "Poster", "Webhook"]

_BLOCK = 16


@dataclass(eq=False, slots=True)
class Webhook:
    """Where an app wants its events. With an ``encrypt_key`` they are encrypted and signed."""

    url: str
    encrypt_key: str = ""
    verification_token: str = ""

    def envelope(self, payload: bytes) -> tuple[bytes, dict[str, str]]:
        """Body and headers of the request that carries an event."""
        headers = {"Content-Type": "application/json; charset=utf-8"}
        if not self.encrypt_key:
            return payload, headers
        body = wire.encode({"encrypt": encrypted(payload, self.encrypt_key)})
        stamp, nonce = str(int(time.time())), str(secrets.randbelow(10**9))
        signed = hashlib.sha256((stamp + nonce + self.encrypt_key).encode() + body).hexdigest()
        headers |= {
            "X-Lark-Request-Timestamp": stamp,
            "X-Lark-Request-Nonce": nonce,
            "X-Lark-Signature": signed,
        }
        return body, headers


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back: the HTTP status (None: nothing) and the JSON object in the body, if there was one."""

    status: int | None
    body: dict[str, Any] | None = None


class Poster:
    """Makes the requests."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def post(self, webhook: Webhook, payload: bytes, seconds: float) -> Answered:
        """Send an event and wait for the answer, at most so long."""
        if self._session is None:
            self._session = aiohttp.ClientSession()
        body, headers = webhook.envelope(payload)
        limit = aiohttp.ClientTimeout(total=seconds)
        try:
            async with self._session.post(webhook.url, data=body, headers=headers, timeout=limit) as answer:
                return Answered(answer.status, _object(await answer.read()))
        except (aiohttp.ClientError, TimeoutError):
            return Answered(None)

    async def challenge(self, webhook: Webhook, seconds: float) -> None:
        """Ask an address whether it is the app's. Raises ValueError when it does not answer as it must, or not
        within so many seconds.
        """
        challenge = secrets.token_hex(8)
        asked = {"challenge": challenge, "token": webhook.verification_token, "type": "url_verification"}
        answer = await self.post(webhook, wire.encode(asked), seconds)
        if answer.status != 200 or answer.body != {"challenge": challenge}:
            raise ValueError(f"{webhook.url} did not answer the challenge: {answer}")

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)


def encrypted(payload: bytes, key: str) -> str:
    """AES-256-CBC with the SHA-256 of the key, the IV in front, all in base64."""
    from Crypto.Cipher import AES

    missing = _BLOCK - len(payload) % _BLOCK
    iv = secrets.token_bytes(_BLOCK)
    cipher = AES.new(hashlib.sha256(key.encode()).digest(), AES.MODE_CBC, iv)
    return base64.b64encode(iv + cipher.encrypt(payload + bytes([missing]) * missing)).decode()


def _object(raw: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(raw)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
