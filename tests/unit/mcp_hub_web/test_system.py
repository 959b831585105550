"""What the System page is told of: who is connected, which calls about questions were refused, and what is stored."""

import json
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from support.assistant_clients import page
from support.hubs import listening
from support.web_home import WebHome
from unit.mcp_hub_web.test_events import first_look, next_event, opened, until

from nanobot_transcript import errors
from transcript_mcp.assistant.protocol.callers import FAULTS
from transcript_mcp.hub import create_app

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = Path(__file__).parents[3]
MINE, PEOPLE = "token-of-mine", "token-of-people"
TOKENS = {"tokens": {"me": MINE}, "page_token": PEOPLE}
CONNECT = "/agentassistproto.SrvAgentAssist"
Serve = Callable[..., AbstractAsyncContextManager[ClientSession]]


@pytest.fixture
def serve(home: WebHome, tmp_path: Path) -> Serve:
    """``serve(hub={…})`` is a client of a hub with questions and queues of its own."""

    @asynccontextmanager
    async def serving(**sections: Any) -> AsyncIterator[ClientSession]:
        sections["hub"] = {"data_dir": tmp_path / "hub"} | sections.get("hub", {})
        async with listening(create_app(home.settings(**sections))) as url, ClientSession(url) as http:
            yield http

    return serving


def url_of(http: ClientSession) -> str:
    return str(http._base_url).rstrip("/")


async def system(http: ClientSession) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {PEOPLE}", "User-Agent": "looking"}
    async with http.get("/api/system", headers=headers) as answer:
        assert answer.status == 200
        return await answer.json()


async def clients(http: ClientSession) -> set[tuple[str, str, str]]:
    found = (await system(http))["clients"]
    return {(each["name"], each["way"], each["program"]) for each in found} - {
        ("", "", "looking"),
        ("page", "", "looking"),
    }


async def call(http: ClientSession, method: str, body: Any, **headers: str) -> int:
    async with http.post(f"{CONNECT}/{method}", json=body, headers=headers) as answer:
        return answer.status


def asking(token: str, **more: Any) -> dict[str, Any]:
    return {"ID": "q-secret", "UserToken": token, "Request": {"Question": "Burn it?", "Timeout": 60}, "Wait": 0} | more


# -- who is connected


async def test_programs_of_the_questions_are_among_the_clients(serve: Serve) -> None:
    async with serve() as http:
        assert await call(http, "AskQuestion", asking("any"), **{"User-Agent": "asker/1 (x)"}) == 200
        async with page(url_of(http), "any", **{"User-Agent": "screen/2"}):
            assert await clients(http) == {("", "connect", "asker/1"), ("", "ws", "screen/2")}


async def test_refused_calls_health_checks_and_pages_are_no_clients(serve: Serve) -> None:
    async with serve(hub=TOKENS) as http:
        assert await call(http, "AskQuestion", asking("wrong"), **{"User-Agent": "stranger"}) == 401
        async with http.get("/health"), page(url_of(http), PEOPLE, **{"User-Agent": "Mozilla/5.0 (X11)"}):
            assert await clients(http) == set()


@pytest.mark.parametrize(
    ("more", "seen"),
    [
        ({"hub": TOKENS}, {("", "connect", "asker"), ("", "ws", "")}),
        (
            {"hub": TOKENS, "assistant": {"tokens": {"ada": MINE}}},
            {("", "connect", ""), ("", "ws", "")},
        ),
    ],
    ids=["the hub's tokens", "tokens for questions alone"],
)
async def test_where_there_are_tokens_no_stranger_and_nobody_elses_program_is_named(
    serve: Serve, more: dict[str, Any], seen: set[tuple[str, str, str]]
) -> None:
    async with serve(**more) as http:
        assert await call(http, "AskQuestion", asking(MINE), **{"User-Agent": "asker"}) == 200
        for number in range(120):
            async with http.ws_connect("/ws", headers={"User-Agent": f"stranger-{number}"}):
                pass
        assert await clients(http) == seen


async def test_somebody_new_is_told_to_open_pages(page: ClientSession, home: WebHome) -> None:
    async with opened(page) as stream:
        await next_event(stream)
        await first_look(stream, home)
        assert (await page.get("/healthz", headers={"User-Agent": "no-caller"})).status == 200
        async with page.get("/api/about", headers={"User-Agent": "newcomer"}):
            pass
        await until(stream, room="system", what="clients")
        async with page.get("/api/system") as answer:
            assert "newcomer" in [each["program"] for each in (await answer.json())["clients"]]


# -- what was refused


