"""Agent Mail's answers to clients: plain values that become JSON, without empty entries."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from transcript_mcp.mail.messages.boxes import COUNTED
from transcript_mcp.mail.messages.receipts import ENDED
from transcript_mcp.mail.values import iso

if TYPE_CHECKING:
    from transcript_mcp.mail.claims.guard import Installed, Uninstalled
    from transcript_mcp.mail.claims.values import Claimed, Extended, FileClaim, Released
    from transcript_mcp.mail.messages.receipts import Overdue
    from transcript_mcp.mail.search.hits import Hits
    from transcript_mcp.mail.service import Posted
    from transcript_mcp.mail.values import (
        Agent,
        Delivery,
        Letter,
        LetterPage,
        LetterThread,
        ReadReceipt,
        Registration,
        Sent,
    )

__all__ = [
    "claims_uri",
    "inbox_uri",
    "inbox_uris",
    "many",
    "overdue_places",
    "shown_agent",
    "shown_claim",
    "shown_claimed",
    "shown_delivery",
    "shown_extended",
    "shown_found",
    "shown_guard",
    "shown_guard_removed",
    "shown_letter",
    "shown_more",
    "shown_overdue",
    "shown_posted",
    "shown_ranked_more",
    "shown_receipt",
    "shown_registration",
    "shown_released",
    "shown_session_more",
    "told_more",
]

_TOKEN_NOTE: Final = "If the hub requires a token, set AGENT_MAIL_TOKEN wherever you commit."
_LEFT_OUT: Final = "This answer is full. Ask for fewer messages at a time, or read resource://message/{id}."


def shown_agent(agent: "Agent") -> dict[str, Any]:
    """An agent's profile."""
    return {
        "name": agent.name,
        "project": agent.project,
        "program": agent.program,
        "model": agent.model,
        "task": agent.task,
        "inception": iso(agent.inception_ts),
        "last_active": iso(agent.last_active_ts),
    }


def shown_more(page: "LetterPage[Any] | LetterThread") -> dict[str, Any]:
    """The entries of an answer about what it left out; empty when it is complete."""
    return {"more": page.more, "before": page.before, "notes": [told_more(page)]} if page.more else {}


def told_more(page: "LetterPage[Any] | LetterThread") -> str:
    """The same as a sentence; empty when the answer is complete."""
    return f'{many(page.more)} more. To read on, call again with before="{page.before}".' if page.more else ""


def many(count: int) -> str:
    """A count in words; counting stops at ``COUNTED``."""
    return f"{'At least ' if count >= COUNTED else ''}{count:,}"


def shown_ranked_more(looked_at: "LetterPage[Delivery]", shown: int) -> dict[str, Any]:
    """``shown_more`` for an answer with the best ``shown`` of the ranked messages."""
    if shown == len(looked_at):
        return shown_more(looked_at)
    more = looked_at.more + len(looked_at) - shown
    note = (
        f"{many(more)} more; {len(looked_at):,} were ranked. To see all, raise limit, or read on without relevant_to."
    )
    return {"more": more, "notes": [note]}


def shown_session_more(unread: "LetterPage[Delivery]", claims: "LetterPage[FileClaim]") -> dict[str, Any]:
    """The entries of a new session's answer about what it left out; empty when it is complete."""
    told = [
        (unread, "more_unread", "unread: check_my_messages with unread_only=true and"),
        (claims, "more_claims", "claims: list_claims with"),
    ]
    notes = [f'{many(page.more)} more {call} before="{page.before}".' for page, _, call in told if page.more]
    return {name: page.more for page, name, _ in told if page.more} | _filled({"notes": notes})


def shown_overdue(owed: "LetterPage[Overdue]", awaited: "LetterPage[Overdue]") -> dict[str, Any]:
    """Acknowledgements that an agent owes others, and those that others owe it."""
    shown: dict[str, Any] = {
        "to_acknowledge": [shown_letter(each.letter) for each in owed],
        "not_acknowledged": [shown_letter(each.letter) | {"waiting_for": list(each.waiting_for)} for each in awaited],
    }
    more = {"more_to_acknowledge": owed.more, "more_not_acknowledged": awaited.more}
    told = {name: count for name, count in more.items() if count}
    if not told:
        return shown
    place = f"{owed.before or ENDED}.{awaited.before or ENDED}"
    return shown | told | {"before": place, "notes": [f'More: overdue_acknowledgements with before="{place}".']}


def overdue_places(before: str | None) -> tuple[str | None, str | None]:
    """Splits the ``before`` of ``shown_overdue`` into the positions of its two lists."""
    if before is None:
        return None, None
    owed, _, awaited = before.partition(".")
    return owed, awaited


def shown_found(found: "Hits") -> dict[str, Any]:
    """Messages that a search found."""
    more = shown_more(found.hits)
    notes = [*found.notes, *more.pop("notes", ())]
    return {"messages": list(found.hits), **more, **_filled({"notes": notes})}


def shown_registration(made: "Registration", commit: str | None) -> dict[str, Any]:
    """A profile, with the agent's token when it is new."""
    return shown_agent(made.agent) | _filled({"agent_token": made.token, "commit": commit})


