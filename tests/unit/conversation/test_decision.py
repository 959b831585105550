"""What is looked at before an agent answers."""

from typing import Any

import pytest
from support.memory_chat import profile

from nanobot_transcript.conversation.decision import Choice, Decider, addressed
from nanobot_transcript.conversation.ports import InboundMessage
from nanobot_transcript.coordination.contract import Grant
from nanobot_transcript.errors import StoreUnavailableError
from nanobot_transcript.relevance.decision import Decision
from nanobot_transcript.sql.outage import AwayError
from nanobot_transcript.turns import AnswerClaims
from nanobot_transcript.turns.claim import is_answered


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


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            StoreUnavailableError("The record cannot be asked.", hint="Start it."),
            "The record cannot be asked. Start it.",
        ),
        (AwayError("postgresql://db: connection refused.", hint="Start it."), "the database is away"),
    ],
)
async def test_without_leases_a_bot_is_silent_rather_than_answers_twice_and_says_so(
    caplog: pytest.LogCaptureFixture, error: StoreUnavailableError, told: str
) -> None:
    class Away:
        blocking = True

        def __getattr__(self, name: str) -> Any:
            def ask(*_: Any) -> Grant:
                raise error

            return ask

    class Notes:
        def __init__(self) -> None:
            self.taken: list[Decision] = []

        def note(self, decision: Decision) -> None:
            self.taken.append(decision)

    alpha, notes, store, lease = profile("Alpha"), Notes(), Away(), Away()
    claims = AnswerClaims(lease, store, "Alpha")  # pyright: ignore[reportArgumentType]
    decider = Decider(alpha, notes, claims=claims)  # pyright: ignore[reportArgumentType]
    said: Any = {"role": "user", "content": "Who knows?", "sender": "on_ada", "message_id": "om_1", "ts": 1.0}

    async def take_over(claim: Any) -> None:
        raise AssertionError("nobody has claimed it")

    assert await decider.claim(InboundMessage("memory:1", said), Choice(True, "score_high"), take_over) is None
    assert not decider.stands_by
    assert [(note.reason, note.why) for note in notes.taken] == [("failed", str(error))]
    assert f"Alpha cannot claim om_1: {told}" in caplog.text
