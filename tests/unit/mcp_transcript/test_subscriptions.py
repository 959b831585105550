"""News of a chat for those who subscribed to its resource."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Annotated

import pytest
from pydantic import Field
from support.waiting import until

from nanobot_transcript import GroupTranscriptStore
from transcript_mcp.sdk import Server
from transcript_mcp.sdk.client_subscriptions import Peer
from transcript_mcp.transcript import build_server
from transcript_mcp.transcript.subscriptions import Following

URI = "transcript://oc_team"

Say = Callable[..., str]


@pytest.fixture
def server(store: GroupTranscriptStore) -> Server:
    """A transcript server that nobody is connected to."""
    return build_server(store)


@pytest.fixture
async def heard() -> list[str | None]:
    """What the client was told."""
    return []


@pytest.fixture
async def peer(server: Server, heard: list[str | None]) -> AsyncIterator[Peer]:
    """A connected client."""

    async def send(uri: str | None) -> None:
        heard.append(uri)

    peer = Peer(server.updates, send)
    yield peer
    await peer.close()


@pytest.mark.parametrize("uri", [URI, f"{URI}?limit=5", "transcript://feishu%3Aoc_team", "transcript://feishu:oc_team"])
async def test_a_message_is_news_for_whoever_subscribed(
    peer: Peer, heard: list[str | None], say: Say, uri: str
) -> None:
    say("before")
    await peer.subscribe(uri)
    say("now")
    await until(lambda: heard)
    assert set(heard) == {uri}


async def test_an_edit_and_a_recall_are_news_too(
    peer: Peer, heard: list[str | None], say: Say, store: GroupTranscriptStore
) -> None:
    say("before")
    await peer.subscribe(URI)
    store.edit("feishu:oc_team", "om_0", "edited")
    await until(lambda: heard)
    heard.clear()
    store.recall("feishu:oc_team", "om_0")
    await until(lambda: heard)


async def test_the_first_message_of_a_chat_is_news(peer: Peer, heard: list[str | None], say: Say) -> None:
    await peer.subscribe("transcript://oc_new")
    say("first", key="feishu:oc_new")
    await until(lambda: heard == ["transcript://oc_new"])


async def test_what_is_said_elsewhere_is_no_news(peer: Peer, heard: list[str | None], say: Say) -> None:
    say("before")
    say("before", key="feishu:oc_other")
    await peer.subscribe(URI)
    await peer.subscribe("transcript://oc_other")
    say("elsewhere", key="feishu:oc_other")
    await until(lambda: heard)
    assert set(heard) == {"transcript://oc_other"}


async def test_all_spellings_of_a_chat_are_told(peer: Peer, heard: list[str | None], say: Say) -> None:
    say("before")
    spellings = [f"{URI}?limit=5", f"{URI}?limit=6", "transcript://feishu:oc_team"]
    for uri in spellings:
        await peer.subscribe(uri)
    say("now")
    await until(lambda: set(heard) == set(spellings))


async def test_nothing_is_followed_once_nobody_listens(peer: Peer, say: Say) -> None:
    say("before")
    before = asyncio.all_tasks()
    for uri in (URI, f"{URI}?limit=5", "transcript://feishu:oc_team"):
        await peer.subscribe(uri)
        assert len(asyncio.all_tasks()) == len(before) + 1, "however it is spelled"
    await peer.unsubscribe(URI)
    assert len(asyncio.all_tasks()) == len(before) + 1
    await peer.close()
    await until(lambda: asyncio.all_tasks() == before)


async def test_two_clients_share_what_is_followed(
    server: Server, peer: Peer, heard: list[str | None], say: Say
) -> None:
    async def send(uri: str | None) -> None:
        others.append(uri)

    others: list[str | None] = []
    other = Peer(server.updates, send)
    say("before")
    await peer.subscribe(URI)
    followed = asyncio.all_tasks()
    await other.subscribe("transcript://oc%5Fteam")
    assert asyncio.all_tasks() == followed
    await peer.unsubscribe(URI)
    say("now")
    await until(lambda: others)
    assert heard == []
    await other.close()


async def test_a_client_that_leaves_before_its_subscription_is_there_leaves_nothing_behind(
    peer: Peer, say: Say
) -> None:
    say("before")
    before = asyncio.all_tasks()
    subscribing = asyncio.create_task(peer.subscribe(URI))
    await asyncio.sleep(0)
    await peer.close()
    await subscribing
    await until(lambda: asyncio.all_tasks() == before)


async def test_a_chat_that_does_not_exist_is_said_in_the_log(
    peer: Peer, say: Say, caplog: pytest.LogCaptureFixture
) -> None:
    say("before")
    with caplog.at_level(logging.WARNING):
        await peer.subscribe("transcript://nowhere")
    assert "There is no chat nowhere" in caplog.text
    assert "Traceback" not in caplog.text


async def test_a_chat_that_cannot_be_read_for_a_while_is_followed_again(
    store: GroupTranscriptStore, say: Say, caplog: pytest.LogCaptureFixture
) -> None:
    def chat_text(chat: Annotated[str, Field(description="A chat.")]) -> str:
        """A chat."""
        return chat

    async def send(uri: str | None) -> None:
        heard.append(uri)

    heard: list[str | None] = []
    server = Server("test", version="1")
    server.template("transcript://{chat}", chat_text)
    Following(server, store, pause=0.01)
    peer = Peer(server.updates, send)
    say("before")
    await peer.subscribe(URI)
    (path,) = store.base_dir.glob("*.jsonl")
    away = path.with_suffix(".away")
    with caplog.at_level(logging.WARNING):
        path.rename(away)
        path.mkdir()
        await until(lambda: "cannot be followed; trying again" in caplog.text)
    path.rmdir()
    away.rename(path)
    failures = len(caplog.records)
    for text in ("meanwhile", "now"):
        heard.clear()
        say(text)
        await until(lambda: heard)
    assert len(caplog.records) == failures
    await peer.close()
