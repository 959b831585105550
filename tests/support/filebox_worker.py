"""What a test of mailboxes lets another process do: ``python -m support.filebox_worker ACTION '{"option": ...}'``.

Every content begins and ends with its own token, so that half a text is recognised.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.waiting import PATIENCE
from support.worker import fill_disk_at, ready, say, told_to_stop

from nanobot_transcript.errors import MailNotFoundError, TranscriptError
from transcript_mcp.filebox import ConfigSource, FileBox, FileBoxOptions, Hooks, Mailbox
from transcript_mcp.filebox.delivery_journal import abandoned
from transcript_mcp.filebox.locks import locked
from transcript_mcp.filebox.search import MailQuery
from transcript_mcp.filebox.thread import entries
from transcript_mcp.filebox.values import BOXES

if TYPE_CHECKING:
    from transcript_mcp.sdk.testing import Answer

__all__ = ["body", "is_whole"]


def body(token: str, size: int) -> str:
    """A content of about ``size`` characters that begins and ends with its token."""
    return f"{token}|{'x' * size}|{token}"


def is_whole(text: str) -> bool:
    """True for a content as ``body`` makes it."""
    token, _, rest = text.partition("|")
    return rest.endswith(f"|{token}")


def open_mailbox(config: str, agent: str, **options: Any) -> Mailbox:
    """The mailbox of an agent, as a process of its own has it."""
    source = ConfigSource(explicit=Path(config))
    return FileBox(source, FileBoxOptions(**options), hooks=Hooks()).mailbox(agent)


def reply_many(config: str, agent: str, to: str, message_id: str, count: int, size: int = 10) -> int:
    """Reply to one thread again and again."""
    mailbox = open_mailbox(config, agent, lock_wait=30.0)
    ready()
    for number in range(count):
        mailbox.send(to, "INFO", "", body(f"{agent}-{number}", size), message_id)
    return count


def look_for_abandoned(config: str, agent: str) -> int:
    """Look again and again for deliveries that nobody goes on with, until told to stop; how often."""
    folder = open_mailbox(config, agent).folder
    ready()
    rounds = 0
    while not told_to_stop():
        for _ in abandoned(folder):
            pass
        rounds += 1
    return rounds


def write_forever(config: str, agents: list[str], ack: str, size: int, prefix: str) -> None:
    """New mails from one of two agents to the other, an answer, more from who answered, and an answer to that, until
    killed.

    Every token that was acknowledged is noted with the mail's id.
    """
    mailboxes = [open_mailbox(config, agent, lock_wait=30.0) for agent in agents]
    notes = os.open(ack, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    ready()
    number = 0
    while True:
        message_id = ""
        for turn, who in enumerate((0, 1, 1, 0)):
            token = f"{prefix}.{number}.{turn}"
            sender, receiver = mailboxes[who], agents[1 - who]
            message_id = sender.send(receiver, "INFO", "mail", body(token, size), message_id).id
            os.write(notes, f"{message_id} {token}\n".encode())
        number += 1


def read_in_circles(config: str, agents: list[str]) -> dict[str, int]:
    """Read everything of some agents, again and again; count what was only half there."""
    mailboxes = [open_mailbox(config, agent, max_read=100_000_000) for agent in agents]
    ready()
    reads = halves = 0
    while not told_to_stop():
        for mailbox in mailboxes:
            for box in BOXES:
                for name in mailbox.names(box)[-20:]:
                    try:
                        text = mailbox.read(box, name).text
                    except MailNotFoundError:
                        continue  # moved on meanwhile
                    reads += 1
                    found = entries(text)
                    halves += not found or not all(is_whole(entry.text) for entry in found)
    return {"reads": reads, "halves": halves}


def resolve_all(config: str, agent: str, names: list[str]) -> list[str]:
    """Resolve mails that others resolve too; those that this process resolved."""
    mailbox = open_mailbox(config, agent)
    ready()
    mine: list[str] = []
    for name in names:
        try:
            mailbox.resolve(name)
        except MailNotFoundError:
            continue
        mine.append(name)
    return mine


def send_many(config: str, agent: str, to: str, count: int) -> list[str]:
    """Send new mails."""
    mailbox = open_mailbox(config, agent)
    ready()
    return [mailbox.send(to, "INFO", "mail", body(f"{agent}-{number}", 10)).id for number in range(count)]


def read_all_unread(config: str, agent: str, count: int) -> list[str]:
    """Read what is unread until ``count`` mails are read, together with others who do the same."""
    mailbox = open_mailbox(config, agent, page=1000)
    ready()
    seen: list[str] = []
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and len(mailbox.names("inbox")) < count:
        time.sleep(0.01)
    while mails := mailbox.page("inbox", unread=True).mails:
        mailbox.read("inbox", mails[0].file)
        seen.append(mails[0].id)
    return seen


def hold_lock(config: str, agents: list[str]) -> None:
    """Take the locks of mailboxes and keep them until killed."""
    folders = [open_mailbox(config, agent).folder for agent in agents]
    ready()
    with locked(folders, 10.0):
        say({"held": True})
        time.sleep(600)


def stop_before_renaming(config: str, agent: str, doing: str, name: str, **message: str) -> None:
    """Do one thing to a mail, and stand still where its file is about to be put into a box, until told to go on."""
    mailbox = open_mailbox(config, agent, lock_wait=30.0) if doing != "repair" else None
    ready()
    sys.addaudithook(_stopping(name))
    if mailbox is None:
        open_mailbox(config, agent)  # finishes what a killed process has begun
    elif doing == "resolve":
        mailbox.resolve(name)
    else:
        mailbox.send(msg_type="INFO", title="", **message)


def _stopping(name: str) -> Callable[[str, tuple[Any, ...]], None]:
    """Notices the first renaming to ``name``; what the process holds then, it goes on holding."""
    left = [name]

    def noticed(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "os.rename" and left and arguments[1] == left[0]:
            left.clear()
            say({"stands_still": True})
            sys.stdin.buffer.raw.readline()  # type: ignore[attr-defined]

    return noticed


def call_all_tools(config: str, agent: str, to: str) -> dict[str, list[str]]:
    """Use the five tools of the plan: what failed of it, and what wanted a name, an address or a connection."""
    from transcript_mcp.filebox.server import build_server  # the other actions need no tools, and begin sooner
    from transcript_mcp.sdk.testing import InMemoryClient

    client = InMemoryClient(build_server(FileBox(ConfigSource(explicit=Path(config)), hooks=Hooks()), identity=agent))
    ready()
    wanted: list[str] = []
    # An event loop has a pair of sockets to wake itself; they lead nowhere.
    sys.addaudithook(lambda event, _: wanted.append(event) if _reaches_out(event) else None)
    failed: list[str] = []

    async def call(tool: str, **arguments: str) -> "Answer":
        answer = await client.call(f"filebox_{tool}", arguments)
        failed.extend([answer.text] if answer.is_error else [])
        return answer

    async def calls() -> None:
        for tool in ("resolve_message", "reject_message"):
            await call("send_message", receiver_id=to, msg_type="BR", title="mail", content="text")
            (name,) = (await call("list_messages", box_type="inbox", runAs=to)).data
            await call("read_message", box_type="inbox", filename=name, runAs=to)
            await call(tool, filename=name, runAs=to)

    asyncio.run(calls())
    return {"failed": failed, "wanted": wanted}


def _reaches_out(event: str) -> bool:
    return event.startswith("socket.") and event != "socket.__new__"


def send_until_error(config: str, agent: str, to: str, limit: int) -> dict[str, Any]:
    """Send larger and larger mails; ``limit`` bounds the size of any file this process may write."""
    mailbox = open_mailbox(config, agent)
    ready()
    fill_disk_at(limit)
    sent: list[str] = []
    for number in range(1, 1000):
        try:
            sent.append(mailbox.send(to, "INFO", "mail", body(str(number), 1000 * number)).id)
        except TranscriptError as error:
            return {"sent": sent, "error": error.code, "sentence": str(error), "hint": error.hint}
    return {"sent": sent, "error": None}


def try_all_as(config: str, uid: int, agent: str, to: str) -> dict[str, Any]:
    """Use a mailbox as another user of the machine, who may not be able to import anything any more."""
    mailbox = open_mailbox(config, agent)
    (name,) = mailbox.names("inbox")
    ready()
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    calls: dict[str, Callable[[], object]] = {
        "list": lambda: mailbox.names("inbox"),
        "page": lambda: mailbox.page("inbox", unread=True),
        "read": lambda: mailbox.read("inbox", name),
        "search": lambda: mailbox.search(MailQuery(text="text")),
        "resolve": lambda: mailbox.resolve(name),
        "send": lambda: mailbox.send(to, "INFO", "mail", "text"),
    }
    return {what: _tried(call) for what, call in calls.items()}


def _tried(call: Callable[[], object]) -> dict[str, str]:
    try:
        call()
    except TranscriptError as error:
        return {"error": error.code, "sentence": str(error)}
    return {"error": "", "sentence": ""}


ACTIONS: dict[str, Callable[..., Any]] = {
    action.__name__: action
    for action in (
        call_all_tools,
        hold_lock,
        look_for_abandoned,
        read_all_unread,
        read_in_circles,
        reply_many,
        resolve_all,
        send_many,
        send_until_error,
        stop_before_renaming,
        try_all_as,
        write_forever,
    )
}

if __name__ == "__main__":
    say(ACTIONS[sys.argv[1]](**json.loads(sys.argv[2])))
