"""What a socket may do before and after its login, and how much a slow one may owe."""

import resource
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager

import aiohttp
import pytest
from aiohttp import web
from integration.assistant.conftest import Hub
from support.assistant_clients import page, transport_of
from support.hubs import listening
from support.loop_clock import later
from support.waiting import PATIENCE, until

from transcript_mcp.assistant.protocol import proto
from transcript_mcp.assistant.protocol.screens import Screens
from transcript_mcp.assistant.protocol.sockets import Sockets


@asynccontextmanager
async def impatient(hub: Hub, patience: float = 0.3) -> AsyncIterator[str]:
    """The hub's sockets at an address of their own, with less patience for who does not log in."""
    app = web.Application()
    app.router.add_get("/ws", Sockets(Screens(hub.assistant, hub.tokens), patience=patience).handle)
    async with listening(app) as url:
        yield url


@pytest.fixture
def few_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_a_socket_that_does_not_log_in_is_closed(hub: Hub) -> None:
    async with impatient(hub, 60) as url, page(url, "test-token") as ada, page(url) as nobody, page(url) as chatty:
        await chatty.login("")
        await ada.send("GetOnlineUsers")
        await ada.until("GetOnlineUsers")  # so her login is over
        later(61)
        for stranger in (nobody, chatty):
            with pytest.raises(ConnectionError, match="1008"):
                await stranger.until("never")
        await ada.send("GetOnlineUsers")
        await ada.until("GetOnlineUsers")


async def test_a_socket_that_sends_half_a_frame_or_too_much_is_closed_too(hub: Hub) -> None:
    async with impatient(hub) as url, aiohttp.ClientSession() as http:
        for begun in (b"\x82\xfe", b"\x82\xff" + struct.pack(">Q", 60_000_000) + bytes(4 + 1_000_000)):
            async with http.ws_connect(f"{url}/ws") as socket:
                transport = transport_of(socket)
                transport.write(begun)
                assert (await socket.receive(timeout=PATIENCE)).type in (
                    aiohttp.WSMsgType.CLOSE,
                    aiohttp.WSMsgType.CLOSED,
                )


async def test_little_of_a_large_frame_is_taken_before_a_login(hub: Hub) -> None:
    async with impatient(hub, 2) as url, aiohttp.ClientSession() as http, http.ws_connect(f"{url}/ws") as socket:
        transport = transport_of(socket)
        transport.write(b"\x82\xff" + struct.pack(">Q", 60_000_000) + bytes(4))
        transport.write(bytes(60_000_000))
        assert (await socket.receive(timeout=PATIENCE)).type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
        assert transport.get_write_buffer_size() > 40_000_000


async def test_what_follows_a_login_at_once_is_taken_whole(hub: Hub) -> None:
    await hub.caller.ask("q1", Wait=0, Fetched=True)
    async with page(hub.url) as ada:
        await ada.send("UserLogin", StrParam="test-token", Nickname="Ada")
        await ada.reply("q1", "x" * 900_000)
        await ada.send("GetOnlineUsers")
        await ada.until("GetOnlineUsers")
        answer = await hub.assistant.wait(hub.tokens.asking("test-token").scopes[0], "q1", PATIENCE)
    assert (answer.by, len(answer.contents[0].text)) == ("Ada", 900_000)


@pytest.mark.usefixtures("few_files")
async def test_many_sockets_without_a_login_shut_nobody_out(hub: Hub) -> None:
    async with AsyncExitStack() as stack:
        sockets = Sockets(Screens(hub.assistant, hub.tokens))
        app = web.Application()
        app.router.add_get("/ws", sockets.handle)
        url = await stack.enter_async_context(listening(app))
        oldest = await stack.enter_async_context(page(url))
        for _ in range(32):
            await stack.enter_async_context(page(url))
        with pytest.raises(ConnectionError, match="1008"):
            await oldest.until("never")
        await until(lambda: sockets._open == 32)
        ada = await stack.enter_async_context(page(url, "test-token", "Ada"))
        await ada.send("GetOnlineUsers")
        await ada.until("GetOnlineUsers")


