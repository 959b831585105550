"""Answers come into the index of words later than into the record; whoever searches does not notice."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.statements import statements_of
from support.waiting import PATIENCE

from nanobot_transcript.sql.contract import Schema, Sql
from nanobot_transcript.sql.location import Shelf
from nanobot_transcript.sql.sqlite import SqliteDatabase
from transcript_mcp.assistant.questions.contract import End
from transcript_mcp.assistant.questions.sql_store import SqlQuestionStore
from transcript_mcp.assistant.questions.tables import SCHEMA
from transcript_mcp.assistant.questions.values import AnswerContent, Ending, HistoryQuery, Question


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlQuestionStore]:
    made = SqlQuestionStore(Shelf(tmp_path))
    yield made
    made.close()


async def ask(store: SqlQuestionStore, *ids: str) -> None:
    await asyncio.gather(*(store.put(Question("s", each, "question", f"部署 {each}?"), "waiting") for each in ids))


async def answer(store: SqlQuestionStore, *ids: str) -> None:
    texts = {each: (AnswerContent("text", f"周五 noon, {each}"),) for each in ids}
    await store.end_all([End("s", each, Ending("answered", "Ada", "web", text)) for each, text in texts.items()])


async def found(store: SqlQuestionStore, text: str) -> list[str]:
    return [record.question.id for record in (await store.history(("s",), HistoryQuery(text))).records]


def unindexed(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "assistant.sqlite3")) as connection:
        return connection.execute("SELECT count(*) FROM records_unindexed").fetchone()[0]


async def test_an_answer_is_found_at_once_by_its_words_and_those_of_its_question(
    store: SqlQuestionStore, tmp_path: Path
) -> None:
    ids = [f"q{number}" for number in range(250)]
    await ask(store, *ids)
    await answer(store, *ids)
    assert unindexed(tmp_path) == 250
    assert await found(store, "q17 周五") == ["q17"]
    assert await found(store, "部署 noon q249") == ["q249"]
    assert unindexed(tmp_path) == 0
    assert len(await found(store, "noon")) == 50


async def test_answers_to_questions_that_wait_here_are_found_too(store: SqlQuestionStore, tmp_path: Path) -> None:
    known = [(await store.put(Question("s", each, "question", f"部署 {each}?"), "waiting"))[0] for each in "abc"]
    text = (AnswerContent("text", "周五 noon"),)
    endings = [Ending("answered", "Ada", "web", text), Ending("answered", "Ada", "web", text), Ending("timeout")]
    await store.end_all([End("s", each.question.id, end, each) for each, end in zip(known, endings, strict=True)])
    assert unindexed(tmp_path) == 2
    assert await found(store, "周五") == ["b", "a"]


@pytest.mark.parametrize("known", [False, True], ids=["read again", "at once"])
async def test_a_question_that_somebody_set_back_is_answered_again_before_the_first_answer_is_indexed(
    store: SqlQuestionStore, tmp_path: Path, known: bool
) -> None:
    waiting, _ = await store.put(Question("s", "q1", "question", "部署?"), "waiting")
    await answer(store, "q1")
    with closing(sqlite3.connect(tmp_path / "assistant.sqlite3")) as connection, connection:
        connection.execute("UPDATE records SET state = 'waiting', answer = ''")
    again = Ending("answered", "Bo", "web", (AnswerContent("text", "周六"),))
    (ended,) = await store.end_all([End("s", "q1", again, waiting if known else None)])
    assert not isinstance(ended, Exception)
    assert ended is not None
    assert ended[1]
    assert unindexed(tmp_path) == 1
    assert (await found(store, "周六"), await found(store, "周五")) == (["q1"], [])


async def test_a_search_finds_what_the_process_before_did_not_index(store: SqlQuestionStore, tmp_path: Path) -> None:
    await ask(store, "q1")
    await answer(store, "q1")
    store.close()
    second = SqlQuestionStore(Shelf(tmp_path))
    assert await found(second, "周五") == ["q1"]
    second.close()


async def test_answers_that_are_not_indexed_become_few_with_each_question(
    store: SqlQuestionStore, tmp_path: Path
) -> None:
    await ask(store, *"abcd")
    await answer(store, *"abcd")
    await ask(store, "e")
    assert unindexed(tmp_path) == 2
    await ask(store, "f")
    assert unindexed(tmp_path) == 0
    assert await found(store, "noon") == ["d", "c", "b", "a"]


async def test_a_file_of_before_keeps_its_words_and_gets_the_new_ones(tmp_path: Path) -> None:
    before = Schema(SCHEMA.migrations[:2], SCHEMA.functions)
    database = SqliteDatabase(tmp_path / "assistant.sqlite3", tmp_path / ".assistant.lock", before, busy=5)
    row = "('s', 'old', 'question', 'waiting', '', '', '', '', '', 60, 1, 0, '', 1.0, 'Deploy?', x'90')"
    names = "scope, id, kind, state, said_as, project, agent, model, client, timeout, expects, fetched, chat, asked_ts"
    database.write(lambda connection: connection.execute(f"INSERT INTO records ({names}, text, choices) VALUES {row}"))
    database.write(lambda connection: connection.execute("UPDATE records SET state = 'answered', answer = '周五'"))
    database.close()
    store = SqlQuestionStore(Shelf(tmp_path))
    await ask(store, "new")
    await answer(store, "new")
    assert await found(store, "周五") == ["new", "old"]
    assert await found(store, "Deploy") == ["old"]
    store.close()


async def test_large_answers_are_indexed_a_few_at_a_time_and_by_their_beginning(
    store: SqlQuestionStore, tmp_path: Path
) -> None:
    ids = [f"q{number}" for number in range(5)]
    await ask(store, *ids)
    for each in ids:
        words = (f"begin{each}", f"{'word ' * 30_000} end{each}", "x" * 2_000_000)
        contents = tuple(AnswerContent("text", word) for word in words)
        await store.end_all([End("s", each, Ending("answered", "Ada", "web", contents))])
    await ask(store, "another")
    assert unindexed(tmp_path) == 3
    assert await found(store, "beginq3") == ["q3"]
    assert await found(store, "endq3") == []
    assert unindexed(tmp_path) == 0


async def test_a_question_is_found_by_its_beginning(store: SqlQuestionStore) -> None:
    await store.put(Question("s", "long", "question", f"begin {'word ' * 20_000} end"), "waiting")
    assert await found(store, "begin") == ["long"]
    assert await found(store, "end") == []
    await answer(store, "long")
    assert await found(store, "begin 周五") == ["long"]


async def test_a_search_ends_when_a_record_was_removed_that_was_not_indexed_yet(
    store: SqlQuestionStore, tmp_path: Path
) -> None:
    await ask(store, "q1", "q2")
    await answer(store, "q1", "q2")
    with closing(sqlite3.connect(tmp_path / "assistant.sqlite3")) as connection, connection:
        connection.execute("DELETE FROM records WHERE id = 'q2'")
    async with asyncio.timeout(PATIENCE):
        assert await found(store, "周五") == ["q1"]


async def test_what_waited_for_the_index_before_is_found_with_all_its_words(tmp_path: Path) -> None:
    before = Schema(SCHEMA.migrations[:3], SCHEMA.functions)
    database = SqliteDatabase(tmp_path / "assistant.sqlite3", tmp_path / ".assistant.lock", before, busy=5)
    names = "scope, id, kind, state, said_as, project, agent, model, client, timeout, expects, fetched, chat, asked_ts"
    values = "'question', 'waiting', '', '', '', '', '', 60, 1, 0, '', 1.0"
    text = f"begin {'word ' * 30_000} end"

    def fill(connection: Sql) -> None:
        insert = f"INSERT INTO records ({names}, text, choices) VALUES ('s', ?, {values}, ?, x'90')"
        connection.executemany(insert, [("old", text), ("gone", text)])
        connection.execute("UPDATE records SET state = 'answered', answer = '周五'")
        connection.execute("DELETE FROM records WHERE id = 'gone'")

    database.write(fill)
    database.close()
    store = SqlQuestionStore(Shelf(tmp_path))
    assert await found(store, "begin end 周五") == ["old"]
    assert unindexed(tmp_path) == 0
    store.close()


async def test_a_long_question_that_waited_before_is_found_once_it_is_answered(tmp_path: Path) -> None:
    before = Schema(SCHEMA.migrations[:3], SCHEMA.functions)
    database = SqliteDatabase(tmp_path / "assistant.sqlite3", tmp_path / ".assistant.lock", before, busy=5)
    names = "scope, id, kind, state, said_as, project, agent, model, client, timeout, expects, fetched, chat, asked_ts"
    values = "'s', 'old', 'question', 'waiting', '', '', '', '', '', 60, 1, 0, '', 1.0"
    text = f"begin {'word ' * 30_000} end"
    insert = f"INSERT INTO records ({names}, text, choices) VALUES ({values}, ?, x'90')"
    database.write(lambda connection: connection.execute(insert, (text,)))
    database.close()
    store = SqlQuestionStore(Shelf(tmp_path))
    await answer(store, "old")
    assert await found(store, "begin 周五") == ["old"]
    assert await found(store, "end") == []
    with closing(sqlite3.connect(tmp_path / "assistant.sqlite3")) as connection:
        kept = connection.execute("SELECT count(*) FROM records_words WHERE records_words MATCH 'end'").fetchone()[0]
    assert kept == 0  # nothing of what was taken out of the index stays in it
    store.close()


async def test_records_are_found_by_their_ids_without_a_look_at_all_others(
    store: SqlQuestionStore, tmp_path: Path
) -> None:
    await ask(store, "q1", "q2", "q3")
    asked = statements_of(store._database)
    page = await store.history(("s",), HistoryQuery(ids=("q1", "q3"), words_only=True))
    assert [record.question.id for record in page.records] == ["q3", "q1"]
    with closing(sqlite3.connect(tmp_path / "assistant.sqlite3")) as connection:
        (statement,) = (each for each in asked if each.startswith("SELECT"))
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
    assert plan[0] == "SEARCH records USING INDEX sqlite_autoindex_records_1 (scope=? AND id=?)"


async def test_the_newest_are_found_without_a_look_at_all_others(store: SqlQuestionStore, tmp_path: Path) -> None:
    await ask(store, "q1")
    with closing(sqlite3.connect(tmp_path / "assistant.sqlite3")) as connection:
        newest = "SELECT records.* FROM records WHERE records.scope = ? ORDER BY records.seq DESC LIMIT ?"
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {newest}", ("s", 1))]
    assert plan == ["SEARCH records USING INDEX records_in_scope (scope=?)"]


async def test_a_question_that_is_asked_waits_for_few_words_of_others(store: SqlQuestionStore, tmp_path: Path) -> None:
    long = "x" * 200_000
    for each in ("q1", "q2"):
        await store.put(Question("s", each, "question", long), "waiting")
    answers = [
        End("s", each, Ending("answered", "Ada", "web", (AnswerContent("text", long),))) for each in ("q1", "q2")
    ]
    await store.end_all(answers)
    await ask(store, "another")
    assert unindexed(tmp_path) == 1
