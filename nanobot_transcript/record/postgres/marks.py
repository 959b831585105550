"""Marks in the database: one row each."""

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from nanobot_transcript.coordination.contract import KeptMark, digest_of
from nanobot_transcript.record.postgres.index_keys import as_key
from nanobot_transcript.record.postgres.schema import RECORD
from nanobot_transcript.sql.postgres.engine import Connection, Engine

__all__ = ["PostgresMarks"]

logger = logging.getLogger(__name__)

_VERSION: Final = 1
_GET: Final = "SELECT document, version FROM nanobot.marks WHERE kind = %s AND name = %s"
_PUT: Final = """
INSERT INTO nanobot.marks AS m (kind, name, document, version) VALUES (%s, %s, %s, %s)
ON CONFLICT (kind, name) DO UPDATE SET document = excluded.document, put = DEFAULT WHERE m.version = excluded.version
"""
_KEPT: Final = "SELECT kind, name, document, version FROM nanobot.marks WHERE kind <> %s ORDER BY put"
_EACH: Final = "SELECT document FROM nanobot.marks WHERE kind = %s AND version = %s"
_PRUNE: Final = """
DELETE FROM nanobot.marks WHERE kind = %(kind)s AND put <= (
    SELECT put FROM nanobot.marks WHERE kind = %(kind)s ORDER BY put DESC OFFSET %(keep)s LIMIT 1
)
"""


@dataclass(eq=False, slots=True)
class PostgresMarks:
    """``Marks`` in a database, under digests of their names, because some names must not be readable."""

    _engine: Engine

    @property
    def blocking(self) -> bool:
        """True: it waits for the network."""
        return True

    def get(self, kind: str, *name: str) -> dict[str, Any] | None:
        """See ``Marks.get``."""
        return self.find(kind, digest_of(kind, name))

    def put(self, kind: str, document: dict[str, Any], *name: str) -> None:
        """See ``Marks.put``."""
        self.keep(KeptMark(kind, digest_of(kind, name), document))

    def keep(self, mark: KeptMark) -> None:
        """``put`` with the digest of a name."""
        self._engine.write(RECORD, lambda connection: self.keep_in(connection, mark), again=True)

    def keep_in(self, connection: Connection, mark: KeptMark) -> None:
        """The same within a transaction."""
        body = json.dumps(mark.document or {}, ensure_ascii=True, separators=(",", ":")).encode("ascii")
        bound = (as_key(mark.kind), mark.digest.encode("ascii"), body, _VERSION)
        connection.execute(self._engine.place.sql(_PUT), bound)

    def kept(self) -> Iterator[KeptMark]:
        """Every mark except those of kind ``moved``; the one that was put last comes last."""
        statement, bound = self._engine.place.sql(_KEPT), (as_key("moved"),)
        rows = self._engine.read(RECORD, lambda connection: connection.execute(statement, bound).fetchall(), [])
        for kind, name, body, version in rows:
            document = (_decoded(body) or {}) if version == _VERSION else None
            yield KeptMark(kind.decode("utf-8", "surrogatepass"), name.decode("ascii", "replace"), document)

    def find(self, kind: str, digest: str) -> dict[str, Any] | None:
        """``get`` with the digest of a name."""
        row = self._row(kind, digest)
        return _decoded(row[0]) if row is not None and row[1] == _VERSION else None

    def find_in(self, connection: Connection, kind: str, digest: str) -> dict[str, Any] | None:
        """The same within a transaction."""
        bound = (as_key(kind), digest.encode("ascii"))
        row = connection.execute(self._engine.place.sql(_GET), bound).fetchone()
        return _decoded(row[0]) if row is not None and row[1] == _VERSION else None

    def has(self, kind: str, *name: str) -> bool:
        """See ``Marks.has``."""
        return self._row(kind, digest_of(kind, name)) is not None

    def each(self, kind: str) -> Iterator[dict[str, Any]]:
        """See ``Marks.each``."""
        statement, bound = self._engine.place.sql(_EACH), (as_key(kind), _VERSION)
        rows = self._engine.read(RECORD, lambda connection: connection.execute(statement, bound).fetchall(), [])
        return (document for (body,) in rows if (document := _decoded(body)) is not None)

    def prune(self, kind: str, keep: int) -> int:
        """See ``Marks.prune``."""
        statement, bound = self._engine.place.sql(_PRUNE), {"kind": as_key(kind), "keep": max(0, keep)}
        return self._engine.write(RECORD, lambda connection: connection.execute(statement, bound).rowcount, again=True)

    def _row(self, kind: str, digest: str) -> Any:
        statement, bound = self._engine.place.sql(_GET), (as_key(kind), digest.encode("ascii"))
        return self._engine.read(RECORD, lambda connection: connection.execute(statement, bound).fetchone(), None)


def _decoded(body: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
