"""Sending and answering."""

import json
from pathlib import Path

import pytest
from support.letterbox import BACKEND, FRONTEND, Letterbox
from unit.mail.conftest import in_a_file, on_both

from nanobot_transcript.errors import (
    InvalidLetterError,
    LetterNotFoundError,
    UnknownProjectError,
    UnregisteredAgentError,
)
from nanobot_transcript.sql.contract import Sql
from transcript_mcp.mail.archive import jobs
from transcript_mcp.mail.messages import letters
from transcript_mcp.mail.messages.drafts import checked
from transcript_mcp.mail.messages.frontmatter import parse
from transcript_mcp.mail.values import Draft, InboxQuery, MailOptions, Sent

DAY = "2025/10/23"


def newest(box: Letterbox, name: str, project: str = BACKEND) -> str:
    return box.mail.inbox(box.mail.whois(project, name))[0].letter.id


# -- sending


@on_both
def test_a_message_is_in_every_inbox_when_sending_returns(box: Letterbox) -> None:
    sent = box.send(to=["RedStone"], cc=["BlueLake"], bcc=["GreenCastle"])
    assert sent.recipients == {"to": ("RedStone",), "cc": ("BlueLake",), "bcc": ("GreenCastle",)}
    other = box.opened()
    for agent, kind in ((box.red, "to"), (box.blue, "cc"), (box.green, "bcc")):
        (delivery,) = other.inbox(agent)
        assert (delivery.letter.id, delivery.kind) == (sent.id, kind)
    other.close()


def test_an_id_tells_the_day_and_is_never_given_twice(box: Letterbox) -> None:
    ids = [box.send().id for _ in range(50)]
    assert len(set(ids)) == 50
    assert all(each.startswith("msg_20251023_") and len(each) == 21 for each in ids)


@on_both
def test_an_id_that_is_taken_is_drawn_again(box: Letterbox) -> None:
    first = box.send()
    draft = checked(Draft("another", to=["RedStone"]), box.mail.options, is_reply=False)
    draws = iter([first.id[-8:], first.id[-8:], "00000001"])

    def work(db: Sql) -> Sent:
        known = letters.addressed(db, BACKEND, draft)
        return letters.put(db, known, box.green, box.mail.archive, box.time, draw=lambda: next(draws))

    assert box.mail.database.write(work).id == "msg_20251023_00000001"
    assert box.mail.message(first.id).subject == "Plan"
    assert len(box.mail.inbox(box.red)) == 2


@on_both
def test_the_archive_gets_a_canonical_copy_one_for_the_sender_and_one_for_each_recipient(box: Letterbox) -> None:
    before = box.archived().keys()
    sent = box.send(to=["RedStone"], cc=["BlueLake"])
    files = {path: text for path, text in box.archived().items() if path not in before}
    profile = json.loads(files.pop("agents/BlueLake/profile.json"))
    assert profile["project"] == FRONTEND
    assert files.keys() == {
        f"messages/{DAY}/{sent.id}.md",
        f"agents/GreenCastle/outbox/{DAY}/{sent.id}.md",
        f"agents/RedStone/inbox/{DAY}/{sent.id}.md",
        f"agents/BlueLake/inbox/{DAY}/{sent.id}.md",
    }
    assert len(set(files.values())) == 1
    assert parse(files.popitem()[1]).letter == box.mail.message(sent.id)
    assert box.jobs()[-1].seq == sent.job
    assert box.jobs()[-1].summary == f"mail {sent.id}: GreenCastle -> RedStone, BlueLake: Plan"


def test_a_guests_profile_is_shown_once(box: Letterbox) -> None:
    box.send(to=["BlueLake"])
    box.send(to=["BlueLake"])
    assert [("agents/BlueLake/profile.json" in job.files) for job in box.jobs()][-2:] == [True, False]


