"""Budgets in the database, measured by its clock."""

from dataclasses import dataclass
from math import isfinite
from typing import Final

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.record.postgres.index_keys import as_key
from nanobot_transcript.record.postgres.schema import RECORD
from nanobot_transcript.sql.postgres.clock import NOW
from nanobot_transcript.sql.postgres.engine import Engine

__all__ = ["PostgresBudget"]

_TAKE: Final = "SELECT nanobot.take(%s, %s, %s, %s)"
_USED: Final = f"""
SELECT coalesce(sum(used), 0)::bigint FROM nanobot.budgets
WHERE name = %(name)s AND abs(slice - floor({NOW} / %(window)s * 20)) <= 20
"""
_MOST: Final = (1 << 62) - 1


@dataclass(eq=False, slots=True)
class PostgresBudget:
    """``Budget`` in a database. The window slides in twentieths, so what was taken is given back up to one twentieth
    late.
    """

    _engine: Engine

    @property
    def blocking(self) -> bool:
        """True: it waits for the network."""
        return True

    def take(self, name: str, cost: int = 1, *, limit: int, window: float) -> bool:
        """See ``Budget.take``."""
        _check(cost, window)
        bound = (_key(name, window), min(cost, _MOST), max(-1, min(limit, _MOST)), window)
        statement = self._engine.place.sql(_TAKE)
        return self._engine.write(RECORD, lambda connection: connection.execute(statement, bound).fetchone()[0])  # pyright: ignore[reportOptionalSubscript] -- a function gives a row

    def used(self, name: str, *, window: float) -> int:
        """See ``Budget.used``."""
        _check(0, window)
        statement, bound = self._engine.place.sql(_USED), {"name": _key(name, window), "window": window}
        return self._engine.read(RECORD, lambda connection: connection.execute(statement, bound).fetchone()[0], 0)  # pyright: ignore[reportOptionalSubscript] -- a sum is a row


def _key(name: str, window: float) -> bytes:
    return as_key(repr(float(window)), name)


def _check(cost: int, window: float) -> None:
    if cost < 0 or not (isfinite(window) and window > 0):
        raise ConfigError(
            f"A budget cannot be counted with a cost of {cost} and a window of {window} seconds.",
            hint="Give a cost of 0 or more and a window above 0.",
        )
