"""Cards that take the place of cards that were sent."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from unit.outbox.conftest import in_a_file

from nanobot_transcript.errors import DeliveryError, InvalidPostError, MessageGoneError, NoAnswerError, UnknownPostError
from nanobot_transcript.outbox import Outbox, OutboxServer, Revision

KEY = "feishu:oc_1"


def sent(outbox: Outbox, agent: str | None = "Alpha", message_id: str = "om_1", **post: Any) -> str:
    """A card that stands in the chat, sent by this agent."""
    made = outbox.post(KEY, **(post or {"card": {"v": 0}}))
    job = outbox.take("somebody", [KEY])
    assert job is not None
    outbox.sent(job, message_id, agent)
    return made


def taken(outbox: Outbox, holder: str = "me", agent: str = "Alpha") -> Revision:
    revision = outbox.take_revision(holder, agent)
    assert revision is not None
    return revision


def test_a_card_waits_until_its_post_stands_in_the_chat(outbox: Outbox) -> None:
    post = outbox.post(KEY, card={"v": 0})
    outbox.revise(post, {"v": 1})
    assert outbox.take_revision("me", "Alpha") is None
    job = outbox.take("me", [KEY])
    assert job is not None
    assert job.card == {"v": 0}
    outbox.sent(job, "om_1", "Alpha")
    revision = taken(outbox)
    assert (revision.session_key, revision.message_id, revision.card) == (KEY, "om_1", {"v": 1})
    outbox.revised(revision)
    assert outbox.take_revision("me", "Alpha") is None


def test_only_the_bot_that_sent_the_post_shows_it(outbox: Outbox) -> None:
    outbox.revise(sent(outbox), {"v": 1})
    assert outbox.take_revision("me", "Beta") is None
    assert taken(outbox).card == {"v": 1}


def test_of_several_cards_the_newest_is_shown_once(outbox: Outbox) -> None:
    post = sent(outbox)
    for number in range(1, 4):
        outbox.revise(post, {"v": number})
    outbox.revised(taken(outbox))
    assert outbox.take_revision("me", "Alpha") is None


def test_a_card_that_comes_while_another_is_being_shown_is_shown_next(outbox: Outbox) -> None:
    post = sent(outbox)
    outbox.revise(post, {"v": 1})
    first = taken(outbox)
    outbox.revise(post, {"v": 2})
    assert outbox.take_revision("other", "Alpha") is None  # or the older one could arrive last
    outbox.revised(first)
    second = taken(outbox, "other")
    assert second.card == {"v": 2}
    outbox.revised(second)
    assert outbox.take_revision("me", "Alpha") is None


def test_what_a_killed_bot_was_at_is_given_again(make_outbox: Callable[..., Outbox], clock: Any) -> None:
    outbox = make_outbox(lease=5)
    outbox.revise(sent(outbox), {"v": 1})
    taken(outbox, "killed")
    assert outbox.take_revision("me", "Alpha") is None
    clock.now += 6
    assert taken(outbox).attempt == 2


def test_whoever_lost_the_lease_takes_nothing_back(make_outbox: Callable[..., Outbox], clock: Any) -> None:
    outbox = make_outbox(lease=5)
    outbox.revise(sent(outbox), {"v": 1})
    late = taken(outbox, "late")
    clock.now += 6
    taken(outbox, "new")
    outbox.revision_failed(late)
    clock.now += 6
    assert taken(outbox).attempt == 3


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (MessageGoneError("gone"), False),
        (DeliveryError("no"), False),
        (NoAnswerError("?"), True),
        (TimeoutError(), True),
    ],
)
async def test_what_may_succeed_later_is_tried_again(
    outbox: Outbox, clock: Any, error: Exception, *, again: bool
) -> None:
    async def send(_job: Any) -> str:
        return "om_1"

    shown: list[dict[str, Any]] = []
    errors = [error]

    async def revise(revision: Revision) -> None:
        if errors:
            raise errors.pop()
        shown.append(revision.card)

    server = OutboxServer(outbox, send, agent="Alpha", sits_in=lambda _: True, revise=revise)
    outbox.revise(sent(outbox), {"v": 1})
    assert await server.revise_next()
    assert not await server.revise_next()  # not at once
    clock.now += 400
    assert await server.revise_next() is again
    assert shown == [{"v": 1}] * again


@in_a_file
def test_looking_for_cards_that_cannot_be_shown_waits_for_nobody(outbox: Outbox, base_dir: Path, clock: Any) -> None:
    """A card of a post that was refused waits until the post is removed; bots look every quarter of a second."""
    outbox.post(KEY, card={"v": 0}, idempotency_key="refused")
    refused = outbox.take("me", [KEY])
    assert refused is not None
    outbox.failed(refused, "this card cannot be shown", None)
    outbox.revise(refused.id, {"v": 1})
    outbox.revise(sent(outbox, "Beta"), {"v": 1})
    shown = sent(outbox, message_id="om_2")
    outbox.revise(shown, {"v": 1})
    taken(outbox)
    with closing(sqlite3.connect(base_dir / ".state" / "outbox" / "outbox.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with Outbox(base_dir, busy=0.01, clock=clock) as looking:
            assert looking.take_revision("me", "Alpha") is None
        writer.execute("ROLLBACK")
    clock.now += 61
    assert taken(outbox).post_id == shown


async def test_a_card_that_nobody_foresaw_is_given_up_in_the_end_and_keeps_no_other_waiting(
    outbox: Outbox, clock: Any
) -> None:
    async def send(_job: Any) -> str:
        return "om_1"

    shown: list[str] = []

    async def revise(revision: Revision) -> None:
        if revision.message_id == "om_1":
            raise KeyError("nobody foresaw this")
        shown.append(revision.message_id)

    server = OutboxServer(outbox, send, agent="Alpha", sits_in=lambda _: True, revise=revise)
    outbox.revise(sent(outbox), {"v": 1})
    outbox.revise(sent(outbox, message_id="om_2", card={"v": 2}), {"v": 1})
    assert await server.revise_next()
    assert await server.revise_next()
    assert shown == ["om_2"]
    for _ in range(10):
        clock.now += 400
        await server.revise_next()
    assert not await server.revise_next()


async def test_a_bot_that_cannot_change_cards_leaves_them(outbox: Outbox) -> None:
    async def send(_job: Any) -> str:
        return "om_1"

    outbox.revise(sent(outbox), {"v": 1})
    assert not await OutboxServer(outbox, send, agent="Alpha", sits_in=lambda _: True).revise_next()


def test_what_cannot_be_replaced_is_refused(outbox: Outbox) -> None:
    with pytest.raises(UnknownPostError):
        outbox.revise("nothing", {"v": 1})
    with pytest.raises(InvalidPostError, match="Only a card"):
        outbox.revise(sent(outbox, content="a text"), {"v": 1})
    for card in ({}, None, [], {"v": float("nan")}, {"v": object()}, {"v": "x" * 200_000}):
        with pytest.raises(InvalidPostError):
            outbox.revise("nothing", card)  # type: ignore[arg-type]


@in_a_file
def test_what_is_erased_leaves_no_card_behind(outbox: Outbox, base_dir: Path) -> None:
    outbox.revise(sent(outbox), {"v": "a secret answer"})
    assert outbox.forget(session_key=KEY) == 1
    assert outbox.take_revision("me", "Alpha") is None
    folder = base_dir / ".state" / "outbox"
    assert not any(b"a secret answer" in path.read_bytes() for path in folder.iterdir())
