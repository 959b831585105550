"""Custom processing."""

from dataclasses import replace
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from support.mailboxes import Office
from support.waiting import PATIENCE

from transcript_mcp.filebox import Draft, Hooks, MailEvent
from transcript_mcp.filebox.hooks import GROUP, installed_hooks, loaded


class Noting:
    """A hook that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[MailEvent] = []

    def note(self, event: MailEvent) -> None:
        self.told.append(event)

    delivered = replied = resolved = rejected = note


def test_hooks_are_told_what_happens(office: Office) -> None:
    hook = Noting()
    front = office.filebox("qa_agent", Hooks([hook]))
    qa, dev = front.mailbox("qa_agent"), front.mailbox("dev_agent")
    sent = qa.send("dev_agent", "BR", "slow", "text")
    dev.send("qa_agent", "ACK", "", "ok", sent.id)
    qa.resolve(sent.file)
    other = qa.send("dev_agent", "INFO", "mail", "text")
    dev.reject(other.file)
    assert [(event.happening, event.agent, event.title, event.type) for event in hook.told] == [
        ("delivered", "qa_agent", "slow", "BR"),
        ("replied", "dev_agent", "slow", "ACK"),
        ("resolved", "qa_agent", "slow", "BR"),
        ("delivered", "qa_agent", "mail", "INFO"),
        ("rejected", "dev_agent", "mail", "INFO"),
    ]
    assert hook.told[1].folder == str(office.folder("qa_agent", "inbox").parent)
    assert (hook.told[1].sender, hook.told[1].receiver, hook.told[1].file) == ("dev_agent", "qa_agent", sent.file)


def test_a_hook_may_change_a_mail_before_it_is_sent(office: Office) -> None:
    def sign(draft: Draft) -> Draft:
        return replace(draft, content=f"{draft.content}\n-- qa", sender="boss", receiver="qa_agent")

    front = office.filebox("qa_agent", Hooks([SimpleNamespace(before_send=sign)] * 2))
    sent = front.mailbox().send("dev_agent", "BR", "slow", "text")
    text = office.text("dev_agent", "inbox", sent.file)
    assert text.endswith("text\n-- qa\n-- qa")
    assert "**Sender:** qa_agent" in text


def broken(_: object) -> None:
    raise RuntimeError("out of order")


def ending(_: object) -> None:
    raise SystemExit(3)


def interrupting(_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "hook",
    [
        SimpleNamespace(before_send=broken, delivered=broken),
        SimpleNamespace(before_send=ending, delivered=ending),
        SimpleNamespace(before_send=interrupting, delivered=interrupting),
        SimpleNamespace(before_send=lambda _: "instead of a draft"),
        SimpleNamespace(before_send=lambda draft: replace(draft, content="")),
        SimpleNamespace(before_send=lambda draft: replace(draft, type="EVIL/..", title="x" * 9999)),
        SimpleNamespace(before_send="not even a function"),
        object(),
        None,
    ],
)
def test_a_failing_hook_costs_no_mail(office: Office, hook: Any, caplog: pytest.LogCaptureFixture) -> None:
    front = office.filebox("qa_agent", Hooks([hook]))
    sent = front.mailbox().send("dev_agent", "BR", "slow", "text")
    assert office.text("dev_agent", "inbox", sent.file).endswith("(BR)\n\ntext")
    assert bool(caplog.records) is hasattr(hook, "before_send")


def test_a_hook_that_hangs_holds_a_mail_up_for_a_limited_time(office: Office, caplog: pytest.LogCaptureFixture) -> None:
    released = Event()
    hook = SimpleNamespace(delivered=lambda _: released.wait(PATIENCE))
    mailbox = office.filebox("qa_agent", Hooks([hook], patience=0.02)).mailbox()
    try:
        files = [mailbox.send("dev_agent", "BR", f"slow {number}", "text").file for number in range(9)]
    finally:
        released.set()
    assert sorted(files) == office.files("dev_agent", "inbox")
    assert ["has not finished" in record.message for record in caplog.records] == [True] * 8 + [False]
    assert "8 calls of hooks are still running" in caplog.records[-1].message


@pytest.mark.parametrize("problem", [SystemExit(3), ImportError("no such module")])
def test_a_package_that_cannot_be_loaded_costs_nothing(problem: BaseException) -> None:
    def load() -> None:
        raise problem

    assert loaded([SimpleNamespace(value="broken", load=load), SimpleNamespace(value="fine", load=lambda: 1)]) == [1]


def test_installed_packages_are_asked_for_hooks_once() -> None:
    assert GROUP == "nanobot_transcript.filebox_hooks"
    assert installed_hooks() is installed_hooks()
