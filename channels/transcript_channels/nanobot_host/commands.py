"""nanobot's slash commands: they stay nanobot's, whatever a gate thinks of them."""

import logging
import re
from functools import cache
from typing import Final

__all__ = ["is_command"]

logger = logging.getLogger(__name__)

_COMMAND: Final = re.compile(r"\s*(?:@\S{1,100}\s+){0,4}(/[A-Za-z][\w-]{0,40})(?![\w/])")
_LOOKED_AT: Final = 500


def is_command(text: str) -> bool:
    """True for a text that begins with one of nanobot's commands, perhaps behind a mention."""
    match = _COMMAND.match(text[:_LOOKED_AT])
    return match is not None and match[1].casefold() in _known()


@cache
def _known() -> frozenset[str]:
    try:
        from nanobot.command.builtin import BUILTIN_COMMAND_SPECS

        return frozenset(spec.command.casefold() for spec in BUILTIN_COMMAND_SPECS)
    except (ImportError, AttributeError):  # said at the start: see seams
        return frozenset()
