"""Whoever moves to PostgreSQL finds the same letters and the same questions, in the same order."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.babble import Babble

from nanobot_transcript.sql.location import Shelf
from transcript_mcp.assistant.questions.contract import End
from transcript_mcp.assistant.questions.sql_store import SqlQuestionStore
from transcript_mcp.assistant.questions.values import AnswerContent, Ending, HistoryQuery, Question
from transcript_mcp.mail.search.hits import search
from transcript_mcp.mail.store import MailStore, index_messages

if TYPE_CHECKING:
    from nanobot_transcript.sql.contract import Database, Sql
    from nanobot_transcript.sql.postgres.engine import Engine

SIZES = [(300, 60), pytest.param(10_000, 500, marks=pytest.mark.soak)]
"""How many texts there are, and how many searches."""
PROJECTS = (1, 2)


@pytest.mark.parametrize(("letters", "searches"), SIZES)
def test_a_search_of_letters_finds_what_a_file_finds(
    tmp_path: Path, engine: "Engine", soak_row: Callable[..., None], letters: int, searches: int
) -> None:
    babble = Babble(7)
    texts = [(babble.text(6), babble.text(60)) for _ in range(letters)]
    stores = [filled(MailStore.on(Shelf(tmp_path / str(kind), kind)).opened(5), texts) for kind in (None, engine)]
    found = 0
    for number in range(searches):
        query, project = babble.query([" ".join(text) for text in texts[:500]]), PROJECTS[number % 7 == 0]
        file, other = (everything(database, project, query) for database in stores)
        assert other == file, query
        found += bool(file[0])
    assert found > searches / 3, "most find nothing"
    soak_row(letters=letters, searches=searches, with_hits=found, different=0)


@pytest.mark.parametrize(("questions", "searches"), SIZES)
async def test_a_search_of_questions_finds_what_a_file_finds(
    tmp_path: Path, engine: "Engine", soak_row: Callable[..., None], questions: int, searches: int
) -> None:
    babble = Babble(8)
    scopes = ("ada", "组一")
    stores = [SqlQuestionStore(Shelf(tmp_path / str(kind), kind)) for kind in (None, engine)]
    texts = [babble.text(30) or "x" for _ in range(questions)]
    answers = [babble.text(20) for _ in range(questions)]
    for store in stores:
        await keep(store, scopes, texts, answers)
    found = 0
    for number in range(searches):
        query = babble.query([*texts[:300], *answers[:300]])
        wanted = scopes if number % 3 == 0 else scopes[number % 2 :][:1]
        file, other = [await history(store, wanted, query) for store in stores]
        assert other == file, query
        found += bool(file)
    assert found > searches / 3, "most find nothing"
    soak_row(questions=questions, searches=searches, with_hits=found, different=0)
    for store in stores:
        store.close()


def filled(database: "Database", texts: Sequence[tuple[str, str]]) -> "Database":
    """A database with these letters, every tenth of them in the second project."""
    rows = [
        (f"m{number}", PROJECTS[number % 10 == 0], subject, body, float(number))
        for number, (subject, body) in enumerate(texts)
    ]

    def work(db: "Sql") -> None:
        db.executemany("INSERT INTO projects VALUES (?, ?, ?, 0, '{}')", [(n, f"/p{n}", f"p{n}") for n in PROJECTS])
        db.executemany(
            "INSERT INTO messages (id, project_id, subject, body_md, created_ts, from_agent, importance, ack_required,"
            " attachments_json, recipients_json) VALUES (?, ?, ?, ?, ?, 'GreenCastle', 'normal', 0, '[]', '{}')",
            rows,
        )
        index_messages(db, 0)

    database.write(work)
    return database


def everything(database: "Database", project: int, query: str) -> tuple[list[str], list[int], Any]:
    """The ids of what is found, the first pages; how many more each page said that there are; and the notes."""
    ids: list[str] = []
    more: list[int] = []
    before = None
    while True:
        page = search(database, project, query, 100, before)
        ids += [hit["id"] for hit in page.hits]
        more.append(page.hits.more)
        before = page.hits.before
        if before is None or len(more) == 5:
            return ids, more, page.notes


async def keep(store: SqlQuestionStore, scopes: Sequence[str], texts: Sequence[str], answers: Sequence[str]) -> None:
    """Questions with these texts, and their answers."""
    for start in range(0, len(texts), 200):
        some = range(start, min(len(texts), start + 200))
        await asyncio.gather(*(store.put(question(number, scopes, texts), "waiting") for number in some))
        ends = [
            End(
                scopes[number % 2], f"q{number}", Ending("answered", contents=(AnswerContent("text", answers[number]),))
            )
            for number in some
            if answers[number]
        ]
        await store.end_all(ends)


def question(number: int, scopes: Sequence[str], texts: Sequence[str]) -> Question:
    """The question of a number."""
    return Question(scope=scopes[number % 2], id=f"q{number}", kind="question", text=texts[number], timeout=60)


async def history(store: SqlQuestionStore, scopes: tuple[str, ...], query: str) -> list[str]:
    """The ids of all that are found, page by page."""
    ids: list[str] = []
    before = 0
    while True:
        page = await store.history(scopes, HistoryQuery(text=query, limit=200, before=before))
        ids += [record.question.id for record in page.records]
        if not page.next_before:
            return ids
        before = page.next_before
