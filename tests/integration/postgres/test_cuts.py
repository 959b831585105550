"""A connection that is cut in the middle of an answer: nobody knows then what became of the question, and nothing is
lost or done twice for it.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest
from support.cutting import CuttableLine, cuttable_line
from support.places import open_record
from support.postgres import Cluster
from support.sizes import short_and_full
from support.waiting import until

from nanobot_transcript import StoreError
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import StoreBusyError, StoreUnavailableError
from nanobot_transcript.record import Record
from nanobot_transcript.record.postgres.decisions import PostgresDecisionLog
from nanobot_transcript.relevance import Decision, Reason, Stage
from nanobot_transcript.sql.contract import Schema
from nanobot_transcript.sql.outage import AwayError
from nanobot_transcript.sql.postgres.database import PostgresDatabase
from nanobot_transcript.sql.postgres.engine import Engine
from nanobot_transcript.sql.postgres.migrations import lock_number
from nanobot_transcript.sql.postgres.statements import Statements

if TYPE_CHECKING:
    from nanobot_transcript.record.postgres.record import PostgresRecord
    from nanobot_transcript.store.contract import FarBackend

KEY = "feishu:oc_cut"


class Cut:
    """A record over a line that is cut, and the same one over a line that is not."""

    def __init__(self, server: Cluster, line: CuttableLine, schema: str) -> None:
        self.line = line
        self.whole: Record = open_record(f"{server.url}#{schema}")
        # One connection, so that it is the answer that is cut, and never one more connection that is being made.
        address = f"{server.url.replace(str(server.port), str(line.port))}#{schema}"
        self.record: Record = open_record(address, connections=1)

    def at_each(self, work: Callable[[], object], times: int) -> Iterator[int]:
        """Numbers of bytes inside of the answers that ``work`` gets: the line is cut there by what is done next."""
        for _ in range(5):  # afterwards all is prepared, and each time is like the others
            work()
        size = min(self._answered(work) for _ in range(3))  # now and then one asks more, such as the server's clock
        assert size > 0
        step = max(1, size // times)
        for place in range(size - 1 - step // 2, 0, -step):
            self.line.cut_after(place)
            yield place
            self.line.cut_after(None)
            work_until_done(work)
        assert self.line.cuts >= size // step - 1, "it was really cut"

    def _answered(self, work: Callable[[], object]) -> int:
        """How many bytes of answers ``work`` gets."""
        before = self.line.answered
        work()
        return self.line.answered - before


def lose_the_answer_to_commit(cut: Cut, monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]) -> None:
    """Of the next change of a room: it is kept, and its process does not hear of it. ``then`` happens meanwhile."""
    commit, left = Statements.finish, ["the next one"]

    def finish(self: Statements, *last: str) -> str:
        if not left:
            return commit(self, *last)
        left.clear()
        cut.line.cut_after(0)
        try:
            return commit(self, *last)
        finally:
            cut.line.cut_after(None)
            then()

    monkeypatch.setattr(Statements, "finish", finish)


def work_until_done(work: Callable[[], Any]) -> Any:
    """What ``work`` gives once it is no longer refused."""
    while True:
        with suppress(StoreError):
            return work()


@pytest.fixture
def cut(cluster: Cluster, postgres_place: str) -> Iterator[Cut]:
    """A record with nothing in it."""
    with cuttable_line(cluster.port) as line:
        both = Cut(cluster, line, postgres_place.partition("#")[2])
        yield both
        line.cut_after(None)
        both.record.close()
        both.whole.close()


def an_entry(message_id: str) -> Entry:
    return {
        "role": "user",
        "content": f"text {message_id}",
        "sender": "on_ada",
        "message_id": message_id,
        "ts": 1,
        "rts": 1,
    }


@pytest.mark.parametrize("times", short_and_full(12, 100))
def test_an_append_is_there_once_wherever_its_answer_was_cut(cut: Cut, times: int) -> None:
    numbers, store = iter(range(100_000)), cut.record.store

    def append() -> bool:
        return store.append(KEY, "user", "hello", "on_ada", f"om_warm{next(numbers)}")

    written = []
    for place in cut.at_each(append, times):
        written.append(f"om_{place}")

        def this(name: str = written[-1]) -> bool:
            return store.append(KEY, "user", name, "on_ada", name)

        with suppress(StoreError):
            assert this()
        cut.line.cut_after(None)
        work_until_done(this)
    found = Counter(entry["message_id"] for entry in cut.whole.store.scan(KEY))
    assert {name: found[name] for name in written} == dict.fromkeys(written, 1)
    assert max(found.values()) == 1


READS: dict[str, Callable[[Record], Any]] = {
    "get_recent": lambda record: record.store.get_recent(KEY, 300),
    "recent": lambda record: record.store.recent(KEY, 1500),
    "read": lambda record: record.store.read(KEY, None, 2500),
    "read_back": lambda record: record.store.read_back(KEY, None, 2500),
    "get_many": lambda record: record.store.get_many(KEY, [f"om_{number}" for number in range(0, 1800, 7)]),
    "changes": lambda record: record.store.changes(KEY, record.store.read(KEY, None, 1).cursor),
    "search": lambda record: record.store.search("text om_1", limit=300),
    "verify": lambda record: record.store.verify(KEY),
    "chats": lambda record: record.store.chats(),
    "end": lambda record: record.store.end(KEY),
}


@pytest.mark.parametrize("times", short_and_full(2, 40))
def test_what_is_read_is_whole_wherever_it_was_cut(cut: Cut, times: int) -> None:
    store, backend = cut.whole.store, cast("FarBackend", cut.whole.store.backend)
    backend.write_many(KEY, [an_entry(f"om_{number}") for number in range(1800)], 1)
    for number in range(0, 30, 3):
        store.edit(KEY, f"om_{number}", f"text om_{number} edited", "on_ada")
        store.recall(KEY, f"om_{number + 1}")
    for name, read in READS.items():
        expected = read(cut.whole)
        for place in cut.at_each(lambda read=read: read(cut.record), times):
            assert read(cut.record) == expected, f"{name}, cut after {place} bytes"


@pytest.mark.parametrize("times", short_and_full(12, 300))
def test_a_decision_is_noted_once_wherever_its_answer_was_cut(cut: Cut, times: int) -> None:
    numbers, log = iter(range(100_000)), cut.record.decisions

    def decide() -> None:
        name = f"om_{next(numbers)}"
        log.write(KEY, Decision(True, Reason.NAMED, 1.0, Stage.CERTAIN, "Alpha", name))
        while not log.flush(60):
            pass

    for _ in cut.at_each(decide, times):
        decide()
    found = Counter(decision["message_id"] for decision in cut.whole.decisions.read(KEY))
    assert found == Counter(f"om_{number}" for number in range(next(numbers)))


def test_of_more_decisions_than_there_is_room_for_the_newest_wait(cut: Cut, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nanobot_transcript.record.postgres.decisions._WAITING", 3)
    log, insert = PostgresDecisionLog(cast("PostgresRecord", cut.record).engine), PostgresDecisionLog._insert
    more = ["om_1", "om_2", "om_3"]

    def decide(name: str) -> None:
        log.write(KEY, Decision(True, Reason.NAMED, 1.0, Stage.CERTAIN, "Alpha", name))

    def refused_once(self: PostgresDecisionLog, rows: Any) -> None:
        if not more:
            insert(self, rows)
            return
        while more:  # so many come while one is refused that there is no room left for it
            decide(more.pop(0))
        raise StoreUnavailableError("The record is away.", hint="Wait.")

    monkeypatch.setattr(PostgresDecisionLog, "_insert", refused_once)
    decide("om_0")
    while not log.flush(60):
        pass
    assert [found["message_id"] for found in cut.whole.decisions.read(KEY)] == ["om_1", "om_2", "om_3"]


@pytest.mark.parametrize("times", short_and_full(12, 100))
def test_no_more_is_granted_of_a_budget_than_there_is_wherever_the_answer_was_cut(cut: Cut, times: int) -> None:
    had = 0

    def take() -> None:
        nonlocal had
        had += cut.record.budgets.take("calls", limit=10_000, window=3600)

    for _ in cut.at_each(take, times):
        with suppress(StoreError):
            take()
    assert cut.whole.budgets.used("calls", window=3600) >= had


@pytest.mark.parametrize("times", short_and_full(12, 100))
def test_a_lease_has_one_holder_and_growing_tokens_wherever_the_answer_was_cut(cut: Cut, times: int) -> None:
    mine, theirs = cut.record.leases, cut.whole.leases
    tokens: list[int] = []

    def hold() -> None:
        grant = mine.acquire("claim", "Alpha#1", 600)
        if grant is None:  # the one before was granted, and nobody knows
            lost = theirs.current("claim")
            assert lost is not None
            theirs.release(lost)
            tokens.append(lost.token)
            return
        tokens.append(grant.token)
        assert theirs.acquire("claim", "Bravo#2", 600) is None
        assert mine.renew(grant, 600) is not None
        mine.release(grant)

    for _ in cut.at_each(hold, times):
        with suppress(StoreError):
            hold()
        cut.line.cut_after(None)
        work_until_done(hold)
    granted = list(dict.fromkeys(tokens))  # one of which nobody knew is met again
    assert granted == sorted(granted)


THINGS = Schema([["CREATE TABLE things (number INTEGER PRIMARY KEY, name TEXT)"]], tables={"things": ("number",)})


@pytest.mark.parametrize("times", short_and_full(30, 400))
def test_a_change_of_a_room_is_made_once_and_told_wherever_its_answer_was_cut(cut: Cut, times: int) -> None:
    database = PostgresDatabase(cast("PostgresRecord", cut.record).engine, "things", THINGS, busy=10)
    told: list[int] = []

    def insert() -> None:
        told.append(database.write(lambda db: db.insert("INSERT INTO things (name) VALUES (?)", ("one",))))

    for _ in range(10):
        insert()  # until as many digits tell how many changes there were
    for _ in cut.at_each(insert, times):
        insert()
    found = database.read(lambda db: [row[0] for row in db.execute("SELECT number FROM things ORDER BY number")], [])
    assert found == told


def test_a_change_whose_end_never_reached_the_server_is_made_again(cut: Cut, monkeypatch: pytest.MonkeyPatch) -> None:
    database = PostgresDatabase(cast("PostgresRecord", cut.record).engine, "things", THINGS, busy=10)
    left, finish, told = [cut.line.cut], Statements.finish, list[int]()

    def cut_before(self: Statements, *last: str) -> str:
        for before in [left.pop()] if left and told else []:
            before()
        return finish(self, *last)

    monkeypatch.setattr(Statements, "finish", cut_before)
    for name in ("one", "two", "three"):
        told.append(database.write(lambda db, name=name: db.insert("INSERT INTO things (name) VALUES (?)", (name,))))
    found = database.read(lambda db: [tuple(row) for row in db.execute("SELECT * FROM things ORDER BY number")], [])
    assert found == list(zip(told, ("one", "two", "three"), strict=True))


def test_who_waits_to_hear_whether_it_is_kept_is_told_when_others_can_be_asked_no_longer(
    cut: Cut, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nanobot_transcript.sql.postgres.change._ASKED_FOR", 0.1)
    cut.record.outbox.post(KEY, "hello")
    commit = Statements.finish

    def finish(self: Statements, *last: str) -> str:
        cut.line.refuses = True
        cut.line.cut_after(0)
        return commit(self, *last)

    monkeypatch.setattr(Statements, "finish", finish)
    with pytest.raises(StoreError, match="while something was being kept"):
        cut.record.outbox.post(KEY, "hello")


@pytest.mark.parametrize(("others", "of", "is_told"), [(2, "things", True), (3, "things", False), (9, "more", True)])
def test_it_is_told_whether_a_change_was_kept_until_too_many_others_were_made(
    cut: Cut, monkeypatch: pytest.MonkeyPatch, others: int, of: str, is_told: bool
) -> None:
    """Three are remembered here, of each database."""
    monkeypatch.setattr("nanobot_transcript.sql.postgres.change._REMEMBERED", 3)
    monkeypatch.setattr("nanobot_transcript.sql.postgres.change._FORGETS", 1)
    mine, beside, other = (
        PostgresDatabase(cast("PostgresRecord", record).engine, name, THINGS, busy=10)
        for record, name in ((cut.record, "things"), (cut.whole, "things"), (cut.whole, of))
    )

    def insert(database: PostgresDatabase, name: str) -> int:
        return database.write(lambda db: db.insert("INSERT INTO things (name) VALUES (?)", (name,)))

    insert(beside, "before")
    insert(other, "before")
    before = beside.read(lambda db: db.execute("SELECT count(*) FROM things").fetchone()[0], 0)
    lose_the_answer_to_commit(cut, monkeypatch, lambda: [insert(other, f"other {number}") for number in range(others)])
    if is_told:
        assert insert(mine, "mine") == before + 1
    else:
        with pytest.raises(StoreError, match="while something was being kept"):
            insert(mine, "mine")
    count = beside.read(lambda db: db.execute("SELECT count(*) FROM things WHERE name = 'mine'").fetchone()[0], 0)
    assert count == 1


def test_a_change_that_never_reached_the_server_is_made_again_however_many_there_were_before(
    cut: Cut, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nanobot_transcript.sql.postgres.change._REMEMBERED", 3)
    database = PostgresDatabase(cast("PostgresRecord", cut.record).engine, "things", THINGS, busy=10)
    left, finish = [cut.line.cut], Statements.finish

    def insert() -> int:
        return database.write(lambda db: db.insert("INSERT INTO things (name) VALUES (?)", ("one",)))

    def cut_before(self: Statements, *last: str) -> str:
        for before in [left.pop()] if left else []:
            before()
        return finish(self, *last)

    numbers = [insert() for _ in range(5)]
    monkeypatch.setattr(Statements, "finish", cut_before)
    numbers.append(insert())
    found = database.read(lambda db: [row[0] for row in db.execute("SELECT number FROM things ORDER BY number")], [])
    assert found == numbers


def test_who_waits_to_hear_whether_it_is_kept_goes_on_while_another_has_the_lock(
    cut: Cut, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, other = (cast("PostgresRecord", record).engine for record in (cut.record, cut.whole))
    database = PostgresDatabase(engine, "things", THINGS, busy=0.2)
    number = lock_number(f"nanobot-transcript database {engine.place.schema} things")
    busy, write = list[Exception](), engine.write
    locked, free = threading.Event(), threading.Event()

    def insert() -> int:
        return database.write(lambda db: db.insert("INSERT INTO things (name) VALUES (?)", ("one",)))

    def hold() -> None:
        with other.connection() as connection, connection.transaction():
            connection.execute(f"SELECT pg_advisory_xact_lock({number})".encode())
            locked.set()
            free.wait()

    holding = threading.Thread(target=hold)

    def watched(*arguments: Any, **options: Any) -> Any:
        try:
            return write(*arguments, **options)
        except StoreBusyError as error:
            busy.append(error)
            free.set()
            raise

    insert()
    lose_the_answer_to_commit(cut, monkeypatch, lambda: (holding.start(), locked.wait()))
    monkeypatch.setattr(engine, "write", watched)
    assert insert() == 2
    holding.join()
    assert busy


def test_who_waits_to_hear_whether_it_is_kept_goes_on_while_nobody_answers(
    cut: Cut, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With several hosts it takes longer to connect than a call waits for a connection."""
    monkeypatch.setattr("nanobot_transcript.sql.postgres.engine._PATIENCE", 0.2)
    place = cast("PostgresRecord", cut.record).engine.place
    engine = Engine(replace(place, url=f"{place.url}?connect_timeout=30", connections=1))
    database = PostgresDatabase(engine, "things", THINGS, busy=10)
    asked, write = list[str](), engine.write

    def insert() -> int:
        return database.write(lambda db: db.insert("INSERT INTO things (name) VALUES (?)", ("one",)))

    def counted(*arguments: Any, **options: Any) -> Any:
        asked.append("")
        if len(asked) == 3:
            cut.line.hush(silent=False)
        return write(*arguments, **options)

    insert()
    lose_the_answer_to_commit(cut, monkeypatch, lambda: cut.line.hush(silent=True))
    monkeypatch.setattr(engine, "write", counted)
    assert insert() == 2
    engine.close()


