"""What killed processes leave behind is put in order."""

import fcntl
import os
import sys
import time
from pathlib import Path

import msgspec
import pytest
from support.mailboxes import Office

from transcript_mcp.filebox import Sent
from transcript_mcp.filebox.delivery_journal import Intent, announced

T2 = 1751271324616


def leave(office: Office, agent: str, text: str, name: str = "x.md") -> Path:
    """What a process leaves that was killed while it delivered: the sender's copy."""
    pending = office.folder(agent, ".state") / "sending"
    pending.mkdir(parents=True, exist_ok=True)
    (pending / name).write_bytes(text.encode())
    return pending / name


def leave_note(office: Office, agent: str, intent: Intent) -> Path:
    """What a process of an earlier version leaves."""
    return leave(office, agent, msgspec.json.encode(intent).decode(), "x.json")


def sent_mail(office: Office) -> Sent:
    return office.mailbox("qa_agent").send("dev_agent", "BR", "slow", "text")


@pytest.mark.parametrize("version", ["this", "earlier"])
def test_a_mail_that_arrived_gets_its_copy_in_the_outbox(office: Office, version: str) -> None:
    sent = sent_mail(office)
    (office.folder("qa_agent", "outbox") / sent.file).unlink()
    if version == "this":
        note = leave(office, "qa_agent", office.text("dev_agent", "inbox", sent.file))
    else:
        note = leave_note(office, "qa_agent", Intent(sent.id, "dev_agent", 1751271323616))
    office.mailbox("qa_agent")
    assert office.text("qa_agent", "outbox", sent.file) == office.text("dev_agent", "inbox", sent.file)
    assert not note.exists()


@pytest.mark.parametrize("version", ["this", "earlier"])
def test_a_reply_that_arrived_gets_its_copy_and_the_old_ones_go(office: Office, version: str) -> None:
    sent = sent_mail(office)
    before = office.text("dev_agent", "inbox", sent.file)
    office.mailbox("dev_agent").send("qa_agent", "ACK", "", "reply", sent.id)
    reply = office.text("qa_agent", "inbox", sent.file)
    (office.folder("dev_agent", "outbox") / sent.file).unlink()
    (office.folder("dev_agent", "inbox") / sent.file).write_text(before)
    (office.folder("qa_agent", "outbox") / sent.file).write_text(before)
    if version == "this":
        leave(office, "dev_agent", reply)
    else:
        leave_note(office, "dev_agent", Intent(sent.id, "qa_agent", T2))
    office.mailbox("dev_agent")
    assert office.everywhere("dev_agent") == [("outbox", sent.file)]
    assert office.everywhere("qa_agent") == [("inbox", sent.file)]
    assert office.text("dev_agent", "outbox", sent.file) == reply


def test_a_mail_that_never_arrived_was_never_sent(office: Office) -> None:
    sent = sent_mail(office)
    text = office.text("dev_agent", "inbox", sent.file).replace(sent.id, "1b1d8fc0-034e-4fd4-874b-a8d39f95ba68")
    note = leave(office, "qa_agent", text)
    office.mailbox("qa_agent")
    assert office.everywhere("qa_agent") == [("outbox", sent.file)]
    assert office.everywhere("dev_agent") == [("inbox", sent.file)]
    assert not note.exists()


def test_an_old_copy_that_knows_something_more_stays(office: Office) -> None:
    sent = sent_mail(office)
    before = office.text("dev_agent", "inbox", sent.file)
    office.mailbox("dev_agent").send("qa_agent", "ACK", "", "reply", sent.id)
    (office.folder("dev_agent", "outbox") / sent.file).unlink()
    (office.folder("dev_agent", "inbox") / sent.file).write_text(before + "\n\na note by hand")
    leave(office, "dev_agent", office.text("qa_agent", "inbox", sent.file))
    office.mailbox("dev_agent")
    assert office.everywhere("dev_agent") == [("inbox", sent.file), ("outbox", sent.file)]


