"""The real lark-oapi as our long connection uses it, against the simulator: in this process, several at once."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest
from support.feishu_client import long_connection
from support.needs import needs
from support.waiting import PATIENCE, until

from nanobot_transcript.errors import ConfigError, CredentialsRefusedError
from transcript_channels.feishu.long_connection import LongConnection, Reconnect
from transcript_channels.simulator import App, Chat, FeishuSimulator, Person
from transcript_channels.simulator.frames import Frame, Method

pytestmark = needs("lark_oapi")

Answer = Callable[[dict[str, Any]], Any]

QUICK = Reconnect(first=0.05, interval=0.05, longest=0.2)


class Bot:
    """One app's long connection and what it heard."""

    def __init__(
        self, feishu: FeishuSimulator, app: App, answer: Callable[[dict[str, Any]], Any] | None = None
    ) -> None:
        self.app = app
        self.events: list[dict[str, Any]] = []
        self.states: list[str] = []
        self._answer = answer or (lambda event: None)
        self.connection = LongConnection(
            app.app_id, app.app_secret, self.hear, feishu.base_url, on_state=self.states.append, reconnect=QUICK
        )

    def hear(self, event: dict[str, Any]) -> Any:
        self.events.append(event)
        return self._answer(event)

    @property
    def texts(self) -> list[str]:
        return [event["event"]["message"]["content"] for event in self.events if "message" in event["event"]]


class Stage:
    """A simulated platform with Ada and a group; the bots are stopped at the end."""

    def __init__(self, feishu: FeishuSimulator) -> None:
        self.feishu = feishu
        self.ada: Person = feishu.add_person("Ada")
        self.group: Chat = feishu.add_group("Team", [self.ada])
        self.bots: list[Bot] = []

    async def bot(self, name: str, answer: Answer | None = None, wait: bool = True) -> Bot:
        app = self.feishu.add_app(name)
        self.feishu.join(self.group, app)
        bot = Bot(self.feishu, app, answer)
        self.bots.append(bot)
        bot.connection.start()
        if wait:
            await self.feishu.wait_connected(app)
            await until(lambda: bot.connection.connected)
        return bot


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with FeishuSimulator(ack_timeout=PATIENCE, repush_delays=[0.05] * 200) as feishu:
        feishu.client_config.reconnect_interval = 0
        stage = Stage(feishu)
        try:
            yield stage
        finally:
            for bot in stage.bots:
                assert await bot.connection.aclose()


async def test_an_event_arrives_whole_and_is_acknowledged(stage) -> None:
    bot = await stage.bot("Alpha")
    message = await stage.feishu.say(stage.group, stage.ada, "@Alpha hello 你好")
    assert message.acks == {"Alpha": 200}
    assert bot.events == [message.pushes[0].event]


async def test_an_event_that_is_not_taken_is_pushed_again(stage) -> None:
    failures = [OSError("disk full"), OSError("disk full")]

    def answer(event: dict[str, Any]) -> None:
        if failures:
            raise failures.pop()

    bot = await stage.bot("Alpha", answer)
    message = await stage.feishu.say(stage.group, stage.ada, "hello")
    assert [attempt.code for attempt in message.pushes[0].attempts] == [500, 500, 200]
    assert len(bot.events) == 3


async def test_several_apps_listen_in_one_process_and_do_not_hold_each_other_up(stage) -> None:
    released = threading.Event()
    slow = await stage.bot("Slow", lambda event: released.wait(PATIENCE))
    quick = await stage.bot("Quick")
    message = await stage.feishu.say(stage.group, stage.ada, "hello", wait=False)
    try:
        await stage.feishu.wait_for(lambda: message.acks["Quick"] == 200)
        assert message.acks["Slow"] is None
    finally:
        released.set()
    await stage.feishu.wait_for(lambda: message.acks["Slow"] == 200)
    assert len(slow.events) == len(quick.events) == 1


async def test_events_nobody_registered_are_acknowledged(stage) -> None:
    bot = await stage.bot("Alpha")
    bot.app.events.add("im.message.reaction.created_v1")
    message = await stage.feishu.say(stage.group, stage.ada, "hello")
    await stage.feishu.react(message, stage.ada)
    await stage.feishu.settled()
    assert [push.ack_code for push in stage.feishu.pushes] == [200, 200]
    assert [event["header"]["event_type"] for event in bot.events] == [
        "im.message.receive_v1",
        "im.message.reaction.created_v1",
    ]


async def test_events_in_pieces_and_large_ones_arrive(stage) -> None:
    bot = await stage.bot("Alpha")
    bot.app.fragment_bytes = 500
    await stage.feishu.say(stage.group, stage.ada, "x" * 20_000)
    bot.app.fragment_bytes = None
    await stage.feishu.say(stage.group, stage.ada, "y" * 140_000)
    assert [len(text) for text in bot.texts] == [20_012, 140_012]


async def test_a_pressed_button_is_answered(stage) -> None:
    toast = {"toast": {"type": "info", "content": "好"}}
    bot = await stage.bot("Alpha", lambda event: toast)
    message = await stage.feishu.say(stage.group, bot.app, msg_type="interactive", content={"elements": []})
    push = await stage.feishu.press(message, stage.ada, {"choice": 1})
    assert (push.ack_code, push.response) == (200, toast)
    said = await stage.feishu.say(stage.group, stage.ada, "an answer to an event is not sent")
    assert said.pushes[0].response is None


