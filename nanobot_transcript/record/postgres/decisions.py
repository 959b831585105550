"""The decision log in the database, written in the background, so that it can be used on event loops."""

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Final
from uuid import uuid4

import msgspec

from nanobot_transcript.errors import StoreError
from nanobot_transcript.record.postgres.index_keys import as_key
from nanobot_transcript.record.postgres.schema import RECORD
from nanobot_transcript.relevance.decision import Decision, Stage
from nanobot_transcript.relevance.decision_log import FORMAT, decision_record
from nanobot_transcript.sql.outage import level_of
from nanobot_transcript.sql.postgres.engine import Connection, Engine
from nanobot_transcript.sql.postgres.listener import notify

__all__ = ["PostgresDecisionLog"]

logger = logging.getLogger(__name__)

_KEPT_DAYS: Final = 90
_WAITING: Final = 10_000
"""Decisions that may wait for the database; beyond that the oldest are dropped."""
_AT_ONCE: Final = 500
_SOON, _LATEST = 0.5, 30.0
_SHOWN: Final = 10_000
_SETTLES: Final = 5.0
_INSERT: Final = """
INSERT INTO nanobot.decisions (chat, ts, stage, message_id, document, key) VALUES (%s, %s, %s, %s, %s, %s)
ON CONFLICT DO NOTHING
"""
_ADD: Final = """
INSERT INTO nanobot.decisions (chat, ts, stage, message_id, document, noted, key)
VALUES (%s, %s, %s, %s, %s, least(now(), to_timestamp(%s)), gen_random_uuid())
"""
_FIRST: Final = "SELECT DISTINCT ON (chat) document FROM nanobot.decisions ORDER BY chat, number"
_ALL: Final = "SELECT document FROM nanobot.decisions WHERE chat = %(chat)s ORDER BY number"
_OLD: Final = "DELETE FROM nanobot.decisions WHERE noted < now() - make_interval(days => %s)"
_READ: Final = """
SELECT document FROM nanobot.decisions WHERE chat = %(chat)s AND (%(id)s::bytea IS NULL OR message_id = %(id)s)
ORDER BY number DESC LIMIT %(most)s
"""
_SINCE: Final = "SELECT document FROM nanobot.decisions WHERE ts >= %s AND stage = ANY (%s) ORDER BY ts, number"
_EDITIONS: Final = "SELECT chat, max(number) FROM nanobot.decisions WHERE chat = ANY (%s) GROUP BY chat"


