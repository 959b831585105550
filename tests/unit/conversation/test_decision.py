"""What is looked at before an agent answers."""

from typing import Any

import pytest
from support.memory_chat import profile

from nanobot_transcript.conversation.decision import addressed
from nanobot_transcript.turns import is_answered


@pytest.mark.parametrize("odd", [["om_1"], {"om_1": 1}, 5])
def test_a_reply_to_what_is_no_text_replies_to_nothing(odd: Any) -> None:
    said: Any = {"role": "user", "content": "Hi", "sender": "on_ada", "message_id": "om_1", "ts": 1.0, "reply_to": odd}
    mine: Any = {**said, "role": "assistant", "sender": "Alpha", "message_id": "om_2"}
    assert not addressed(said, [mine], profile("Alpha"))
    assert not is_answered(said, [mine])
    assert not is_answered(said, [mine, said], by=profile("Alpha"))
