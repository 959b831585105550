"""What goes out: tried again where that may help, recorded once it is out, in order."""

import asyncio
import logging
from typing import Any

import pytest
from support.loop_clock import outlast
from support.memory_chat import KEY, MemoryChannel, MemoryChat, StreamingMemoryChannel, profile
from support.waiting import PATIENCE

from nanobot_transcript import AsyncGroupTranscriptStore
from nanobot_transcript.conversation.delivery import Recorder
from nanobot_transcript.conversation.ports import OutboundMessage, SentMessage
from nanobot_transcript.errors import (
    DeliveryError,
    NoAnswerError,
    RateLimitedError,
    RequestRefusedError,
    StoreFullError,
    StoreUnavailableError,
    WithheldError,
)
from nanobot_transcript.runner.bus import MessageBus
from nanobot_transcript.runner.channel_manager import ChannelManager
from nanobot_transcript.runner.live_text import LiveText


class Sending:
    """A manager at work on a chat in memory."""

    def __init__(self, store: AsyncGroupTranscriptStore | None, channel: type[MemoryChannel] = MemoryChannel) -> None:
        self.chat = MemoryChat()
        self.seat = channel(self.chat, profile("Alpha"))
        self.bus = MessageBus()
        self.manager = ChannelManager(self.bus, self.seat, self.seat.agent, store, delays=(0, 0))
        self.running = asyncio.get_running_loop().create_task(self.manager.run())

    async def say(self, text: str, live: LiveText | None = None, **options: Any) -> SentMessage:
        message = OutboundMessage(KEY, text, idempotency_key=text, agent="Alpha", **options)
        async with asyncio.timeout(PATIENCE):
            return await self.bus.deliver(message, live)

    async def end(self) -> None:
        self.bus.close_outbound()
        async with asyncio.timeout(PATIENCE):
            await self.running


@pytest.fixture
async def store(base_dir: Any) -> Any:
    opened = AsyncGroupTranscriptStore(base_dir)
    yield opened
    await opened.close()


@pytest.mark.parametrize(
    "failure", [DeliveryError("busy", retryable=True), NoAnswerError("down"), RateLimitedError("slower")]
)
async def test_what_may_pass_is_tried_again_under_the_same_key(store: Any, failure: Exception) -> None:
    if isinstance(failure, RateLimitedError):
        failure.retry_after = 0.0
    sending = Sending(store)
    sending.chat.failures = [failure, failure]
    await sending.say("hello")
    await sending.end()
    assert sending.chat.texts() == ["hello"]
    assert [entry["content"] for entry in (await store.recent(KEY)).entries] == ["hello"]


async def test_what_will_not_pass_is_given_up_at_once_and_not_recorded(store: Any) -> None:
    sending = Sending(store)
    sending.chat.failures = [DeliveryError("not in this chat")]
    with pytest.raises(DeliveryError, match="not in this chat"):
        await sending.say("hello")
    await sending.say("another")
    await sending.end()
    assert [entry["content"] for entry in (await store.recent(KEY)).entries] == ["another"]


async def recorded(store: Any) -> list[tuple[str, Any]]:
    return [(entry["content"], entry.get("message_ids")) for entry in (await store.recent(KEY)).entries]


def broken_off(error: Any, *ids: str, text: str = "one\n\ntwo") -> Any:
    error.arrived = SentMessage(ids[0], 1_700_000_000_000, message_ids=ids, text=text)
    return error


async def test_of_a_message_that_breaks_off_the_record_holds_what_the_group_has_seen(store: Any) -> None:
    sending = Sending(store)
    sending.chat.failures = [broken_off(RequestRefusedError("not this word"), "om_p1", "om_p2")]
    with pytest.raises(RequestRefusedError, match="not this word"):
        await sending.say("one\n\ntwo\n\nthree", reply_to="om_q")
    await sending.end()
    assert await recorded(store) == [("one\n\ntwo", ["om_p1", "om_p2"])]
    (entry,) = (await store.recent(KEY)).entries
    assert (entry["role"], entry.get("reply_to"), entry.get("agent")) == ("assistant", "om_q", "Alpha")


