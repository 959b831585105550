"""Telling whoever listens, in any process, that something is new; what that is, everybody looks up."""

from collections.abc import Iterable
from typing import Final

from nanobot_transcript.sql.postgres.engine import Connection

__all__ = ["tell"]

_TELL: Final = "SELECT pg_notify(channel, '') FROM unnest(%s::text[]) AS channel"


def tell(connection: Connection, channels: Iterable[str]) -> None:
    """They hear it when the transaction is committed."""
    connection.execute(_TELL, (list(channels),))