class PostgresDecisionLog:
    """``DecisionLog`` in a database. A thread writes; decisions it could not write yet stay in memory."""

    def __init__(self, engine: Engine) -> None:
        self._engine: Engine = engine
        self._waiting: deque[tuple[Any, ...]] = deque(maxlen=_WAITING)
        self._changed: threading.Condition = threading.Condition()
        self._busy: bool = False
        self._complained: bool = False
        self._tidied: float = 0.0

    def write(self, session_key: str, decision: Decision, now_ms: float | None = None) -> bool:
        """See ``DecisionLog.write``. True when it is going to be written."""
        record = decision_record(decision, session_key, time.time() * 1000 if now_ms is None else now_ms)
        try:
            document = msgspec.json.encode(record)
        except (msgspec.EncodeError, UnicodeError) as error:
            logger.warning("%s: a decision is not logged: %s", session_key, error)
            return False
        message_id = as_key(decision.message_id) if decision.message_id is not None else None
        row = (as_key(session_key), record["ts"], decision.stage.value, message_id, document, uuid4())
        with self._changed:
            self._waiting.append(row)
            if not self._busy:
                self._busy = True
                threading.Thread(target=self._run, name="postgres-decisions", daemon=True).start()
        return True

    def read(self, session_key: str, message_id: str | None = None) -> list[dict[str, Any]]:
        """See ``DecisionLog.read``."""
        bound = {"chat": as_key(session_key), "id": None if message_id is None else as_key(message_id), "most": _SHOWN}
        return self._found(_READ, bound)[::-1]

    def outcomes(self, since_ms: float) -> list[dict[str, Any]]:
        """See ``DecisionLog.outcomes``."""
        return self._found(_SINCE, (since_ms, [Stage.ANSWER.value, Stage.CORRECTION.value]))

    def judged(self, since_ms: float) -> list[dict[str, Any]]:
        """See ``DecisionLog.judged``."""
        return self._found(_SINCE, (since_ms, [Stage.JUDGE.value]))

    def editions(self, session_keys: Iterable[str]) -> dict[str, object]:
        """See ``DecisionLog.editions``: one query for all of them."""
        self.flush(_SETTLES)
        keys = {as_key(key): key for key in session_keys}
        statement = self._engine.place.sql(_EDITIONS)
        rows = self._engine.read(RECORD, lambda connection: connection.execute(statement, (list(keys),)).fetchall(), [])
        found = {keys[bytes(key)]: number for key, number in rows}
        return {key: found.get(key) for key in keys.values()}

    def chats(self) -> list[str]:
        """The session keys of all chats with decisions."""
        return [str(record.get("chat")) for record in self._found(_FIRST, None)]

    def records(self, session_key: str) -> list[dict[str, Any]]:
        """All records of a chat, oldest first."""
        return self._found(_ALL, {"chat": as_key(session_key)})

    def fitting(self, records: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """The records of a chat that would be kept here: those that are not too old."""
        since = (time.time() - _KEPT_DAYS * 86_400) * 1000
        return [record for record in records if record["ts"] >= since]

    def add(self, session_key: str, records: Sequence[dict[str, Any]]) -> None:
        """Add decisions of another record in one transaction."""
        rows = [
            (
                as_key(session_key),
                record["ts"],
                str(record.get("stage") or ""),
                as_key(str(record["message_id"])) if record.get("message_id") is not None else None,
                msgspec.json.encode(record),
                record["ts"] / 1000,
            )
            for record in records
        ]
        place = self._engine.place

        def insert(connection: Connection) -> None:
            with connection.transaction():
                connection.cursor().executemany(place.sql(_ADD), rows)
                notify(connection, [place.channel("signal", "decisions")])

        self._engine.write(RECORD, insert)

    def flush(self, timeout: float) -> bool:
        """Wait until everything given to ``write`` is written; False when ``timeout`` seconds were not enough."""
        with self._changed:
            self._changed.wait_for(lambda: not self._busy or self._complained, timeout)
            return not (self._busy or self._waiting)

    def count(self) -> int:
        """The approximate number of decisions."""
        statement = self._engine.place.sql("SELECT count(*) FROM nanobot.decisions")
        return self._engine.read(RECORD, lambda connection: _first(connection.execute(statement).fetchone()), 0)

    def after_fork(self) -> None:
        """In a forked child: the thread is the parent's, and writes what is waiting."""
        self._changed, self._busy = threading.Condition(), False
        self._waiting.clear()

    def _found(self, statement: str, bound: Any) -> list[dict[str, Any]]:
        self.flush(_SETTLES)
        placed = self._engine.place.sql(statement)
        rows = self._engine.read(RECORD, lambda connection: connection.execute(placed, bound).fetchall(), [])
        records = (msgspec.json.decode(body) for (body,) in rows)
        return [record for record in records if record.get("v") == FORMAT]

    def _run(self) -> None:
        pause = _SOON
        while True:
            with self._changed:
                rows = [self._waiting.popleft() for _ in range(min(_AT_ONCE, len(self._waiting)))]
                if not rows:
                    self._busy = self._complained = False
                    self._changed.notify_all()
                    return
            try:
                self._insert(rows)
                pause, self._complained = _SOON, False
            except StoreError as error:
                with self._changed:
                    free = _WAITING - len(self._waiting)
                    self._waiting.extendleft(rows[::-1][:free])  # the oldest are dropped
                    if not self._complained:
                        logger.log(
                            level_of(error, logging.WARNING),
                            "Decisions cannot be logged now and are kept in memory: %s",
                            error,
                        )
                    self._complained = True
                    self._changed.notify_all()
                time.sleep(pause)
                pause = min(2 * pause, _LATEST)

    def _insert(self, rows: list[tuple[Any, ...]]) -> None:
        place, now = self._engine.place, time.time()
        tidy = now - self._tidied > 3600

        def insert(connection: Connection) -> None:
            with connection.transaction():
                connection.cursor().executemany(place.sql(_INSERT), rows)
                if tidy:
                    connection.execute(place.sql(_OLD), (_KEPT_DAYS,))
                notify(connection, [place.channel("signal", "decisions")])

        self._engine.write(RECORD, insert, again=True)
        self._tidied = now if tidy else self._tidied


def _first(row: Any) -> Any:
    return row[0]
