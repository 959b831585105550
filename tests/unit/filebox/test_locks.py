"""One writer at a time."""

import asyncio
import threading

import pytest
from support.mailboxes import Office
from support.waiting import PATIENCE, until

from nanobot_transcript.errors import MailboxBusyError
from transcript_mcp.filebox.locks import locked


def test_a_mailbox_in_use_is_waited_for_and_then_given_up(office: Office) -> None:
    sent = office.mailbox("qa_agent").send("dev_agent", "BR", "slow", "text")
    dev = office.mailbox("dev_agent", lock_wait=0.05)
    with locked([dev.folder], 1.0):
        for call in (
            lambda: dev.resolve(sent.file),
            lambda: dev.send("qa_agent", "ACK", "", "reply", sent.id),
        ):
            with pytest.raises(MailboxBusyError, match="dev_agent") as caught:
                call()
            assert "Nothing was changed" in caught.value.hint
        assert dev.names("inbox") == [sent.file]
        assert dev.read("inbox", sent.file).total
        office.mailbox("qa_agent").send("dev_agent", "BR", "new mail needs no lock", "text")
    assert dev.resolve(sent.file).id == sent.id


def test_locks_are_taken_in_one_order_by_everybody(office: Office) -> None:
    one, two = office.mailbox("qa_agent").folder, office.mailbox("dev_agent").folder
    done: list[int] = []

    def work(mailboxes: list[object], number: int) -> None:
        for _ in range(100):
            with locked(mailboxes, PATIENCE):  # type: ignore[arg-type]
                done.append(number)

    threads = [threading.Thread(target=work, args=(pair, n)) for n, pair in enumerate(([one, two], [two, one, two]))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(done) == 200


def test_threads_of_one_process_exclude_each_other_too(office: Office) -> None:
    front = office.filebox("qa_agent")
    sent = front.mailbox("qa_agent").send("dev_agent", "BR", "slow", "text")

    def answer(agent: str, other: str) -> None:
        for number in range(15):
            front.mailbox(agent).send(other, "INFO", "", f"{agent} {number}", sent.id)

    threads = [
        threading.Thread(target=answer, args=pair) for pair in (("qa_agent", "dev_agent"), ("dev_agent", "qa_agent"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(front.mailbox().thread(sent.id).entries) == 31


def test_a_few_threads_wait_for_a_mailbox_and_more_are_told_at_once(office: Office) -> None:
    folder, other = office.mailbox("dev_agent").folder, office.mailbox("qa_agent").folder
    refused: list[str] = []
    passed: list[int] = []

    def wait(number: int) -> None:
        try:
            with locked([folder], PATIENCE):
                passed.append(number)
        except MailboxBusyError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(12)]
    with locked([folder], 1.0):
        for thread in threads:
            thread.start()
        asyncio.run(until(lambda: len(refused) == 4))
        with locked([other], 0.0):
            assert passed == []
    for thread in threads:
        thread.join(PATIENCE)
    assert len(passed) == 8
    assert ["calls are already waiting" in each for each in refused] == [True] * 4, "they were not refused at once"
    with locked([folder], 0.0):
        pass
