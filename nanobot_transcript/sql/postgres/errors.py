"""Translates driver errors into our own, with a hint what to do."""

from typing import Final

import psycopg

from nanobot_transcript.errors import StoreBusyError, StoreError, StoreFullError, StoreUnavailableError
from nanobot_transcript.sql.outage import AwayError
from nanobot_transcript.sql.postgres.address import DatabaseAddress, quoted

__all__ = ["AGAIN", "ENCODING", "LOOK", "is_lost", "is_missing", "may_make_schemas", "typed"]

# https://www.postgresql.org/docs/current/errcodes-appendix.html
_MISSING: Final = frozenset({"3F000", "42P01", "42883", "42703"})  # schema, table, function, column
_FULL: Final = frozenset({"53100", "53200"})
_TOO_MANY: Final = "53300"
_BUSY: Final = frozenset({"55P03", "57014", "40001", "40P01"})
_READ_ONLY: Final = "25006"
_NO_RIGHT: Final = "42501"
_LOST: Final = frozenset({"57P01", "57P02", "57P03", "57P05", _READ_ONLY})

_SETTING: Final = "record.url"
_ROOM: Final = "Free space on the database's disk, then try again."
AGAIN: Final = "Try again in a moment."
"""The hint when the next attempt may well succeed."""
_PASSWORD: Final = "Correct user and password in record.url; the password is percent-encoded there, %40 for @."
_NO_PASSWORD: Final = (
    "Write the password into record.url, or into ~/.pgpass (or the file that PGPASSFILE names), which nobody else may"
    " read (mode 0600)."
)
_ELSEWHERE: Final = (
    "Correct the user in record.url, or the password in ~/.pgpass (or in the file that PGPASSFILE names): record.url"
    " holds none."
)
_UNREPLACED: Final = (
    "The password in record.url still reads ${…}: that is replaced in the settings file alone. In a variable, let the"
    " shell replace it, in double quotes."
)
_RIGHTS: Final = "Let one user own the schema and all in it, and all bots be that user; or grant this one the rights."
_TABLES: Final = (
    "Another version made these tables, or something was removed from them: restore a backup, or name another schema"
    " (record.schema)."
)
_HOST: Final = "Correct the host in record.url: this machine finds none of that name."
_ADMISSION: Final = "Let this user in: pg_hba.conf on the server, and user and password in record.url."
_DATABASE: Final = "Create the database, or correct its name in record.url."
_WRITABLE: Final = "Name all hosts in record.url, so that the one that takes writes is found; and let this user write."
_ROLE_FULL: Final = "too many connections for role"
_DATABASE_FULL: Final = "too many connections for database"
_CROWDED: Final = "Raise max_connections on the server, or put PgBouncer in between."
_ADDRESS: Final = "Correct record.url."
ENCODING: Final = "Create a database with ENCODING 'UTF8' TEMPLATE template0, and name it in record.url."
_TLS: Final = "Correct sslmode and sslrootcert in record.url, or the server's certificate."
_HINTS: Final = {
    "28P01": _PASSWORD,
    "28000": _ADMISSION,
    "3D000": _DATABASE,
    "22P05": ENCODING,
    _NO_RIGHT: _RIGHTS,
    **dict.fromkeys(_MISSING, _TABLES),
    _READ_ONLY: _WRITABLE,
}
LOOK: Final = "See whether PostgreSQL runs, and whether host and port in record.url lead to it."
"""The hint when nothing better is known."""

# Errors while connecting have no code, only words. The first match counts.
_CROWDS: Final = ("too many clients", "connection slots are reserved", "too many connections", "no more connections")
_WORDS: Final = (
    (("no password supplied",), _NO_PASSWORD),
    (("Name or service not known", "failed to resolve host"), _HOST),
    (("password", "authentication"), _PASSWORD),
    (("pg_hba", "role "), _ADMISSION),
    (('database "',), _DATABASE),
    (("session is read-only", "session is not read-write", "hot standby"), _WRITABLE),
    (("SSL", "certificate"), _TLS),
    (("connection is bad: invalid", "bad value for", "definition of service"), _ADDRESS),
)


def typed(error: psycopg.Error, place: DatabaseAddress, *, direct: bool = False) -> StoreError:
    """The StoreError for a driver error. ``direct``: from the permanent connection."""
    found = _typed(error, place, place.direct_name if direct else place.name)
    found.hint = found.hint.replace(_SETTING, place.direct_setting if direct else _SETTING)
    return found


def may_make_schemas(place: DatabaseAddress) -> str:
    """The hint when this user may not create schemas."""
    granted = f"GRANT CREATE ON DATABASE {quoted(place.database)} TO {quoted(place.user)};"
    return f"As the database's owner, let this user make schemas: {granted}"


def _may_make_schema(place: DatabaseAddress) -> str:
    made = f"CREATE SCHEMA {place.quoted_schema} AUTHORIZATION {quoted(place.user)};"
    return f"{may_make_schemas(place)} Or make this one, in that database (\\c {quoted(place.database)}): {made}"


def _may_connect(place: DatabaseAddress) -> str:
    granted = f"GRANT CONNECT ON DATABASE {quoted(place.database)} TO {quoted(place.user)};"
    return f"As the database's owner, let this user in: {granted}"


def _typed(error: psycopg.Error, place: DatabaseAddress, where: str) -> StoreError:
    code, said = error.sqlstate or "", _sentence(error)
    if code in _FULL:
        return StoreFullError(f"{where}: {said}", hint=_ROOM)
    if code == _TOO_MANY or (not code and any(words in said for words in _CROWDS)):
        return StoreBusyError(f"{where}: {said}", hint=_crowded(said, place))
    if code in _BUSY:
        return StoreBusyError(f"{where}: {said}", hint=AGAIN)
    kind = AwayError if is_lost(error) else StoreUnavailableError
    return kind(f"{where}: {said}", hint=_hint_of(code, said, place))


def is_lost(error: psycopg.Error) -> bool:
    """True when the connection is gone or unusable; the outcome of the last statement is unknown."""
    code = error.sqlstate or ""
    return code in _LOST or code.startswith("08") or (not code and isinstance(error, psycopg.OperationalError))


def is_missing(error: psycopg.Error) -> bool:
    """True when there are no tables yet, or others than this version knows."""
    return error.sqlstate in _MISSING


def _sentence(error: psycopg.Error) -> str:
    told = error.diag.message_primary or str(error) or type(error).__name__
    text = told.strip().partition("\n")[0].removeprefix("connection failed: ").replace("FATAL:  ", "").strip()
    return text if text.endswith((".", "?")) else f"{text}."


def _crowded(said: str, place: DatabaseAddress) -> str:
    if _ROLE_FULL in said:
        return f"Raise the limit of this role, as in ALTER ROLE {quoted(place.user)} CONNECTION LIMIT 50;"
    if _DATABASE_FULL in said:
        return f"Raise the limit of this database, as in ALTER DATABASE {quoted(place.database)} CONNECTION LIMIT 50;"
    return _CROWDED


def _hint_of(code: str, said: str, place: DatabaseAddress) -> str:
    if "permission denied for database" in said:
        return _may_make_schema(place) if code == _NO_RIGHT else _may_connect(place)
    found = next((hint for words, hint in _WORDS if any(word in said for word in words)), LOOK)
    found = _HINTS.get(code, found)
    if found is _PASSWORD and "${" in place.password:
        return _UNREPLACED
    return _ELSEWHERE if found is _PASSWORD and not place.password else found
