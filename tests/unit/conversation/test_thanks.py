"""Thanks get a reaction, once, from the bot that they are for."""

from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript import AsyncGroupTranscriptStore
from nanobot_transcript.conversation.composition import Conversation, Options
from nanobot_transcript.conversation.ports import InboundMessage
from nanobot_transcript.conversation.thanks import Thanks
from nanobot_transcript.record import Record
from transcript_channels.feishu.platform import FEISHU

KEY = "feishu:oc_team"


class Reactions(list[tuple[str, str]]):
    """The reactions that a platform was asked for."""

    def react(self, message_id: str, reaction: str) -> None:
        self.append((message_id, reaction))


def said(message_id: str | None = "om_1", text: str = "@Alpha thanks", key: str = KEY) -> InboundMessage:
    mentions = [{"name": "Alpha", "id": "cli_a"}]
    entry: Any = {"role": "user", "content": text, "sender": "on_ada", "message_id": message_id, "ts": 1.0}
    return InboundMessage(key, entry | {"mentions": mentions})


@pytest.fixture
def platform() -> Reactions:
    return Reactions()


def test_a_message_that_comes_again_gets_one_reaction_of_each_bot(platform: Reactions) -> None:
    thanks = Thanks("OK")
    for account in ("cli_a", "cli_b"):
        thanks.attend(account, platform.react)
    for account in ("cli_a", "cli_a", "cli_b"):
        thanks.take(account, said())
    thanks.take("cli_a", said(key="feishu:oc_other"))
    assert platform == [("om_1", "OK")] * 3


def test_who_cannot_react_stays_silent(platform: Reactions) -> None:
    thanks = Thanks("OK")
    thanks.attend("cli_a", platform.react)
    thanks.take("cli_b", said())
    thanks.take("cli_a", said(message_id=None))
    assert platform == []


def test_a_bot_that_can_react_only_later_does_so_to_what_comes_again(platform: Reactions) -> None:
    thanks = Thanks("OK")
    thanks.take("cli_a", said())
    thanks.attend("cli_a", platform.react)
    thanks.take("cli_a", said())
    assert platform == [("om_1", "OK")]


def test_what_was_reacted_to_long_ago_is_forgotten(platform: Reactions) -> None:
    thanks = Thanks("OK")
    thanks.attend("cli_a", platform.react)
    for number in range(5000):
        thanks.take("cli_a", said(f"om_{number}"))
    assert len(thanks._reacted) == 4096


def test_a_channel_that_raises_breaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(message_id: str, reaction: str) -> None:
        raise RuntimeError("no reactions here")

    thanks = Thanks("OK")
    thanks.attend("cli_a", broken)
    thanks.take("cli_a", said())
    assert "no reactions here" in caplog.text


@pytest.mark.parametrize(("reaction", "reacts"), [("OK", True), ("", False)])
async def test_what_the_gate_says_of_thanks_becomes_a_reaction_where_one_is_set(
    tmp_path: Path, platform: Reactions, reaction: str, reacts: bool
) -> None:
    record = Record.open(tmp_path / "transcripts")
    options = Options(courtesy_reaction=reaction)
    made = Conversation(record, FEISHU, options, AsyncGroupTranscriptStore.over(record.store))
    made.people.register("cli_a", "Alpha")
    made.thanks.attend("cli_a", platform.react)
    decider = made.decider(made.profile("cli_a"), made.gate(None))
    for message in (said(), said("om_2", "@Alpha no need to answer")):
        choice = await decider.choose(message, [], 2.0)
        assert (choice.respond, choice.reason) == (False, "no_answer_wanted")
    assert platform == ([("om_1", "OK")] if reacts else [])
    await made.aclose()
    record.close()