async def test_more_sockets_than_there_may_be_are_told_to_come_later(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transcript_mcp.assistant.protocol.sockets._MOST_SOCKETS", 10)
    async with impatient(hub, 60) as url, AsyncExitStack() as stack:
        for _ in range(10):
            await stack.enter_async_context(page(url, "test-token"))
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await stack.enter_async_context(page(url))
        assert refused.value.headers is not None
        assert (refused.value.status, refused.value.headers["Retry-After"]) == (503, "10")


@pytest.mark.usefixtures("few_files")
async def test_sockets_leave_half_of_the_files_to_others(hub: Hub) -> None:
    assert Sockets(Screens(hub.assistant, hub.tokens))._most == 128


async def test_all_that_may_wait_reaches_a_page_that_reads(hub: Hub) -> None:
    for number in range(30):
        await hub.caller.ask(f"q{number}", "x" * 990_000, Wait=0, Fetched=True)
    async with page(hub.url, "test-token") as ada:
        shown = [(await ada.until("AskQuestion")).AskQuestionRequest.ID for _ in range(30)]
        assert shown == [f"q{number}" for number in range(30)]
        await ada.send("GetPendingMessages")
        pending = (await ada.until("GetPendingMessages")).GetPendingMessagesResponse
        assert (len(pending.pending_messages), pending.total_count) == (30, 30)


async def test_a_page_that_does_not_read_yet_is_not_sent_what_has_ended_meanwhile(hub: Hub) -> None:
    for number in range(30):
        await hub.caller.ask(f"q{number}", "x" * 990_000, Wait=0, Fetched=True)
    async with page(hub.url) as slow, page(hub.url, "test-token", "Bo") as bo:
        transport = transport_of(slow.socket)
        transport.pause_reading()
        await slow.send("UserLogin", StrParam="test-token")
        await bo.until("UserConnectionStatusNotification")
        await bo.reply("q29", "yes")
        await hub.assistant.wait(hub.tokens.asking("test-token").scopes[0], "q29", PATIENCE)
        transport.resume_reading()
        shown = []
        while len(shown) < 29:
            frame = await slow.frame()
            shown += [frame.AskQuestionRequest.ID] if frame.Cmd == "AskQuestion" else []
        await slow.send("GetOnlineUsers")
        while (frame := await slow.frame()).Cmd != "GetOnlineUsers":
            assert frame.Cmd != "AskQuestion"
    assert shown == [f"q{number}" for number in range(29)]


async def test_a_frame_with_too_much_in_it_is_an_error_and_all_ids_are_looked_at(hub: Hub) -> None:
    await hub.caller.ask("last", Wait=0, Fetched=True)
    async with page(hub.url, "test-token") as ada:
        for many, cmd in ((30_000, "Error"), (15_000, "CheckMessageValidity")):
            ids = proto.CheckMessageValidityRequest(request_ids=[*(f"q{n}" for n in range(many)), "last"])
            await ada.send("CheckMessageValidity", CheckMessageValidityRequest=ids)
            answer = await ada.until(cmd)
        assert (
            len(answer.CheckMessageValidityResponse.validity),
            answer.CheckMessageValidityResponse.validity["last"],
        ) == (
            15_001,
            True,
        )


async def test_a_nickname_stays_on_one_line(hub: Hub) -> None:
    async with page(hub.url, "test-token", "Ada") as ada, page(hub.url, "test-token", "B\u202eo\n" + "x" * 200):
        await ada.send("GetOnlineUsers")
        (user,) = (await ada.until("GetOnlineUsers")).GetOnlineUsersResponse.online_users
        assert user.nickname == "Bo " + "x" * 96


async def test_large_answers_of_one_page_come_one_after_the_other(hub: Hub) -> None:
    for number in range(4):
        await hub.caller.ask(f"q{number}", Wait=0, Fetched=True)
    async with page(hub.url, "test-token", "Ada") as ada:
        for number in range(4):
            await ada.reply(f"q{number}", "x" * 25_000_000)
        for number in range(4):
            record = await hub.assistant.wait(hub.tokens.asking("test-token").scopes[0], f"q{number}", PATIENCE)
            assert len(record.contents[0].text) == 25_000_000
