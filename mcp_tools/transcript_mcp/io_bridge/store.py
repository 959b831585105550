"""The store of queues in SQL; several processes may share it."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from nanobot_transcript.coordination.files.processes import FileProcesses
from nanobot_transcript.errors import QueueFullError
from nanobot_transcript.sql.contract import Sql
from nanobot_transcript.sql.group_commit import GroupCommit
from nanobot_transcript.threads import in_thread
from transcript_mcp.io_bridge.arrivals import ArrivalNotes
from transcript_mcp.io_bridge.schema import opened
from transcript_mcp.io_bridge.values import Direction, Item, Limits, Put, Queued, SessionState

if TYPE_CHECKING:
    from nanobot_transcript.coordination.contract import Processes
    from nanobot_transcript.sql.location import Shelf

__all__ = ["SqlQueueStore"]

_DAY: Final = 86_400.0
_TICK: Final = 60.0
_LATER: Final = 5.0
"""Seconds after which clients may try a full queue again."""

_ANY_FREE: Final = "SELECT 1 FROM items WHERE session = ? AND direction = ? AND holder IS NULL LIMIT 1"
_FREE: Final = "SELECT seq, text FROM items WHERE session = ? AND direction = ? AND holder IS NULL ORDER BY seq LIMIT 1"
_SESSIONS: Final = """
SELECT chosen.*,
    count(CASE WHEN direction = 'in' THEN 1 END) AS inputs,
    count(CASE WHEN direction = 'in' AND holder IS NOT NULL AND delivered THEN 1 END) AS unconfirmed,
    coalesce(sum(CASE direction WHEN 'in' THEN size END), 0) AS input_bytes,
    count(CASE WHEN direction = 'out' THEN 1 END) AS outputs,
    coalesce(sum(CASE direction WHEN 'out' THEN size END), 0) AS output_bytes
FROM (SELECT id, created_ts, active_ts FROM sessions ORDER BY active_ts DESC LIMIT ?) AS chosen
LEFT JOIN items ON session = id GROUP BY id, chosen.created_ts, active_ts ORDER BY active_ts DESC
"""
_QUEUE: Final = """
SELECT seq, direction, substr(text, 1, ?) AS text, size, created_ts,
    CASE WHEN holder IS NULL THEN 'queued' WHEN delivered THEN 'delivered' ELSE 'handed' END AS state