async def test_a_refused_call_is_told_without_anything_it_said(serve: Serve) -> None:
    async with serve(hub=TOKENS) as http:
        assert await call(http, "Withdraw", asking(MINE, ID="q-gone")) == 404
        assert await call(http, "AskQuestion", ["secret-text"]) == 400
        assert await call(http, "AskQuestion", asking("wrong-token")) == 401
        slow = asking(MINE, Wait=5)
        assert await call(http, "AskQuestion", slow, **{"Connect-Timeout-Ms": "1"}) == 504
        found = await system(http)
    refused = [each for each in found["problems"] if each["where"].startswith("Connect")]  # others may log meanwhile
    told = {(each["code"], each["where"]): each for each in refused}
    assert set(told) == {("not_found", "Connect Withdraw"), ("invalid_argument", "Connect AskQuestion")}
    assert all(each["text"] and each["hint"] for each in told.values())
    said = json.dumps(found)
    assert [
        each for each in (MINE, PEOPLE, "wrong-token", "q-secret", "q-gone", "secret-text", "Burn") if each in said
    ] == []


async def test_what_strangers_make_up_pushes_no_problem_out(serve: Serve) -> None:
    async with serve(hub=TOKENS) as http:
        logging.getLogger("nanobot_transcript.store").error("The disk of oc_y is full.")
        for number in range(120):
            assert await call(http, f"Made{number}", {}) == 404
            foreign = {"Origin": "https://evil.example"}
            async with http.get(f"/made/up/{number}", headers=foreign) as answer:
                assert answer.status == 403
        found = (await system(http))["problems"]
    where = {each["where"]: each["times"] for each in found}
    assert where["Connect"] == where["GET (no such address)"] == 120
    assert "The disk of oc_y is full." in [each["text"] for each in found]


# -- what is stored


async def test_each_store_is_there_with_its_size_and_none_is_counted_twice(serve: Serve, tmp_path: Path) -> None:
    async with serve() as http:
        before = {each["name"]: each for each in (await system(http))["stores"]}
        assert await call(http, "AskQuestion", asking("any")) == 200
        async with http.post("/api/io/input", json={"session": "s", "text": "x" * 50_000}) as answer:
            assert answer.status == 200
        stores = {each["name"]: each for each in (await system(http))["stores"]}
    assert list(stores)[-3:] == ["questions", "queues", "hub"]
    assert stores["questions"]["bytes"] > before["questions"]["bytes"]
    assert stores["queues"]["bytes"] >= before["queues"]["bytes"] + 50_000
    assert stores["hub"]["bytes"] < 50_000
    assert stores["questions"]["path"] == str(tmp_path / "hub" / "assistant.sqlite3")
    assert stores["mailboxes"]["bytes"] > 0
    assert stores["mailboxes"]["count"] > 0


# -- in Chinese


async def test_every_code_that_the_hub_can_show_has_a_sentence_in_chinese() -> None:
    page = (ROOT / "web" / "src" / "pages" / "system" / "chinese.ts").read_text(encoding="utf-8")
    known = dict(re.findall(r'^  (\w+): \["([^"]+)", "', page, re.MULTILINE))
    rooms = [ROOT / "mcp_tools" / "transcript_mcp" / name for name in ("door", "hub")]
    hub = "".join(each.read_text(encoding="utf-8") for room in rooms for each in room.rglob("*.py"))
    made = set(re.findall(r'(?:error_response|RequestError|Told)\(\s*\w+,\s*"(\w+)"', hub))
    assert {"internal", "wrong_origin", "too_many_sessions"} <= made
    ours = {getattr(errors, name).code for name in errors.__all__}
    untold = {"no_token", "wrong_token"}
    assert {*ours, *made, *FAULTS} - untold - set(known) == set()
    assert [code for code, sentence in known.items() if not re.search("[\u4e00-\u9fff]", sentence)] == []


async def test_how_many_answers_of_each_bot_failed_and_why_is_told(serve: Serve, home: WebHome) -> None:
    home.decide_later("om_away", "Gamma", "failed", why="no model")
    async with serve(hub=TOKENS) as http:
        (gamma,) = [each for each in (await system(http))["answers"] if each["agent"] == "Gamma"]
        assert (await system(http))["answers_known"] is True
    assert (gamma["ended"], gamma["failed"], gamma["why"], gamma["message_id"]) == (1, 1, "no model", "om_away")


async def test_that_nobody_notes_how_answers_end_is_told(serve: Serve) -> None:
    async with serve(hub=TOKENS, gate={"log": False}) as http:
        assert (await system(http))["answers_known"] is False
