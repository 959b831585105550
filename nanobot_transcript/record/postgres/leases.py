"""Leases in the database, measured by its clock, because the clocks of hosts may differ."""

from contextlib import suppress
from math import isfinite
from typing import Any, Final

from nanobot_transcript.coordination.contract import LONGEST_HOLDER, LONGEST_TTL, Grant
from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import ConfigError, StoreError
from nanobot_transcript.record.postgres.index_keys import as_key
from nanobot_transcript.record.postgres.primary_terms import PRESENT, begin_reign
from nanobot_transcript.record.postgres.schema import RECORD
from nanobot_transcript.sql.postgres.clock import NOW
from nanobot_transcript.sql.postgres.engine import Connection, Engine

__all__ = ["PostgresLease"]

_LIVE: Final = "l.holder IS NOT NULL AND nanobot.counts(l.expires, l.ttl, l.reign)"
_ACQUIRE: Final = f"""
WITH present AS (SELECT id FROM nanobot.reigns WHERE name = nanobot.reign()), given AS (
    INSERT INTO nanobot.leases AS l (name, holder, token, expires, ttl, reign)
        SELECT %(name)s, %(holder)s, nextval('nanobot.tokens'), {NOW} + %(ttl)s, %(ttl)s, id FROM present
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, before = l.holder, token = nextval('nanobot.tokens'),
        expires = {NOW} + %(ttl)s, ttl = excluded.ttl, reign = excluded.reign WHERE NOT ({_LIVE})
    RETURNING token, expires, before
)
SELECT EXISTS (SELECT FROM present), given.* FROM (SELECT) AS one LEFT JOIN given ON true
"""
_RENEW: Final = f"""
UPDATE nanobot.leases SET expires = {NOW} + %(ttl)s, ttl = %(ttl)s, reign = coalesce({PRESENT}, reign)
WHERE name = %(name)s AND token = %(token)s AND holder IS NOT NULL RETURNING expires
"""
_RELEASE: Final = "UPDATE nanobot.leases SET holder = NULL WHERE name = %s AND token = %s"
_CURRENT: Final = f"""
SELECT holder, token, expires, before, {PRESENT} IS NOT NULL FROM nanobot.leases AS l WHERE name = %s AND {_LIVE}
"""
_TIDY: Final = f"DELETE FROM nanobot.leases WHERE expires < {NOW} - 86400"
_TIDY_EVERY: Final = 500


class PostgresLease:
    """``Lease`` in a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine: Engine = engine
        self._asked: int = 0

    @property
    def blocking(self) -> bool:
        """True: it waits for the network."""
        return True

    def acquire(self, name: str, holder: str, ttl: float) -> Grant | None:
        """See ``Lease.acquire``."""
        _check(ttl)
        kept = well_formed(holder).replace("\0", "\u2400")[:LONGEST_HOLDER]
        bound = {"name": as_key(name), "holder": kept, "ttl": ttl}
        row = self._engine.write(RECORD, lambda connection: self._acquired(connection, bound))
        self._tidy()
        return None if row is None else Grant(name, kept, row[0], row[1], row[2])

    def renew(self, grant: Grant, ttl: float) -> Grant | None:
        """See ``Lease.renew``."""
        _check(ttl)
        bound = {"name": as_key(grant.name), "token": grant.token, "ttl": ttl}
        row = self._written(_RENEW, bound)
        return None if row is None else Grant(grant.name, grant.holder, grant.token, row[0], grant.succeeds)

    def release(self, grant: Grant) -> None:
        """See ``Lease.release``."""
        statement, bound = self._engine.place.sql(_RELEASE), (as_key(grant.name), grant.token)
        self._engine.write(RECORD, lambda connection: connection.execute(statement, bound), again=True)

    def current(self, name: str) -> Grant | None:
        """See ``Lease.current``."""
        statement = self._engine.place.sql(_CURRENT)

        def look(connection: Connection) -> Any:
            return connection.execute(statement, (as_key(name),)).fetchone()

        row = self._engine.read(RECORD, look, None)
        if row is not None and not row[-1]:
            self._engine.write(RECORD, lambda connection: begin_reign(connection, self._engine.place), again=True)
            row = self._engine.read(RECORD, look, None)
        return None if row is None else Grant(name, row[0], row[1], row[2], row[3])

    def _acquired(self, connection: Connection, bound: dict[str, Any]) -> Any:
        """The token, the end and the holder before; None when somebody holds it."""
        statement = self._engine.place.sql(_ACQUIRE)
        is_noted, *given = connection.execute(statement, bound).fetchone() or (True, None)
        if not is_noted:  # no lease can be granted before somebody has noted the current reign
            begin_reign(connection, self._engine.place)
            _, *given = connection.execute(statement, bound).fetchone() or (True, None)
        return None if given[0] is None else given

    def _written(self, statement: str, bound: dict[str, Any]) -> Any:
        placed = self._engine.place.sql(statement)
        return self._engine.write(RECORD, lambda connection: connection.execute(placed, bound).fetchone(), again=True)

    def _tidy(self) -> None:
        """Names of claims are used only once, so leases that ended a day ago are removed now and then."""
        self._asked += 1
        if self._asked % _TIDY_EVERY == 0:
            statement = self._engine.place.sql(_TIDY)
            with suppress(StoreError):
                self._engine.write(RECORD, lambda connection: connection.execute(statement), again=True)


def _check(ttl: float) -> None:
    if not (isfinite(ttl) and 0 < ttl <= LONGEST_TTL):
        raise ConfigError(
            f"A lease cannot last {ttl} seconds.", hint="Give a number of seconds above 0, at most a week."
        )
