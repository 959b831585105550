"""A webhook of ours on loopback, and requests to it as the platform and others make them."""

import base64
import hashlib
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from Crypto.Cipher import AES
from Crypto.Util.Padding import pad

from transcript_channels.feishu.webhook import FeishuWebhook

__all__ = ["seal", "served", "sign"]


@asynccontextmanager
async def served(webhook: FeishuWebhook) -> AsyncIterator[str]:
    """The address at which the webhook listens inside the block."""
    runner = web.AppRunner(webhook.application(), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/feishu/events"
    finally:
        await runner.cleanup()


def seal(event: Any, key: str) -> bytes:
    """An event (or raw bytes) encrypted for a key, as the body of a request."""
    plain = event if isinstance(event, bytes) else json.dumps(event).encode()
    iv = os.urandom(16)
    cipher = AES.new(hashlib.sha256(key.encode()).digest(), AES.MODE_CBC, iv)
    return json.dumps({"encrypt": base64.b64encode(iv + cipher.encrypt(pad(plain, 16))).decode()}).encode()


def sign(body: bytes, key: str, stamp: float, nonce: str = "n1") -> dict[str, str]:
    """The headers of a signed request."""
    signature = hashlib.sha256(f"{int(stamp)}{nonce}{key}".encode() + body).hexdigest()
    return {
        "X-Lark-Request-Timestamp": str(int(stamp)),
        "X-Lark-Request-Nonce": nonce,
        "X-Lark-Signature": signature,
    }
