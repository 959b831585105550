"""What can happen in a group, step by step, for both hosts."""

from typing import Final

from support.play import Sequence
from support.sequences import bots, people, places, replies, sending, speaking

__all__ = ["SEQUENCES"]

SEQUENCES: Final[dict[str, Sequence]] = {
    name: one
    for module in (places, speaking, replies, bots, people, sending)
    for name, one in vars(module).items()
    if getattr(one, "__module__", "") == module.__name__
}
"""All of them by name, in the order in which they are written."""