async def test_a_lost_connection_comes_back_and_is_told_of(stage) -> None:
    bot = await stage.bot("Alpha")
    for abrupt in (True, False):
        await stage.feishu.drop_connections(bot.app, abrupt=abrupt)
        await stage.feishu.say(stage.group, stage.ada, "meanwhile", wait=False)
        await stage.feishu.wait_connected(bot.app)
        await stage.feishu.settled()
    await until(lambda: len(bot.texts) == 2)
    assert bot.states == ["connected", "lost", "reconnected", "lost", "reconnected"]


async def test_a_platform_that_is_busy_or_refuses_is_asked_again(stage) -> None:
    endpoint = "POST /callback/ws/endpoint"
    stage.feishu.fail(endpoint, code=1)
    stage.feishu.fail(endpoint, status=502)
    stage.feishu.fail(endpoint, code=1000040350)
    stage.feishu.refuse_handshakes(514, "limit", auth_code=1000040350)
    stage.feishu.refuse_handshakes(403, "forbidden")
    bot = await stage.bot("Alpha")
    assert bot.states == ["connected"]
    assert len(stage.feishu.calls_to(endpoint)) == 6


async def test_a_platform_that_wishes_to_be_asked_again_at_once_is(stage) -> None:
    app, slow = stage.feishu.add_app("Alpha"), Reconnect(3600, 3600, 3600)
    stage.feishu.refuse_handshakes(403, "forbidden")
    connection = LongConnection(app.app_id, app.app_secret, lambda _: None, stage.feishu.base_url, reconnect=slow)
    connection.start()
    try:
        await until(lambda: connection.connected)
    finally:
        assert await connection.aclose()


async def test_wrong_credentials_end_the_first_attempt_with_an_error(stage) -> None:
    app = stage.feishu.add_app("Alpha")
    states: list[str] = []
    connection = LongConnection(app.app_id, "wrong", lambda event: None, stage.feishu.base_url, on_state=states.append)
    connection.start()
    await until(lambda: connection.failure is not None)
    assert isinstance(connection.failure, CredentialsRefusedError)
    await until(lambda: states == ["failed"])
    assert await connection.aclose()


async def test_credentials_that_are_refused_later_may_become_right_again(stage) -> None:
    bot = await stage.bot("Alpha")
    secret, bot.app.app_secret = bot.app.app_secret, "changed"
    await stage.feishu.drop_connections(bot.app)
    asked = len(stage.feishu.calls_to("POST /callback/ws/endpoint"))
    await stage.feishu.wait_for(lambda: len(stage.feishu.calls_to("POST /callback/ws/endpoint")) > asked + 1)
    bot.app.app_secret = secret
    await stage.feishu.wait_connected(bot.app)
    assert bot.connection.failure is None


async def test_garbage_on_the_wire_does_no_harm(stage) -> None:
    bot = await stage.bot("Alpha")
    (line,) = bot.app.connections
    await line.socket.send_str("text instead of bytes")
    for raw in (b"", b"\xff" * 50, b"\x08"):
        await line.socket.send_bytes(raw)
    headers = {"type": "event", "message_id": "f1", "trace_id": "t"}
    for pieces in ({"sum": "1", "seq": "0"}, {"sum": "99999999999", "seq": "0"}, {"sum": "2", "seq": "7"}, {}):
        line.send(Frame(Method.DATA, {**headers, **pieces}, b"\xffno json", service=1))
    message = await stage.feishu.say(stage.group, stage.ada, "still there?")
    assert message.acks == {"Alpha": 200}
    assert len(bot.events) == 1
    assert bot.states == ["connected"]


async def test_stopping_ends_the_thread_and_the_connection(stage) -> None:
    before = set(threading.enumerate())  # other tests of this process have left some that are idle
    bot = await stage.bot("Alpha")
    assert [thread.name for thread in set(threading.enumerate()) - before if thread.name.startswith("feishu-")] != []
    assert await bot.connection.aclose()
    assert [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("feishu-")] == []
    await stage.feishu.wait_for(lambda: not bot.app.connected)
    assert not bot.connection.connected
    assert await bot.connection.aclose()
    with pytest.raises(ConfigError):
        bot.connection.start()


async def test_stopping_works_at_any_moment(stage) -> None:
    never = LongConnection("cli_a", "s", lambda event: None, stage.feishu.base_url)
    assert await never.aclose()
    early = await stage.bot("Early", wait=False)
    assert await early.connection.aclose()
    stage.feishu.fail("POST /callback/ws/endpoint", delay=600.0)
    connecting = await stage.bot("Connecting", wait=False)
    await stage.feishu.wait_for(lambda: stage.feishu.calls_to("POST /callback/ws/endpoint", connecting.app))
    assert await connecting.connection.aclose(PATIENCE)


async def test_what_is_being_handled_while_stopping_is_acknowledged(stage) -> None:
    begun, released = threading.Event(), threading.Event()

    def slowly(event: dict[str, Any]) -> None:
        begun.set()
        released.wait(PATIENCE)

    bot = await stage.bot("Alpha", slowly)
    message = await stage.feishu.say(stage.group, stage.ada, "hello", wait=False)
    await until(begun.is_set)
    stopping = asyncio.create_task(bot.connection.aclose())
    await asyncio.sleep(0)
    released.set()
    assert await stopping
    await stage.feishu.wait_for(lambda: message.acks["Alpha"] == 200)


async def test_two_connections_of_one_app_share_its_events(stage) -> None:
    bot = await stage.bot("Alpha")
    async with aiohttp.ClientSession() as session, long_connection(stage.feishu, bot.app, session) as other:
        for number in range(6):
            await stage.feishu.say(stage.group, stage.ada, f"m{number}")
        assert (len(bot.texts), len(other.events)) == (3, 3)
