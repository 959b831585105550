"""The lines of one chat as rows. Each query is one round trip and sees one moment, including the chat's head."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from nanobot_transcript.entry import well_formed
from nanobot_transcript.record.postgres.cursors import tag_of
from nanobot_transcript.sql.postgres.address import DatabaseAddress
from nanobot_transcript.sql.postgres.engine import Connection

__all__ = ["END", "ChatRows", "Head", "Row", "id_of"]

Row = tuple[int, bytes]
"""The number of a line, and the line."""

END: Final = (1 << 63) - 1
"""A number behind every line of a chat."""
_LATERAL: Final = """
SELECT c.id, c.seq, c.epoch, c.lost_to, l.seq, l.line FROM nanobot.chats AS c LEFT JOIN LATERAL (
    SELECT seq, line FROM nanobot.lines WHERE chat = c.id AND seq > %(after)s AND seq <= %(upto)s {condition}
    ORDER BY seq {order} LIMIT %(limit)s
) AS l ON true WHERE c.tag = %(tag)s ORDER BY l.seq {order}
"""
_MESSAGES: Final = "AND NOT op"
_OPS: Final = "AND op"
_MATCHES: Final = "AND position(%(needle)s::bytea in line) > 0"
_FORWARD: Final = _LATERAL.format(condition=_MESSAGES, order="")
_BACKWARD: Final = _LATERAL.format(condition=_MESSAGES, order="DESC")
_ALL_FORWARD: Final = _LATERAL.format(condition="", order="")
_ALL_BACKWARD: Final = _LATERAL.format(condition="", order="DESC")
_OPS_FORWARD: Final = _LATERAL.format(condition=_OPS, order="")
_MATCHES_BACKWARD: Final = _LATERAL.format(condition=_MATCHES, order="DESC")
_WITH_IDS: Final = """
SELECT i.id, l.seq, l.line FROM nanobot.chats AS c JOIN nanobot.ids AS i ON i.chat = c.id
JOIN nanobot.lines AS l ON l.chat = c.id AND l.seq = i.seq WHERE c.tag = %s AND i.id = ANY (%s)
"""


class Head(NamedTuple):
    """Where a chat stands: its number, its last line, an ``epoch`` that changes when lines are rewritten or removed,
    and up to where lines were removed as a whole.
    """

    chat: int
    seq: int
    epoch: int
    lost_to: int


class ChatRows:
    """Queries about one chat. All need a connection, and a schema that exists."""

    def __init__(self, place: DatabaseAddress, session_key: str) -> None:
        self.tag: str = tag_of(session_key)
        self.session_key: str = session_key
        self.channels: tuple[str, str] = place.channel("chat", self.tag), place.channel("signal", "messages")
        """NOTIFY channels: this chat has changed; any chat has changed."""
        self._place: DatabaseAddress = place

    def forward(self, connection: Connection, after: int, limit: int) -> tuple[Head | None, list[Row]]:
        """The next messages behind a line."""
        return self._page(connection, _FORWARD, after=after, limit=limit)

    def backward(self, connection: Connection, upto: int, limit: int) -> tuple[Head | None, list[Row]]:
        """The last messages up to a line, the newest first."""
        return self._page(connection, _BACKWARD, upto=upto, limit=limit)

    def all_forward(self, connection: Connection, after: int, limit: int) -> tuple[Head | None, list[Row]]:
        """The next lines behind a line, ops included."""
        return self._page(connection, _ALL_FORWARD, after=after, limit=limit)

    def all_backward(self, connection: Connection, upto: int, limit: int) -> tuple[Head | None, list[Row]]:
        """The last lines up to a line, ops included, the newest first."""
        return self._page(connection, _ALL_BACKWARD, upto=upto, limit=limit)

    def ops(self, connection: Connection, after: int, upto: int, limit: int) -> tuple[Head | None, list[Row]]:
        """The next ops behind a line."""
        return self._page(connection, _OPS_FORWARD, after=after, upto=upto, limit=limit)

    def matches(self, connection: Connection, needle: bytes, upto: int, limit: int) -> tuple[Head | None, list[Row]]:
        """The last lines up to a line that contain these bytes, the newest first."""
        return self._page(connection, _MATCHES_BACKWARD, upto=upto, limit=limit, needle=needle)

    def with_ids(self, connection: Connection, ids: Iterable[str]) -> dict[str, Row]:
        """The line under each known id: the message itself, or the op that came before it."""
        wanted = {id_of(each): each for each in ids}
        rows = connection.execute(self._place.sql(_WITH_IDS), (self.tag, list(wanted))).fetchall()
        return {wanted[bytes(digest)]: (seq, line) for digest, seq, line in rows}

    def head(self, connection: Connection) -> Head | None:
        """Where the chat stands; None when nothing was ever said in it."""
        return self._page(connection, _ALL_FORWARD, after=END, limit=0)[0]

    def _page(self, connection: Connection, statement: str, **bound: Any) -> tuple[Head | None, list[Row]]:
        bound = {"after": -1, "upto": END, "tag": self.tag} | bound
        found = connection.execute(self._place.sql(statement), bound).fetchall()
        head = Head(*found[0][:4]) if found else None
        return head, [(seq, line) for *_, seq, line in found if seq is not None]


def id_of(key: str) -> bytes:
    """The key of an id, or of an index mark, in the table of ids."""
    return blake2b(well_formed(key).encode(), digest_size=16).digest()
