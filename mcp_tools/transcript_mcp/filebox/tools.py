"""The MCP tools of the mailboxes: names, descriptions, limits. The work is in the other modules of this room."""

import asyncio
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field

from nanobot_transcript.errors import InvalidMailError, NoAgentError
from nanobot_transcript.threads import in_thread
from transcript_mcp.filebox import views
from transcript_mcp.filebox.filebox import FileBox
from transcript_mcp.filebox.mailbox import Mailbox
from transcript_mcp.filebox.message import milliseconds
from transcript_mcp.filebox.search import MailQuery
from transcript_mcp.filebox.values import BOXES, Box, Reading, Sent
from transcript_mcp.filebox.wait import wait_for_mail
from transcript_mcp.sdk import Context, Server, Text

if TYPE_CHECKING:
    from collections.abc import Callable

    from nanobot_transcript.store.front import GroupTranscriptStore
    from nanobot_transcript.topics.group_talk import GroupTalk

__all__ = ["BoxTools"]

_MOST: Final = 200
_MORE_FOUND: Final = (
    f"There are more. Ask for up to {_MOST} at once (limit), or narrow it by box_type, sender, msg_type or since."
)
_LONGEST_WAIT: Final = 300.0
_TELL_EVERY: Final = 10.0
_MOST_QUOTED: Final = 50

_RunAs = Annotated[str | None, Field(alias="runAs", description="Agent ID to act as, instead of the current agent.")]
_BoxType = Annotated[Box, Field(description="Which box: inbox (received), outbox (sent), done (resolved), cancel.")]
_FileName = Annotated[str, Field(description="File name of the message, as filebox_list_messages shows it.")]
_MessageId = Annotated[str, Field(description="The Message ID in the message's header, or its first 8 characters.")]
_Limit = Annotated[int, Field(description=f"How many at most, up to {_MOST}.")]
_Since = Annotated[
    str | None, Field(description="Only messages newer than this UTC time, such as 2025-06-30T08:15 or 2025-06-30.")
]


