"""A process that may have one connection: rooms work all the same, and do not wait for a second one."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from support.places import open_record
from support.waiting import PATIENCE

from nanobot_transcript.errors import StoreBusyError
from nanobot_transcript.outbox import Outbox
from nanobot_transcript.record import Record
from nanobot_transcript.sql.postgres.migrations import lock_number
from transcript_mcp.assistant.questions.contract import End
from transcript_mcp.assistant.questions.sql_store import SqlQuestionStore
from transcript_mcp.assistant.questions.values import AnswerContent, Ending, Question
from transcript_mcp.io_bridge.store import SqlQueueStore

if TYPE_CHECKING:
    from nanobot_transcript.record.postgres.record import PostgresRecord


@pytest.fixture
def record(postgres_place: str) -> Iterator[Record]:
    with open_record(postgres_place, connections=1) as opened:
        yield opened


async def test_the_queues_do(record: Record, tmp_path: Path) -> None:
    queues = SqlQueueStore(record.shelf(tmp_path), processes=record.processes)
    assert (await queues.put("s", "in", "hello")).seq == 1
    item = await queues.take("s", "in")
    assert item is not None
    assert item.text == "hello"
    queues.close()


async def test_the_questions_do(record: Record, tmp_path: Path) -> None:
    questions = SqlQuestionStore(record.shelf(tmp_path))
    await questions.put(Question(scope="ada", id="1", kind="question", text="Ship it?"), "waiting")
    (ended,) = await questions.end_all([End("ada", "1", Ending("answered", contents=(AnswerContent("text", "Yes"),)))])
    assert isinstance(ended, tuple)
    questions.close()


def test_who_waits_for_another_process_leaves_connections_to_who_reads(
    postgres_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_record(postgres_place, connections=2) as mine, open_record(postgres_place) as theirs:
        mine.outbox.post("feishu:oc_1", "before")
        engine, other = (cast("PostgresRecord", each).engine for each in (mine, theirs))
        monkeypatch.setattr("nanobot_transcript.outbox.outbox._BUSY", 0.5)
        outbox = Outbox(engine, signals=mine.signals)
        with other.connection() as connection, connection.transaction():
            connection.execute(lock_of_outbox(postgres_place))
            with ThreadPoolExecutor(4) as pool:
                posts = [pool.submit(outbox.post, "feishu:oc_1", f"{number}") for number in range(4)]
                assert len(outbox.open_posts()) == 1
                assert not any(post.done() for post in posts), "they were waiting meanwhile"
        assert all(isinstance(post.exception(), StoreBusyError) for post in posts)
        assert sum("another change has not come" in str(post.exception()) for post in posts) >= 2


def lock_of_outbox(place: str) -> str:
    schema = place.partition("#")[2]
    return f"SELECT pg_advisory_xact_lock({lock_number(f'nanobot-transcript database {schema} outbox')})"


def test_a_forked_process_does_not_wait_for_its_parent(record: Record) -> None:
    """Another thread of the parent is writing at that moment."""
    outbox = record.outbox
    outbox.post("feishu:oc_1", "before")
    with cast("PostgresRecord", record).engine.turn("outbox", PATIENCE):
        child = get_context("fork").Process(target=outbox.post, args=("feishu:oc_1", "in the child"))
        child.start()
        child.join(PATIENCE)
    assert child.exitcode == 0
    assert len(outbox.open_posts()) == 2