def test_whether_it_is_kept_is_asked_for_now_and_then(cut: Cut, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nanobot_transcript.sql.postgres.change._ASKED_FOR", 1.2)
    engine = cast("PostgresRecord", cut.record).engine
    database = PostgresDatabase(engine, "things", THINGS, busy=10)
    commit, write, asked = Statements.finish, engine.write, list[str]()

    def insert() -> int:
        return database.write(lambda db: db.insert("INSERT INTO things (name) VALUES (?)", ("one",)))

    def finish(self: Statements, *last: str) -> str:
        cut.line.refuses = True
        cut.line.cut_after(0)
        return commit(self, *last)

    def counted(*arguments: Any, **options: Any) -> Any:
        asked.append("")
        return write(*arguments, **options)

    insert()
    monkeypatch.setattr(Statements, "finish", finish)
    monkeypatch.setattr(engine, "write", counted)
    with pytest.raises(StoreError, match="while something was being kept"):
        insert()
    assert 2 <= len(asked) <= 4


def test_whether_it_is_kept_is_not_asked_for_where_nobody_will_be_told(
    cut: Cut, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = PostgresDatabase(cast("PostgresRecord", cut.record).engine, "things", THINGS, busy=10)
    newer = "UPDATE nanobot.versions SET version = 99 WHERE part = 'things'"

    def insert() -> int:
        return database.write(lambda db: db.insert("INSERT INTO things (name) VALUES (?)", ("one",)))

    def change_the_version() -> None:
        whole = cast("PostgresRecord", cut.whole).engine
        with whole.connection() as connection:
            connection.execute(whole.place.sql(newer))
        monkeypatch.setattr("nanobot_transcript.sql.postgres.engine._TRUSTED", 0.0)

    insert()
    monkeypatch.setattr("nanobot_transcript.sql.postgres.change._ASKED_FOR", 5.0)
    lose_the_answer_to_commit(cut, monkeypatch, change_the_version)
    began = time.monotonic()
    with pytest.raises(StoreError, match="while something was being kept") as unknown:
        insert()
    assert "newer version" in str(unknown.value.__cause__)
    assert time.monotonic() - began < 3


def test_who_works_alone_is_told_when_that_ended_in_the_middle(cut: Cut, cluster: Cluster) -> None:
    engine, other = (cast("PostgresRecord", record).engine for record in (cut.record, cut.whole))
    number = lock_number(f"nanobot-transcript moving things {engine.place.schema}")
    ends = (
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
        f" AND (classid::bigint << 32 | objid::bigint) = {number}"
    )

    def work() -> None:
        with engine.alone("moving things", 1):
            with pytest.raises(StoreBusyError, match="moving things"), other.alone("moving things", 0.05):
                pass
            assert cluster.execute(ends) == [(True,)]

    with pytest.raises(AwayError):
        work()
    with other.alone("moving things", 5):
        pass


@pytest.mark.parametrize("times", short_and_full(8, 60))
def test_who_is_who_is_known_wherever_the_answer_was_cut(cut: Cut, times: int) -> None:
    numbers = iter(range(100_000))

    def remember() -> None:
        number = next(numbers)
        with suppress(StoreError):
            cut.record.members.remember_person(f"on_{number}", f"Ada {number}")
        while not work_until_done(lambda: cut.record.members.flush(60)):
            pass

    for _ in cut.at_each(remember, times):
        remember()
    for number in range(next(numbers)):
        assert cut.whole.members.name_of(f"on_{number}") == f"Ada {number}"


@pytest.mark.parametrize("messages", short_and_full(60, 3000))
async def test_who_follows_misses_nothing_while_the_line_is_cut_again_and_again(cut: Cut, messages: int) -> None:
    seen: list[str | None] = []
    cut.whole.store.append(KEY, "user", "first", "on_ada", "om_first")

    async def follow() -> None:
        async for entry in cut.record.store.follow(KEY, after):
            seen.append(entry["message_id"])  # noqa: PERF401 - it never ends

    after = cut.whole.store.end(KEY)
    following = asyncio.create_task(follow())
    for number in range(messages):
        await asyncio.to_thread(cut.whole.store.append, KEY, "user", "text", "on_ada", f"om_{number}")
        if number % 5 == 0:
            await until(lambda before=number: len(seen) > before - 20)
            await asyncio.to_thread(cut.line.cut)
    await until(lambda: len(seen) >= messages)
    following.cancel()
    assert seen == [f"om_{number}" for number in range(messages)]
