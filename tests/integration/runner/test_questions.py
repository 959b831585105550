"""An agent's question in a group of our own host: the adapter, the hub and ``run`` are processes; no nanobot is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest_asyncio
from support.adapter_place import Place
from support.mcp_client import connected
from support.waiting import PATIENCE

from nanobot_transcript.outbox import Outbox


@pytest_asyncio.fixture
async def place(site: Any) -> AsyncIterator[Place]:
    """A hub over the site's record."""
    async with AsyncExitStack() as stack:
        found = Place(site.folder, stack)
        await found.hub(NANOBOT_TRANSCRIPT_STORE__DIR=str(site.folder / "transcripts"))
        yield found


async def test_an_agents_question_is_answered_in_the_group_by_a_button_and_by_a_number(site: Any, place: Place) -> None:
    alpha = site.app("Alpha")
    running = await site.run(site.config({alpha: {"kind": "scripted", "answers": ["I am here."]}}))
    assert await site.ask("@Alpha are you there?", alpha) == "I am here."
    about = {"project_directory": "/srv/shop", "agent_name": "Alpha", "chat": site.key, "options": ["Ship it", "Wait"]}
    with Outbox(site.folder / "transcripts") as outbox:
        async with connected(place.command("--port", str(place.port), "--token", "test-token")) as client:
            for said, answer in (("", "Ship it"), ("2", "Wait")):
                after = len(site.group.messages)
                asking = asyncio.create_task(client.text("ask_question", question="Ship it now?", **about))
                await site.until(lambda after=after: len(site.group.messages) > after)
                card = site.group.messages[after]
                assert card.sender == alpha
                if said:
                    # Until the bot has noted where the card stands, a reply is for the agents, too.
                    await site.until(lambda: len(outbox.open_posts()) == 1)
                    (post,) = outbox.open_posts()
                    assert (await outbox.wait_sent(post.id, PATIENCE)).state == "sent"
                    await site.feishu.say(site.group, site.bo, said, reply_to=card, in_thread=True, wait=False)
                else:
                    await site.feishu.press(card, site.ada, {"option": "1"})
                assert await asyncio.wait_for(asking, PATIENCE) == answer
                outcome = f"{'Bo' if said else 'Ada'} answered: {answer}"
                await site.until(lambda card=card, outcome=outcome: outcome in str(card.content))
    assert await running.stop() == 0
    assert "ERROR" not in running.log
    said_by_alpha = [message.text for message in site.group.messages if message.sender == alpha]
    assert len(said_by_alpha) == 3  # no turn came of the reply
