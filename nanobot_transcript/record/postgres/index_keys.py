"""Names of any length and any characters, as bytes that an index takes."""

from hashlib import sha256
from typing import Final

__all__ = ["as_key"]

_LONGEST: Final = 200
_HASHED: Final = b"\xff"
"""No text in UTF-8 begins with this byte."""


def as_key(*parts: str) -> bytes:
    """The same bytes for the same parts alone, readable where they are short.

    >>> as_key("answer", "oc_1")
    b'answer\\x00oc_1'
    """
    # A part may hold what parts are joined with.
    told = "\0".join(part.replace("\1", "\1\1").replace("\0", "\1\2") for part in parts)
    body = told.encode("utf-8", "surrogatepass")
    return body if len(body) <= _LONGEST else _HASHED + sha256(body).digest()
