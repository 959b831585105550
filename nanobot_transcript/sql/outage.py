"""A database that is away for now: its connections say so in the log, once, and everybody else need not."""

import logging

from nanobot_transcript.errors import StoreUnavailableError, TranscriptError

__all__ = ["AwayError", "level_of"]


class AwayError(StoreUnavailableError):
    """The database cannot be reached, or a connection to it broke."""


def level_of(error: TranscriptError, usual: int) -> int:
    """The level (of ``logging``) at which whoever goes on without what failed says so."""
    return logging.DEBUG if isinstance(error, AwayError) else usual