async def test_parts_that_arrived_before_the_platform_went_away_are_recorded_all_the_same(store: Any) -> None:
    sending = Sending(store)
    sending.chat.failures = [broken_off(NoAnswerError("down"), "om_p1", text="one"), *[NoAnswerError("down")] * 2]
    with pytest.raises(NoAnswerError):
        await sending.say("one\n\ntwo")
    sending.chat.failures = [broken_off(NoAnswerError("down"), "om_p3", text="secret")] * 3
    with pytest.raises(NoAnswerError):
        await sending.say("secret and more", private=True)
    await sending.end()
    assert await recorded(store) == [("one", None)]


async def test_a_message_that_goes_through_in_the_end_is_recorded_once_and_whole(store: Any) -> None:
    sending = Sending(store)
    sending.chat.failures = [broken_off(NoAnswerError("down"), "om_1", text="one")] * 3
    with pytest.raises(NoAnswerError):
        await sending.say("one\n\ntwo")
    await sending.say("one\n\ntwo")
    await sending.end()
    assert await recorded(store) == [("one\n\ntwo", None)]


async def test_after_the_last_attempt_the_sender_is_told(store: Any) -> None:
    sending = Sending(store)
    sending.chat.failures = [NoAnswerError("down")] * 3
    with pytest.raises(NoAnswerError):
        await sending.say("hello")
    await sending.end()
    assert (await store.recent(KEY)).entries == []


async def test_an_unexpected_failure_reaches_the_sender_and_the_next_message_goes_out(
    store: Any, caplog: pytest.LogCaptureFixture
) -> None:
    sending = Sending(store)
    sending.chat.failures = [ZeroDivisionError()]
    with pytest.raises(DeliveryError, match="ZeroDivisionError"):
        await sending.say("hello")
    await sending.say("another")
    await sending.end()
    assert "Handling a message failed" in caplog.text


async def test_a_private_message_is_sent_and_not_recorded(store: Any) -> None:
    sending = Sending(store)
    await sending.say("between us", private=True)
    await sending.end()
    assert sending.chat.texts() == ["between us"]
    assert await store.chats() == []


async def test_messages_of_a_chat_go_out_in_order_and_another_chat_does_not_wait(store: Any) -> None:
    sending = Sending(store)
    sending.seat.gate.clear()
    first = asyncio.ensure_future(sending.say("first"))
    second = asyncio.ensure_future(sending.say("second"))
    await asyncio.sleep(0)
    sending.seat.gate.set()
    await asyncio.gather(first, second)
    await sending.end()
    assert sending.chat.texts() == ["first", "second"]


async def test_after_the_end_nothing_is_taken(store: Any) -> None:
    sending = Sending(store)
    await sending.end()
    with pytest.raises(DeliveryError, match="stopping"):
        await sending.say("late")


