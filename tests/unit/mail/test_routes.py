"""What guards ask of a hub: who may, and what they are told."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import ClientSession
from support.hubs import listening

from nanobot_transcript.settings import Settings
from transcript_mcp.hub import create_app
from transcript_mcp.mail.claims.ledger import Claims
from transcript_mcp.mail.mail import AgentMail

TOKENS = {
    "hub": {"tokens": {"laptop": "token-of-programs"}, "page_token": "token-of-people"},
    "filebox": {"tokens": {"qa_agent": "token-of-mailbox"}},
    "assistant": {"tokens": {"asker": "token-of-asker"}},
}
CLAIMS = "/mail/claims"


@pytest.fixture
def mail(tmp_path: Path) -> Any:
    with AgentMail(tmp_path / "mail") as opened:
        for name in ("GreenCastle", "José"):
            opened.register_agent("后端 & co", name)
        yield opened


@pytest_asyncio.fixture
async def hub(tmp_path: Path) -> AsyncIterator[Any]:
    """``await hub(**sections)``: what a hub with these settings answers to a GET, its status and JSON."""
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(ClientSession())

        async def start(**sections: dict[str, Any]) -> Any:
            own = {"data_dir": tmp_path / "hub", **sections.pop("hub", {})}
            store = {"mail": {"store": tmp_path / "mail"}, "store": {"dir": tmp_path / "groups"}}
            settings = Settings.model_validate({"hub": own, **store, **sections})
            url = await stack.enter_async_context(listening(create_app(settings)))

            async def get(path: str, **more: Any) -> tuple[int, Any]:
                async with http.get(f"{url}{path}", **more) as answer:
                    assert answer.headers["Cache-Control"] == "no-store"
                    return answer.status, await answer.json()

            return get

        yield start


async def test_a_guard_is_told_the_exclusive_claims_of_all_others(mail: AgentMail, hub: Any) -> None:
    claims = Claims(mail.database, lambda: 1_900_000_000.0)
    green, jose = (mail.whois("后端 & co", name) for name in ("GreenCastle", "José"))
    claims.claim(green.project_id, green, ["src/*.py"], 3600, reason="改")
    claims.claim(green.project_id, green, ["shared"], 3600, exclusive=False)
    claims.claim(green.project_id, jose, ["docs"], 7200)
    get = await hub()
    held = {"path": "src/*.py", "agent": "GreenCastle", "reason": "改", "expires_ts": 1_900_003_600.0}
    of_jose = {"path": "docs", "agent": "José", "reason": "", "expires_ts": 1_900_007_200.0}
    for name, expected in (
        (" Jose\u0301 ", [held]),
        ("GreenCastle", [of_jose]),
        ("nobody", [held, of_jose]),
        ("", [held, of_jose]),
    ):
        asked = {"project_key": "后端 & co", "agent_name": name}
        assert await get(CLAIMS, params=asked) == (200, {"project": "后端 & co", "claims": expected})


async def test_a_key_is_found_however_it_is_spelled(mail: AgentMail, hub: Any) -> None:
    mail.register_agent("/srv/backend", "GreenCastle")
    get = await hub()
    found = await get(CLAIMS, params={"project_key": "/srv//./backend/"})
    assert found == (200, {"project": "/srv/backend", "claims": []})


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("project_key=/none", "unknown_project"),
        ("", "invalid_letter"),
        ("project_key=%00", "invalid_letter"),
        ("project_key=%ff", "unknown_project"),
        (f"project_key={'x' * 3000}", "invalid_letter"),
    ],
)
async def test_what_is_no_project_is_an_error_with_its_code(mail: AgentMail, hub: Any, query: str, code: str) -> None:
    assert mail.projects()
    get = await hub()
    status, answer = await get(f"{CLAIMS}?{query}")
    assert (status, answer["error"]["code"]) == (400, code)


async def test_where_there_is_no_mail_yet_there_is_no_project(hub: Any, tmp_path: Path) -> None:
    get = await hub()
    status, answer = await get(CLAIMS, params={"project_key": "x"})
    assert (status, answer["error"]["code"]) == (400, "unknown_project")
    assert not (tmp_path / "mail").exists()


@pytest.mark.parametrize(
    ("token", "status", "code"),
    [
        (None, 401, "no_token"),
        ("token-of-nobody", 401, "wrong_token"),
        ("token-of-people", 403, "not_for_this_token"),
        ("token-of-mailbox", 403, "not_for_this_token"),
        ("token-of-asker", 401, "wrong_token"),
        ("token-of-programs", 400, "unknown_project"),
    ],
)
async def test_only_a_token_of_programs_opens_it(hub: Any, token: str | None, status: int, code: str) -> None:
    get = await hub(**TOKENS)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    found, answer = await get(CLAIMS, params={"project_key": "x"}, headers=headers)
    assert (found, answer["error"]["code"]) == (status, code)


@pytest.mark.parametrize(
    ("headers", "status"), [({"Host": "evil.example"}, 421), ({"Origin": "https://evil.example"}, 403)]
)
async def test_foreign_names_and_pages_are_sent_away(hub: Any, headers: dict[str, str], status: int) -> None:
    get = await hub()
    assert (await get(CLAIMS, params={"project_key": "x"}, headers=headers))[0] == status
