"""Checks whether a database can hold a record: version, rights, latency, clock, free connections, replication."""

import time
from collections.abc import Iterator
from typing import Any, Final

from nanobot_transcript.coordination.clock import CLOCK_TOLERANCE
from nanobot_transcript.errors import StoreError
from nanobot_transcript.findings import Finding
from nanobot_transcript.record.postgres.schema import RECORD
from nanobot_transcript.sql.postgres.address import quoted
from nanobot_transcript.sql.postgres.clock import NOW
from nanobot_transcript.sql.postgres.engine import Connection, Engine
from nanobot_transcript.sql.postgres.migrations import refuse_narrow, version
from nanobot_transcript.sql.postgres.poolers import leads_to_the_same

__all__ = ["check"]

_LEAST: Final = 140_000
_SLOW: Final = 0.05
_FEW: Final = 10
_LAG_BYTES: Final = 64 << 20
_ROUNDS: Final = 5
_RIGHTS: Final = """
SELECT has_database_privilege(current_database(), 'CREATE'), n.oid IS NOT NULL,
    n.oid IS NOT NULL AND has_schema_privilege(n.oid, 'USAGE') AND has_schema_privilege(n.oid, 'CREATE')
FROM (SELECT 1) AS one LEFT JOIN pg_namespace AS n ON n.nspname = %s
"""
_FOREIGN: Final = """
SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind = 'r'
AND EXISTS (
    SELECT FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed
    WHERE NOT has_table_privilege(c.oid, needed)
)
"""
_FREE: Final = """
SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
    - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')
"""
_LAG: Final = """
SELECT application_name, pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint, sync_state
FROM pg_stat_replication WHERE NOT pg_is_in_recovery() AND replay_lsn IS NOT NULL
"""


def check(engine: Engine) -> list[Finding]:
    """Findings about the database. Leaves nothing behind."""
    try:
        with engine.connection() as connection:
            return [
                *_reached(engine, connection),
                *_version(connection),
                *_encoding(engine, connection),
                *_isolation(connection),
                *_rights(engine, connection),
                *_ways(engine, connection),
                *_clock(connection),
                *_free(engine, connection),
                *_replication(connection),
            ]
    except StoreError as error:
        return [Finding("store", "error", str(error), error.hint)]


def _reached(engine: Engine, connection: Connection) -> Iterator[Finding]:
    began = time.perf_counter()
    for _ in range(_ROUNDS):
        connection.execute("SELECT 1")
    took = (time.perf_counter() - began) / _ROUNDS
    told = f"{engine.place.name} answers in {took * 1000:.1f} ms."
    if took > _SLOW:
        yield Finding(
            "store", "warning", told, "Keep the database in the same network: each answer asks it some times."
        )
    else:
        yield Finding("store", "ok", told)
    found = version(connection, RECORD, engine.place)
    if found is None:
        yield Finding("store", "info", f"There is no record in {engine.place.name} yet; the first message makes it.")
    elif found > len(RECORD.steps):
        fix = "Update this installation of nanobot-transcript."
        yield Finding("store", "error", f"{engine.place.name} was written by a newer version.", fix)


def _version(connection: Connection) -> Iterator[Finding]:
    number = connection.info.server_version
    told = f"PostgreSQL {number // 10_000}.{number % 10_000}."
    if number < _LEAST:
        yield Finding("version", "error", told, "Use PostgreSQL 14 or newer.")
    else:
        yield Finding("version", "ok", told)


def _encoding(engine: Engine, connection: Connection) -> Iterator[Finding]:
    try:
        refuse_narrow(connection, engine.place.name)
    except StoreError as error:
        yield Finding("encoding", "error", str(error), error.hint)


def _isolation(connection: Connection) -> Iterator[Finding]:
    """An append is a call outside any transaction of ours, so it runs at the user's default isolation level."""
    level, user = _row(connection, "SELECT current_setting('default_transaction_isolation'), quote_ident(current_user)")
    if level != "read committed":
        told = f"Transactions of {user} are {level} by default: two bots that write into a chat at once are refused."
        fix = f"ALTER ROLE {user} SET default_transaction_isolation = 'read committed';"
        yield Finding("isolation", "error", told, fix)


def _rights(engine: Engine, connection: Connection) -> Iterator[Finding]:
    may_create, there, may_use = _row(connection, _RIGHTS, engine.place.schema)
    (foreign,) = _row(connection, _FOREIGN, engine.place.schema)
    user, owner = quoted(connection.info.user), f"The owner of the database {quoted(connection.info.dbname)}"
    if foreign:
        fix = "Let one user own the schema and all in it, and all bots be that user; or grant this one the rights."
        yield Finding("rights", "error", f"This user may not read and change {foreign} of the tables.", fix)
    elif (there and may_use) or (not there and may_create):
        yield Finding("rights", "ok", "This user may make and change the tables.")
    elif there:
        fix = f"GRANT ALL ON SCHEMA {engine.place.quoted_schema} TO {user};"
        yield Finding(
            "rights",
            "error",
            f"This user may not use the schema {engine.place.schema}. {owner} lets them, in that database:",
            fix,
        )
    else:
        fix = f"CREATE SCHEMA {engine.place.quoted_schema} AUTHORIZATION {user};"
        yield Finding(
            "rights",
            "error",
            f"This user may not make the schema {engine.place.schema}. {owner} makes it, in that database:",
            fix,
        )


def _ways(engine: Engine, connection: Connection) -> Iterator[Finding]:
    """Whether the permanent connection stays ours (no pooler takes it away), and reaches the same server."""
    try:
        same = leads_to_the_same(engine.place, connection)
    except StoreError as error:
        yield Finding("connections", "error", str(error), error.hint)
        return
    if not same:
        message = "record.listen_url leads to another database than record.url: nothing is heard from there."
        yield Finding("connections", "error", message, "Name the same server and the same database.")


def _clock(connection: Connection) -> Iterator[Finding]:
    began = time.time()
    (theirs,) = _row(connection, f"SELECT {NOW}")
    apart = abs(theirs - (began + time.time()) / 2)
    if apart > CLOCK_TOLERANCE:
        message = f"The database's clock and this machine's disagree by {apart:.0f} seconds."
        yield Finding("clock", "warning", message, "Set both clocks (NTP).")
    else:
        yield Finding("clock", "ok", "The clock agrees with the database's.")


def _free(engine: Engine, connection: Connection) -> Iterator[Finding]:
    (free,) = _row(connection, _FREE)
    told = f"The server has {free} free connections; this process takes up to {engine.place.connections + 1}."
    if free < _FEW:
        yield Finding("connections", "warning", told, "Raise max_connections, or put PgBouncer in between.")
    else:
        yield Finding("connections", "ok", told)


def _replication(connection: Connection) -> Iterator[Finding]:
    for name, lag, state in connection.execute(_LAG).fetchall():
        told = f"The standby {name} ({state}) is {lag:,} bytes behind."
        if lag > _LAG_BYTES:
            yield Finding("replication", "warning", told, "See why the standby does not keep up.")
        else:
            yield Finding("replication", "ok", told)


def _row(connection: Connection, statement: Any, *bound: Any) -> Any:
    return connection.execute(statement, bound).fetchone()
