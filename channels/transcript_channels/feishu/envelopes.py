"""What protects a pushed event: encryption, signature, verification token, time, and that it comes once.

https://open.feishu.cn/document/event-subscription-guide/event-subscriptions/event-subscription-configure-/encrypt-key-encryption-configuration-case
"""

import base64
import binascii
import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from nanobot_transcript.errors import ConfigError
from transcript_channels.feishu.answers import decode

__all__ = ["Envelopes", "RefusedError", "Seen"]

_BLOCK: Final = 16
_LONGEST_HEADER: Final = 256


class RefusedError(Exception):
    """A request that is not let in; ``status`` is the HTTP status to answer with."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Seen:
    """Remembers keys for ``seconds``, at most ``most`` of them; the oldest go first."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float]) -> None:
        self._most: int = most
        self._seconds: float = seconds
        self._clock: Callable[[], float] = clock
        self._until: OrderedDict[str, tuple[float, Any]] = OrderedDict()

    def add(self, key: str, value: Any = None) -> bool:
        """Remember a key and a value; False when it was known."""
        if self.known(key):
            return False
        self._until[key] = (self._clock() + self._seconds, value)
        while len(self._until) > self._most:
            self._until.popitem(last=False)
        return True

    def known(self, key: str) -> bool:
        """True for a key that is remembered."""
        now = self._clock()
        while self._until and next(iter(self._until.values()))[0] <= now:
            self._until.popitem(last=False)
        return key in self._until

    def value(self, key: str) -> Any:
        """What was remembered with a key."""
        return self._until.get(key, (0.0, None))[1]

    def forget(self, key: str) -> None:
        """The key may come again."""
        self._until.pop(key, None)


@dataclass(frozen=True, slots=True)
class Envelopes:
    """Opens the requests for one app. ``window``: seconds by which the sender's clock may differ.

    Raises ConfigError without a key and a token, because then anybody could send events.
    """

    encrypt_key: str
    verification_token: str
    window: float
    clock: Callable[[], float]
    nonces: Seen

    def __post_init__(self) -> None:
        if not self.encrypt_key and not self.verification_token:
            raise ConfigError(
                "A webhook without an encrypt key and without a verification token would take events from anybody.",
                hint="Copy them from the app's page on events and callbacks, under encryption strategy.",
            )

    def open(self, body: bytes, headers: Mapping[str, str]) -> tuple[dict[str, Any], str]:
        """The JSON object in a request, and the mark of this very request (empty when it is not signed).

        Raises RefusedError for whatever does not come from the platform, or is a replay of what did.
        """
        mark = self._signed(body, headers)
        outer = decode(body)
        if outer is None:
            raise RefusedError(400, "no JSON object")
        event = self._decrypted(outer) if self.encrypt_key else outer
        if not mark and self.encrypt_key and event.get("type") != "url_verification":
            raise RefusedError(401, "no signature")
        self._check_token(event)
        if mark and not self.nonces.add(mark):
            raise RefusedError(403, "the same request again")
        return event, mark

    def _signed(self, body: bytes, headers: Mapping[str, str]) -> str:
        """The mark of a request whose signature fits; the empty string when there is none."""
        stamp, nonce = headers.get("X-Lark-Request-Timestamp", ""), headers.get("X-Lark-Request-Nonce", "")
        signature = headers.get("X-Lark-Signature", "")
        if not self.encrypt_key or not (stamp or nonce or signature):
            return ""
        if max(map(len, (stamp, nonce, signature))) > _LONGEST_HEADER:
            raise RefusedError(401, "headers that are too long")
        signed = hashlib.sha256(
            f"{stamp}{nonce}{self.encrypt_key}".encode("utf-8", "surrogateescape") + body
        ).hexdigest()
        if not _same(signed, signature):
            raise RefusedError(401, "a wrong signature")
        if not stamp.isdecimal() or not stamp.isascii() or abs(self.clock() - int(stamp)) > self.window:
            raise RefusedError(401, "a time that is too far off")
        return signed

    def _decrypted(self, outer: Mapping[str, Any]) -> dict[str, Any]:
        sealed = outer.get("encrypt")
        if not isinstance(sealed, str):
            raise RefusedError(401, "an event that is not encrypted")
        event = decode(_decrypt(sealed, self.encrypt_key))
        if event is None:
            raise RefusedError(400, "nothing that the encrypt key opens")
        return event

    def _check_token(self, event: Mapping[str, Any]) -> None:
        if not self.verification_token:
            return
        header = event.get("header")
        token = header.get("token") if isinstance(header, Mapping) else event.get("token")
        if not isinstance(token, str) or not _same(token, self.verification_token):
            raise RefusedError(401, "a wrong verification token")


def _same(given: str, wanted: str) -> bool:
    """Compared in a time that tells nothing."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode("utf-8", "replace"))


def _decrypt(sealed: str, key: str) -> bytes:
    """The text that was sealed; an empty one when the key does not fit."""
    aes = _aes()
    try:
        raw = base64.b64decode(sealed, validate=True)
    except (binascii.Error, ValueError):
        return b""
    if len(raw) < 2 * _BLOCK or len(raw) % _BLOCK:
        return b""
    cipher = aes.new(hashlib.sha256(key.encode()).digest(), aes.MODE_CBC, raw[:_BLOCK])
    padded = cipher.decrypt(raw[_BLOCK:])
    missing = padded[-1]
    if not 1 <= missing <= _BLOCK or padded[-missing:] != bytes([missing]) * missing:
        return b""
    return padded[:-missing]


def _aes() -> Any:
    try:
        from Crypto.Cipher import AES
    except ImportError as error:
        raise ConfigError(
            "An encrypted webhook needs pycryptodome.", hint="pip install 'nanobot-transcript[feishu]'"
        ) from error
    return AES
