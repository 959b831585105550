"""Several agents in one process, started together and stopped in order."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from support.loop_clock import outlast
from support.memory_chat import KEY, MemoryChannel
from support.waiting import PATIENCE

from nanobot_transcript.conversation.policy import Mode, Policy
from nanobot_transcript.conversation.ports import CardAction, InboundMessage, OutboundMessage, Recalled, SentMessage
from nanobot_transcript.conversation.posts import Speaker
from nanobot_transcript.conversation.prompt import Prompt
from nanobot_transcript.errors import ConfigError, CredentialsRefusedError, StoreFullError
from nanobot_transcript.runner.bus import MessageBus
from nanobot_transcript.runner.intake import Intake


class Slow:
    """Answers when it is told to, and counts how often it was broken off."""

    def __init__(self) -> None:
        self.asked, self.go = asyncio.Event(), asyncio.Event()
        self.broken_off = self.closed = 0

    async def respond(self, prompt: Prompt) -> Any:
        self.asked.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.broken_off += 1
            raise
        yield "at last"

    async def close(self) -> None:
        self.closed += 1


async def test_two_agents_in_one_process_each_answer_what_is_theirs_and_share_one_record(stage: Any) -> None:
    stage.add("Alpha", "Alpha here.")
    stage.add("Beta", "Beta here.")
    await stage.start()
    await stage.chat.say("@Alpha you?")
    await stage.chat.say("@Beta you?")
    await stage.chat.answers(2)
    await stage.quiet()
    assert sorted(stage.chat.texts()) == ["Alpha here.", "Beta here."]
    assert len(await stage.record()) == 4


async def test_an_orderly_stop_lets_the_running_answer_finish(stage: Any) -> None:
    slow = Slow()
    seat = stage.add("Alpha", slow)
    await stage.start()
    await stage.chat.say("@Alpha take your time")
    await slow.asked.wait()
    stopping = asyncio.ensure_future(stage.stop())
    await asyncio.sleep(0)
    slow.go.set()
    await stopping
    assert stage.chat.texts() == ["at last"]
    assert len(await stage.record()) == 2
    assert (slow.closed, seat.stopped) == (1, True)


async def test_an_answer_that_takes_longer_than_the_grace_is_broken_off(stage: Any) -> None:
    slow = Slow()
    seat = stage.add("Alpha", slow)
    await stage.start(grace=0.01)
    await stage.chat.say("@Alpha take your time")
    await slow.asked.wait()
    await stage.stop()
    assert stage.chat.texts() == []
    assert slow.broken_off == 1
    assert seat.stopped


async def test_a_platform_that_does_not_take_the_last_answer_keeps_nobody_from_stopping(stage: Any) -> None:
    class Stuck(MemoryChannel):
        async def send(self, message: OutboundMessage) -> SentMessage:
            sending.set()
            return await asyncio.get_running_loop().create_future()

    sending = asyncio.Event()
    seat = stage.add("Alpha", channel=Stuck)
    runner = await stage.start(grace=0.01)
    await stage.chat.say("@Alpha you?")
    await asyncio.wait_for(sending.wait(), PATIENCE)
    runner.stop()
    await outlast(stage.running, 11)
    assert seat.stopped


async def test_a_second_stop_does_not_wait_for_answers(stage: Any) -> None:
    slow = Slow()
    stage.add("Alpha", slow)
    runner = await stage.start(grace=3600)
    await stage.chat.say("@Alpha take your time")
    await slow.asked.wait()
    runner.stop()
    runner.stop()
    await stage.stop()
    assert slow.broken_off == 1


async def test_what_waits_behind_the_running_answer_is_left_at_a_stop(
    stage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    slow = Slow()
    stage.add("Alpha", slow)
    await stage.start()
    await stage.chat.say("@Alpha one")
    await slow.asked.wait()
    await stage.chat.say("@Alpha two")
    await asyncio.sleep(0)
    slow.go.set()
    await stage.stop()
    assert stage.chat.texts() == ["at last"]
    assert "leaves 1 messages unanswered" in caplog.text
    assert len(await stage.record()) == 3


class Refusing(MemoryChannel):
    """Cannot connect."""

    async def start(self, publish: Any) -> None:
        raise ConfigError("The app secret is wrong.")


async def test_a_channel_that_cannot_start_ends_the_others_and_is_told(stage: Any) -> None:
    seat = stage.add("Alpha")
    stage.add("Beta", channel=Refusing)
    with pytest.raises(ConfigError, match="app secret"):
        await stage.start()
    assert seat.stopped
    stage.runner = None


class Unwelcome(MemoryChannel):
    async def start(self, publish: Any) -> None:
        raise CredentialsRefusedError("The secret is not accepted.", hint="Compare it.", platform_code=10014)


async def test_an_agent_that_the_platform_refuses_is_told_once_and_the_others_work(
    stage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    stage.add("Alpha", "Alpha here.")
    stage.add("Beta", channel=Unwelcome, key="agents.cli_b")
    runner = await stage.start()
    assert [agent.name for agent in runner.connected] == ["Alpha"]
    refused = runner.refused["Beta"]
    assert isinstance(refused, CredentialsRefusedError)
    assert (refused.hint, refused.platform_code) == ("Compare it.", 10014)
    assert str(refused) == "Beta (agents.cli_b): The secret is not accepted."
    (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert record.getMessage() == "Beta (agents.cli_b): The secret is not accepted. Compare it."
    await stage.chat.say("@Alpha you?")
    await stage.chat.answers(1)
    assert stage.chat.texts() == ["Alpha here."]


async def test_an_only_agent_that_is_refused_ends_the_runner_with_its_error(
    stage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    seat = stage.add("Alpha", channel=Unwelcome)
    with pytest.raises(CredentialsRefusedError, match=r"^Alpha: The secret"):
        await stage.start()
    assert seat.stopped
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    stage.runner = None


class StandInPosts:
    """In the place of an outbox: ``serve`` is run beside an agent."""

    def __init__(self, serve: Callable[..., Awaitable[None]] | None = None) -> None:
        self.offered: list[str] = []
        self.actions: list[CardAction] = []
        self._serve = serve

    def is_answer(self, key: str, entry: Any) -> bool:
        assert threading.current_thread() is not threading.main_thread()
        self.offered.append(entry["content"])
        return "for the poster" in entry["content"]

    def pressed(self, action: CardAction) -> None:
        assert threading.current_thread() is not threading.main_thread()  # it writes to the disk
        self.actions.append(action)

    async def serve(self, agent: str, speaker: Speaker, may_post: Callable[[str], bool]) -> None:
        if self._serve is not None:
            await self._serve(agent, speaker, may_post)
        await asyncio.Event().wait()


async def test_serving_posts_ends_with_the_agent_and_speaks_through_it(stage: Any) -> None:
    ended = asyncio.Event()

    async def serve(agent: str, speaker: Speaker, _: Any) -> None:
        await speaker.send(OutboundMessage(KEY, "posted", idempotency_key="p1", agent=agent))
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    stage.add("Alpha", posts=StandInPosts(serve))
    await stage.start()
    await stage.chat.answers(1)
    await stage.stop()
    assert ended.is_set()
    assert [entry["content"] for entry in await stage.record()] == ["posted"]


@pytest.mark.parametrize(("mode", "allowed"), [("gate", True), ("observe", True), ("off", False)])
async def test_no_post_is_taken_for_a_chat_that_is_off(stage: Any, mode: Mode, allowed: bool) -> None:
    asked: list[bool] = []

    async def serve(_: str, __: Any, may_post: Callable[[str], bool]) -> None:
        asked.extend([may_post(KEY), may_post("memory:oc_elsewhere")])
        await asyncio.Event().wait()

    stage.add("Alpha", posts=StandInPosts(serve), policy=Policy(mode))
    await stage.start()
    await stage.quiet()
    assert asked == [allowed, False]


async def test_serving_posts_that_fails_ends_the_runner_with_its_error(stage: Any) -> None:
    async def serve(*_: Any) -> None:
        raise ConfigError("The outbox is not there.")

    stage.add("Alpha", posts=StandInPosts(serve))
    await stage.start()
    with pytest.raises(ConfigError, match="outbox"):
        await stage.stop()


async def test_a_message_that_answers_a_post_starts_no_turn(stage: Any) -> None:
    posts = StandInPosts()
    stage.add("Alpha", posts=posts)
    await stage.start()
    await stage.chat.say("@Alpha this is for the poster", reply_to="om_post")
    await stage.chat.say("@Alpha this is for you", reply_to="om_post")
    await stage.chat.answers(1)
    await stage.quiet()
    assert len(posts.offered) == 2
    assert stage.chat.shown[0].outbound.reply_to == (await stage.record())[1]["message_id"]
    assert len(stage.chat.texts()) == 1


async def test_a_chat_can_be_left_out_or_only_observed(stage: Any) -> None:
    stage.add("Alpha", policy=Policy(chats={"oc_off": "off", "oc_observed": "observe"}))
    await stage.start()
    for key in ("memory:oc_off", "memory:oc_observed", KEY):
        await stage.chat.say("@Alpha hello", key=key)
    await stage.chat.answers(1)
    await stage.quiet()
    assert [shown.outbound.session_key for shown in stage.chat.shown] == [KEY]
    assert sorted(chat.session_key for chat in await stage.store.chats()) == ["memory:oc_observed", KEY]


async def test_a_pressed_button_is_given_to_whoever_posted_where_posts_are_served() -> None:
    action = CardAction(KEY, "om_1", {"choice": "yes"}, "on_ada")
    posts: Any = StandInPosts()
    assert await Intake(MessageBus(), posts=posts).publish(action) is None
    assert posts.actions == [action]
    assert await Intake(MessageBus()).publish(action) is None


async def test_an_agent_gets_a_message_that_could_not_be_recorded_and_the_platform_is_told(
    stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> bool:
        raise StoreFullError("No space.")

    bus = MessageBus()
    intake = Intake(bus, stage.store)
    monkeypatch.setattr(stage.store.sync.backend, "append", full)
    entry: Any = {"role": "user", "content": "x", "sender": "on_ada", "message_id": "om_1", "ts": 1.0}
    with pytest.raises(StoreFullError):
        await intake.publish(InboundMessage(KEY, entry))
    assert bus.waiting == 1


async def test_when_too_many_messages_wait_they_are_recorded_only(stage: Any, caplog: pytest.LogCaptureFixture) -> None:
    bus = MessageBus(size=1)
    intake = Intake(bus, stage.store)
    for number in range(3):
        await intake.publish(InboundMessage(KEY, stage.chat.entry(f"{number}")))
    assert bus.waiting == 1
    assert len(await stage.record()) == 3
    assert "recorded but not answered" in caplog.text


async def test_a_recall_reaches_the_record_and_the_memory(stage: Any) -> None:
    forgotten: list[tuple[str, str]] = []
    intake = Intake(MessageBus(), stage.store, forget=lambda key, message_id: forgotten.append((key, message_id)))
    entry = stage.chat.entry("a secret")
    await intake.publish(InboundMessage(KEY, entry))
    await intake.publish(Recalled(KEY, entry["message_id"]))
    assert forgotten == [(KEY, entry["message_id"])]
    assert await stage.record() == []


async def test_in_a_chat_that_is_off_recalls_and_buttons_leave_no_trace(stage: Any) -> None:
    posts: Any = StandInPosts()
    intake = Intake(MessageBus(), stage.store, posts=posts, policy=Policy("off"))
    await intake.publish(Recalled(KEY, "om_1", 1.0))
    await intake.publish(CardAction(KEY, "om_2", {"choice": "yes"}, "on_ada"))
    assert posts.actions == []
    assert await stage.store.chats() == []
    assert list(stage.folder.glob("*.jsonl")) == []


async def test_what_was_recorded_before_a_chat_was_switched_off_can_still_be_taken_back(stage: Any) -> None:
    entry = stage.chat.entry("a secret")
    await Intake(MessageBus(), stage.store).publish(InboundMessage(KEY, entry))
    await Intake(MessageBus(), stage.store, policy=Policy("off")).publish(Recalled(KEY, entry["message_id"]))
    assert await stage.record() == []