def test_nothing_that_is_shared_names_a_bcc_recipient(box: Letterbox) -> None:
    box.new(BACKEND, "SecretOwl")
    before = box.archived().keys()
    sent = box.send(to=["RedStone"], bcc=["SecretOwl"], idempotency_key="k")
    own = f"agents/SecretOwl/inbox/{DAY}/{sent.id}.md"
    files = {path: text for path, text in box.archived().items() if path not in before}
    assert parse(files[own]).bcc == ("SecretOwl",)
    assert not any("SecretOwl" in path or "SecretOwl" in text for path, text in files.items() if path != own)
    assert "SecretOwl" not in box.jobs()[-1].summary
    assert "SecretOwl" not in repr(box.mail.message(sent.id))
    assert "SecretOwl" not in repr(box.mail.inbox(box.red))
    jobs = box.jobs()
    box.mail.acknowledge(box.mail.whois(BACKEND, "SecretOwl"), sent.id)
    assert box.jobs() == jobs


def test_a_bcc_recipient_of_another_project_leaves_no_trace_but_its_copy(box: Letterbox) -> None:
    before = box.archived().keys()
    sent = box.send(to=["RedStone"], bcc=["BlueLake"])
    read = box.mail.acknowledge(box.blue, sent.id)
    assert read.job is None
    assert box.mail.inbox(box.blue)[0].ack_ts == read.ack_ts
    assert "BlueLake" not in [agent.name for agent in box.mail.agents(BACKEND, active_only=False)]
    own = f"agents/BlueLake/inbox/{DAY}/{sent.id}.md"
    files = {path: text for path, text in box.archived().items() if path not in before}
    assert [path for path, text in files.items() if "BlueLake" in path or "BlueLake" in text] == [own]
    assert (parse(files[own]).bcc, parse(files[own]).bcc_project) == (("BlueLake",), FRONTEND)
    box.mail.reply(box.blue, sent.id, Draft(body="I say so myself"))
    assert "BlueLake" in [agent.name for agent in box.mail.agents(BACKEND, active_only=False)]


def test_a_recipient_counts_once_as_the_first_kind_it_is_named_under(box: Letterbox) -> None:
    sent = box.send(to=["RedStone", "RedStone"], cc=["RedStone", "BlueLake"], bcc=["BlueLake"])
    assert sent.recipients == {"to": ("RedStone",), "cc": ("BlueLake",), "bcc": ()}


def test_recipients_stay_in_the_senders_order(box: Letterbox) -> None:
    sent = box.send(to=["BlueLake", "GreenCastle", "RedStone"])
    assert box.mail.message(sent.id).to == ("BlueLake", "GreenCastle", "RedStone")


def test_one_name_alone_is_a_list_of_one_and_null_is_an_empty_list(box: Letterbox) -> None:
    assert box.send(to="RedStone", cc=None, bcc=None).recipients["to"] == ("RedStone",)


def test_files_that_belong_to_a_message_are_named_in_its_job(box: Letterbox) -> None:
    attachment = {"type": "file", "media_type": "image/webp", "path": "attachments/2a/2a6f.webp"}
    sent = box.send(attachments=[attachment], present=["attachments/2a/2a6f.webp"])
    assert sent.attachments == (attachment,)
    assert box.jobs()[-1].present == ["attachments/2a/2a6f.webp"]


@in_a_file
def test_subject_and_body_are_under_the_search(box: Letterbox) -> None:
    sent = box.send(subject="POL-358", body="发布窗口")
    found = box.mail.reader.read(
        lambda db: db.execute("SELECT rowid FROM fts_messages WHERE fts_messages MATCH '\"发 布\"'").fetchall(), []
    )
    assert len(found) == 1
    assert box.mail.message(sent.id).body == "发布窗口"


def test_a_months_folder_when_that_is_set(tmp_path: Path) -> None:
    box = Letterbox(tmp_path / "store", MailOptions(shard="month"))
    sent = box.send()
    assert f"messages/2025/10/{sent.id}.md" in box.archived()


def test_times_rise_with_the_messages_though_the_clock_stands_or_goes_back(box: Letterbox) -> None:
    first = box.send()
    second = box.send()
    box.time -= 100
    third = box.send()
    assert first.created_ts < second.created_ts < third.created_ts
    assert third.created_ts - first.created_ts < 0.01