FROM items WHERE session = ? ORDER BY seq LIMIT ?
"""


class SqlQueueStore:
    """``QueueStore`` on a ``shelf``; in a folder that is io.sqlite3. For one event loop. Created at the first ``put``.

    ``processes`` tells which processes that share the tables are alive; by default, by lock files in the folder.
    """

    def __init__(
        self,
        shelf: "Shelf",
        limits: Limits | None = None,
        *,
        processes: "Processes | None" = None,
        clock: Callable[[], float] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = opened(shelf)
        self._processes = processes or FileProcesses(shelf.folder, "io.holders")
        self._arrivals = ArrivalNotes(shelf.folder / "io.arrivals")
        self._holder: str | None = None
        self._joining = threading.Lock()
        self._limits = limits or Limits()
        self._clock = clock or shelf.clock
        self._monotonic = monotonic
        self._ticked = monotonic()
        self._edition: int | None = None
        self._commits = GroupCommit(self._database)

    async def put(
        self, session: str, direction: Direction, text: str, key: str | None = None, *, confirms: bool = False
    ) -> Put:
        size = len(text.encode())

        def work(db: Sql) -> Put:
            confirmed = self._confirm(db, session, given_back=True) if confirms else 0
            used = self._open_session(db, session)
            if key is not None and (known := _seq_of_key(db, session, direction, key)) is not None:
                return Put(known, repeated=True, confirmed=confirmed)
            self._check_room(db, session, direction, size)
            row = (session, direction, size, self._clock(), text)
            columns = "session, direction, size, created_ts, text"
            seq = db.insert(f"INSERT INTO items ({columns}) VALUES (?, ?, ?, ?, ?)", row)
            if key is not None:
                db.execute("INSERT INTO keys VALUES (?, ?, ?, ?, ?)", (session, direction, key, seq, used))
            return Put(seq, confirmed=confirmed)

        return await self._commits.write(work)

    async def take(self, session: str, direction: Direction) -> Item | None:
        def look(db: Sql) -> bool:
            return db.execute(_ANY_FREE, (session, direction)).fetchone() is not None

        # Read first: a client that polls an empty queue must not take the write lock each time.
        if not await in_thread(self._database.read, look, missing=False):
            return None
        holder = self._holder or await in_thread(self._join)

        def work(db: Sql) -> Item | None:
            row = db.execute(_FREE, (session, direction)).fetchone()
            if row is None:
                return None
            db.execute("UPDATE items SET holder = ?, delivered = 0 WHERE seq = ?", (holder, row["seq"]))
            self._touch(db, session)
            return Item(row["seq"], session, direction, row["text"])

        item = await self._commits.write(work)
        if item is not None:
            self._arrivals.taken(item.seq)
        return item

    async def peek(self, session: str, direction: Direction) -> Item | None:
        def work(db: Sql) -> Item | None:
            row = db.execute(_FREE, (session, direction)).fetchone()
            return None if row is None else Item(row["seq"], session, direction, row["text"])

        return await in_thread(self._database.read, work, None)

    async def give_back(self, seqs: Sequence[int]) -> None:
        await self._each("UPDATE items SET holder = NULL WHERE seq = ? AND holder = ?", seqs)

    def note(self, seq: int) -> None:
        self._arrivals.note(seq)

    async def delivered(self, seqs: Sequence[int]) -> None:
        await self._each("UPDATE items SET delivered = 1 WHERE seq = ? AND holder = ?", seqs)

    async def remove(self, seqs: Sequence[int]) -> None:
        await self._each("DELETE FROM items WHERE seq = ? AND holder = ?", seqs)

    async def confirm(self, session: str, *, given_back: bool) -> int:
        return await self._commits.write(lambda db: self._confirm(db, session, given_back=given_back))

    async def adopt(self) -> tuple[list[Item], int]:
        dead = await in_thread(self._dead)
        if not dead:
            return [], 0
        holder = self._holder or await in_thread(self._join)

        def work(db: Sql) -> tuple[list[Item], int]:
            taken_over: list[Item] = []
            freed = 0
            for other, arrived in dead.items():
                noted = [(seq, other) for seq in arrived]
                db.executemany("DELETE FROM items WHERE seq = ? AND holder = ? AND direction = 'out'", noted)
                db.executemany("UPDATE items SET delivered = 1 WHERE seq = ? AND holder = ?", noted)
                free = "UPDATE items SET holder = NULL WHERE holder = ? AND NOT delivered"
                freed += db.execute(free, (other,)).rowcount
                rows = db.execute("SELECT seq, session, direction FROM items WHERE holder = ?", (other,))
                taken_over += [Item(row["seq"], row["session"], row["direction"], "") for row in rows]
                db.execute("UPDATE items SET holder = ? WHERE holder = ?", (holder, other))
            return taken_over, freed

        adopted = await self._commits.write(work)
        await in_thread(self._tidy)
        return adopted

    async def changed(self) -> bool:
        before, self._edition = self._edition, await in_thread(self._database.edition) or 0
        return before is not None and before != self._edition

    async def sessions(self, limit: int) -> list[SessionState]:
        def work(db: Sql) -> list[SessionState]:
            return [SessionState(**dict(row)) for row in db.execute(_SESSIONS, (limit,))]

        return await in_thread(self._database.read, work, [])

    async def queue(self, session: str, limit: int, characters: int) -> list[Queued]:
        def work(db: Sql) -> list[Queued]:
            return [Queued(**dict(row)) for row in db.execute(_QUEUE, (characters, session, limit))]

        return await in_thread(self._database.read, work, [])

    async def sweep(self) -> int:
        if await in_thread(self._database.identity) is None:
            return 0

        def work(db: Sql) -> int:
            now = self._running(db)
            db.execute("DELETE FROM keys WHERE used < ?", (now - _DAY,))
            empty = "used < ? AND NOT EXISTS (SELECT 1 FROM items WHERE session = id)"
            db.execute(f"DELETE FROM sessions WHERE {empty}", (now - min(_DAY, self._limits.keep),))
            return db.execute("DELETE FROM sessions WHERE used < ?", (now - self._limits.keep,)).rowcount

        return await self._commits.write(work)

    def close(self) -> None:
        self._database.close()
        self._arrivals.close()
        self._processes.leave()
        self._holder = None

    # -- inside of a transaction

    def _confirm(self, db: Sql, session: str, *, given_back: bool) -> int:
        delivered = "session = ? AND direction = 'in' AND delivered" + ("" if given_back else " AND holder IS NOT NULL")
        count = db.execute(f"DELETE FROM items WHERE {delivered}", (session,)).rowcount
        if count:
            self._touch(db, session)
        return count

    def _open_session(self, db: Sql, session: str) -> float:
        """Create the session if needed, and return the running time. Raises QueueFullError."""
        used = self._touch(db, session)
        if db.execute("SELECT 1 FROM sessions WHERE id = ?", (session,)).fetchone() is None:
            if self._count(db) >= self._limits.sessions:
                db.execute("DELETE FROM sessions WHERE NOT EXISTS (SELECT 1 FROM items WHERE session = id)")
            if self._count(db) >= self._limits.sessions:
                raise QueueFullError(
                    f"There are {self._limits.sessions} sessions that hold something, which is the limit.",
                    hint="Read the outputs nobody has read yet, or raise io.max_sessions.",
                    retry_after=_LATER,
                )
            now = self._clock()
            db.execute("INSERT INTO sessions VALUES (?, ?, ?, ?)", (session, now, now, used))
        return used

    def _check_room(self, db: Sql, session: str, direction: Direction, size: int) -> None:
        counting = "SELECT count(*), coalesce(sum(size), 0) FROM items WHERE session = ? AND direction = ?"
        items, held = db.execute(counting, (session, direction)).fetchone()
        if items < self._limits.items and held + size <= self._limits.bytes:
            return
        what, who = ("inputs", "the agent takes some") if direction == "in" else ("outputs", "somebody reads some")
        raise QueueFullError(
            f"{items} {what} with {held} bytes wait in this session, which may hold {self._limits.items} {what} "
            f"with {self._limits.bytes} bytes.",
            hint=f"Try again when {who}; io.max_items and io.max_bytes are the limits.",
            retry_after=_LATER,
        )

    def _touch(self, db: Sql, session: str) -> float:
        used = self._running(db)
        db.execute("UPDATE sessions SET active_ts = ?, used = ? WHERE id = ?", (self._clock(), used, session))
        return used

    def _running(self, db: Sql) -> float:
        """Seconds during which processes of ours have used this store; saved now and then."""
        wall, monotonic = self._clock(), self._monotonic()
        running, last = db.execute("SELECT running, wall FROM clock").fetchone()
        passed = monotonic - self._ticked
        if passed < _TICK:
            return running
        self._ticked = monotonic
        running += max(0.0, min(passed, wall - last))
        db.execute("UPDATE clock SET running = ?, wall = ?", (running, wall))
        return running

    def _count(self, db: Sql) -> int:
        return db.execute("SELECT count(*) FROM sessions").fetchone()[0]

    # --

    async def _each(self, statement: str, seqs: Sequence[int]) -> None:
        rows = [(seq, self._holder) for seq in seqs]

        def work(db: Sql) -> None:
            db.executemany(statement, rows)

        await self._commits.write(work)
        self._arrivals.settled(seqs)

    def _dead(self) -> dict[str, list[int]]:
        """Processes that have ended while holding items, with those of their items that had arrived."""

        def work(db: Sql) -> list[str]:
            return [row[0] for row in db.execute("SELECT DISTINCT holder FROM items WHERE holder IS NOT NULL")]

        dead = [other for other in self._database.read(work, []) if not self._processes.alive(other)]
        return {other: self._arrivals.noted_by(other) for other in dead}

    def _join(self) -> str:
        """Register this process. Returns the id under which it holds items."""
        with self._joining:
            if self._holder is None:
                holder = self._processes.join()
                self._arrivals.begin(holder)
                self._holder = holder
            return self._holder

    def _tidy(self) -> None:
        self._arrivals.tidy(self._processes.alive)


def _seq_of_key(db: Sql, session: str, direction: Direction, key: str) -> int | None:
    statement = "SELECT seq FROM keys WHERE session = ? AND direction = ? AND key = ?"
    row = db.execute(statement, (session, direction, key)).fetchone()
    return None if row is None else row["seq"]
