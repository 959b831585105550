"""Mailboxes as clients see them: plain values for JSON, with short names for models."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Final

from transcript_mcp.filebox.config import BoxAgents
from transcript_mcp.filebox.mailbox import Outcome, Thread
from transcript_mcp.filebox.search import FoundMail
from transcript_mcp.filebox.values import Mail, Page, ThreadEntry

if TYPE_CHECKING:
    from transcript_mcp.filebox.relevant_mail import Relevant

__all__ = ["shown_agents", "shown_found", "shown_outcome", "shown_page", "shown_relevant", "shown_thread"]

_LONGEST_TITLE: Final = 300
_ROOM_FOR_A_HEADING: Final = 200


def shown_page(box: str, page: Page) -> dict[str, Any]:
    """Headers of a box, with their total number and the offset of the next page."""
    end = page.offset + len(page.mails)
    answer: dict[str, Any] = {"box": box, "total": page.total}
    answer["messages"] = [_mail(mail, unread=page.unread) for mail in page.mails]
    return answer | ({"next_offset": end} if end < page.total else {})


def shown_found(found: Iterable[FoundMail]) -> list[dict[str, Any]]:
    """The hits of a search."""
    return [{"box": each.box, **_mail(each.mail), "text": each.snippet} for each in found]


def shown_relevant(found: "Iterable[Relevant]") -> list[dict[str, Any]]:
    """Mails that are relevant to a discussion, with the reasons."""
    return [{**_mail(each.mail), "score": each.score, "reason": each.reason} for each in found]


def shown_outcome(outcome: Outcome) -> dict[str, Any]:
    """The result for one mail of a batch."""
    if outcome.error is not None:
        return {"file": outcome.file, "ok": False, "error": str(outcome.error)}
    return {"file": outcome.file, "ok": True, "result": outcome.text}


def shown_thread(thread: Thread, max_chars: int) -> dict[str, Any]:
    """A conversation, newest entry first, as many of its entries as fit into ``max_chars``."""
    shown: list[dict[str, Any]] = []
    left = max_chars
    for entry in thread.entries:
        if left <= 0:
            break
        shown.append(_entry(entry, left))
        left -= len(entry.text) + _ROOM_FOR_A_HEADING
    omitted = len(thread.entries) - len(shown)
    more = {"older_entries_left_out": omitted} if omitted else {}
    return {"box": thread.box, **_mail(thread.mail), "entries": shown, **more}


def shown_agents(roster: BoxAgents, acting: str) -> dict[str, Any]:
    """All agents that can receive mail. ``acting``: the calling agent, empty if unknown."""
    agents: list[dict[str, Any]] = []
    for place in roster.agents.values():
        known: dict[str, Any] = {"name": place.agent}
        if place.agent == acting:
            known["you"] = True
        if place.shared:
            known["shares_folder"] = True
        if place.problem:
            known["problem"] = place.problem
        agents.append(known)
    doubt = roster.doubt if acting == roster.current else ""
    note = doubt if acting else roster.reason
    return {"you": acting or None, "agents": agents} | ({"note": note} if note else {})


def _mail(mail: Mail, *, unread: Collection[str] = ()) -> dict[str, Any]:
    """The header; for a mail that cannot be parsed only its file and the problem."""
    if mail.problem:
        shown: dict[str, Any] = {"file": mail.file, "problem": mail.problem}
    else:
        shown = {
            "file": mail.file,
            "id": mail.id,
            "type": mail.type,
            "title": mail.title[:_LONGEST_TITLE],
            "from": mail.sender,
            "to": mail.receiver,
            "time": mail.timestamp,
        }
    return shown | ({"unread": True} if mail.file in unread else {})


def _entry(entry: ThreadEntry, room: int) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "time": entry.time,
        "from": entry.sender,
        "to": entry.receiver,
        "type": entry.type,
        "text": entry.text[:room],
    }
    return shown | ({"more": f"{len(entry.text) - room:,} more characters"} if len(entry.text) > room else {})
