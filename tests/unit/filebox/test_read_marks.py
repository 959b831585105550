"""What has been read."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.mailboxes import Office

from transcript_mcp.filebox.read_marks import ReadMarks
from transcript_mcp.filebox.values import Mail


def mail(number: int, time: str = "2025-06-30T08:15:22.616Z") -> Mail:
    return Mail(f"{number}.md", (1, 2, 3), 0, id=f"id {number}", timestamp=time)


@pytest.fixture
def make_marks(office: Office) -> Callable[[], ReadMarks]:
    folder = office.mailbox("dev_agent").folder
    return lambda: ReadMarks(folder)


@pytest.fixture
def file(office: Office) -> Path:
    return office.folder("dev_agent", ".state") / "read.jsonl"


def test_a_mark_holds_for_the_thread_as_it_was(make_marks: Callable[[], ReadMarks]) -> None:
    marks = make_marks()
    marks.mark([mail(1)])
    later = mail(1, "2025-06-30T09:15:22.616Z")
    assert marks.unread([mail(1), mail(2), later]) == [mail(2), later]


def test_processes_see_each_others_marks(make_marks: Callable[[], ReadMarks]) -> None:
    one, other = make_marks(), make_marks()
    assert one.unread([mail(1)]) == [mail(1)]
    other.mark([mail(1), mail(2)])
    assert one.unread([mail(1), mail(2), mail(3)]) == [mail(3)]


def test_a_mail_is_marked_once(make_marks: Callable[[], ReadMarks], file: Path) -> None:
    marks = make_marks()
    for _ in range(5):
        marks.mark([mail(1)])
    assert file.read_bytes().count(b"\n") == 1


def test_lines_that_cannot_be_read_mark_nothing(make_marks: Callable[[], ReadMarks], file: Path) -> None:
    make_marks().mark([mail(1)])
    with file.open("ab") as stream:
        stream.write(b'garbage\n[1,2]\n["id 2"]\n\xff\n["id 3","2025-06-30T08:15:22.6')
    marks = make_marks()
    assert marks.unread([mail(1), mail(2), mail(3)]) == [mail(2), mail(3)]
    marks.mark([mail(4)])
    marks.mark([mail(5)])
    assert make_marks().unread([mail(1), mail(4), mail(5)]) == []


def test_lost_marks_make_mail_unread_and_nothing_worse(make_marks: Callable[[], ReadMarks], file: Path) -> None:
    marks = make_marks()
    marks.mark([mail(1)])
    file.unlink()
    assert marks.unread([mail(1)]) == [mail(1)]
    marks.mark([mail(1)])
    assert make_marks().unread([mail(1)]) == []


def test_tidying_forgets_what_has_left_the_inbox(make_marks: Callable[[], ReadMarks], file: Path) -> None:
    marks, other = make_marks(), make_marks()
    mails = [mail(number) for number in range(2100)]
    marks.mark(mails)
    other.unread(mails)
    assert other.crowded
    marks.tidy(mails[:5])
    assert file.read_bytes().count(b"\n") == 5
    assert marks.unread(mails) == other.unread(mails) == make_marks().unread(mails) == mails[5:]
    assert not make_marks().crowded


def test_tidying_keeps_marks_that_are_in_use(make_marks: Callable[[], ReadMarks]) -> None:
    marks = make_marks()
    mails = [mail(number) for number in range(2100)]
    marks.mark(mails)
    marks.tidy(mails)
    assert make_marks().unread(mails) == []


def test_moving_mail_tidies_when_there_are_many_marks(office: Office, file: Path) -> None:
    dev = office.mailbox("dev_agent")
    sent = office.mailbox("qa_agent").send("dev_agent", "INFO", "mail", "text")
    ReadMarks(dev.folder).mark([mail(number) for number in range(2100)])
    dev.page("inbox", unread=True)
    dev.resolve(sent.file)
    assert file.read_bytes() == b""


def test_reading_tidies_too_when_there_are_many_marks(office: Office, file: Path) -> None:
    dev = office.mailbox("dev_agent")
    sent = office.mailbox("qa_agent").send("dev_agent", "INFO", "mail", "text")
    ReadMarks(dev.folder).mark([mail(number) for number in range(2100)])
    dev.page("inbox", unread=True)
    dev.read("inbox", sent.file)
    dev.send("qa_agent", "ACK", "", "read and answered, never resolved", sent.id)
    assert file.read_bytes().count(b"\n") <= 1


def test_marks_that_are_all_in_use_are_not_tidied_again_and_again(make_marks: Callable[[], ReadMarks]) -> None:
    marks = make_marks()
    mails = [mail(number) for number in range(2100)]
    marks.mark(mails)
    marks.unread([])
    assert marks.crowded
    marks.tidy(mails)
    assert not marks.crowded
