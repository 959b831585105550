"""What clients are told of the server."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from nanobot_transcript import AsyncGroupTranscriptStore, GroupTranscriptStore
from nanobot_transcript.entry import Entry
from transcript_mcp.sdk import Server
from transcript_mcp.transcript import build_server
from transcript_mcp.transcript.server import TEMPLATE

NAMES = {
    f"transcript_{name}": name != "post"
    for name in ("chats", "recent", "search", "members", "wait", "relevance", "post")
}


@pytest.fixture
def server(store: GroupTranscriptStore) -> Server:
    """The server over the test's store."""
    return build_server(store)


def test_it_offers_these_tools_and_says_which_only_read(server: Server) -> None:
    assert {name: tool.hints["readOnlyHint"] for name, tool in server.tools.items()} == NAMES
    assert not any(tool.hints["destructiveHint"] for tool in server.tools.values())


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_described(server: Server, name: str) -> None:
    tool = server.tools[name]
    assert tool.title
    assert len(tool.description) > 40
    properties = tool.signature.schema["properties"]
    assert [name for name, value in properties.items() if not value.get("description")] == []
    assert "context" not in properties


def test_the_instructions_name_every_tool(server: Server) -> None:
    assert set(re.findall(r"transcript_[a-z]+", server.instructions or "")) == set(NAMES)


def test_the_resource_takes_what_its_template_names(server: Server) -> None:
    found = server.find("transcript://feishu:oc_team?since=2h&limit=5")
    assert found is not None
    offered, values = found
    assert values == {"chat": "feishu:oc_team", "since": "2h", "limit": "5"}
    assert (offered.mime_type, offered.title) == ("application/json", "Messages of a chat")


def test_chats_are_suggested_for_the_resource(server: Server, say: Callable[..., str]) -> None:
    for key in ("feishu:oc_team", "feishu:oc_tea", "slack:C1"):
        say("hello", key=key)
    suggest = server.completions[TEMPLATE, "chat"].function
    assert suggest("oc_te", {}) == suggest("feishu:", {}) == ["feishu:oc_tea", "feishu:oc_team"]
    assert len(suggest("", {})) == 3


async def test_reading_waits_for_what_the_store_is_fetching(make_store: Callable[..., GroupTranscriptStore]) -> None:
    key = "feishu:oc_team"

    @asynccontextmanager
    async def fallback(session_key: str, since_ms: float | None, limit: int) -> AsyncIterator[list[Entry]]:
        yield [
            {
                "role": "user",
                "content": "unheard",
                "sender": "on_ada",
                "message_id": "om_2",
                "ts": 1_763_600_060_000,
                "source": "history",
            }
        ]

    plain = make_store()
    plain.append(key, "user", "heard", "on_ada", "om_1", 1_763_600_000_000)
    async with AsyncGroupTranscriptStore.over(plain, fallback=fallback) as store:
        text = await build_server(store).tools["transcript_recent"].function(session_key="oc_team")
    assert "unheard" in text
