"""Waiting for mail."""

import asyncio
import os
import time
from typing import TYPE_CHECKING

import pytest
from support.mailboxes import Office, plant
from support.waiting import PATIENCE, until
from unit.filebox.conftest import Glances

from nanobot_transcript.errors import MailboxUnavailableError
from transcript_mcp.filebox.wait import wait_for_mail

if TYPE_CHECKING:
    from transcript_mcp.filebox import Mailbox


async def test_mail_that_lies_there_unread_is_there_at_once(office: Office) -> None:
    sent = office.mailbox("qa_agent").send("dev_agent", "INFO", "mail", "text")
    page = await wait_for_mail(office.mailbox("dev_agent"), timeout=0)
    assert [mail.id for mail in page.mails] == [sent.id]


async def test_mail_that_was_read_is_not_waited_for_nor_taken_for_new(office: Office) -> None:
    sent = office.mailbox("qa_agent").send("dev_agent", "INFO", "mail", "text")
    dev = office.mailbox("dev_agent")
    dev.read("inbox", sent.file)
    assert (await wait_for_mail(dev, timeout=0.3)).mails == []


async def test_mail_that_arrives_ends_the_wait(office: Office) -> None:
    dev = office.mailbox("dev_agent")
    waiter = asyncio.create_task(wait_for_mail(dev, timeout=PATIENCE))
    await asyncio.sleep(0)
    office.mailbox("qa_agent").send("dev_agent", "INFO", "new", "text")
    page = await asyncio.wait_for(waiter, PATIENCE)
    assert [mail.title for mail in page.mails] == ["new"]


async def test_a_thread_that_goes_on_ends_the_wait(office: Office) -> None:
    qa, dev = office.mailbox("qa_agent"), office.mailbox("dev_agent")
    sent = qa.send("dev_agent", "INFO", "mail", "text")
    dev.read("inbox", sent.file)
    waiter = asyncio.create_task(wait_for_mail(dev, timeout=PATIENCE))
    await asyncio.sleep(0)
    qa.send("dev_agent", "INFO", "", "more", sent.id)
    assert [mail.id for mail in (await asyncio.wait_for(waiter, PATIENCE)).mails] == [sent.id]


async def test_a_mail_written_over_in_place_ends_the_wait(office: Office) -> None:
    inbox = office.folder("dev_agent", "inbox")
    plant(inbox, "a.md", message_id="1", timestamp="2025-06-30T08:15:00.000Z")
    dev: Mailbox = office.mailbox("dev_agent")
    dev.read("inbox", "a.md")
    waiter = asyncio.create_task(wait_for_mail(dev, timeout=PATIENCE))
    await asyncio.sleep(0)
    plant(inbox, "a.md", message_id="1", timestamp="2025-06-30T08:16:00.000Z", text="changed")
    assert [mail.id for mail in (await asyncio.wait_for(waiter, PATIENCE)).mails] == ["1"]


async def test_what_another_program_is_still_writing_is_not_told_of_before_it_is_whole(office: Office) -> None:
    inbox = office.folder("dev_agent", "inbox")
    plant(inbox, "a.md", message_id="1", timestamp="2025-06-30T08:15:00.000Z")
    whole = (inbox / "a.md").read_bytes()
    (inbox / "a.md").write_bytes(whole[:20])
    os.utime(inbox / "a.md", (time.time() + 3600,) * 2)  # nobody is too slow to see it as it was just written
    dev = office.mailbox("dev_agent")
    assert (await wait_for_mail(dev, timeout=0.2)).mails == []
    (inbox / "a.md").write_bytes(whole)
    assert [mail.id for mail in (await wait_for_mail(dev, timeout=PATIENCE)).mails] == ["1"]


async def test_what_cannot_be_understood_for_longer_is_told_of(office: Office) -> None:
    inbox = office.folder("dev_agent", "inbox")
    inbox.mkdir(parents=True)
    (inbox / "a.md").write_text("no mail")
    os.utime(inbox / "a.md", (1, 1))
    assert len((await wait_for_mail(office.mailbox("dev_agent"), timeout=0)).mails) == 1


async def test_only_mail_since_a_time_counts_if_one_is_given(office: Office) -> None:
    qa, dev = office.mailbox("qa_agent"), office.mailbox("dev_agent")
    qa.send("dev_agent", "INFO", "old", "text")
    since = dev.page("inbox").mails[0].time_ms
    assert (await wait_for_mail(dev, timeout=0.2, since_ms=since)).mails == []
    qa.send("dev_agent", "INFO", "new", "text")
    assert [mail.title for mail in (await wait_for_mail(dev, timeout=0, since_ms=since)).mails] == ["new"]


async def test_all_who_wait_at_one_inbox_are_woken_by_one_look_at_it(office: Office, glances: Glances) -> None:
    dev = office.mailbox("dev_agent")
    waiters = [asyncio.create_task(wait_for_mail(dev, timeout=PATIENCE)) for _ in range(100)]
    await until(lambda: glances() > 0)
    assert glances() == 1
    office.mailbox("qa_agent").send("dev_agent", "INFO", "new", "text")
    pages = await asyncio.wait_for(asyncio.gather(*waiters), PATIENCE)
    assert [[mail.title for mail in page.mails] for page in pages] == [["new"]] * 100
    await until(lambda: glances() == 0)


async def test_who_gives_up_waiting_leaves_nothing_behind(office: Office, glances: Glances) -> None:
    waiter = asyncio.create_task(wait_for_mail(office.mailbox("dev_agent"), timeout=PATIENCE))
    await asyncio.sleep(0)
    waiter.cancel()
    await until(lambda: glances() == 0)


async def test_an_inbox_that_ceases_to_be_a_folder_ends_the_wait(office: Office) -> None:
    inbox = office.folder("dev_agent", "inbox")
    inbox.mkdir(parents=True)
    waiter = asyncio.create_task(wait_for_mail(office.mailbox("dev_agent"), timeout=PATIENCE))
    await asyncio.sleep(0)
    inbox.rmdir()
    inbox.write_text("a file")
    with pytest.raises(MailboxUnavailableError):
        await asyncio.wait_for(waiter, PATIENCE)
