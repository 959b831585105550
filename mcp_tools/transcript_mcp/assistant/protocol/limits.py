"""How much may come at once."""

from typing import Final

__all__ = ["LARGEST", "LARGEST_ASKED", "MOST_VALUES", "SMALL"]

LARGEST: Final = 64 * 1024 * 1024
"""Bytes of an answer, a response or a frame of who has logged in, also once it is unpacked."""

LARGEST_ASKED: Final = 8 * 1024 * 1024
"""Bytes of a request that carries its token in itself: the longest question, also with every character escaped."""

SMALL: Final = 64 * 1024
"""Bytes that are read and understood at once, whoever sent them."""

MOST_VALUES: Final = 20_000
"""Fields of a message with those of the messages in it: each costs more memory than it has bytes."""
