"""What became of the turns of nanobot's bots is noted, as far as nanobot and the platform tell it."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from support.stub_nanobot import Outbound

from nanobot_transcript.conversation.decision import PRIVATE
from transcript_channels.nanobot_host.bot import Objection
from transcript_channels.nanobot_host.host import Host
from transcript_channels.nanobot_host.outcomes import turn_completed

KEY = "feishu:oc_1"
TURN = {"message_id": "om_ask", "chat_type": "group"}
WORD = "Sorry, I encountered an error."


class Bus:
    """nanobot's bus, as far as events go."""

    def __init__(self) -> None:
        self.handlers: list[Any] = []

    def subscribe(self, handler: Any, kind: Any) -> None:
        self.handlers.append(handler)

    def failed(self, message_id: str = "om_ask", *, outcome: str = "failed", chat_id: str = "oc_1") -> None:
        """A turn ended."""
        context = SimpleNamespace(channel="feishu", chat_id=chat_id, metadata={"message_id": message_id})
        kinds = {"failure_kind": "model", "failure_error_kind": "authentication"}
        for handler in self.handlers:
            handler(SimpleNamespace(context=context, outcome=outcome, **kinds))


def noted(host: Host, key: str = KEY) -> list[tuple[str, str | None]]:
    """The reasons of the last stage, and why."""
    records = host.record.decisions.read(key)
    return [(one["reason"], one.get("why")) for one in records if one["stage"] == "answer"]


@pytest.fixture
def bus(host: Host) -> Bus:
    if turn_completed() is None:
        pytest.skip("this nanobot does not say how turns end; `make test`")
    bus = Bus()
    for _ in range(2):  # once for each of nanobot's agent loops
        host.outcomes.attend(bus)
    assert len(bus.handlers) == 1
    return bus


async def test_an_answer_that_was_delivered_and_recorded_is_noted_once(host: Host, channel: Any) -> None:
    for text in ("one", "two"):
        await channel.send(Outbound("oc_1", text, dict(TURN)))
    await channel.send(Outbound("oc_1", "a reminder"))
    assert noted(host) == [("answered", None)]


async def test_nothing_is_noted_of_what_is_not_recorded(make_host: Any, make_channel: Any) -> None:
    host = make_host(groups={"chats": {"oc_1": {"mode": "off"}}})
    channel = make_channel(host)
    await channel.send(Outbound("oc_1", "one", dict(TURN)))
    await channel.send(Outbound("ou_ada", "one", dict(TURN)))
    assert noted(host) == []


async def test_what_the_platform_refuses_is_noted_as_failed_until_it_arrives(host: Host, channel: Any) -> None:
    channel._client.refuse = lambda content: True
    for _ in range(2):
        with pytest.raises(RuntimeError, match="not delivered"):
            await channel.send(Outbound("oc_1", "lost", dict(TURN)))
    assert noted(host) == [("failed", "The platform did not take the answer; nanobot's log says why.")]
    channel._client.refuse = lambda content: False
    await channel.send(Outbound("oc_1", "found", dict(TURN)))
    assert noted(host)[1:] == [("answered", None)]


async def test_an_answer_of_which_a_part_arrived_is_noted_as_failed(host: Host, channel: Any) -> None:
    channel._client.refuse = lambda content: "three" in content
    with pytest.raises(RuntimeError):
        await channel.send(Outbound("oc_1", "one|two|three", dict(TURN)))
    assert noted(host) == [("failed", "The platform took only a part of the answer; nanobot's log says why.")]


async def test_a_streamed_answer_that_the_platform_refuses_is_noted_as_failed(host: Host, channel: Any) -> None:
    channel._client.refuse = lambda content: True
    await channel.send_delta("oc_1", "lost", TURN)
    await channel.send_delta("oc_1", "", TURN, stream_end=True)
    assert [reason for reason, _ in noted(host)] == ["failed"]


async def test_a_turn_that_failed_is_noted_with_nanobots_word_about_it(host: Host, channel: Any, bus: Bus) -> None:
    bus.failed()
    await channel.send(Outbound("oc_1", WORD, dict(TURN)))
    assert noted(host) == [
        ("failed", "nanobot's turn failed (model, authentication); its log says more."),
        ("failed", WORD),
    ]


async def test_of_a_private_chat_only_that_a_turn_failed_is_noted_until_one_does_not(
    host: Host, channel: Any, bus: Bus
) -> None:
    for number, outcome in enumerate(("completed", "failed", "completed", "completed")):
        bus.failed(f"om_{number}", outcome=outcome, chat_id="ou_ada")
        await channel.send(Outbound("ou_ada", WORD, {"message_id": f"om_{number}", "chat_type": "p2p"}))
    records = host.record.decisions.outcomes(0)
    assert [(one["chat"], one["message_id"], one["reason"]) for one in records] == [
        (PRIVATE, None, "failed"),
        (PRIVATE, None, "answered"),
    ]
    assert WORD not in records[0]["why"]
    assert (noted(host), noted(host, "feishu:ou_ada")) == ([], [])


async def test_a_half_answer_of_a_turn_that_failed_is_none_and_its_text_is_not_noted(
    host: Host, channel: Any, bus: Bus
) -> None:
    await channel.send_delta("oc_1", "Half of an ans", TURN)
    bus.failed()
    await channel.send_delta("oc_1", "", TURN, stream_end=True)
    ((reason, why),) = noted(host)
    assert (reason, "Half" in str(why)) == ("failed", False)


async def test_a_turn_that_ended_well_or_that_is_another_channels_is_left_alone(
    host: Host, channel: Any, bus: Bus, caplog: pytest.LogCaptureFixture
) -> None:
    bus.failed(outcome="completed")
    for handler in bus.handlers:
        handler(SimpleNamespace(context=SimpleNamespace(channel="telegram", metadata={}), outcome="failed"))
        handler(SimpleNamespace())
    assert noted(host) == []
    assert "Could not tell how a turn" in caplog.text


@pytest.mark.parametrize(
    ("objection", "expected"),
    [
        (Objection("withdrawn", "it was taken back"), [("withdrawn", None)]),
        (Objection(None, "bots have said enough"), []),
    ],
)
async def test_an_answer_that_must_not_go_out_is_noted_unless_it_is_noted_already(
    host: Host, channel: Any, objection: Objection, expected: list[tuple[str, str | None]]
) -> None:
    async def objects() -> Objection:
        return objection

    channel._transcript_bot.answers.expect("om_ask", 1, objects)
    await channel.send(Outbound("oc_1", "too late", dict(TURN)))
    assert channel._client.sent == []
    assert noted(host) == expected


async def test_an_answer_that_another_bot_has_claimed_by_now_is_noted_as_that(host: Host, channel: Any) -> None:
    answers = channel._transcript_bot.answers
    answers.expect("om_ask", 1)
    claim: Any = SimpleNamespace(holds=lambda: False, open=False)
    answers._expected["om_ask"].claim = claim
    await channel.send(Outbound("oc_1", "too late", dict(TURN)))
    await asyncio.sleep(0)
    assert noted(host) == [("lost_claim", None)]
