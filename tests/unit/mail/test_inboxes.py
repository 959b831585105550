"""Inboxes, outboxes, messages, threads and receipts."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.letterbox import BACKEND, FRONTEND, Letterbox
from support.statements import statements_of
from support.waiting import PATIENCE
from unit.mail.conftest import in_a_file, on_both

from nanobot_transcript.errors import InvalidLetterError, LetterNotFoundError, UnknownProjectError
from nanobot_transcript.sql.contract import Sql
from transcript_mcp.mail.messages import inboxes
from transcript_mcp.mail.messages.drafts import checked
from transcript_mcp.mail.messages.letters import addressed, put
from transcript_mcp.mail.messages.summary import summarize_letters
from transcript_mcp.mail.values import Delivery, Draft, InboxQuery, Letter, LetterPage, LetterThread, MailOptions
from transcript_mcp.mail.views import shown_letter


def subjects(found: list[Delivery]) -> list[str]:
    return [each.letter.subject for each in found]


# -- inbox


def test_an_inbox_shows_the_newest_first_without_bodies_and_no_more_than_asked(box: Letterbox) -> None:
    for number in range(25):
        box.send(subject=f"s{number}")
    assert subjects(box.mail.inbox(box.red)) == [f"s{number}" for number in range(24, 4, -1)]
    assert subjects(box.mail.inbox(box.red, InboxQuery(limit=2))) == ["s24", "s23"]
    assert box.mail.inbox(box.red)[0].letter.body is None
    assert box.mail.inbox(box.red, InboxQuery(include_bodies=True))[0].letter.body == "text"


def test_an_inbox_shows_how_a_message_came_and_what_became_of_it(box: Letterbox) -> None:
    sent = box.send(to=["BlueLake"], cc=["RedStone"], ack_required=True, importance="high", thread_id="T")
    box.time += 10
    box.mail.mark_read(box.red, [sent.id])
    (found,) = box.mail.inbox(box.red)
    assert (found.kind, found.read_ts, found.ack_ts) == ("cc", box.time, None)
    letter = found.letter
    assert (letter.sender, letter.to, letter.cc) == ("GreenCastle", ("BlueLake",), ("RedStone",))
    assert (letter.ack_required, letter.importance, letter.thread_id) == (True, "high", "T")
    assert (letter.project, letter.created_ts) == (BACKEND, sent.created_ts)


@on_both
def test_only_what_came_since_is_shown_and_nothing_of_it_is_missed(box: Letterbox) -> None:
    times = [box.send(subject=f"s{number}").created_ts for number in range(5)]
    assert subjects(box.mail.inbox(box.red, InboxQuery(since_ts=times[2]))) == ["s4", "s3"]
    assert box.mail.inbox(box.red, InboxQuery(since_ts=times[4])) == []
    assert len(box.mail.inbox(box.red, InboxQuery(since_ts=0))) == 5


def test_what_came_after_a_clock_was_set_back_is_not_missed(box: Letterbox) -> None:
    first = box.send(subject="first").created_ts
    box.time += 86_400
    ahead = box.send(subject="ahead").created_ts
    box.time -= 86_400 - 10
    later = [box.send(subject=name).created_ts for name in ("set back", "later")]
    assert max(later) < ahead
    since_first = subjects(box.mail.inbox(box.red, InboxQuery(since_ts=first)))
    assert since_first == ["later", "set back", "ahead"]
    assert subjects(box.mail.inbox(box.red, InboxQuery(since_ts=ahead))) == ["later", "set back"]
    assert subjects(box.mail.inbox(box.red, InboxQuery(since_ts=max(later) + 5))) == ["ahead"]
    assert subjects(box.mail.inbox(box.red, InboxQuery(since_ts=max(later)))) == []


def fill(box: Letterbox, count: int, **fields: Any) -> list[str]:
    """Messages to RedStone in one transaction, the newest first; all in the same millisecond."""

    def work(db: Sql) -> list[str]:
        draft = checked(Draft("s", "text", to=["RedStone"], **fields), box.mail.options, is_reply=False)
        known = addressed(db, BACKEND, draft)
        ids = [put(db, known, box.green, box.mail.archive, box.time).id for _ in range(count)]
        db.execute("UPDATE messages SET created_ts = ?", (box.time,))
        return ids

    return box.mail.database.write(work)[::-1]


def pages(
    read: Callable[[str | None], LetterPage[Any] | LetterThread], meanwhile: Callable[[], object] = lambda: None
) -> list[Any]:
    """All pages, one behind the other, with what happens between them; each says rightly how many there are more."""
    found: list[list[Any]] = []
    left, before = [], None
    while True:
        page = read(before)
        found.append(list(page.letters[::-1] if isinstance(page, LetterThread) else page))
        left.append((len(found[-1]), page.more))
        meanwhile()
        before = page.before
        if before is None:
            break
    assert [more for _, more in left] == [sum(size for size, _ in left[at + 1 :]) for at in range(len(left))]
    return [each for page in found for each in page]


def test_an_inbox_of_a_thousand_is_read_to_its_end_in_pages_whatever_comes_meanwhile(box: Letterbox) -> None:
    ids = fill(box, 1000)
    found = pages(lambda before: box.mail.inbox(box.red, InboxQuery(limit=70, before=before)), box.send)
    assert [each.letter.id for each in found] == ids
    assert len(box.mail.inbox(box.red, InboxQuery(limit=1000))) == 1000
    assert box.mail.inbox(box.red, InboxQuery(limit=1000)).more == 15


@on_both
def test_unread_mail_is_read_in_pages_while_it_is_marked_as_read(box: Letterbox) -> None:
    ids = fill(box, 50)
    seen: list[str] = []
    before = None
    while True:
        page = box.mail.inbox(box.red, InboxQuery(unread_only=True, limit=7, before=before))
        seen += [each.letter.id for each in page]
        box.mail.mark_read(box.red, [each.letter.id for each in page])
        if (before := page.before) is None:
            break
    assert seen == ids
    assert page.more == 0


def test_what_came_since_is_read_in_pages_also_when_a_clock_was_set_back(box: Letterbox) -> None:
    first = box.send(subject="seen").created_ts
    later = [box.send(subject=f"s{number}").id for number in range(10)]
    box.time -= 86_400
    later += [box.send(subject=f"back {number}").id for number in range(10)]
    assert max(each.letter.created_ts for each in box.mail.inbox(box.red, InboxQuery(limit=10))) < first
    found = pages(lambda before: box.mail.inbox(box.red, InboxQuery(since_ts=first, limit=3, before=before)))
    assert [each.letter.id for each in found] == later[::-1]
    found = pages(lambda before: box.mail.inbox(box.red, InboxQuery(since_ts=first + 0.0005, limit=3, before=before)))
    assert [each.letter.id for each in found] == later[9::-1]


def test_only_the_end_of_a_list_tells_no_more(box: Letterbox) -> None:
    fill(box, 20)
    whole = box.mail.inbox(box.red, InboxQuery(limit=20))
    assert (len(whole), whole.more, whole.before) == (20, 0, None)
    page = box.mail.inbox(box.red, InboxQuery(limit=19))
    assert (page.more, page.before) == (1, page[-1].letter.id)


def test_a_page_goes_on_only_before_a_message_that_there_is(box: Letterbox) -> None:
    box.send(thread_id="T")
    before = "msg_20251023_ffffffff"
    for read in (
        lambda: box.mail.inbox(box.red, InboxQuery(before=before)),
        lambda: box.mail.outbox(box.green, before=before),
        lambda: box.mail.thread("T", before=before),
    ):
        with pytest.raises(LetterNotFoundError) as caught:
            read()
        assert "before" in caught.value.hint


def test_reading_an_inbox_changes_nothing(box: Letterbox) -> None:
    box.send()
    box.time += 1000
    before = box.mail.whois(BACKEND, "RedStone")
    assert box.mail.inbox(box.red)[0].read_ts is None
    assert box.mail.inbox(box.red)[0].read_ts is None
    assert box.mail.whois(BACKEND, "RedStone") == before


@on_both
def test_who_reads_does_not_wait_for_who_writes(box: Letterbox) -> None:
    sent = box.send()

    def reading_meanwhile(_: Sql) -> list[Delivery]:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(box.mail.inbox, box.red).result(PATIENCE)

    assert [each.letter.id for each in box.mail.database.write(reading_meanwhile)] == [sent.id]


@given(
    mails=st.lists(st.tuples(st.sampled_from(["low", "normal", "high", "urgent"]), st.booleans()), max_size=12),
    since=st.integers(-1, 12),
    limit=st.integers(1, 5),
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_every_filter_together_shows_what_each_alone_would(
    box: Letterbox, mails: list[tuple[str, bool]], since: int, limit: int
) -> None:
    """Compared with a filter in Python over everything."""
    box.mail.database.write(lambda db: db.execute("DELETE FROM message_recipients"))
    sent = [box.send(importance=importance, subject=f"s{number}") for number, (importance, _) in enumerate(mails)]
    box.mail.mark_read(box.red, [each.id for each, (_, is_read) in zip(sent, mails, strict=True) if is_read])
    moment = sent[since].created_ts if 0 <= since < len(sent) else None
    everything = box.mail.inbox(box.red, InboxQuery(limit=1000))
    assert len(everything) == len(mails)
    for urgent, unread in product((False, True), repeat=2):
        query = InboxQuery(since_ts=moment, urgent_only=urgent, unread_only=unread, limit=limit)
        expected = [
            each
            for each in everything
            if (not urgent or each.letter.importance in ("high", "urgent"))
            and (not unread or each.read_ts is None)
            and (moment is None or each.letter.created_ts > moment)
        ]
        assert box.mail.inbox(box.red, query) == expected[:limit]


@in_a_file
@pytest.mark.parametrize(("urgent", "unread", "bodies"), list(product((False, True), repeat=3)))
def test_an_inbox_is_found_by_an_index_and_never_sorted(
    box: Letterbox, urgent: bool, unread: bool, bodies: bool
) -> None:
    query = InboxQuery(urgent_only=urgent, unread_only=unread, include_bodies=bodies)
    bounds = {"owner": 1, "floor": 0, "below": 100, "since": -1, "most": 10}
    plan = explained(box, inboxes.inbox_box(query).sql("messages.seq"), bounds)
    assert plan
    assert all(step.startswith("SEARCH") for step in plan), plan


@pytest.mark.parametrize("limit", [0, -5, 10**9])
def test_a_limit_out_of_range_is_brought_into_it(box: Letterbox, limit: int) -> None:
    box.send()
    assert len(box.mail.inbox(box.red, InboxQuery(limit=limit))) == 1


@pytest.mark.parametrize(
    "fields", [{"limit": "5"}, {"limit": None}, {"limit": True}, {"since_ts": "yesterday"}, {"since_ts": math.nan}]
)
def test_what_is_no_number_is_a_typed_error(box: Letterbox, fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidLetterError) as caught:
        box.mail.inbox(box.red, InboxQuery(**fields))
    assert caught.value.hint


# -- outbox and messages


@on_both
def test_an_outbox_shows_what_somebody_sent_everywhere(box: Letterbox) -> None:
    first = box.send(subject="one")
    box.mail.send(FRONTEND, box.green, Draft("two", "body", to=["BlueLake"]))
    assert [each.subject for each in box.mail.outbox(box.green)] == ["two", "one"]
    assert [each.project for each in box.mail.outbox(box.green, since_ts=first.created_ts)] == [FRONTEND]
    assert box.mail.outbox(box.green, include_bodies=True, limit=1)[0].body == "body"
    assert box.mail.outbox(box.red) == []


def test_an_outbox_is_read_to_its_end_in_pages(box: Letterbox) -> None:
    ids = fill(box, 45)
    found = pages(lambda before: box.mail.outbox(box.green, limit=10, before=before), box.send)
    assert [each.id for each in found] == ids


def test_a_message_is_found_by_its_id_alone(box: Letterbox) -> None:
    sent = box.send(body="all of it")
    assert box.mail.message(sent.id).body == "all of it"
    assert box.mail.message(sent.id, BACKEND) == box.mail.message(sent.id)


def test_a_message_is_not_found_in_another_project(box: Letterbox) -> None:
    sent = box.send()
    with pytest.raises(LetterNotFoundError) as caught:
        box.mail.message(sent.id, FRONTEND)
    assert BACKEND in caught.value.hint
    with pytest.raises(UnknownProjectError):
        box.mail.message(sent.id, "/nowhere")
    with pytest.raises(LetterNotFoundError):
        box.mail.message("msg_20251023_ffffffff")


# -- threads


def test_a_thread_is_its_first_message_and_the_answers_to_it(box: Letterbox) -> None:
    first = box.send(body="root")
    second = box.mail.reply(box.red, first.id, Draft(body="two"))
    box.send(subject="something else")
    third = box.mail.reply(box.green, second.id, Draft(body="three"))
    thread = box.mail.thread(first.id)
    assert [each.id for each in thread.letters] == [first.id, second.id, third.id]
    assert [each.body for each in thread.letters] == ["root", "two", "three"]
    assert (thread.id, thread.project) == (first.id, BACKEND)
    assert box.mail.thread(first.id, BACKEND, include_bodies=False).letters[0].body is None


def test_a_message_that_carries_its_own_id_as_thread_is_shown_once(box: Letterbox) -> None:
    first = box.send()
    box.mail.database.write(lambda db: db.execute("UPDATE messages SET thread_id = id"))
    assert [each.id for each in box.mail.thread(first.id).letters] == [first.id]


@on_both
def test_a_thread_of_two_projects_is_that_of_the_one_where_it_went_on_last(box: Letterbox) -> None:
    box.send(thread_id="TKT-1")
    other = box.mail.send(FRONTEND, box.blue, Draft("there", to=["BlueLake"], thread_id="TKT-1"))
    assert box.mail.thread("TKT-1").project == FRONTEND
    assert [each.id for each in box.mail.thread("TKT-1").letters] == [other.id]
    box.send(thread_id="TKT-1")
    assert box.mail.thread("TKT-1").project == BACKEND
    assert len(box.mail.thread("TKT-1").letters) == 2
    assert len(box.mail.thread("TKT-1", FRONTEND).letters) == 1


def test_of_a_long_thread_the_newest_are_shown(box: Letterbox) -> None:
    first = box.send()
    answers = [box.mail.reply(box.red, first.id, Draft(body=f"{number}")).id for number in range(5)]
    assert [each.id for each in box.mail.thread(first.id, limit=3).letters] == answers[2:]
    assert [each.id for each in box.mail.thread(first.id, limit=6).letters] == [first.id, *answers]


@on_both
def test_a_long_thread_is_read_to_its_beginning_in_pages(box: Letterbox) -> None:
    first = box.send()
    fill(box, 30, thread_id=first.id)
    whole = box.mail.thread(first.id)
    assert (len(whole.letters), whole.letters[0].id, whole.more, whole.before) == (31, first.id, 0, None)
    found = pages(lambda before: box.mail.thread(first.id, limit=10, before=before))
    assert found == list(whole.letters[::-1])
    with pytest.raises(LetterNotFoundError, match="comes before"):
        box.mail.thread(first.id, before=first.id)


@pytest.mark.parametrize("thread_id", ["TKT-404", "", "\ud800"])
def test_a_thread_that_is_not_there_says_so(box: Letterbox, thread_id: str) -> None:
    for project in (None, BACKEND):
        with pytest.raises(LetterNotFoundError) as caught:
            box.mail.thread(thread_id, project)
        assert caught.value.hint


@in_a_file
def test_nothing_that_is_read_walks_through_a_table(box: Letterbox) -> None:
    first = box.send(thread_id="T")
    written, read = statements_of(box.mail.database), statements_of(box.mail.reader)
    box.mail.reply(box.red, first.id, Draft(body="x", idempotency_key="k"))
    box.mail.reply(box.red, first.id, Draft(body="x", idempotency_key="k"))
    box.mail.acknowledge(box.red, first.id)
    box.mail.thread("T")
    box.mail.thread("T", BACKEND)
    box.mail.message(first.id)
    box.mail.outbox(box.green)
    box.mail.inbox(box.red)
    box.mail.acting(BACKEND, "BlueLake")
    box.mail.most_recent("BlueLake")
    box.mail.agents(BACKEND)
    reads = [each for each in (*written, *read) if each.lstrip().startswith(("SELECT", "WITH"))]
    assert len(reads) > 20
    scans = {step for each in reads for step in explained(box, each) if step.startswith("SCAN")}
    # The newest message, the first row from the end; and the rows that the search for a thread's projects itself made.
    assert scans <= {"SCAN messages", "SCAN found", "SCAN CONSTANT ROW"}
    assert not [each for each in reads if "SCAN messages" in explained(box, each) and "DESC LIMIT 1" not in each]


def explained(box: Letterbox, statement: str, parameters: Mapping[str, int] = MappingProxyType({})) -> list[str]:
    return box.mail.database.read(
        lambda db: [row["detail"] for row in db.execute(f"EXPLAIN QUERY PLAN {statement}", dict(parameters))], []
    )


# -- receipts


def test_reading_and_acknowledging_are_noted_once_and_for_the_archive(box: Letterbox) -> None:
    sent = box.send(ack_required=True)
    box.time += 1
    (read,) = box.mail.mark_read(box.red, [sent.id])
    box.time += 1
    acked = box.mail.acknowledge(box.red, sent.id)
    assert (read.read_ts, read.ack_ts) == (box.time - 1, None)
    assert (acked.read_ts, acked.ack_ts) == (box.time - 1, box.time)
    assert json.loads(box.archived()[f"agents/RedStone/receipts/{sent.id}.json"]) == {
        "message_id": sent.id,
        "agent": "RedStone",
        "read": "2025-10-23T15:22:15Z",
        "read_ts": box.time - 1,
        "ack": "2025-10-23T15:22:16Z",
        "ack_ts": box.time,
    }
    assert [job.summary for job in box.jobs()][-2:] == [
        f"read: {sent.id} by RedStone",
        f"acknowledged: {sent.id} by RedStone",
    ]
    count = len(box.jobs())
    box.time += 1
    again = box.mail.acknowledge(box.red, sent.id)
    assert (again.ack_ts, again.job) == (box.time - 1, None)
    assert box.mail.mark_read(box.red, [sent.id, sent.id])[0].job is None
    assert len(box.jobs()) == count


def test_to_acknowledge_is_to_have_read(box: Letterbox) -> None:
    sent = box.send()
    acked = box.mail.acknowledge(box.red, sent.id)
    assert acked.read_ts == acked.ack_ts == box.time
    assert box.mail.inbox(box.red, InboxQuery(unread_only=True)) == []


@on_both
def test_each_recipient_has_its_own_receipt(box: Letterbox) -> None:
    sent = box.send(to=["RedStone", "BlueLake"])
    box.mail.mark_read(box.blue, sent.id)
    assert box.mail.inbox(box.red)[0].read_ts is None
    assert box.mail.inbox(box.blue)[0].read_ts == box.time


@on_both
def test_what_somebody_did_not_receive_it_cannot_acknowledge_and_then_nothing_is_noted(box: Letterbox) -> None:
    sent = box.send(to=["RedStone"])
    for agent, ids in ((box.blue, [sent.id]), (box.green, [sent.id]), (box.red, [sent.id, "msg_x"])):
        with pytest.raises(LetterNotFoundError) as caught:
            box.mail.mark_read(agent, ids)
        assert caught.value.hint
    assert box.mail.inbox(box.red)[0].read_ts is None


# -- more than one answer holds


def letters(box: Letterbox, read: str) -> Sequence[Letter]:
    """All messages with their bodies, the newest first."""
    if read == "inbox":
        return [each.letter for each in box.mail.inbox(box.red, InboxQuery(include_bodies=True, limit=100))]
    if read == "outbox":
        return box.mail.outbox(box.green, include_bodies=True, limit=100)
    return box.mail.thread("T").letters[::-1]


@pytest.mark.parametrize("read", ["inbox", "outbox", "thread"])
def test_the_bodies_of_an_answer_are_bounded_and_no_message_is_missing(box: Letterbox, read: str) -> None:
    for number in range(5):
        box.send(subject=f"s{number}", body="x" * 1_000_000, thread_id="T")
    box.send(subject="s5", body="small", thread_id="T")
    found = letters(box, read)
    assert [letter.subject for letter in found] == [f"s{number}" for number in range(5, -1, -1)]
    assert [letter.left_out for letter in found] == [False] * 5 + [True]
    assert [letter.body is None for letter in found] == [False] * 5 + [True]
    shown = shown_letter(found[-1])
    assert "body_md" not in shown
    assert f"resource://message/{found[-1].id}" in shown["body_left_out"]
    assert box.mail.message(found[-1].id).body == "x" * 1_000_000
    assert summarize_letters(found)["left_out"]["bodies"] == 1


def test_a_body_that_fills_an_answer_alone_is_given(tmp_path: Path) -> None:
    most = inboxes.MOST_TEXT + 1000
    box = Letterbox(tmp_path, MailOptions(max_body=most))
    box.send(subject="s0", body="small")
    box.send(subject="s1", body="x" * most)
    (large, small) = letters(box, "inbox")
    assert (len(large.body or ""), small.left_out) == (most, True)
