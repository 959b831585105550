"""What a failed call of PostgreSQL means, as an error of ours that says what to do next."""

from typing import Final

import psycopg

from nanobot_transcript.errors import StoreBusyError, StoreError, StoreFullError, StoreUnavailableError

__all__ = ["is_lost", "is_missing", "typed"]

# https://www.postgresql.org/docs/current/errcodes-appendix.html
_MISSING: Final = frozenset({"3F000", "42P01", "42883", "42703"})  # schema, table, function, column
_FULL: Final = frozenset({"53100", "53200"})
_BUSY: Final = frozenset({"53300", "55P03", "57014", "40001", "40P01"})
_READ_ONLY: Final = "25006"
_LOST: Final = frozenset({"57P01", "57P02", "57P03", _READ_ONLY})

_RAISE: Final = "Free space on the database's disk, then try again."
_AGAIN: Final = "Try again in a moment."
_HINTS: Final = {
    "28P01": "Correct user and password in record.url; a secret can stand in a variable, as ${VAR}.",
    "28000": "Let this user in: pg_hba.conf on the server, and user and password in record.url.",
    "3D000": "Create the database, or correct its name in record.url.",
    "42501": "Grant this user the rights: CREATE on the database, or ALL on the schema.",
    _READ_ONLY: "Name all hosts in record.url, so that the one that takes writes is found.",
}
_LOOK: Final = "See whether PostgreSQL runs and can be reached; `nanobot-transcript doctor` tells what is wrong."


def typed(error: psycopg.Error, where: str) -> StoreError:
    """The StoreError for an error of the driver. ``where`` names the database, for a person."""
    code, said = error.sqlstate or "", _sentence(error)
    if code in _FULL:
        return StoreFullError(f"{where}: {said}", hint=_RAISE)
    if code in _BUSY:
        return StoreBusyError(f"{where}: {said}", hint=_AGAIN)
    return StoreUnavailableError(f"{where}: {said}", hint=_HINTS.get(code, _hint_of(said)))


def is_lost(error: psycopg.Error) -> bool:
    """True when the connection is gone, or of no use any more; nobody knows what became of the last statement."""
    code = error.sqlstate or ""
    return code in _LOST or code.startswith("08") or (not code and isinstance(error, psycopg.OperationalError))


def is_missing(error: psycopg.Error) -> bool:
    """True when there are no tables yet, or others than this version knows."""
    return error.sqlstate in _MISSING


def _sentence(error: psycopg.Error) -> str:
    told = error.diag.message_primary or str(error) or type(error).__name__
    text = told.strip().partition("\n")[0].removeprefix("connection failed: ").replace("FATAL:  ", "").strip()
    return text if text.endswith((".", "?")) else f"{text}."


def _hint_of(said: str) -> str:
    """Where the server says it in words alone, as while connecting."""
    if "password" in said or "authentication" in said:
        return _HINTS["28P01"]
    if "does not exist" in said and "database" in said:
        return _HINTS["3D000"]
    if "pg_hba" in said or "role" in said:
        return _HINTS["28000"]
    if "session is read-only" in said or "session is not read-write" in said:
        return _HINTS[_READ_ONLY]
    return _LOOK
