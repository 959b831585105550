"""What is known of a box, and when it is looked at again."""

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.mailboxes import Office, plant

from nanobot_transcript.errors import MailboxUnavailableError
from transcript_mcp.filebox import box
from transcript_mcp.filebox.box import BoxView, Listing, look_at
from transcript_mcp.filebox.folders import MailboxFolder

LONG_AGO = 1_700_000_000_000_000_000


def mail_id(number: int) -> str:
    return f"{number:08x}-034e-4fd4-874b-a8d39f95ba68"


def fill(inbox: Path, count: int) -> list[str]:
    return [
        plant(
            inbox,
            f"2025-06-30_0815-BR-mail-{number:08x}.md",
            message_id=mail_id(number),
            timestamp=f"2025-06-30T08:15:{number // 1000:02d}.{number % 1000:03d}Z",
        ).name
        for number in range(count)
    ]


@pytest.fixture
def folder(office: Office) -> MailboxFolder:
    return office.mailbox("dev_agent").folder


@pytest.fixture
def make_view(folder: MailboxFolder) -> Callable[[], BoxView]:
    return lambda: BoxView(folder, "inbox")


def index_file(office: Office) -> Path:
    return office.folder("dev_agent", ".state") / "inbox.index"


def test_what_comes_and_goes_is_seen(office: Office, make_view: Callable[[], BoxView]) -> None:
    view, inbox = make_view(), office.folder("dev_agent", "inbox")
    assert view.mails() == []
    names = fill(inbox, 3)
    assert [mail.file for mail in view.mails()] == names[::-1]
    (inbox / names[1]).unlink()
    assert [mail.file for mail in view.mails()] == [names[2], names[0]]


def test_what_comes_within_one_tick_of_the_clock_is_seen(office: Office, make_view: Callable[[], BoxView]) -> None:
    """The folder's time does not show it, so a folder that has just changed is looked at again."""
    view, inbox = make_view(), office.folder("dev_agent", "inbox")
    fill(inbox, 1)
    assert len(view.mails()) == 1
    before = inbox.stat()
    fill(inbox, 2)
    os.utime(inbox, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert len(view.mails()) == 2
    assert view.ending("-00000001.md") == {"2025-06-30_0815-BR-mail-00000001.md"}


def test_a_folder_that_has_been_quiet_is_not_listed_again(office: Office, make_view: Callable[[], BoxView]) -> None:
    view, inbox = make_view(), office.folder("dev_agent", "inbox")
    fill(inbox, 1)
    os.utime(inbox, ns=(LONG_AGO, LONG_AGO))
    assert len(view.mails()) == 1
    fill(inbox, 2)
    os.utime(inbox, ns=(LONG_AGO, LONG_AGO))  # nobody but a test can undo the time of a change
    assert len(view.mails()) == 1
    os.utime(inbox)
    assert len(view.mails()) == 2


def test_a_mail_that_was_changed_in_place_is_read_again(office: Office, make_view: Callable[[], BoxView]) -> None:
    view, inbox = make_view(), office.folder("dev_agent", "inbox")
    (name,) = fill(inbox, 1)
    os.utime(inbox, ns=(LONG_AGO, LONG_AGO))
    assert view.mails()[0].title == "planted"
    plant(inbox, name, message_id=mail_id(0), timestamp="2025-06-30T09:15:00.000Z", title="changed")
    assert view.mails()[0].title == "changed"


def test_endings_follow_what_comes_and_goes(office: Office, make_view: Callable[[], BoxView]) -> None:
    view, inbox = make_view(), office.folder("dev_agent", "inbox")
    names = fill(inbox, 2)
    assert view.ending("-00000000.md") == {names[0]}
    (inbox / names[0]).rename(inbox / "renamed.md")
    assert view.ending("-00000000.md", fresh=False) == {names[0]}
    assert view.ending("-00000000.md") == set()
    assert view.has_odd_names()


def test_a_new_process_reads_the_index_and_no_mails(
    office: Office, folder: MailboxFolder, make_view: Callable[[], BoxView]
) -> None:
    names = fill(office.folder("dev_agent", "inbox"), 250)
    first = make_view().mails()
    assert box.load(folder, "inbox").keys() == set(names)
    path = office.folder("dev_agent", "inbox") / names[0]
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"planted", b"unseen!"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # nothing tells of the change but the text itself
    assert make_view().mails() == first


def test_a_mail_is_read_again_when_the_index_knows_an_older_one(
    office: Office, make_view: Callable[[], BoxView]
) -> None:
    inbox = office.folder("dev_agent", "inbox")
    names = fill(inbox, 250)
    make_view().mails()
    plant(inbox, names[7], message_id=mail_id(7), timestamp="2025-07-30T08:15:00.000Z", title="changed")
    assert make_view().mails()[0].title == "changed"


@pytest.mark.parametrize("body", [b"", b"garbage", b"\x92\x63\x90", b"\xff" * 50, None])
def test_a_lost_or_broken_index_is_built_anew(
    office: Office, make_view: Callable[[], BoxView], body: bytes | None
) -> None:
    fill(office.folder("dev_agent", "inbox"), 250)
    make_view().mails()
    file = index_file(office)
    good = file.read_bytes()
    file.unlink() if body is None else file.write_bytes(body)
    assert len(make_view().mails()) == 250
    assert len(file.read_bytes()) == len(good)


def test_a_small_box_needs_no_index(office: Office, make_view: Callable[[], BoxView]) -> None:
    fill(office.folder("dev_agent", "inbox"), 3)
    make_view().mails()
    assert not index_file(office).exists()


def test_an_index_that_cannot_be_written_costs_nothing_else(
    office: Office, make_view: Callable[[], BoxView], caplog: pytest.LogCaptureFixture
) -> None:
    fill(office.folder("dev_agent", "inbox"), 250)
    office.folder("dev_agent", ".state").touch()
    assert len(make_view().mails()) == 250
    assert "was not saved" in caplog.text


def test_a_folder_that_cannot_be_listed_is_told_in_our_words(office: Office, folder: MailboxFolder) -> None:
    fill(office.folder("dev_agent", "inbox"), 1)
    armed = [True]

    def refuse(event: str, _: object) -> None:
        if event == "os.scandir" and armed:
            armed.clear()
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    sys.addaudithook(refuse)  # for good: Python has no way to take it out again
    listing = Listing(folder, "inbox")
    with pytest.raises(MailboxUnavailableError, match="cannot look into inbox: Too many open files"):
        listing.refresh()
    assert len(listing.refresh().came) == 1


def test_a_file_that_vanishes_while_it_is_looked_at_is_left_out(office: Office) -> None:
    inbox = office.folder("dev_agent", "inbox")
    inbox.mkdir(parents=True)
    with office.mailbox("dev_agent").folder.opened("inbox") as descriptor:
        assert look_at(descriptor, "gone.md") is None
