"""Mail as people read it: tables of messages, agents and claims, and whole messages."""

import time
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.moments import local
from nanobot_transcript.cli.terminal.output import console, printable
from nanobot_transcript.cli.terminal.tables import print_table, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from transcript_mcp.mail.claims.values import FileClaim
    from transcript_mcp.mail.messages.receipts import Overdue
    from transcript_mcp.mail.search.hits import Hit
    from transcript_mcp.mail.values import Agent, Delivery, Letter

__all__ = [
    "print_agents",
    "print_claims",
    "print_hits",
    "print_inbox",
    "print_letters",
    "print_outbox",
    "print_overdue",
]

_INDENT: Final = "  "
_LEAST_WIDTH: Final = 20
_NAMED: Final = 2
_ROOMY: Final = 100
_MODEL: Final = 18


def print_inbox(deliveries: "Sequence[Delivery]") -> None:
    """What came to somebody, the newest last, next to the prompt."""
    rows = [
        [
            _when(each.letter.created_ts),
            _one_line(each.letter.sender),
            _state(each),
            _subject(each.letter),
            each.letter.id,
        ]
        for each in reversed(deliveries)
    ]
    print_table(("Sent", "From", "State", "Subject", "Id"), rows, shorten="Subject")


def print_outbox(letters: "Sequence[Letter]") -> None:
    """What somebody sent, the newest last."""
    rows = [
        [_when(each.created_ts), _people((*each.to, *each.cc)), _subject(each), each.id] for each in reversed(letters)
    ]
    print_table(("Sent", "To", "Subject", "Id"), rows, shorten="Subject")


def print_overdue(found: "Sequence[Overdue]") -> None:
    """What was not acknowledged, the oldest first."""
    rows = [
        [
            _when(each.letter.created_ts),
            _one_line(each.letter.sender),
            _people(each.waiting_for),
            _subject(each.letter),
            each.letter.id,
        ]
        for each in found
    ]
    print_table(("Sent", "From", "Not by", "Subject", "Id"), rows, shorten="Subject")


def print_letters(letters: "Sequence[Letter]", repos: "Mapping[str, Path]") -> None:
    """Whole messages, in this order; pictures inside a text are left out. ``repos`` are the projects' archives."""
    from transcript_mcp.mail.search.index_text import without_embedded

    out = console()
    for number, letter in enumerate(letters):
        if number:
            out.print()
        to = ", ".join(letter.to) + (f", cc {', '.join(letter.cc)}" if letter.cc else "")
        head = f"{_when(letter.created_ts)}  {_one_line(f'{letter.sender} → {to}')}  {letter.id}"
        out.print(f"{head}{_thread(letter.thread_id)}", style="dim", soft_wrap=True)
        out.print(_subject(letter), style="bold", soft_wrap=True)
        for line in _lines(without_embedded(letter.body or ""), out.width - len(_INDENT), wrapped=out.is_terminal):
            out.print(f"{_INDENT}{line}".rstrip(), soft_wrap=True)
        for attachment in letter.attachments:
            if attachment.get("type") == "inline":
                size = f"{attachment.get('width')}×{attachment.get('height')}"
                out.print(
                    f"{_INDENT}{said('📎 a picture of {size} inside the text; --json shows it', size=size)}",
                    style="dim",
                )
            elif attachment.get("type") == "file":
                path = repos[letter.project] / str(attachment.get("path"))
                out.print(f"{_INDENT}📎 {printable(str(path))}", style="dim", soft_wrap=True)


def print_hits(hits: "Sequence[Hit]") -> None:
    """Messages that were found, the newest last, with the words that were found."""
    out = console()
    for hit in reversed(hits):
        head = f"{_when(hit['created_ts'])}  {_one_line(hit['from'])}  {hit['id']}{_thread(hit['thread_id'])}"
        out.print(head, style="dim", soft_wrap=True)
        if hit["snippet"].replace("**", "") != hit["subject"]:
            out.print(f"{_INDENT}{_one_line(hit['subject'])}", style="bold", soft_wrap=True)
        text = _one_line(hit["snippet"])
        for line in _lines(text, out.width - len(_INDENT), wrapped=out.is_terminal):
            out.print(f"{_INDENT}{line}", soft_wrap=True)


def print_agents(agents: "Sequence[Agent]", project: str) -> None:
    """The agents of a project, the most recently active first; for guests the project they come from."""
    narrow = console().is_terminal and console().width < _ROOMY
    rows = [
        [
            _one_line(each.name),
            _one_line(each.program),
            shortened(_one_line(each.model), _MODEL) if narrow else _one_line(each.model),
            _when(each.last_active_ts),
            _one_line(each.task if each.project == project else f"(of {each.project}) {each.task}"),
        ]
        for each in agents
    ]
    print_table(("Agent", "Program", "Model", "Active", "Task"), rows, shorten="Task")


def print_claims(claims: "Sequence[FileClaim]") -> None:
    """Who works on what, and until when."""
    rows = [
        [
            printable(each.path),
            _one_line(each.agent),
            said("exclusive") if each.exclusive else said("shared"),
            _end(each),
            _one_line(each.reason),
        ]
        for each in claims
    ]
    print_table(("Path", "Agent", "Kind", "Until", "Reason"), rows, shorten="Reason")


def _people(names: "Sequence[str]") -> str:
    more = f" +{len(names) - _NAMED}" if len(names) > _NAMED else ""
    return _one_line(", ".join(names[:_NAMED])) + more


def _thread(thread_id: str | None) -> str:
    return "" if thread_id is None else f"  in {_one_line(thread_id)}"


def _state(delivery: "Delivery") -> str:
    if delivery.ack_ts is not None:
        return said("acked")
    if delivery.letter.ack_required:
        return said("to ack")
    return said("unread") if delivery.read_ts is None else said("read")


def _end(claim: "FileClaim") -> str:
    if claim.released_ts is not None:
        return said("released")
    return _when(claim.expires_ts) if claim.expires_ts > time.time() else said("run out")


def _subject(letter: "Letter") -> str:
    mark = f"[{letter.importance}] " if letter.importance in ("high", "urgent") else ""
    return f"{mark}{_one_line(letter.subject)}"


def _when(ts: float) -> str:
    """Local time; on a terminal without the year when it is this one, and without the time when it is not."""
    moment = local(ts * 1000)
    if not console().is_terminal:
        return f"{moment:%Y-%m-%d %H:%M:%S}"
    return f"{moment:%m-%d %H:%M}" if moment.year == datetime.now().astimezone().year else f"{moment:%Y-%m-%d}"


def _lines(text: str, width: int, *, wrapped: bool) -> "list[str]":
    clean = printable(text).expandtabs().rstrip("\n")
    if not wrapped:
        return clean.split("\n")
    from nanobot_transcript.cli.terminal.line_breaks import wrap

    return wrap(clean, max(width, _LEAST_WIDTH))


def _one_line(text: Any) -> str:
    return " ".join(printable(str(text)).split())
