"""Posts at the side of an agent: answers that come while one is being sent."""

import asyncio
from pathlib import Path
from typing import Any

from nanobot_transcript.conversation.ports import CardAction
from nanobot_transcript.conversation.posts import Posts
from nanobot_transcript.outbox import Outbox

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
        served = Posts(outbox)
        post_id = outbox.post(KEY, "Ship it?")
        job = outbox.take("one", [KEY])
        assert job is not None
        assert not await asyncio.to_thread(served.is_answer, OTHER, said("om_8"))
        assert not await asyncio.to_thread(served.is_answer, KEY, said("om_9"))
        for number, chat in enumerate((KEY, OTHER, "feishu:")):  # of the last one the platform did not say the chat
            await asyncio.to_thread(served.pressed, CardAction(chat, "om_1", {"ok": number}, "on_ada"))
        await asyncio.to_thread(outbox.sent, job, "om_1")
        assert [(answer.message_id, answer.value.get("ok")) for answer in outbox.answers(post_id)] == [
            ("om_9", None),
            ("om_1", 0),
            ("om_1", 2),
        ]
