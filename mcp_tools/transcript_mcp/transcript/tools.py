"""The MCP tools of the transcripts: names, descriptions, limits. The work is in the other modules of this room."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from nanobot_transcript.store.names import chat_called
from nanobot_transcript.threads import in_thread
from transcript_mcp.sdk import Context, Server
from transcript_mcp.transcript import chats, reading, waits
from transcript_mcp.transcript.json_lines import encode
from transcript_mcp.transcript.reading import View
from transcript_mcp.transcript.search import Search
from transcript_mcp.transcript.size_limits import (
    LEAST_CHARS,
    MOST_CHARS,
    MOST_ENTRIES,
    USUAL_CHARS,
    USUAL_ENTRIES,
    bounded,
)

if TYPE_CHECKING:
    from nanobot_transcript.outbox import Postbox
    from nanobot_transcript.relevance.options import GateOptions

__all__ = ["TranscriptTools"]

_SEARCH_SECONDS: Final = 20
_SLICE: Final = 1.0
_MEMBERS: Final = 50

_Chat = Annotated[
    str,
    Field(
        description="The chat: its session key (feishu:oc_...), its chat id, or the beginning of either if only one "
        "chat starts with it. transcript_chats lists them."
    ),
]
_Entries = Annotated[int, Field(description=f"How many messages at most, up to {MOST_ENTRIES}.")]
_Chars = Annotated[
    int, Field(description=f"How many characters the answer may have, up to {MOST_CHARS}; long texts are shortened.")
]
_Offset = Annotated[int, Field(description="How many to skip, as an earlier answer says.")]


@dataclass(eq=False)
class TranscriptTools:
    """One method per tool. ``offer`` registers them. ``agents``: the bots of the settings."""

    store: AsyncGroupTranscriptStore
    view: View
    outbox: "Callable[[], Postbox]"
    agents: Sequence[AgentProfile]
    gate: "GateOptions | None"

    def offer(self, server: Server) -> None:
        """Register all tools."""
        for function, title in (
            (self.chats, "Group chats"),
            (self.recent, "Messages of a chat"),
            (self.search, "Search messages"),
            (self.members, "Members of a chat"),
            (self.wait, "Wait for news"),
            (self.relevance, "Who is meant?"),
        ):
            server.tool(function, name=f"transcript_{function.__name__}", title=title, read_only=True, idempotent=True)
        server.tool(self.post, name="transcript_post", title="Say something", open_world=True)

    def chats(
        self,
        limit: Annotated[int, Field(description=f"How many chats at most, up to {MOST_ENTRIES}.")] = USUAL_ENTRIES,
        offset: _Offset = 0,
    ) -> str:
        """List the recorded group chats, most recently active first, with who is in them."""
        return chats.chats_text(self.view, limit=bounded(limit, 1, MOST_ENTRIES), offset=max(0, offset))

    async def recent(
        self,
        session_key: _Chat,
        limit: _Entries = USUAL_ENTRIES,
        before: Annotated[
            str | None,
            Field(
                description="Only messages before this: a cursor from an earlier answer, a message id, "
                "a time such as 2025-11-20T09:30+08:00, or an age such as 2h. The newest of them are shown."
            ),
        ] = None,
        after: Annotated[
            str | None,
            Field(description="Only messages after this, given in the same ways. The oldest of them are shown."),
        ] = None,
        message_id: Annotated[
            str | None, Field(description="Show this one message instead, in full or from `offset` on.")
        ] = None,
        offset: Annotated[int, Field(description="With message_id: the character of its text to start at.")] = 0,
        max_chars: _Chars = USUAL_CHARS,
    ) -> str:
        """Read what people and bots said in a group chat, oldest first. Default: the newest messages.

        The answer ends with cursors for what comes before and after it.
        """
        key = await self._ready(session_key)
        chars = bounded(max_chars, LEAST_CHARS, MOST_CHARS)
        if message_id:
            return await in_thread(reading.message, self.view, key, message_id, offset=offset, max_chars=chars)
        told = await in_thread(
            reading.page,
            self.view,
            key,
            limit=bounded(limit, 1, MOST_ENTRIES),
            max_chars=chars,
            before=before,
            after=after,
        )
        return reading.page_text(told)

    async def search(
        self,
        context: Context,
        query: Annotated[str, Field(description="The exact text to find; case-sensitive.")],
        session_key: Annotated[
            str | None,
            Field(description="Only in this chat. Default: all chats. Named as for transcript_recent."),
        ] = None,
        limit: _Entries = USUAL_ENTRIES,
        max_chars: _Chars = USUAL_CHARS,
    ) -> str:
        """Find messages that contain a text, newest first. Works for any script, from one character on."""
        key = await in_thread(chat_called, self.view.store, session_key) if session_key else None
        search = Search(self.view, query, key, bounded(limit, 1, MOST_ENTRIES))
        for _ in range(_SEARCH_SECONDS):
            if await in_thread(search.go_on, _SLICE):
                break
            await context.progress(search.looked, search.total, "Chats searched")
        return await in_thread(search.text, bounded(max_chars, LEAST_CHARS, MOST_CHARS))

    def members(
        self,
        session_key: Annotated[
            str | None, Field(description="The chat. Default: all bots of the record. Named as for transcript_recent.")
        ] = None,
        limit: Annotated[int, Field(description=f"How many at most, up to {MOST_ENTRIES}.")] = _MEMBERS,
        offset: _Offset = 0,
    ) -> str:
        """Who is in a group chat: names, who is a bot, what each bot is for, and when they were last seen."""
        key = chat_called(self.view.store, session_key) if session_key else None
        most = bounded(limit, 1, MOST_ENTRIES)
        return chats.members_text(self.view, key, self.agents, limit=most, offset=max(0, offset))

    async def wait(
        self,
        context: Context,
        session_key: _Chat,
        after: Annotated[
            str | None,
            Field(description="The cursor from the last answer: you get what came after it. Default: from now on."),
        ] = None,
        timeout: Annotated[  # noqa: ASYNC109 - nothing came is an answer, and not an error
            float, Field(description=f"Seconds to wait at most, up to {waits.LONGEST_WAIT:g}.")
        ] = 30,
        limit: _Entries = USUAL_ENTRIES,
        max_chars: _Chars = USUAL_CHARS,
    ) -> str:
        """Wait until something is said in a group chat, and read it.

        Returns at once if there is something new after the cursor. The answer always has the cursor for the next call,
        even if nothing came, so that nothing is missed between two calls.
        """
        key = await self._ready(session_key)
        return await waits.news(
            self.view,
            key,
            after=after or None,
            timeout=min(max(0.0, timeout), waits.LONGEST_WAIT),
            limit=bounded(limit, 1, MOST_ENTRIES),
            max_chars=bounded(max_chars, LEAST_CHARS, MOST_CHARS),
            tell=context.progress,
        )

    def relevance(
        self,
        session_key: _Chat,
        text: Annotated[str, Field(description="The message, as somebody would write it in the chat now.")],
        agent: Annotated[str, Field(description="The bot in question, by name or alias.")],
        sender: Annotated[
            str | None, Field(description="Who would write it, by name. Default: somebody who never wrote there.")
        ] = None,
    ) -> str:
        """Check whether a bot would answer this message now: yes or no, why, and how likely it is meant.

        Asks the same gate as the bots themselves, with the chat's recent messages. Nothing is sent or recorded.
        """
        from transcript_mcp.transcript import gate_preview  # slow to import, and only needed here

        key = chat_called(self.view.store, session_key)
        return encode(
            gate_preview.relevance(self.view, key, text, agent, sender=sender, agents=self.agents, options=self.gate)
        )

    async def post(
        self,
        context: Context,
        session_key: _Chat,
        text: Annotated[str, Field(description="What to say.")],
        agent: Annotated[
            str | None, Field(description="The only bot that may send it, by name or alias. Default: any.")
        ] = None,
        idempotency_key: Annotated[
            str | None, Field(description="Posts with the same key are sent only once, however often you call this.")
        ] = None,
        reply_to: Annotated[str | None, Field(description="The id of the message to reply to.")] = None,
        wait: Annotated[
            float, Field(description=f"Seconds to wait for a bot to send it, up to {waits.LONGEST_WAIT:g}.")
        ] = 0,
    ) -> str:
        """Post to a group chat, through a bot that is in it. Everybody in the chat can read it.

        The post is queued on disk and sent by the bot. The answer has its id and state, and a cursor: wait for replies
        with transcript_wait after it.
        """
        from transcript_mcp.transcript import posts

        wanted = posts.PostRequest(session_key, text, agent or None, idempotency_key or None, reply_to or None)
        seconds = min(max(0.0, wait), waits.LONGEST_WAIT)
        return encode(
            await posts.post(self.view, self.outbox(), wanted, self.agents, wait=seconds, tell=context.progress)
        )

    async def _ready(self, chat: str) -> str:
        """The session key of a chat, after gaps in its record were filled from the platform's history."""
        key = await in_thread(chat_called, self.view.store, chat)
        if self.store.gaps is not None:
            await self.store.gaps.filled(key)
        return key
