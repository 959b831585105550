"""Waiting for what is said next."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from support.loop_clock import later, no_time_passes
from support.waiting import until

from nanobot_transcript.errors import InvalidCursorError, StoreError
from transcript_mcp.transcript.reading import View
from transcript_mcp.transcript.waits import news

KEY = "feishu:oc_team"
LONG = 30.0

Say = Callable[..., str]


class Told:
    """Counts what a waiting call tells meanwhile."""

    def __init__(self) -> None:
        self.times: list[tuple[float, float, str]] = []

    async def __call__(self, done: float, total: float, sentence: str) -> None:
        self.times.append((done, total, sentence))


async def wait(
    view: View,
    after: str | None = None,
    timeout: float = LONG,  # noqa: ASYNC109
    tell: Any = None,
    every: float = 10.0,
    **options: int,
) -> list[str]:
    bounds = {"limit": 20, "max_chars": 8000} | options
    text = await news(view, KEY, after=after, timeout=timeout, tell=tell or Told(), tell_every=every, **bounds)
    return text.splitlines()


def messages(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines if line.startswith("{")]


def cursor(lines: list[str]) -> str:
    return lines[-1].partition("after=")[2]


@asynccontextmanager
async def waiting(view: View, after: str | None = None, **options: Any) -> "AsyncIterator[asyncio.Task[list[str]]]":
    """A call that has begun to wait: it has told so once."""
    tell = Told()
    task = asyncio.create_task(wait(view, after, tell=tell, every=0.02, **options))
    await until(lambda: tell.times or task.done())
    try:
        yield task
    finally:
        task.cancel()


async def test_what_came_behind_the_cursor_is_told_at_once(view: View, say: Say) -> None:
    say("before")
    after = view.store.end(KEY)
    say("one")
    say("two")
    tell = Told()
    lines = await wait(view, after, tell=tell)
    assert [line["text"] for line in messages(lines)] == ["one", "two"]
    assert tell.times == []
    assert cursor(lines) == view.store.end(KEY)


async def test_nothing_came_is_an_answer_with_a_cursor(view: View, say: Say) -> None:
    say("before")
    lines = await wait(view, timeout=0)
    assert lines == [
        "Nothing new in feishu:oc_team within 0 s.",
        f"To keep waiting: transcript_wait with after={view.store.end(KEY)}",
    ]


@pytest.mark.parametrize("begun", [True, False], ids=["a chat", "no store yet"])
async def test_a_message_ends_the_wait(view: View, say: Say, begun: bool) -> None:
    if begun:
        say("before")
    async with waiting(view) as task:
        say("now", "on_bo")
        lines = await asyncio.wait_for(task, LONG)
    assert [line["text"] for line in messages(lines)] == ["now"]


async def test_what_is_said_right_after_the_first_message_comes_with_it(view: View, say: Say) -> None:
    class Chatty:
        """Says two messages to whoever follows, the second one some turns of the loop later."""

        def __getattr__(self, name: str) -> Any:
            return getattr(view.store, name)

        async def follow(self, *_: object) -> AsyncIterator[str]:
            for text in ("one", "two"):
                yield say(text)
                for _ in range(20):
                    await asyncio.sleep(0)

    say("before")
    with no_time_passes():
        lines = await wait(View(Chatty(), view.where), limit=2)  # pyright: ignore[reportArgumentType] -- it is one
    assert [line["text"] for line in messages(lines)] == ["one", "two"]


async def test_from_cursor_to_cursor_nothing_is_missed_or_told_twice(view: View, say: Say) -> None:
    after, heard, said = cursor(await wait(view, timeout=0)), [], []
    for number in range(5):
        said += [say(f"a{number}"), say(f"b{number}")]
        lines = await wait(view, after, limit=1 + number % 3)
        heard += [line["id"] for line in messages(lines)]
        after = cursor(lines)
    while new := messages(lines := await wait(view, after, timeout=0)):
        heard += [line["id"] for line in new]
        after = cursor(lines)
    assert heard == said


async def test_more_than_fits_comes_with_the_next_call(view: View, say: Say) -> None:
    after = view.store.end(KEY)
    said = [say("x" * 300) for _ in range(10)]
    heard: list[str] = []
    while new := messages(lines := await wait(view, after, timeout=0, max_chars=2000)):
        assert sum(map(len, lines[1:-2])) <= 2000
        heard += [line["id"] for line in new]
        after = cursor(lines)
    assert heard == said


async def test_an_edit_of_an_earlier_message_is_news(view: View, say: Say) -> None:
    edited = say("[card]", "Alpha", sender_kind="bot")
    async with waiting(view) as task:
        view.store.edit(KEY, edited, "The release is on Friday.", "Alpha", agent="Alpha", source="send")
        lines = await asyncio.wait_for(task, LONG)
    assert lines[0].startswith("Earlier messages that read differently now")
    (line,) = messages(lines)
    assert (line["id"], line["changed"], line["text"]) == (edited, True, "The release is on Friday.")
    assert messages(await wait(view, cursor(lines), timeout=0)) == []


async def test_a_recall_of_an_earlier_message_is_news_without_its_text(view: View, say: Say) -> None:
    say("secret")
    after = view.store.end(KEY)
    say("another")
    view.store.recall(KEY, "om_0")
    lines = await wait(view, after)
    assert [(line["id"], line.get("recalled"), line["text"]) for line in messages(lines)] == [
        ("om_0", True, ""),
        ("om_1", None, "another"),
    ]
    assert "secret" not in "".join(lines)


async def test_a_new_message_that_was_edited_is_told_once_as_it_reads_now(view: View, say: Say) -> None:
    after = view.store.end(KEY)
    say("helo")
    view.store.edit(KEY, "om_0", "hello")
    assert [line["text"] for line in messages(await wait(view, after))] == ["hello"]


async def test_it_can_go_on_from_a_page_a_message_or_a_time(view: View, say: Say) -> None:
    for number in range(3):
        say(f"message {number}")
    assert [line["id"] for line in messages(await wait(view, "om_1"))] == ["om_2"]
    assert [line["id"] for line in messages(await wait(view, "2025-11-20T08:54+08:00"))] == ["om_1", "om_2"]
    async with waiting(view, "om_2") as task:
        say("message 3")
        assert [line["id"] for line in messages(await asyncio.wait_for(task, LONG))] == ["om_3"]


async def test_it_tells_now_and_then_that_it_waits(view: View, say: Say) -> None:
    say("before")
    tell = Told()
    task = asyncio.create_task(wait(view, timeout=600, tell=tell, every=0.02))
    await until(lambda: len(tell.times) >= 3)
    later(600)
    await task
    assert {total for _, total, _ in tell.times} == {600}
    assert sorted(tell.times) == tell.times
    assert tell.times[0][2] == "Nothing new in feishu:oc_team yet."


async def test_a_cancelled_wait_stops_following(view: View, say: Say) -> None:
    say("before")
    before = asyncio.all_tasks()
    async with waiting(view) as task:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await until(lambda: asyncio.all_tasks() == before)


async def test_a_wait_that_ended_stops_following(view: View, say: Say) -> None:
    say("before")
    before = asyncio.all_tasks()
    await wait(view, timeout=0.01)
    await until(lambda: asyncio.all_tasks() == before)


async def test_a_foreign_cursor_is_refused(view: View, say: Say) -> None:
    say("before")
    with pytest.raises(InvalidCursorError):
        await wait(view, "nonsense")


async def test_a_chat_that_cannot_be_read_any_more_is_an_error(view: View, say: Say) -> None:
    say("before")
    async with waiting(view) as task:
        (path,) = view.store.base_dir.glob("*.jsonl")
        path.rename(path.with_suffix(".away"))
        path.mkdir()
        with pytest.raises(StoreError):
            await asyncio.wait_for(task, LONG)
