"""Which token opens which address of the hub: every route of it, asked by everybody there is."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import pytest
import pytest_asyncio
from aiohttp import ClientResponse, ClientSession, web
from support.hubs import listening
from support.web_home import WebHome

from transcript_mcp.hub import create_app

pytestmark = pytest.mark.asyncio(loop_scope="module")

TOKENS: Final[dict[str, dict[str, Any]]] = {
    "hub": {"tokens": {"codex": "of-a-program"}, "page_token": "of-people"},
    "filebox": {"tokens": {"qa_agent": "of-an-agent"}},
    "assistant": {"tokens": {"ada": "of-an-asker"}},
}
IN, NONE, UNKNOWN, ELSEWHERE = "in", "no_token", "wrong_token", "not_for_this_token"
CALLERS: Final = ("", "unknown", "of-a-program", "of-an-agent", "of-an-asker", "of-people")

FOR_ALL: Final = (IN, IN, IN, IN, IN, IN)
OF_PEOPLE: Final = (NONE, UNKNOWN, ELSEWHERE, ELSEWHERE, UNKNOWN, IN)
OF_PEOPLE_AND_ASKERS: Final = (NONE, UNKNOWN, ELSEWHERE, ELSEWHERE, IN, IN)
OF_PROGRAMS: Final = (NONE, UNKNOWN, IN, ELSEWHERE, UNKNOWN, ELSEWHERE)
OF_MAILBOXES: Final = (NONE, UNKNOWN, IN, IN, UNKNOWN, ELSEWHERE)

OPENS: Final[Mapping[str, tuple[str, ...]]] = {
    r"/|/\{name\}|/assets/.*": FOR_ALL,  # the page itself
    r"/healthz|/readyz|/health": FOR_ALL,
    r"/ws|/\{service\}/.*": FOR_ALL,  # they look at the tokens in what is sent
    r"/api/about": OF_PEOPLE_AND_ASKERS,
    r"/api/.*": OF_PEOPLE,
    r"/mcp/filebox/?": OF_MAILBOXES,
    r"/mcp(/[a-z]+)?/?": OF_PROGRAMS,
    r"/agent/.*|/mail/claims|/metrics": OF_PROGRAMS,
}
"""By the pattern of a route; the first that fits counts."""

SAMPLES: Final = {
    "/{name}": "/icon.png",
    "/assets/{name}": "/assets/x.js",
    "/{service}/{method}": "/agentassistproto.SrvAgentAssist/AskQuestion",
    "/agent/input/{session_id}": "/agent/input/build",
    "/agent/output/{session_id}": "/agent/output/build",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app(home: WebHome) -> web.Application:
    return create_app(home.settings(**TOKENS))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hub(app: web.Application) -> AsyncIterator[ClientSession]:
    async with listening(app) as address, ClientSession(address) as http:
        yield http


async def outcome(answer: ClientResponse) -> str:
    """How the door has answered, or ``IN``."""
    if answer.status not in (401, 403) or answer.content_type != "application/json":
        return IN
    error = (await answer.json()).get("error")
    return error["code"] if isinstance(error, dict) else IN


async def outcomes(hub: ClientSession, method: str, path: str, body: Any = None) -> tuple[str, ...]:
    """For each caller. ``GET`` leaves streams as they are."""
    found: list[str] = []
    for token in CALLERS:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with hub.request(method, path, headers=headers, json=body) as answer:
            found.append(await outcome(answer))
    return tuple(found)


async def test_every_route_is_opened_by_the_tokens_that_it_is_for(hub: ClientSession, app: web.Application) -> None:
    asked = set[str]()
    for route in app.router.routes():
        path = route.resource.canonical if route.resource is not None else ""
        sample = SAMPLES.get(path, path)
        expected = next(opens for pattern, opens in OPENS.items() if re.fullmatch(pattern, path))
        methods = ("GET", "POST", "DELETE") if route.method == "*" else (route.method,)
        for method in methods:
            if method == "HEAD":  # its answers have no body to tell the reason
                continue
            assert await outcomes(hub, method, sample, {} if method == "POST" else None) == expected, f"{method} {path}"
        asked.add(path)
    assert len(asked) > 55


async def test_heads_are_refused_as_what_they_are_the_heads_of(hub: ClientSession, app: web.Application) -> None:
    status = {IN: 200, NONE: 401, UNKNOWN: 401, ELSEWHERE: 403}
    for path, expected in (("/api/about", OF_PEOPLE_AND_ASKERS), ("/api/groups", OF_PEOPLE), ("/metrics", OF_PROGRAMS)):
        for token, outcome in zip(CALLERS, expected, strict=True):
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            async with hub.head(path, headers=headers) as answer:
                assert answer.status == status[outcome], f"{path} {token}"


@pytest.mark.parametrize("path", ["/nothing", "/api/nothing", "/mcp/nothing", "/api/about/more"])
async def test_where_nothing_is_every_token_that_is_known_is_told_so(hub: ClientSession, path: str) -> None:
    found: list[int] = []
    for token in CALLERS:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with hub.get(path, headers=headers) as answer:
            found.append(answer.status)
    assert found == [401, 401, 404, 404, 401, 404]


@pytest.mark.parametrize("path", ["/api/groups/post", "/agent/input/build", "/metrics"])
async def test_another_method_than_there_is_is_told_to_every_token_that_is_known(hub: ClientSession, path: str) -> None:
    found: list[int] = []
    for token in CALLERS:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with hub.patch(path, headers=headers) as answer:
            found.append(answer.status)
    assert found == [401, 401, 405, 405, 401, 405]


@pytest.mark.parametrize(
    ("path", "body", "statuses"),
    [
        ("/mcp/mail", "x", [401, 401, 415, 403, 401, 403]),
        ("/api/mail/send", "x", [401, 401, 403, 403, 401, 415]),
        ("/agent/input/", "x", [401, 401, 400, 403, 401, 403]),
    ],
)
async def test_the_token_is_looked_at_before_the_body(
    hub: ClientSession, path: str, body: str, statuses: list[int]
) -> None:
    found: list[int] = []
    for token in CALLERS:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with hub.post(path, headers=headers, data=body) as answer:
            found.append(answer.status)
    assert found == statuses


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        ({}, {"/api/groups": 200, "/api/about": 200, "/metrics": 200, "/agent/output/build": 404}),
        (
            {"assistant": TOKENS["assistant"]},
            {"/api/groups": 200, "/api/about": 200, "/metrics": 200, "/agent/output/build": 404},
        ),
        (
            {"hub": {"page_token": "of-people"}},
            {"/api/groups": 401, "/api/about": 401, "/metrics": 401, "/agent/output/build": 401},
        ),
    ],
)
async def test_without_a_token_one_comes_into_a_hub_that_has_none_of_its_own(
    home: WebHome, sections: dict[str, Any], expected: dict[str, int]
) -> None:
    async with listening(create_app(home.settings(**sections))) as address, ClientSession(address) as http:
        for token in ("", "of-an-asker"):
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            for path, status in expected.items():
                async with http.get(path, headers=headers) as answer:
                    assert answer.status == status, path


async def test_a_size_is_looked_at_behind_the_token_and_where_none_is_needed(hub: ClientSession) -> None:
    large = {"Content-Length": str(1 << 40)}
    for path, token, status in (
        ("/api/mail/send", "of-a-program", 403),
        ("/mcp/mail", "of-an-agent", 403),
        ("/mcp/mail", "unknown", 401),
        ("/mcp/mail", "of-a-program", 413),
        ("/healthz", "", 413),
    ):
        headers = large | ({"Authorization": f"Bearer {token}"} if token else {})
        at = hub._base_url
        assert at is not None
        reader, writer = await asyncio.open_connection(at.host, at.port)
        lines = [f"{'GET' if path == '/healthz' else 'POST'} {path} HTTP/1.1", f"Host: {at.host}:{at.port}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        answer = await reader.readline()
        writer.close()
        assert f" {status} ".encode() in answer, path
