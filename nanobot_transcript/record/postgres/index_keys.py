"""Index keys (bytes) for names of any length and with any characters."""

from hashlib import sha256
from typing import Final

__all__ = ["as_key"]

_LONGEST: Final = 200
_HASHED: Final = b"\xff"
"""Marks a hashed name; no UTF-8 text begins with this byte."""


def as_key(*parts: str) -> bytes:
    """Different bytes for different parts, readable where they are short.

    >>> as_key("answer", "oc_1")
    b'answer\\x00oc_1'
    """
    # A part may contain the separator itself, so escape it.
    told = "\0".join(part.replace("\1", "\1\1").replace("\0", "\1\2") for part in parts)
    body = told.encode("utf-8", "surrogatepass")
    return body if len(body) <= _LONGEST else _HASHED + sha256(body).digest()