@dataclass(eq=False)
class BoxTools:
    """One method per tool; ``offer`` registers them. ``identity``: the agent of this process, from the settings."""

    filebox: FileBox
    open_store: "Callable[[], GroupTranscriptStore] | None"
    identity: str

    def offer(self, server: Server) -> None:
        """Register all tools."""
        for function, title, reads in (
            (self.send_message, "Send a message", False),
            (self.list_messages, "List messages", True),
            (self.read_message, "Read a message", True),
            (self.resolve_message, "Mark a message as resolved", False),
            (self.reject_message, "Reject a message", False),
            (self.wait, "Wait for messages", True),
            (self.search, "Search messages", True),
            (self.thread, "Read a conversation", True),
            (self.agents, "Agents", True),
            (self.batch, "Read, resolve or reject many", False),
            (self.relevant, "Messages a group talks about", True),
        ):
            name = f"filebox_{function.__name__}"
            server.tool(function, name=name, title=title, read_only=reads, idempotent=reads)

    def mailbox(self, context: Context, run_as: str | None) -> Mailbox:
        """The mailbox of the acting agent: ``runAs``, else the owner of the token, else this process's agent."""
        who = context.who
        known = who.name if who is not None and who.kind == "agent" else self.identity
        return self.filebox.mailbox(run_as or "", identity=known)

    @cached_property
    def _groups(self) -> "GroupTalk":
        from nanobot_transcript.topics.group_talk import GroupTalk  # slow to import

        return GroupTalk(self.open_store)

    # -- the five of the original

    def send_message(
        self,
        context: Context,
        receiver_id: Annotated[str, Field(description="Agent ID of the receiver. filebox_agents lists them.")],
        msg_type: Annotated[
            str,
            Field(
                description="BR (bug report), ACK (acknowledgment), ER (enhancement request), INFO or URGENT; "
                "or a configured type."
            ),
        ],
        title: Annotated[str, Field(description="Title, on one line. A reply keeps the title of its conversation.")],
        content: Annotated[str, Field(description="Content, in Markdown.")],
        original_message_id: Annotated[
            str | None,
            Field(description="To reply: the full Message ID of the message. Leave it out for a new message."),
        ] = None,
        run_as: _RunAs = None,
        context_chat: Annotated[
            str | None, Field(description="A group chat whose recent messages are quoted below the content.")
        ] = None,
        context_messages: Annotated[
            int, Field(description=f"With context_chat: how many messages are quoted, up to {_MOST_QUOTED}.")
        ] = 10,
    ) -> str:
        """Send a message to another agent, or reply to one.

        A new message appears in the receiver's inbox and in your outbox. A reply goes on top of the conversation, and
        the whole conversation moves to the receiver's inbox.
        """
        mailbox = self.mailbox(context, run_as)
        if context_chat:
            content = self._groups.quoted(content, context_chat, min(max(1, context_messages), _MOST_QUOTED))
        return _receipt(mailbox.send(receiver_id, msg_type, title, content, original_message_id or ""))

    def list_messages(
        self,
        context: Context,
        box_type: _BoxType,
        run_as: _RunAs = None,
        limit: Annotated[
            int | None,
            Field(description="How many at most. Default: all names, or 50 with details."),
        ] = None,
        offset: Annotated[int, Field(description="How many of the newest to skip.")] = 0,
        details: Annotated[bool, Field(description="Show id, type, title, sender and time, not only names.")] = False,
        unread: Annotated[bool, Field(description="Only unread messages; inbox only.")] = False,
        since: _Since = None,
    ) -> list[Any] | dict[str, Any]:
        """List the messages in a box, newest first: file names, or with details their headers."""
        mailbox = self.mailbox(context, run_as)
        if not (details or unread or since):
            names, start = mailbox.names(box_type), max(0, offset)
            shown = names[start:] if limit is None else names[start : start + max(0, limit)]
            return _listed(shown, len(names), start)
        if details:
            limit = None if limit is None else min(limit, _MOST)
            return views.shown_page(
                box_type, mailbox.page(box_type, limit, offset, unread=unread, since_ms=_moment(since))
            )
        everything = 2**31 if limit is None else limit
        page = mailbox.page(box_type, everything, offset, unread=unread, since_ms=_moment(since))
        return _listed([mail.file for mail in page.mails], page.total, offset)

    def read_message(
        self,
        context: Context,
        box_type: _BoxType,
        filename: _FileName,
        run_as: _RunAs = None,
        offset: Annotated[
            int, Field(description="The character to start at, for messages too long for one answer.")
        ] = 0,
    ) -> str | list[Text]:
        """Read a full message with its conversation, newest entry on top. Marks it as read."""
        reading = self.mailbox(context, run_as).read(box_type, filename, offset)
        return reading.text if reading.end >= reading.total else [Text(reading.text), Text(_rest(reading))]

    def resolve_message(self, context: Context, filename: _FileName, run_as: _RunAs = None) -> str:
        """Mark a message as resolved: move it from the inbox to done."""
        moved = self.mailbox(context, run_as).resolve(filename)
        return _moved("Message resolved", filename, moved.file)

    def reject_message(self, context: Context, filename: _FileName, run_as: _RunAs = None) -> str:
        """Reject a message: move it from the inbox to cancel."""
        moved = self.mailbox(context, run_as).reject(filename)
        return _moved("Message rejected", filename, moved.file)

    # -- further ones

    async def wait(
        self,
        context: Context,
        timeout: Annotated[  # noqa: ASYNC109 - nothing came is an answer, and not an error
            float, Field(description=f"Seconds to wait at most, up to {_LONGEST_WAIT:g}.")
        ] = 30,
        run_as: _RunAs = None,
        since: _Since = None,
    ) -> dict[str, Any] | str:
        """Wait for new messages. Returns at once if the inbox has unread ones, otherwise as soon as one arrives.

        Messages you have read do not count until their conversation continues, so read or resolve what you are shown.
        """
        mailbox = await in_thread(self.mailbox, context, run_as)
        seconds = min(max(0.0, timeout), _LONGEST_WAIT)
        telling = asyncio.create_task(_keep_telling(context, seconds))
        try:
            page = await wait_for_mail(mailbox, seconds, _moment(since))
        finally:
            telling.cancel()
        if not page.mails:
            return f"No new messages for {mailbox.agent} within {seconds:g} seconds."
        return views.shown_page("inbox", page)

    def search(
        self,
        context: Context,
        query: Annotated[
            str, Field(description="Words that must all occur, case-insensitive; parts of words match.")
        ] = "",
        box_type: Annotated[Box | None, Field(description="Only in this box. Default: all four.")] = None,
        sender: Annotated[str | None, Field(description="Only messages that this agent wrote or started.")] = None,
        msg_type: Annotated[str | None, Field(description="Only messages of this type, such as BR.")] = None,
        since: _Since = None,
        limit: _Limit = 20,
        run_as: _RunAs = None,
    ) -> list[Any]:
        """Find messages by their words, sender, type and time, the newest first. Works for any script."""
        mailbox = self.mailbox(context, run_as)
        boxes = (box_type,) if box_type else BOXES
        wanted = MailQuery(query, boxes, sender or "", msg_type or "", _moment(since))
        most = _bounded(limit)
        found = views.shown_found(mailbox.search(wanted, most + 1))
        if len(found) <= most:
            return found
        return [found[:most], Text(_MORE_FOUND)]

    def thread(self, context: Context, message_id: _MessageId, run_as: _RunAs = None) -> dict[str, Any]:
        """Read a conversation as separate entries, newest first, whichever box it is in. Marks it as read."""
        thread = self.mailbox(context, run_as).thread(message_id)
        return views.shown_thread(thread, self.filebox.options.max_read)

    def agents(self, context: Context, run_as: _RunAs = None) -> dict[str, Any]:
        """List the agents that have a mailbox, and say which of them you are."""
        roster = self.filebox.roster()
        try:
            acting = self.mailbox(context, run_as).agent
        except NoAgentError:
            acting = ""
        return views.shown_agents(roster, acting)

    def batch(
        self,
        context: Context,
        action: Annotated[Literal["read", "resolve", "reject"], Field(description="What to do with each message.")],
        filenames: Annotated[list[str], Field(description=f"File names of the messages, up to {_MOST}.")],
        box_type: Annotated[
            Box, Field(description="The box to read from; resolve and reject act on the inbox.")
        ] = "inbox",
        run_as: _RunAs = None,
    ) -> list[dict[str, Any]]:
        """Read, resolve or reject several messages, with a result for each. One failure does not stop the others."""
        if len(filenames) > _MOST:
            raise InvalidMailError(f"These are {len(filenames)} messages; at most {_MOST} are allowed at once.")
        return [views.shown_outcome(each) for each in self.mailbox(context, run_as).batch(action, filenames, box_type)]

    def relevant(
        self,
        context: Context,
        session_key: Annotated[str, Field(description="The group chat: its session key or chat id.")],
        limit: _Limit = 10,
        run_as: _RunAs = None,
    ) -> list[dict[str, Any]]:
        """Find messages in the inbox that relate to what a group is talking about now, with a score and the reason."""
        mailbox = self.mailbox(context, run_as)
        return views.shown_relevant(mailbox.relevant(self._groups.recent(session_key), _bounded(limit)))


