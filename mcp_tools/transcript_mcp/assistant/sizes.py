"""How much may come at once."""

from typing import Final

__all__ = ["LARGEST"]

LARGEST: Final = 64 * 1024 * 1024
"""Bytes of a request, a response or a frame, also once it is unpacked."""