def shown_posted(posted: "Posted") -> dict[str, Any]:
    """What became of a message."""
    sent = posted.sent
    return {
        "id": sent.id,
        "project": sent.project,
        "created": iso(sent.created_ts),
        "created_ts": sent.created_ts,
        "subject": sent.subject,
        "thread_id": sent.thread_id,
        "recipients": {kind: list(names) for kind, names in sent.recipients.items() if names},
        "attachments": list(sent.attachments),
        **_filled(
            {
                "repeated": sent.repeated or None,
                "images_not_taken": [{"image": each.target, "reason": each.reason} for each in posted.problems],
                "commit": posted.commit,
            }
        ),
    }


def shown_letter(letter: "Letter") -> dict[str, Any]:
    """A message; without its body where that was not asked for."""
    return {
        "id": letter.id,
        "thread_id": letter.thread_id,
        "project": letter.project,
        "from": letter.sender,
        "to": list(letter.to),
        **_filled({"cc": list(letter.cc)}),
        "subject": letter.subject,
        "created": iso(letter.created_ts),
        "created_ts": letter.created_ts,
        "importance": letter.importance,
        "ack_required": letter.ack_required,
        **_filled({"reply_to": letter.reply_to, "attachments": [dict(each) for each in letter.attachments]}),
        **({} if letter.body is None else {"body_md": letter.body}),
        **({"body_left_out": _LEFT_OUT.format(id=letter.id)} if letter.left_out else {}),
    }


def shown_delivery(delivery: "Delivery") -> dict[str, Any]:
    """A message of an inbox."""
    read, acknowledged = delivery.read_ts, delivery.ack_ts
    return shown_letter(delivery.letter) | {
        "kind": delivery.kind,
        "read": None if read is None else iso(read),
        "acknowledged": None if acknowledged is None else iso(acknowledged),
    }


def shown_receipt(receipt: "ReadReceipt", commit: str | None) -> dict[str, Any]:
    """When a message was read and acknowledged."""
    acknowledged = receipt.ack_ts
    return {"message_id": receipt.message_id, "agent": receipt.agent, "read": iso(receipt.read_ts)} | _filled(
        {"acknowledged": None if acknowledged is None else iso(acknowledged), "commit": commit}
    )


def shown_claim(claim: "FileClaim") -> dict[str, Any]:
    """A claim on a path."""
    released = claim.released_ts
    return {
        "path": claim.path,
        "agent": claim.agent,
        "exclusive": claim.exclusive,
        "reason": claim.reason,
        "created": iso(claim.created_ts),
        "expires": iso(claim.expires_ts),
        "expires_ts": claim.expires_ts,
        **_filled({"released": None if released is None else iso(released)}),
    }


def shown_claimed(claimed: "Claimed", commit: str | None) -> dict[str, Any]:
    """The granted paths, or the conflicts."""
    conflicts = [
        {
            "path": each.path,
            "holder": each.holder,
            "pattern": each.pattern,
            "exclusive": each.exclusive,
            "reason": each.reason,
            "expires": iso(each.expires_ts),
        }
        for each in claimed.conflicts
    ]
    more = {"more_conflicts": claimed.more_conflicts} if claimed.more_conflicts else {}
    return {"granted": list(claimed.granted), "conflicts": conflicts, **more} | _until(claimed.expires_ts, commit)


def shown_extended(extended: "Extended", commit: str | None) -> dict[str, Any]:
    """Claims that were extended."""
    held = {"renewed": list(extended.renewed)} | _filled({"not_held": list(extended.not_held)})
    return held | _until(extended.expires_ts, commit)


def shown_released(released: "Released", commit: str | None) -> dict[str, Any]:
    """Claims that were released, and those that the agent still has."""
    more = {"more_still_held": released.more_still_held} if released.more_still_held else {}
    held = _filled({"not_held": list(released.not_held), "still_held": list(released.still_held)})
    return {"released": list(released.released), **held, **more} | _filled({"commit": commit})


def shown_guard(made: "Installed") -> dict[str, Any]:
    """An installed guard."""
    note = made.note or (_TOKEN_NOTE if made.hub and not made.token_file else "")
    more = {"earlier_hook": made.earlier, "hub": made.hub, "token_file": made.token_file, "note": note}
    return {"hook": made.hook, "projects": list(made.projects), **{name: each for name, each in more.items() if each}}


def shown_guard_removed(gone: "Uninstalled") -> dict[str, Any]:
    """The result of removing a guard."""
    return {"hook": gone.hook, "removed": gone.removed, "restored": gone.restored}


def _until(expires_ts: float | None, commit: str | None) -> dict[str, Any]:
    expires = None if expires_ts is None else iso(expires_ts)
    return {"expires": expires, "expires_ts": expires_ts, **_filled({"commit": commit})}


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None and value != []}


def claims_uri(project_key: str) -> str:
    """The URI of a project's claims."""
    return f"resource://claims/{quote(project_key, safe='/')}"


def inbox_uri(agent: str) -> str:
    """The URI of an agent's inbox."""
    return f"resource://inbox/{agent}"


def inbox_uris(sent: "Sent") -> list[str]:
    """The URIs of the inboxes that received a message."""
    return [inbox_uri(name) for names in sent.recipients.values() for name in names]