def _receipt(sent: Sent) -> str:
    lines = ["Message sent successfully", f"Message ID: {sent.id}", f"File: {sent.file}"]
    return "\n".join([*lines, sent.note] if sent.note else lines)


def _moved(sentence: str, name: str, now: str) -> str:
    return sentence if now == name else f"{sentence}. Its name was taken there, so it is now {now}"


def _rest(reading: Reading) -> str:
    shown = f"Characters {reading.offset:,} to {reading.end:,} of {reading.total:,}."
    return f"{shown} To read on: offset={reading.end}."


def _moment(since: str | None) -> int:
    """Milliseconds since 1970; 0 without a time."""
    if not since:
        return 0
    moment = milliseconds(since)
    if moment is None:
        raise InvalidMailError(f"{since!r} is not a time.", hint="Write it like 2025-06-30T08:15 or 2025-06-30.")
    return moment


def _listed(shown: list[str], total: int, offset: int) -> list[Any]:
    """Names, and how many more there are."""
    end = max(0, offset) + len(shown)
    return [shown, Text(f"{total - end:,} more; to read on: offset={end}.")] if total > end else shown


def _bounded(limit: int) -> int:
    return min(max(1, limit), _MOST)


async def _keep_telling(context: Context, seconds: float) -> None:
    waited = 0.0
    while True:
        await asyncio.sleep(_TELL_EVERY)
        waited += _TELL_EVERY
        await context.progress(waited, seconds, "No new messages yet.")
