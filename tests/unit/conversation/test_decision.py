"""What is looked at before an agent answers."""

from typing import Any

import pytest
from support.memory_chat import profile

from nanobot_transcript.conversation.decision import Choice, Decider, addressed
from nanobot_transcript.conversation.ports import InboundMessage
from nanobot_transcript.turns import is_answered


@pytest.mark.parametrize("odd", [["om_1"], {"om_1": 1}, 5])
def test_a_reply_to_what_is_no_text_replies_to_nothing(odd: Any) -> None:
    said: Any = {"role": "user", "content": "Hi", "sender": "on_ada", "message_id": "om_1", "ts": 1.0, "reply_to": odd}
    mine: Any = {**said, "role": "assistant", "sender": "Alpha", "message_id": "om_2"}
    assert not addressed(said, [mine], profile("Alpha"))
    assert not is_answered(said, [mine])
    assert not is_answered(said, [mine, said], by=profile("Alpha"))


async def test_after_its_end_nobody_stands_by_for_what_another_bot_has_claimed() -> None:
    class Lost:
        async def win(self, *_: Any, stand_by: bool = True, **__: Any) -> None:
            assert not stand_by, "nothing is waited for"

    alpha, claims = profile("Alpha"), Lost()
    decider = Decider(alpha, claims=claims)  # pyright: ignore[reportArgumentType]
    said: Any = {"role": "user", "content": "Who knows?", "sender": "on_ada", "message_id": "om_1", "ts": 1.0}

    async def take_over(claim: Any) -> None:
        raise AssertionError("the agent has ended")

    await decider.close()
    assert await decider.claim(InboundMessage("memory:1", said), Choice(True, "score_high"), take_over) is None
    assert not decider.stands_by
