"""An outage of the database: its connections log it once, so that everybody else need not."""

import logging

from nanobot_transcript.errors import StoreUnavailableError, TranscriptError

__all__ = ["AwayError", "level_of"]


class AwayError(StoreUnavailableError):
    """The database cannot be reached, or a connection to it broke."""


def level_of(error: TranscriptError, usual: int) -> int:
    """The ``logging`` level for a caller that continues without what failed: lower during an outage, which is logged
    already.
    """
    return logging.DEBUG if isinstance(error, AwayError) else usual