def test_a_clock_that_had_been_far_ahead_does_not_date_what_comes_after(box: Letterbox) -> None:
    box.time += 10 * 86_400
    box.send()
    box.time -= 10 * 86_400
    assert box.send().created_ts == box.time


# -- what is refused


@on_both
@pytest.mark.parametrize("kind", ["to", "cc", "bcc"])
def test_an_unknown_recipient_refuses_the_message_and_lists_close_names(box: Letterbox, kind: str) -> None:
    with pytest.raises(UnregisteredAgentError) as caught:
        box.send(**{"to": ["RedStone"], kind: ["RedStone", "GreenCastel"]})
    assert "GreenCastle" in caught.value.hint
    assert kind in str(caught.value)
    assert (box.count("messages"), box.count("message_recipients"), box.mail.inbox(box.red)) == (0, 0, [])


def test_an_unknown_project_refuses_the_message(box: Letterbox) -> None:
    with pytest.raises(UnknownProjectError):
        box.mail.send("/nowhere", box.green, Draft("s", to=["RedStone"]))


@pytest.mark.parametrize(
    "fields",
    [
        {"to": []},
        {"to": None},
        {"to": 7},
        {"to": [7]},
        {"to": [""]},
        {"to": [None]},
        {"to": [f"A{number}" for number in range(101)]},
        {"subject": ""},
        {"subject": "  "},
        {"subject": None},
        {"subject": "two\nlines"},
        {"subject": "bell\x07"},
        {"subject": "turned \u202e round"},
        {"subject": "x" * 501},
        {"body": None},
        {"body": b"bytes"},
        {"body": "x" * (1024 * 1024 + 1)},
        {"body": "长" * (1024 * 1024 // 3 + 1)},
        {"body": "nul\0"},
        {"importance": "loud"},
        {"importance": None},
        {"importance": []},
        {"ack_required": "yes"},
        {"thread_id": ""},
        {"thread_id": "a\nb"},
        {"thread_id": "x" * 201},
        {"idempotency_key": ""},
        {"idempotency_key": "x" * 201},
        pytest.param({"attachments": [{"path": object()}]}, id="an object"),
        {"attachments": [{"path": "\ud800"}]},
    ],
    ids=repr,
)
def test_what_cannot_be_sent_is_a_typed_error(box: Letterbox, fields: dict[str, object]) -> None:
    with pytest.raises(InvalidLetterError) as caught:
        box.send(**fields)  # type: ignore[arg-type]
    assert str(caught.value)
    assert box.count("messages") == 0


def test_the_limits_themselves_are_allowed(box: Letterbox) -> None:
    for number in range(99):
        box.new(BACKEND, f"A{number}")
    everybody = [f"A{number}" for number in range(99)]
    sent = box.send(to=["RedStone", *everybody], subject="x" * 500, body="x" * 1024 * 1024, thread_id="t" * 200)
    assert len(sent.recipients["to"]) == 100
    assert len(box.mail.message(sent.id).body or "") == 1024 * 1024


def test_halves_of_characters_in_a_text_are_replaced(box: Letterbox) -> None:
    sent = box.send(subject="a\ud83d\ude00b", body="c\ud83dd")
    assert (box.mail.message(sent.id).subject, box.mail.message(sent.id).body) == ("a😀b", "c\ufffdd")


@in_a_file
def test_when_the_archives_job_cannot_be_noted_nobody_gets_the_message(box: Letterbox) -> None:
    def broken(db: Sql) -> None:
        db.execute("CREATE TRIGGER no BEFORE INSERT ON archive_jobs BEGIN SELECT RAISE(ABORT, 'no'); END")

    box.mail.database.write(broken)
    with pytest.raises(Exception, match="no"):
        box.send(to=["BlueLake"])
    assert [box.count(table) for table in ("messages", "message_recipients", "guests")] == [0, 0, 0]


# -- once, however often it is sent


@on_both
def test_the_same_key_and_message_give_the_first_result_again(box: Letterbox) -> None:
    first = box.send(to=["RedStone"], cc=["BlueLake"], bcc=["GreenCastle"], idempotency_key="k")
    box.time += 60
    again = box.send(to=["RedStone"], cc=["BlueLake"], bcc=["GreenCastle"], idempotency_key="k")
    assert again.repeated
    assert not first.repeated
    for field in ("id", "created_ts", "recipients", "subject", "thread_id", "attachments", "job"):
        assert getattr(again, field) == getattr(first, field)
    assert (box.count("messages"), len(box.mail.inbox(box.red))) == (1, 1)


def test_who_sends_again_waits_for_the_archive_only_while_there_is_something_to_wait_for(box: Letterbox) -> None:
    first = box.send(idempotency_key="k")
    later = box.send()
    assert box.send(idempotency_key="k").job == later.job
    seqs = [job.seq for job in box.jobs()]
    box.mail.database.write(lambda db: jobs.finish(db, seqs, "0" * 40, box.time))
    again = box.send(idempotency_key="k")
    assert (again.id, again.job) == (first.id, 0)
    assert box.mail.reader.read(lambda db: jobs.outcome(db, again.job), None) == ""


@on_both
@pytest.mark.parametrize(
    "other",
    [
        {"subject": "Plan B"},
        {"body": "other"},
        {"to": ["BlueLake"]},
        {"cc": ["BlueLake"]},
        {"importance": "high"},
        {"ack_required": True},
        {"thread_id": "T"},
    ],
    ids=repr,
)
def test_the_same_key_with_another_message_is_refused(box: Letterbox, other: dict[str, object]) -> None:
    first = box.send(idempotency_key="k")
    with pytest.raises(InvalidLetterError) as caught:
        box.send(idempotency_key="k", **other)  # type: ignore[arg-type]
    assert first.id in str(caught.value)
    assert box.count("messages") == 1


def test_keys_are_each_senders_own(box: Letterbox) -> None:
    box.send(to=["RedStone"], idempotency_key="k")
    assert not box.mail.send(BACKEND, box.red, Draft("Plan", "text", to=["RedStone"], idempotency_key="k")).repeated


def test_what_was_added_to_a_body_on_the_way_does_not_make_it_another_message(box: Letterbox) -> None:
    first = box.send(body="text and a quote", original_body="text", idempotency_key="k")
    again = box.send(body="text and another quote", original_body="text", idempotency_key="k")
    assert again.id == first.id


def test_an_answer_with_a_key_is_given_once(box: Letterbox) -> None:
    sent = box.send()
    first = box.mail.reply(box.red, sent.id, Draft(body="Yes", idempotency_key="k"))
    again = box.mail.reply(box.red, sent.id, Draft(body="Yes", idempotency_key="k"))
    assert (again.id, again.repeated) == (first.id, True)
    other = box.send()
    with pytest.raises(InvalidLetterError):
        box.mail.reply(box.red, other.id, Draft(body="Yes", idempotency_key="k"))


def test_a_message_whose_fingerprint_is_not_known_any_more_is_known_by_what_it_says(box: Letterbox) -> None:
    first = box.send(idempotency_key="k")
    box.mail.database.write(lambda db: db.execute("UPDATE messages SET digest = NULL"))
    assert box.send(idempotency_key="k").id == first.id
    quoting = {"body": "text\n\n> what the group says now", "original_body": "text"}
    assert box.send(**quoting, idempotency_key="k").id == first.id
    with pytest.raises(InvalidLetterError, match="another message"):
        box.send(body="whatever", idempotency_key="k")


# -- across projects


def test_a_message_belongs_to_the_project_it_was_sent_in_and_its_people_to_theirs(box: Letterbox) -> None:
    sent = box.send(to=["BlueLake"])
    assert sent.project == BACKEND
    assert box.archived(FRONTEND).keys() == {"project.json", "agents/BlueLake/profile.json"}
    by_home = box.mail.acting(FRONTEND, "BlueLake")
    assert box.mail.inbox(by_home) == box.mail.inbox(box.mail.acting(BACKEND, "BlueLake"))
    answer = box.mail.reply(by_home, sent.id, Draft(body="Questions"))
    assert (answer.project, answer.thread_id) == (BACKEND, sent.id)


@on_both
def test_a_stranger_sends_into_a_project_under_the_name_of_its_home(box: Letterbox) -> None:
    sender = box.mail.acting(BACKEND, "BlueLake", parameter="from_agent")
    box.mail.send(BACKEND, sender, Draft("Hello", to=["RedStone"]))
    assert box.mail.inbox(box.red)[0].letter.sender == "BlueLake"
    assert "agents/BlueLake/profile.json" in box.archived()


def test_in_the_mail_of_a_project_a_name_means_one_agent(box: Letterbox) -> None:
    sent = box.send(to=["BlueLake"])
    twin = box.new("/third", "bluelake")
    with pytest.raises(InvalidLetterError, match="somebody else has this name"):
        box.mail.reply(twin, sent.id, Draft(body="me too"))
    assert box.count("messages") == 1


# -- answering


def test_an_answer_goes_to_who_wrote_in_the_same_thread(box: Letterbox) -> None:
    sent = box.send(to=["RedStone"], cc=["BlueLake"])
    answer = box.mail.reply(box.red, sent.id, Draft(body="Yes"))
    assert answer.subject == "Re: Plan"
    assert answer.thread_id == sent.id
    assert answer.recipients == {"to": ("GreenCastle",), "cc": (), "bcc": ()}
    assert box.mail.message(answer.id).reply_to == sent.id
    third = box.mail.reply(box.green, answer.id, Draft(body="Good"))
    assert (third.subject, third.thread_id) == ("Re: Plan", sent.id)


def test_an_answer_inherits_a_thread_that_was_given(box: Letterbox) -> None:
    sent = box.send(thread_id="TKT-123")
    assert box.mail.reply(box.red, sent.id, Draft(body="Yes")).thread_id == "TKT-123"


@on_both
def test_whoever_answers_itself_writes_to_the_same_people_again(box: Letterbox) -> None:
    sent = box.send(to=["RedStone", "BlueLake"])
    answer = box.mail.reply(box.green, sent.id, Draft(body="One more thing"))
    assert set(answer.recipients["to"]) == {"RedStone", "BlueLake"}


def test_an_answer_may_name_its_own_people_and_subject(box: Letterbox) -> None:
    sent = box.send()
    answer = box.mail.reply(box.red, sent.id, Draft("New subject", "x", to=["BlueLake"], cc=["GreenCastle"]))
    assert answer.subject == "New subject"
    assert answer.recipients == {"to": ("BlueLake",), "cc": ("GreenCastle",), "bcc": ()}


def test_who_is_answered_is_not_also_copied(box: Letterbox) -> None:
    sent = box.send()
    answer = box.mail.reply(box.red, sent.id, Draft(body="x", cc=["GreenCastle", "BlueLake"]))
    assert answer.recipients == {"to": ("GreenCastle",), "cc": ("BlueLake",), "bcc": ()}


def test_a_bcc_recipient_is_not_shown_by_an_answer_of_the_sender(box: Letterbox) -> None:
    sent = box.send(to=["RedStone"], bcc=["BlueLake"])
    assert box.mail.reply(box.green, sent.id, Draft(body="more")).recipients["to"] == ("RedStone",)


def test_a_long_subject_stays_within_its_limit_when_it_is_answered(box: Letterbox) -> None:
    sent = box.send(subject="x" * 500)
    answer = box.mail.reply(box.red, sent.id, Draft(body="y"))
    assert len(answer.subject) == 500
    assert answer.subject.startswith("Re: x")


@pytest.mark.parametrize("message_id", ["msg_20251023_ffffffff", "", "\ud800", "'; DROP TABLE messages"])
def test_a_message_that_is_not_there_cannot_be_answered(box: Letterbox, message_id: str) -> None:
    with pytest.raises(LetterNotFoundError):
        box.mail.reply(box.red, message_id, Draft(body="x"))


def test_urgent_mail_is_found_as_such_when_it_is_high_or_urgent(box: Letterbox) -> None:
    for importance in ("low", "normal", "high", "urgent"):
        box.send(subject=importance, importance=importance)
    found = box.mail.inbox(box.red, InboxQuery(urgent_only=True))
    assert [each.letter.subject for each in found] == ["urgent", "high"]
    assert newest(box, "RedStone") == found[0].letter.id
