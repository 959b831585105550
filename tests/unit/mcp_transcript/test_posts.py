"""Posts into a chat."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from support.waiting import PATIENCE, until

from nanobot_transcript.errors import InvalidPostError, PostConflictError, UnknownNameError
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.outbox import Outbox, Receipt
from transcript_mcp.transcript.posts import PostRequest, post
from transcript_mcp.transcript.reading import View

KEY = "feishu:oc_team"

Say = Callable[..., str]


async def posted(
    view: View, chat: str = "oc_team", text: str = "hello", wait: float = 0, **fields: Any
) -> dict[str, Any]:
    async def tell(done: float, total: float, sentence: str) -> None:
        assert sentence.startswith("Post ")

    agents = fields.pop("agents", ())
    with Outbox(view.store.base_dir) as outbox:
        return await post(view, outbox, PostRequest(chat, text, **fields), agents, wait=wait, tell=tell)


async def test_a_post_is_queued_for_a_bot_of_the_chat(view: View, say: Say) -> None:
    say("before")
    answer = await posted(view, reply_to="om_0")
    assert (answer["state"], answer["session_key"]) == ("queued", KEY)
    assert answer["after"] == view.store.end(KEY)
    assert "first bot in the chat" in answer["note"]
    with Outbox(view.store.base_dir) as outbox:
        job = outbox.take("test", [KEY])
        assert job is not None
        assert (job.id, job.content, job.agent, job.reply_to) == (answer["id"], "hello", None, "om_0")


async def test_once_it_is_sent_the_message_is_named(view: View, say: Say) -> None:
    say("before")
    with Outbox(view.store.base_dir) as outbox:
        waiting = asyncio.create_task(posted(view, wait=PATIENCE))
        await until(outbox.waiting)
        job = outbox.take("test", [KEY])
        assert job is not None
        outbox.sent(job, Receipt("om_77"))
        answer = await waiting
    assert (answer["state"], answer["message_id"]) == ("sent", "om_77")
    assert "note" not in answer


async def test_what_could_not_be_sent_says_why(view: View, say: Say) -> None:
    say("before")
    answer = await posted(view, idempotency_key="k")
    with Outbox(view.store.base_dir) as outbox:
        job = outbox.take("test", [KEY])
        assert job is not None
        outbox.failed(job, "The bot was removed from the chat.")
    again = await posted(view, idempotency_key="k", wait=PATIENCE)
    assert (again["id"], again["state"], again["error"]) == (
        answer["id"],
        "failed",
        "The bot was removed from the chat.",
    )


async def test_the_same_key_posts_once_and_never_something_else(view: View, say: Say) -> None:
    say("before")
    first = await posted(view, idempotency_key="k")
    assert (await posted(view, idempotency_key="k"))["id"] == first["id"]
    with pytest.raises(PostConflictError):
        await posted(view, text="another", idempotency_key="k")


async def test_a_bot_may_be_named_by_alias_and_an_unknown_one_is_refused(view: View, say: Say) -> None:
    say("before")
    await posted(view, agent="小助手")
    await posted(view, agent="gamma", agents=[AgentProfile("Gamma")])
    with Outbox(view.store.base_dir) as outbox:
        assert outbox.waiting("Alpha") == outbox.waiting("Gamma") == [KEY]
        assert outbox.waiting("Beta") == []
    with pytest.raises(UnknownNameError) as error:
        await posted(view, agent="Zoe")
    assert error.value.hint == "Bots here: Alpha, Beta."


async def test_where_no_bot_is_known_any_name_will_do(make_store: Callable[..., Any]) -> None:
    view = View(make_store(), None)
    await posted(view, "feishu:oc_new", agent="Zoe")
    with Outbox(view.store.base_dir) as outbox:
        assert outbox.waiting("Zoe") == ["feishu:oc_new"]


async def test_bots_that_only_stand_in_messages_count_too(make_store: Callable[..., Any]) -> None:
    view = View(make_store(), None)
    view.store.append(KEY, "assistant", "hello", "Alpha", "om_1", 1_763_600_000_000, sender_kind="bot")
    with pytest.raises(UnknownNameError) as error:
        await posted(view, agent="Zeta")
    assert error.value.hint == "Bots here: Alpha."
    assert (await posted(view, agent="alpha"))["state"] == "queued"


async def test_it_is_said_when_no_bot_was_seen_in_the_chat(view: View, say: Say) -> None:
    say("before")
    say("hello", key="feishu:oc_other")
    assert "No bot has been seen" not in (await posted(view))["note"]
    assert "No bot has been seen in this chat yet" in (await posted(view, "oc_other"))["note"]


async def test_a_chat_without_messages_can_be_posted_to_and_is_doubted(view: View, say: Say) -> None:
    say("before")
    answer = await posted(view, "oc_new")
    assert answer["session_key"] == "feishu:oc_new"
    assert "Nothing has been recorded in this chat" in answer["note"]
    with pytest.raises(UnknownNameError):
        await posted(view, "new")


@pytest.mark.parametrize("text", ["", " \n", "x" * 200_000])
async def test_what_cannot_be_posted_is_refused(view: View, say: Say, text: str) -> None:
    say("before")
    with pytest.raises(InvalidPostError):
        await posted(view, text=text)