class FullStore:
    """Has no space for the first appends."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.written: list[str] = []
        self.done = asyncio.Event()

    async def append(self, key: str, role: str, content: str, *rest: Any, **fields: Any) -> bool:
        if self.failures:
            self.failures -= 1
            raise StoreFullError("No space.", hint="Make some.")
        self.written.append(content)
        self.done.set()
        return True

    async def flush(self, key: str, timeout: float) -> bool:  # noqa: ASYNC109
        return True


async def test_what_was_delivered_is_recorded_later_when_the_disk_is_full_now(caplog: pytest.LogCaptureFixture) -> None:
    store: Any = FullStore(failures=3)
    recorder = Recorder(store)
    recorder.delays = (0, 0, 0)
    await recorder.said(profile("Alpha"), OutboundMessage(KEY, "hello"), SentMessage("om_1", 1.0), "send")
    async with asyncio.timeout(PATIENCE):
        await store.done.wait()
    await recorder.close()
    assert store.written == ["hello"]
    assert "No space. Make some." in caplog.text


async def test_a_stop_tries_once_more_at_once(caplog: pytest.LogCaptureFixture) -> None:
    store: Any = FullStore(failures=1)
    recorder = Recorder(store)
    recorder.delays = (3600,)
    await recorder.said(profile("Alpha"), OutboundMessage(KEY, "hello"), SentMessage("om_1", 1.0), "send")
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE):
        await recorder.close()
    assert store.written == ["hello"]


async def test_what_can_never_be_recorded_is_told_as_an_error(caplog: pytest.LogCaptureFixture) -> None:
    store: Any = FullStore(failures=9)
    recorder = Recorder(store)
    recorder.delays = (0,)
    with caplog.at_level(logging.ERROR):
        await recorder.said(profile("Alpha"), OutboundMessage(KEY, "hello"), SentMessage("om_1", 1.0), "send")
        await asyncio.sleep(0)
        await recorder.close()
    assert "could not be recorded" in caplog.text


class Behind(FullStore):
    """Accepts, and lets others read it when the test says so."""

    def __init__(self) -> None:
        super().__init__(failures=0)
        self.is_there = False

    async def flush(self, key: str, timeout: float) -> bool:  # noqa: ASYNC109
        return self.is_there


async def test_a_claim_is_kept_until_others_can_read_the_answer() -> None:
    store: Any = Behind()
    told = asyncio.Event()

    async def recorded() -> None:
        told.set()

    said = OutboundMessage(KEY, "hello"), SentMessage("om_1", 1.0), "send"
    recorder = Recorder(store)
    await recorder.said(profile("Alpha"), *said, recorded=recorded)  # type: ignore[arg-type]
    assert (store.written, told.is_set()) == (["hello"], False)
    store.is_there = True
    await outlast(asyncio.ensure_future(told.wait()), 10)
    store.is_there = False
    told.clear()
    await recorder.said(profile("Alpha"), *said, recorded=recorded)  # type: ignore[arg-type]
    await asyncio.sleep(0)
    await recorder.close()
    assert told.is_set()


async def test_an_answer_is_recorded_also_when_what_it_answers_cannot_be_looked_up() -> None:
    async def hop_of() -> int | None:
        raise StoreUnavailableError("The record cannot be asked.")

    store: Any = FullStore(failures=0)
    recorder = Recorder(store)
    recorder.delays = (0, 0)
    await recorder.said(profile("Alpha"), OutboundMessage(KEY, "hi"), SentMessage("om_1", 1.0), "send", hop_of=hop_of)
    assert store.written == []
    async with asyncio.timeout(PATIENCE):
        await store.done.wait()
    assert store.written == ["hi"]


class Permission:
    """``may_send`` for a message, given as the answers in turn; the last one stays."""

    def __init__(self, *answers: bool) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self) -> bool:
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


async def test_a_message_whose_turn_passes_between_two_attempts_is_not_sent(store: Any) -> None:
    sending = Sending(store)
    sending.chat.failures = [NoAnswerError("502")]
    may_send = Permission(True, False)
    with pytest.raises(WithheldError):
        await sending.say("hello", may_send=may_send)
    await sending.end()
    assert may_send.asked == 2
    assert sending.chat.shown == []
    assert (await store.recent(KEY)).entries == []


async def test_a_streamed_message_whose_turn_passes_before_its_end_is_taken_back(store: Any) -> None:
    sending = Sending(store, StreamingMemoryChannel)
    text = LiveText()
    text.add("half an")
    said = asyncio.ensure_future(sending.say("", live=text, may_send=Permission(True, False)))
    await sending.chat.answers(1)
    text.finish("half an answer")
    with pytest.raises(WithheldError):
        await said
    await sending.end()
    assert len(sending.chat.shown) == 1
    assert sending.chat.texts() == []
    assert (await store.recent(KEY)).entries == []


async def test_a_card_that_cannot_be_shown_is_not_sent_as_a_whole_when_its_turn_has_passed(store: Any) -> None:
    sending = Sending(store, StreamingMemoryChannel)
    sending.chat.failures = [DeliveryError("no cards here")]
    text = LiveText()
    text.finish("an answer")
    with pytest.raises(WithheldError):
        await sending.say("", live=text, may_send=Permission(True, False))
    await sending.end()
    assert sending.chat.shown == []