@pytest.mark.parametrize("note", ["", "\n\na note by hand"])
def test_who_went_on_with_a_thread_of_its_own_keeps_it_in_the_outbox(office: Office, note: str) -> None:
    sent = sent_mail(office)
    before = office.text("qa_agent", "outbox", sent.file)
    office.mailbox("qa_agent").send("dev_agent", "BR", "", "and more", sent.id)
    arrived = office.text("dev_agent", "inbox", sent.file)
    (office.folder("qa_agent", "outbox") / sent.file).write_text(before + note)
    leave(office, "qa_agent", arrived)
    office.mailbox("qa_agent")
    assert office.everywhere("qa_agent") == [("outbox", sent.file)]
    kept = office.text("qa_agent", "outbox", sent.file)
    assert "and more" in kept
    assert "text" in kept
    assert note in kept
    assert office.text("dev_agent", "inbox", sent.file) == arrived


def test_a_mail_to_oneself_is_completed_too(office: Office) -> None:
    sent = office.mailbox("qa_agent").send("qa_agent", "INFO", "note", "text")
    (office.folder("qa_agent", "outbox") / sent.file).unlink()
    leave(office, "qa_agent", office.text("qa_agent", "inbox", sent.file))
    office.mailbox("qa_agent")
    assert office.everywhere("qa_agent") == [("inbox", sent.file), ("outbox", sent.file)]


def test_a_delivery_that_is_going_on_is_left_alone(office: Office) -> None:
    folder = office.mailbox("qa_agent").folder
    with folder.entered() as opened, announced(opened, b"a mail that is not there yet"):
        office.mailbox("qa_agent")
        pending = office.folder("qa_agent", ".state") / "sending"
        assert len(list(pending.iterdir())) == 1
    assert list(pending.iterdir()) == []


def test_a_delivery_goes_on_though_somebody_takes_its_beginning_for_an_abandoned_one(office: Office) -> None:
    """Between its making and its locking the sender's copy looks like one that nobody holds."""
    pending = office.folder("qa_agent", ".state") / "sending"
    held: list[int] = []

    def look(_frame: object, event: str, function: object) -> None:
        if event == "c_return" and function is os.open and not held and pending.is_dir():
            for file in pending.iterdir():
                held.append(os.open(file, os.O_RDONLY))
                fcntl.flock(held[0], fcntl.LOCK_EX)

    qa = office.mailbox("qa_agent")
    sys.setprofile(look)
    try:
        sent = qa.send("dev_agent", "BR", "slow", "text")
    finally:
        sys.setprofile(None)
    assert len(held) == len(list(pending.iterdir())) == 1
    assert office.text("qa_agent", "outbox", sent.file) == office.text("dev_agent", "inbox", sent.file)
    os.close(held[0])
    office.mailbox("qa_agent")
    assert list(pending.iterdir()) == []


HALF = "# BR: x\n\n**Message ID:** 1b1d8fc0-034e-4fd4-874b-a8d39f95ba68\n**Sender:** qa_agent\n**Receiver:** dev_ag"


@pytest.mark.parametrize("text", ["", "garbage", '{"id": 3}', HALF])
def test_what_cannot_be_understood_or_was_killed_while_it_was_written_is_removed(office: Office, text: str) -> None:
    note = leave(office, "qa_agent", text)
    office.mailbox("qa_agent")
    assert not note.exists()


def test_a_note_about_an_agent_that_is_unknown_now_waits(office: Office) -> None:
    sent = sent_mail(office)
    text = office.text("qa_agent", "outbox", sent.file).replace("dev_agent", "somebody")
    note = leave(office, "qa_agent", text)
    office.mailbox("qa_agent")
    assert note.exists()


def test_what_killed_writers_left_is_swept_away_after_an_hour(office: Office) -> None:
    workshop = office.folder("qa_agent", ".state") / "tmp"
    workshop.mkdir(parents=True)
    old, new = workshop / "1-old", workshop / "2-new"
    for file in (old, new):
        file.write_text("half a ma")
    os.utime(old, (time.time() - 7200,) * 2)
    office.mailbox("qa_agent")
    assert [file.name for file in workshop.iterdir()] == ["2-new"]


def test_a_mailbox_that_cannot_be_put_in_order_can_still_be_read(
    office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    sent = sent_mail(office)
    pending = office.folder("dev_agent", ".state") / "sending"
    pending.parent.mkdir(exist_ok=True)
    pending.touch()
    assert office.mailbox("dev_agent").names("inbox") == [sent.file]
    assert "cannot be repaired" in caplog.text
