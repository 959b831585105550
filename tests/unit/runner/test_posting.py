"""Posts at the side of an agent: where they are sent, and answers that come while one is being sent."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nanobot_transcript.conversation.policy import Mode, Policy
from nanobot_transcript.conversation.ports import CardAction
from nanobot_transcript.outbox import Outbox
from nanobot_transcript.runner import posting
from nanobot_transcript.runner.posting import Posting

KEY, OTHER = "feishu:oc_1", "feishu:oc_2"


async def test_only_what_is_said_in_the_chat_of_a_post_that_is_being_sent_is_kept_for_it(base_dir: Path) -> None:
    def said(message_id: str) -> Any:
        return {
            "role": "user",
            "content": "Yes",
            "sender": "on_ada",
            "message_id": message_id,
            "ts": 1,
            "reply_to": "om_1",
        }

    with Outbox(base_dir) as outbox:
        served = Posting(outbox)
        post_id = outbox.post(KEY, "Ship it?")
        job = outbox.take("one", [KEY])
        assert job is not None
        assert not await asyncio.to_thread(served.is_answer, OTHER, said("om_8"))
        assert not await asyncio.to_thread(served.is_answer, KEY, said("om_9"))
        for number, chat in enumerate((KEY, OTHER, "feishu:")):  # of the last one the platform did not say the chat
            await served.offer_action(CardAction(chat, "om_1", {"ok": number}, "on_ada"))
        await asyncio.to_thread(outbox.sent, job, "om_1")
        assert [(answer.message_id, answer.value.get("ok")) for answer in outbox.answers(post_id)] == [
            ("om_9", None),
            ("om_1", 0),
            ("om_1", 2),
        ]


@pytest.mark.parametrize(("mode", "sent"), [("gate", True), ("observe", True), ("off", False)])
async def test_no_post_is_taken_for_a_chat_that_is_off(
    base_dir: Path, monkeypatch: pytest.MonkeyPatch, mode: Mode, sent: bool
) -> None:
    asked: list[bool] = []

    class Server:
        def __init__(self, *_: Any, sits_in: Callable[[str], bool], **__: Any) -> None:
            asked.extend([sits_in(KEY), sits_in(OTHER)])

        async def serve(self) -> None:
            pass

    monkeypatch.setattr(posting, "OutboxServer", Server)
    channel = SimpleNamespace(sits_in=lambda key: key == KEY)
    hosted: Any = SimpleNamespace(name="Alpha", agent=SimpleNamespace(channel=channel, policy=Policy(mode)))
    with Outbox(base_dir) as outbox:
        await Posting(outbox).serve(hosted)
    assert asked == [sent, False]
