"""Subscriptions: who is told, how often, and when a server has to watch."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated

import pytest
from pydantic import Field
from support.waiting import PATIENCE, until

from transcript_mcp.sdk import Server, merged
from transcript_mcp.sdk.client_subscriptions import GoneError, Peer
from transcript_mcp.sdk.dispatch import ProtocolError
from transcript_mcp.sdk.testing import InMemoryClient

Connect = Callable[..., InMemoryClient]


def chat(
    name: Annotated[str, Field(description="Which.")],
    limit: Annotated[int, Field(description="How many.")] = 20,
) -> str:
    """A chat."""
    return f"{name} {limit}"


@pytest.fixture
def server() -> Server:
    made = Server("test", version="1.0")
    made.template("chat://{name}{?limit}", chat)
    return made


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    clients: list[InMemoryClient] = []

    def make(server: Server) -> InMemoryClient:
        clients.append(InMemoryClient(server))
        return clients[-1]

    yield make
    for client in clients:
        await client.close()


async def settled(server: Server, client: InMemoryClient) -> list[str | None]:
    """What the client was told, after everything that was published before has arrived."""
    await client.subscribe("chat://last")
    before = client.told.count("chat://last")
    server.updated("chat://last")
    await until(lambda: client.told.count("chat://last") > before)
    return [uri for uri in client.told if uri != "chat://last"]


async def test_who_subscribed_is_told_and_nobody_else(server: Server, connect: Connect) -> None:
    ada, bo = connect(server), connect(server)
    await ada.subscribe("chat://one")
    await bo.subscribe("chat://two")
    server.updated("chat://one")
    assert await settled(server, ada) == ["chat://one"]
    assert await settled(server, bo) == []


async def test_a_connection_has_a_limited_number_of_subscriptions(server: Server, connect: Connect) -> None:
    ada, bo = connect(server), connect(server)
    for number in range(100):
        await ada.subscribe(f"chat://{number}")
    with pytest.raises(ProtocolError, match="100 subscriptions"):
        await ada.subscribe("chat://more")
    await ada.subscribe("chat://7")
    await bo.subscribe("chat://more")
    await ada.request("resources/unsubscribe", uri="chat://7")
    await ada.subscribe("chat://more")


async def test_a_change_reaches_all_forms_of_a_query(server: Server, connect: Connect) -> None:
    ada = connect(server)
    await ada.subscribe("chat://%E5%B0%8F?limit=5")
    await ada.subscribe("chat://小")
    server.updated("chat://小")
    assert await settled(server, ada) == ["chat://%E5%B0%8F?limit=5", "chat://小"]
    server.updated("chat://小?limit=5")
    assert (await settled(server, ada))[2:] == ["chat://%E5%B0%8F?limit=5"]


async def test_several_changes_at_once_are_told_once(server: Server, connect: Connect) -> None:
    ada = connect(server)
    await ada.subscribe("chat://one")
    for _ in range(100):
        server.updated("chat://one")
    assert await settled(server, ada) == ["chat://one"]


async def test_a_change_may_be_told_from_another_thread(server: Server, connect: Connect) -> None:
    ada = connect(server)
    await ada.subscribe("chat://one")
    await asyncio.to_thread(server.updated, "chat://one")
    assert await settled(server, ada) == ["chat://one"]


async def test_nothing_is_told_after_the_subscription_or_the_client_ended(server: Server, connect: Connect) -> None:
    ada, bo = connect(server), connect(server)
    await ada.subscribe("chat://one")
    await ada.request("resources/unsubscribe", uri="chat://one")
    await ada.request("resources/unsubscribe", uri="chat://never")
    await bo.subscribe("chat://one")
    await bo.close()
    server.updated("chat://one")
    assert await settled(server, ada) == []
    assert bo.told == []


async def test_what_does_not_exist_cannot_be_subscribed_to(server: Server, connect: Connect) -> None:
    with pytest.raises(ProtocolError, match="Resource not found"):
        await connect(server).subscribe("mail://one")


async def test_changed_lists_are_told_to_all_clients(server: Server, connect: Connect) -> None:
    ada = connect(server)
    await ada.request("resources/list")
    server.lists_changed()
    assert await settled(server, ada) == [None]


async def test_a_server_hears_of_first_subscribers_and_last_goodbyes(server: Server, connect: Connect) -> None:
    heard: list[str] = []

    @server.on_subscribe
    async def begin(uri: str) -> None:
        heard.append(f"+{uri}")

    @server.on_unsubscribe
    def end(uri: str) -> None:
        heard.append(f"-{uri}")

    ada, bo = connect(server), connect(server)
    await ada.subscribe("chat://one")
    await ada.subscribe("chat://one")
    await bo.subscribe("chat://one")
    await ada.request("resources/unsubscribe", uri="chat://one")
    assert heard == ["+chat://one"]
    await bo.close()
    assert heard == ["+chat://one", "-chat://one"]


async def test_a_failing_hook_does_not_end_the_connection(
    server: Server, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    @server.on_subscribe
    def fail(uri: str) -> None:
        raise OSError("no watches left")

    ada = connect(server)
    await ada.subscribe("chat://one")
    server.updated("chat://one")
    assert await settled(server, ada) == ["chat://one"]
    assert "A subscription hook failed" in caplog.text


async def test_a_part_of_a_merged_server_reaches_its_clients(server: Server, connect: Connect) -> None:
    heard: list[str] = []
    server.on_subscribe(heard.append)
    other = Server("other", version="1.0")
    other.on_subscribe(heard.append)
    whole = merged([server, other], name="all")
    ada, bo = connect(whole), connect(server)
    await ada.subscribe("chat://one")
    await bo.subscribe("chat://one")
    assert heard == ["chat://one"]
    server.updated("chat://one")
    assert await settled(server, ada) == ["chat://one"]
    assert await settled(server, bo) == ["chat://one"]


async def test_a_client_that_does_not_read_holds_up_nobody(server: Server, connect: Connect) -> None:
    entered = asyncio.Event()

    def stuck() -> Awaitable[None]:
        entered.set()
        return asyncio.Event().wait()  # type: ignore[return-value]

    deaf = Peer(server.updates, lambda uri: stuck())
    await deaf.subscribe("chat://one")
    ada = connect(server)
    await ada.subscribe("chat://one")
    server.updated("chat://one")
    await asyncio.wait_for(entered.wait(), PATIENCE)
    assert await settled(server, ada) == ["chat://one"]
    await deaf.close()


async def test_a_client_that_has_gone_is_forgotten(server: Server) -> None:
    tried: list[str | None] = []

    async def send(uri: str | None) -> None:
        tried.append(uri)
        raise GoneError

    gone = Peer(server.updates, send)
    await gone.subscribe("chat://one")
    await gone.subscribe("chat://two")
    server.updated("chat://one")
    await until(lambda: tried)
    server.updated("chat://two")
    await asyncio.sleep(0)
    assert tried == ["chat://one"]
    await gone.close()
    await gone.close()
