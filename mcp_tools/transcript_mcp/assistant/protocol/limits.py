"""Size limits of incoming messages."""

from typing import Final

__all__ = ["LARGEST", "LARGEST_ASKED", "MOST_VALUES", "SMALL"]

LARGEST: Final = 64 * 1024 * 1024
"""Bytes of an answer or of a frame from a client that has logged in, even after decompression."""

LARGEST_ASKED: Final = 8 * 1024 * 1024
"""Bytes of a request with its token in the body: enough for the longest question with every character escaped."""

SMALL: Final = 64 * 1024
"""Bytes up to which a message is read at once, whoever sent it."""

MOST_VALUES: Final = 20_000
"""Fields of a message, nested ones included: a parsed field takes far more memory than its bytes on the wire."""
