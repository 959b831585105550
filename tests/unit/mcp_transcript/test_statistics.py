"""What the page Statistics asks for: counted as elsewhere, bounded, and told how much of it was looked at."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, web
from aiohttp.typedefs import Handler
from support.hubs import listening
from support.waiting import PATIENCE, until
from support.web_home import CHAT, WebHome

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.coordination.contract import HOUR
from nanobot_transcript.record import Record
from nanobot_transcript.relevance.decision import Decision, Reason, Stage, later
from nanobot_transcript.relevance.tally import DAY_MS, tallies_since
from nanobot_transcript.settings import Settings
from nanobot_transcript.threads import in_thread
from transcript_mcp.hub import create_app
from transcript_mcp.transcript.page import Chats
from transcript_mcp.transcript.statistics import Latest, StatisticsPage, _verdicts

pytestmark = pytest.mark.asyncio

NOW = int(time.time() * 1000)
MIDNIGHT = NOW - NOW % DAY_MS
DAYS = [MIDNIGHT - 2 * DAY_MS, MIDNIGHT - DAY_MS, MIDNIGHT]
OTHER = "feishu:oc_other"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[WebHome]:
    """A home in which nothing has happened yet."""
    found = WebHome(tmp_path)
    yield found
    found.close()


@asynccontextmanager
async def opened(home: WebHome, **sections: Any) -> AsyncIterator[ClientSession]:
    async with listening(create_app(home.settings(**sections))) as url, ClientSession(url) as http:
        yield http


async def ask(home: WebHome, *, chat: str = "", **sections: Any) -> dict[str, Any]:
    values = {"days": ",".join(map(str, DAYS))} | ({"chat": chat} if chat else {})
    async with opened(home, **sections) as http, http.get("/api/statistics", params=values) as answer:
        assert answer.status == 200, await answer.text()
        return await answer.json()


def say(home: WebHome, who: str, ts: int, message_id: str, chat: str = CHAT, **fields: Any) -> None:
    kind: Any = "bot" if who in ("Alpha", "Beta") else "human"
    role: Any = "assistant" if kind == "bot" else "user"
    home.store.append(chat, role, "x", who, message_id, ts, sender_kind=kind, **fields)


async def test_messages_are_counted_by_day_and_member_of_all_chats_or_of_one(home: WebHome) -> None:
    home.store.members.remember_person("on_ada", "Ada Byrne")
    for number, (who, ts) in enumerate(
        [("on_ada", DAYS[0]), ("on_ada", DAYS[1] - 1), ("Alpha", DAYS[1]), ("on_ada", NOW), ("on_lin", DAYS[0] - 1)]
    ):
        say(home, who, ts, f"om_{number}")
    say(home, "Alpha", NOW, "om_elsewhere", OTHER)
    found = (await ask(home))["messages"]
    assert (found["read"], found["whole_since"], found["others"]) == (6, None, 0)
    assert found["members"] == [
        {"name": "Ada Byrne", "bot": False, "messages": 3},
        {"name": "Alpha", "bot": True, "messages": 2},
    ]
    assert found["days"] == [
        {"begins": DAYS[0], "messages": 2, "by": [2, 0]},
        {"begins": DAYS[1], "messages": 1, "by": [0, 1]},
        {"begins": DAYS[2], "messages": 2, "by": [1, 1]},
    ]
    assert [each["messages"] for each in (await ask(home, chat=OTHER))["messages"]["days"]] == [0, 0, 1]
    assert (await ask(home, chat="feishu:oc_none"))["messages"]["members"] == []


async def test_more_members_than_can_be_told_apart_are_in_the_sum_of_their_day(home: WebHome) -> None:
    for number in range(20):
        for time_said in range(1 + (number < 12)):
            say(home, f"on_{number:02}", NOW - time_said, f"om_{number}_{time_said}")
    found = (await ask(home))["messages"]
    assert [each["name"] for each in found["members"]] == [f"on_{number:02}" for number in range(12)]
    assert found["others"] == 8
    assert (found["days"][2]["messages"], sum(found["days"][2]["by"])) == (32, 24)


def told(store: GroupTranscriptStore, since_ms: float, most: int) -> tuple[Latest, list[str | None]]:
    found = Latest(store, store.chats(), since_ms, most)
    return found, [entry["message_id"] for _, entry in found]


async def test_a_large_record_is_read_from_its_end_and_it_is_known_from_when_on_it_is_whole(tmp_path: Path) -> None:
    with GroupTranscriptStore(tmp_path) as store:
        said = [NOW - (3000 - number) * 1000 for number in range(3000)]
        for number, ts in enumerate(said):
            store.append(CHAT if number % 2 else OTHER, "user", "x", "on_ada", f"om_{number}", ts)
        found, ids = told(store, 0, 1000)
        assert found.read == len(ids) == 1000
        assert found.whole_since is not None
        whole = [f"om_{number}" for number, ts in enumerate(said) if ts > found.whole_since]
        assert set(whole) <= set(ids)
        everything, ids = told(store, said[500], 10_000)
    assert (len(ids), everything.whole_since) == (2500, None)


async def test_what_was_fetched_later_is_left_out_though_it_stands_behind_what_is_newer(tmp_path: Path) -> None:
    with GroupTranscriptStore(tmp_path) as store:
        for number in range(1200):
            store.append(CHAT, "user", "new", "on_ada", f"om_{number}", NOW + number)
        for number in range(500):
            store.append(CHAT, "user", "old", "on_ada", f"om_old_{number}", NOW - DAY_MS * 50 + number)
        _, ids = told(store, NOW, 10_000)
    assert len(ids) == len(set(ids)) == 1200


async def test_what_bots_did_is_counted_by_reason_and_agrees_with_the_tally(home: WebHome) -> None:
    for number, (respond, reason, outcome) in enumerate(
        [
            (True, Reason.MENTIONED, "answered"),
            (True, Reason.MENTIONED, "answered"),
            (True, Reason.NAMED, "answered"),
            (False, Reason.OTHER_NAMED, ""),
            (True, Reason.MENTIONED, "failed"),
        ]
    ):
        say(home, "on_ada", NOW - 60_000, f"om_{number}")
        note = {"message_id": f"om_{number}"}
        home.log.write(CHAT, Decision(respond, reason, 1.0, Stage.CERTAIN, "Alpha", note["message_id"]), NOW - 59_000)
        if outcome:
            ended: Any = later(outcome, CHAT, note, "Alpha", why="no key" if outcome == "failed" else "")  # pyright: ignore[reportArgumentType]
            home.log.write(CHAT, ended, NOW - 60_000 + number * 20_000 + 2_000)
    answers = (await ask(home))["answers"]
    (alpha,) = answers["bots"]
    assert {(each["done"], each["reason"], each["why"]): each["count"] for each in alpha["verdicts"]} == {
        ("answered", "mentioned", ""): 2,
        ("answered", "named", ""): 1,
        ("silent", "other_named", ""): 1,
        ("failed", "failed", "no key"): 1,
    }
    (tally,) = tallies_since(home.log, 0, [CHAT])
    done = {
        name: sum(each["count"] for each in alpha["verdicts"] if each["done"] == name)
        for name in ("answered", "failed")
    }
    assert done == {"answered": tally.ended - tally.failed, "failed": tally.failed}
    assert answers["within"] == [5, 15, 30, 60, 180, 600]
    assert alpha["took"] == {"count": 3, "median": 22.0, "most": 42.0, "counts": [1, 0, 1, 1, 0, 0, 0]}
    assert answers["chats_left_out"] == 0


async def test_of_an_answer_to_what_is_not_in_the_record_nobody_says_how_long_it_took(home: WebHome) -> None:
    say(home, "on_ada", NOW, "om_other")
    home.decide_later("om_gone", "Alpha", "answered")
    (alpha,) = (await ask(home))["answers"]["bots"]
    assert alpha["took"] is None
    assert alpha["verdicts"] == [
        {"done": "answered", "reason": "answered", "sentence": "It answered.", "why": "", "count": 1}
    ]


async def test_of_many_kinds_of_failures_the_most_frequent_are_told_apart(home: WebHome) -> None:
    say(home, "on_ada", NOW, "om_x")
    for number in range(10):
        for again in range(10 - number):
            home.decide_later(f"om_{number}_{again}", "Alpha", "failed", why=f"why {number}")
    (alpha,) = (await ask(home))["answers"]["bots"]
    assert {each["why"]: each["count"] for each in alpha["verdicts"]} == {
        "": 15,
        "why 0": 10,
        "why 1": 9,
        "why 2": 8,
        "why 3": 7,
        "why 4": 6,
    }


async def test_bots_are_looked_up_in_no_more_chats_once_there_is_much(home: WebHome) -> None:
    for number in range(3):
        chat = f"feishu:oc_{number}"
        say(home, "on_ada", NOW, f"om_{number}", chat)
        for each in range(2):
            home.log.write(chat, Decision(False, Reason.SCORE_LOW, 0.1, Stage.SCORE, "Alpha", f"om_{number}_{each}"))
    chats = home.store.chats()
    for most, looked_at in ((1, 1), (2, 1), (3, 2), (7, 3)):
        found, done = _verdicts(home.log, 0, chats, most)
        assert (done, len(found)) == (looked_at, 2 * looked_at)


async def test_how_many_calls_are_left_is_told_of_what_the_settings_allow(home: WebHome, tmp_path: Path) -> None:
    assert (await ask(home))["budgets"] == [{"name": "feishu history", "used": 0, "limit": 120}]
    with Record.open(tmp_path / "transcripts") as record:
        assert record.budgets.take("feishu history", 7, limit=120, window=HOUR)
        assert record.budgets.take("judge", 60, limit=60, window=HOUR)
    judged = {"gate": {"judge": {"kind": "openai", "model": "some-model"}}, "history": {"calls_per_hour": 20}}
    assert (await ask(home, **judged))["budgets"] == [
        {"name": "judge", "used": 60, "limit": 60},
        {"name": "feishu history", "used": 7, "limit": 20},
    ]
    assert (await ask(home, history={"enabled": False}))["budgets"] == []


async def test_without_days_the_last_fourteen_of_the_hubs_clock_are_meant(home: WebHome) -> None:
    say(home, "on_ada", NOW, "om_1")
    async with opened(home) as http, http.get("/api/statistics") as answer:
        days = (await answer.json())["messages"]["days"]
    assert len(days) == 14
    assert sum(day["messages"] for day in days) == 1
    assert all(time.localtime(day["begins"] / 1000)[3:6] == (0, 0, 0) for day in days)


@pytest.mark.parametrize("days", ["x", "1,b", "1e9", "1.5", "9" * 5000])
async def test_days_that_are_none_are_refused_with_a_sentence(home: WebHome, days: str) -> None:
    async with opened(home) as http, http.get("/api/statistics", params={"days": days}) as answer:
        assert answer.status == 400
        assert (await answer.json())["error"]["message"].startswith("days ")


@pytest.mark.parametrize("days", [[3, 1, 2, 2], [-5, 10**40], list(range(200))])
async def test_days_in_disorder_are_taken_in_order_and_of_very_many_the_latest(home: WebHome, days: list[int]) -> None:
    say(home, "on_ada", NOW, "om_1")
    values = {"days": ",".join(map(str, days))}
    async with opened(home) as http, http.get("/api/statistics", params=values) as answer:
        found = (await answer.json())["messages"]["days"]
    assert [each["begins"] for each in found] == sorted(set(days))[-100:]


class Slow:
    """A record that is read slowly, and how many read it at the same time."""

    def __init__(self) -> None:
        self.store: Any = self
        self.budgets: Any = self
        self.decisions: Any = self
        self.reading, self.most = 0, 0
        self.go_on = threading.Event()

    def chats(self) -> list[Any]:
        self.reading += 1
        self.most = max(self.most, self.reading)
        assert self.go_on.wait(PATIENCE)
        self.reading -= 1
        return []

    def used(self, name: str, *, window: float) -> int:
        return 0


async def test_the_record_is_counted_once_at_a_time_and_other_work_goes_on_meanwhile() -> None:
    slow: Any = Slow()
    came: list[str] = []

    @web.middleware
    async def noting(request: web.Request, handler: Handler) -> web.StreamResponse:
        came.append(request.path)
        return await handler(request)

    app = web.Application(middlewares=[noting])
    app.add_routes(StatisticsPage(Chats(slow, [], 60), Settings()).routes())
    async with listening(app) as url, ClientSession(url) as http:
        asking = [asyncio.ensure_future(http.get("/api/statistics")) for _ in range(3)]
        await until(lambda: len(came) == 3 and slow.reading)
        await in_thread(len, came)  # what was to be read before this has begun
        slow.go_on.set()
        for each in asking:
            async with await each as found:
                assert found.status == 200
    assert slow.most == 1


async def test_a_hub_that_offers_no_record_has_no_statistics(home: WebHome) -> None:
    async with opened(home, hub={"servers": ["mail"]}) as http:
        async with http.get("/api/about") as answer:
            assert "statistics" not in (await answer.json())["pages"]
        async with http.get("/api/statistics") as answer:
            assert answer.status == 404
    async with opened(home) as http, http.get("/api/about") as answer:
        assert "statistics" in (await answer.json())["pages"]
