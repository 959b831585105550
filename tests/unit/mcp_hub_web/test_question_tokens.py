"""What a token of ``assistant.tokens`` opens of a hub that has tokens of its own: the page of questions alone."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, web
from support.assistant_clients import Caller, page
from support.hubs import listening
from support.web_home import CHAT, PROJECT, WebHome

from nanobot_transcript import __version__
from transcript_mcp.hub import create_app
from transcript_mcp.hub.web.bundle import DIST

pytestmark = pytest.mark.asyncio(loop_scope="module")

ADA = "token-of-ada"
PEOPLE = "token-of-people"
TOKENS: dict[str, Any] = {
    "hub": {"tokens": {"me": "token-of-mine"}, "page_token": PEOPLE},
    "assistant": {"tokens": {"ada": ADA}},
}
ALL_PAGES = {"Authorization": f"Bearer {PEOPLE}"}
HERS = {"Authorization": f"Bearer {ADA}"}
STRANGER = {"Authorization": "Bearer wrong-token"}

OPEN = ("/", "/assets/{name}", "/healthz", "/readyz")
"""For everybody."""
OF_QUESTIONS = ("/ws", "/health", r"/{service:agentassistproto\.[A-Za-z]+}/{method}")
"""They look at the tokens themselves; tests/integration/assistant looks at them."""


@asynccontextmanager
async def serving(home: WebHome, folder: Path, **more: Any) -> AsyncIterator[tuple[web.Application, str]]:
    """A hub with questions of its own; ``more`` are sections beside or instead of those with the tokens."""
    sections = TOKENS | more
    app = create_app(home.settings(**sections | {"hub": {**sections.get("hub", {}), "data_dir": folder / "hub"}}))
    async with listening(app) as address:
        yield app, address


async def test_about_tells_of_questions_alone(home: WebHome, tmp_path: Path) -> None:
    async with serving(home, tmp_path) as (_, url), ClientSession(url) as http:
        async with http.get("/api/about", headers=HERS) as answer:
            assert answer.status == 200
            assert answer.headers["Cache-Control"] == "no-store"
            about = await answer.json()
        assert about.pop("max_attachment") > 0
        assert about == {"version": __version__, "pages": ["questions"], "caller": "ada"}
        async with http.get("/api/about", headers=ALL_PAGES) as answer:
            assert {"groups", "questions", "system"} < set((await answer.json())["pages"])


async def test_every_other_route_answers_as_to_a_stranger(home: WebHome, tmp_path: Path) -> None:
    values = {"chat": CHAT, "project": PROJECT, "agent": "GreenCastle", "id": "USERS-1", "session": "build", "q": "a"}
    asked = set[str]()
    async with serving(home, tmp_path) as (app, url), ClientSession(url) as http:
        for route in app.router.routes():
            path = route.resource.canonical if route.resource is not None else ""
            if path in (*OPEN, *OF_QUESTIONS, "/api/about"):
                continue
            method = "POST" if route.method == "*" else route.method
            place = path.replace("{session}", "build").replace("{method}", "x")
            told: list[tuple[int, bytes]] = []
            for headers in (HERS, STRANGER):
                async with http.request(method, place, params=values, headers=headers, json=values) as answer:
                    told.append((answer.status, await answer.read()))
            assert told[0] == told[1], path
            assert told[0][0] == 401, path
            asked.add(path)
        for path in (
            "/api/system",
            "/api/events",
            "/api/groups/post",
            "/mcp",
            "/mcp/assistant",
            "/mcp/mail",
            "/metrics",
        ):
            assert path in asked
        async with http.post("/api/about", headers=HERS) as answer:
            assert answer.status in (401, 405)


async def test_monitors_ask_with_head_wherever_get_is_open(home: WebHome, tmp_path: Path) -> None:
    script = next(DIST.glob("assets/*.js")).name
    async with serving(home, tmp_path) as (_, url), ClientSession(url) as http:
        for path in ("/", f"/assets/{script}", "/healthz", "/readyz", "/health"):
            async with http.get(path) as full, http.head(path) as head:
                assert (head.status, full.status) == (200, 200), path
                assert head.content_type == full.content_type
                assert await head.read() == b""
        async with http.head("/api/about") as shut:
            assert shut.status == 401


async def test_the_hubs_own_callers_are_not_told_who_answers_with_such_a_token(home: WebHome, tmp_path: Path) -> None:
    async with serving(home, tmp_path) as (_, url), ClientSession(url) as http:
        for headers in (HERS, {**HERS, "User-Agent": "her-browser"}):
            async with http.get("/api/about", headers=headers):
                pass
        async with http.get("/api/system", headers=ALL_PAGES) as answer:
            system = await answer.text()
        assert [each["name"] for each in json.loads(system)["clients"]] in ([], ["page"])
        assert "her-browser" not in system
        assert ADA not in system


async def test_a_question_of_that_token_is_answered_and_those_of_the_hub_stay_unseen(
    home: WebHome, tmp_path: Path
) -> None:
    async with serving(home, tmp_path) as (_, url):
        await Caller(url, "token-of-mine").ask("of-the-hub", "Mine?", Wait=0)
        await Caller(url, ADA).ask("of-ada", "Hers?", Wait=0)
        async with page(url, ADA, "Ada") as hers:
            assert (await hers.until("AskQuestion")).AskQuestionRequest.ID == "of-ada"
            await hers.send("GetPendingMessages")
            pending = await hers.until("GetPendingMessages")
            assert pending.GetPendingMessagesResponse.total_count == 1


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"hub": {"tokens": {"me": "token-of-mine"}, "servers": ["transcript"]}}, 401),
        ({"hub": {"tokens": {"me": ADA}}}, 403),
        ({"hub": {}, "filebox": {"tokens": {"qa_agent": "token-of-qa"}}}, 200),
    ],
    ids=["no page of questions", "a program's token, too", "only mailboxes have tokens"],
)
async def test_what_else_is_set_decides_what_there_is(
    home: WebHome, tmp_path: Path, more: dict[str, Any], status: int
) -> None:
    async with serving(home, tmp_path, **more) as (_, url), ClientSession(url) as http:
        async with http.get("/api/about", headers=HERS) as answer:
            assert answer.status == status
            said = await answer.json()
        if status == 200:
            assert said["pages"] == ["questions"]
