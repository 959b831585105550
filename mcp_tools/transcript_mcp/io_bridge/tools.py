"""The MCP tools of the IO bridge."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final

from pydantic import Field

from nanobot_transcript.errors import StoreError
from transcript_mcp.io_bridge.bridge import Bridge, HandedItem, OnHandedOut
from transcript_mcp.io_bridge.rules import MOST_ID, checked_key, checked_session, checked_text
from transcript_mcp.room import Addressee, GivenNotes, Notes
from transcript_mcp.sdk import Content, Context, Result, Server, Text

__all__ = ["QueueTools"]

logger = logging.getLogger(__name__)

_LONGEST: Final = 86_400
_NOTHING: Final = "No input in session"
"""The beginning of every answer without an input; no input may begin like it."""

_Session = Annotated[
    str,
    Field(description=f"Id of the conversation, agreed with whoever sends the inputs; up to {MOST_ID} characters."),
]
_Timeout = Annotated[
    float | None,
    Field(
        description="Seconds to wait at the most; then a text says that there is no input yet: "
        'it begins with "No input in session", as no input does. Left out, '
        "it waits until an input comes. Give it when your client ends long calls by itself, for example 50.",
        ge=0,
        le=_LONGEST,
    ),
]
_Project = Annotated[
    str | None,
    Field(
        description="The directory of your project, the same as for ask_question. "
        "With it you also get messages that people send you on their own."
    ),
]
_Agent = Annotated[str, Field(description="Your name, if you have one, the same as for ask_question.")]
_Output = Annotated[str, Field(description="The text for whoever reads the outputs of this session.")]
_Key = Annotated[
    str | None,
    Field(
        description="Any text. Use the same one when you repeat a call whose answer you did not get: "
        "the output is then delivered only once."
    ),
]


@dataclass(eq=False)
class QueueTools:
    """One method per tool; ``offer`` registers them, two of them under a second name."""

    bridge: Bridge
    _notes: Notes | None = field(default=None, init=False)

    def hear(self, notes: Notes) -> None:
        """From now on also give agents the notes that people write to them."""
        self._notes = notes

    def offer(self, server: Server) -> None:
        """Register all tools."""
        for name in ("i_tool", "get_input"):
            server.tool(self.i_tool, name=name, title="Wait for input", open_world=True)
        for name in ("o_tool", "return_output"):
            server.tool(self.o_tool, name=name, title="Return output", open_world=True)
        server.tool(self.ack_input, title="Confirm input", idempotent=True)

    async def i_tool(
        self,
        session_id: _Session,
        ctx: Context,
        timeout: _Timeout = None,  # noqa: ASYNC109 - an argument of the tool
        project_directory: _Project = None,
        agent_name: _Agent = "",
    ) -> Result:
        """Get the next input of a session, or wait for it if there is none yet. get_input is the same tool.

        The answer is the input itself. Your next i_tool, o_tool or ack_input of the session confirms that you have
        it; an input that nobody confirms is delivered again.
        """
        session = checked_session(session_id)
        project, name = checked_text(project_directory or "", "project"), checked_text(agent_name, "name")
        agent = Addressee(ctx.who, project, name)
        given = await self._next_item(session, agent, timeout, ctx)
        if given is None:
            return Result(
                f"{_NOTHING} {session} yet, after {timeout or 0:g} s. Call i_tool again with the same session_id to "
                "keep waiting.",
                data={"input": None, "waited": timeout or 0},
            )
        ctx.when_answered(given.arrived)
        return Result(_told_apart([Text(given.text)] if isinstance(given, HandedItem) else given.contents))

    async def _next_item(
        self, session: str, agent: Addressee, wait: float | None, ctx: Context
    ) -> HandedItem | GivenNotes | None:
        async def tell(waited: float) -> None:
            await ctx.progress(waited, wait, f"{_NOTHING} {session} yet.")

        await self._confirm_notes(ctx, session)
        if self._notes is None or not agent.project:
            return await self.bridge.next_input(session, wait=wait, is_gone=lambda: ctx.is_gone, tell=tell)
        return await _next_of_both(
            self.bridge, self._notes, agent, session, wait=wait, is_gone=lambda: ctx.is_gone, tell=tell
        )

    async def o_tool(self, session_id: _Session, output: _Output, ctx: Context, idempotency_key: _Key = None) -> str:
        """Return an output of a session to whoever reads it, and confirm the inputs you were given. Returns at once.

        return_output is the same tool.
        """
        session, text = checked_session(session_id), checked_text(output, "output")
        put = await self.bridge.send_output(session, text, checked_key(idempotency_key))
        try:
            await self._confirm_notes(ctx, session)
        except StoreError as error:  # not raised: the output is stored, and an agent that gets an error sends it again
            logger.warning("Notes from people could not be confirmed yet: %s", error)
        if put.repeated:
            return f"Output {put.seq} of session {session} was delivered before; nothing was added."
        return f"Output {put.seq} of session {session} is kept until it is read."

    async def ack_input(self, session_id: _Session, ctx: Context) -> str:
        """Confirm the input that i_tool gave you before you start long work; otherwise it is delivered again."""
        session = checked_session(session_id)
        count = await self.bridge.confirm(session) + await self._confirm_notes(ctx, session)
        return f"Confirmed {count} input{'' if count == 1 else 's'} of session {session}."

    async def _confirm_notes(self, ctx: Context, session: str) -> int:
        return 0 if self._notes is None else await self._notes.confirm(ctx.who, session)


async def _next_of_both(
    bridge: Bridge,
    notes: Notes,
    agent: Addressee,
    session: str,
    *,
    wait: float | None,
    is_gone: Callable[[], bool],
    tell: OnHandedOut,
) -> HandedItem | GivenNotes | None:
    """Notes from people to the agent, or the next input of its session, whichever comes first.

    None when there is neither within ``wait`` seconds, or the client has disconnected. Confirms earlier inputs.
    """
    began = asyncio.get_running_loop().time()
    await bridge.confirm(session, given_back=False)

    async def called_off() -> None:
        await news.wait()
        bridge.look_again(session)

    with notes.news(agent) as news:
        while not is_gone():
            news.clear()
            if (messages := await notes.take(agent, session)) is not None:
                return messages
            left = None if wait is None else max(wait - (asyncio.get_running_loop().time() - began), 0.0)
            calling_off = asyncio.create_task(called_off())
            try:
                handed = await bridge.next_input(
                    session, wait=left, is_gone=lambda: news.is_set() or is_gone(), tell=tell, agent=agent
                )
            finally:
                calling_off.cancel()
            if handed is not None or not news.is_set():
                return handed
    return None


def _told_apart(contents: Sequence[Content]) -> Sequence[Content]:
    """The contents unchanged; if they begin like an answer without input, after a block that says they are an input."""
    first = contents[0] if contents else None
    is_alike = isinstance(first, Text) and first.text.lstrip().casefold().startswith(_NOTHING.casefold())
    return [Text("This is an input, although it begins like a time-out:"), *contents] if is_alike else contents
