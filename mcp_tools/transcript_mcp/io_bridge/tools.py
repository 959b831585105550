"""The tools as clients see them."""

from typing import Annotated, Final

from pydantic import Field

from transcript_mcp.io_bridge.bridge import Bridge
from transcript_mcp.io_bridge.checking import MOST_ID, checked_key, checked_session, checked_text
from transcript_mcp.sdk import Context, Server

__all__ = ["Tools"]

_LONGEST: Final = 86_400

_Session = Annotated[
    str,
    Field(description=f"Id of the conversation, as agreed with whoever sends its inputs; up to {MOST_ID} characters."),
]
_Timeout = Annotated[
    float | None,
    Field(
        description="Seconds to wait at the most; then a text says that there is no input yet. Left out, it waits "
        "until an input comes. Give it when your client ends long calls by itself, for example 50.",
        ge=0,
        le=_LONGEST,
    ),
]
_Output = Annotated[str, Field(description="What to hand to whoever reads the outputs of this session.")]
_Key = Annotated[
    str | None,
    Field(
        description="The same text in a call that repeats an earlier one, whose answer you did not get: the output is "
        "then handed over once."
    ),
]


class Tools:
    """One method per tool; ``offer`` registers them, two of them under a second name."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    def offer(self, server: Server) -> None:
        """Register all tools."""
        for name in ("i_tool", "get_input"):
            server.tool(self.i_tool, name=name, title="Wait for input", open_world=True)
        for name in ("o_tool", "return_output"):
            server.tool(self.o_tool, name=name, title="Return output", open_world=True)
        server.tool(self.ack_input, title="Confirm input", idempotent=True)

    async def i_tool(self, session_id: _Session, ctx: Context, timeout: _Timeout = None) -> str:  # noqa: ASYNC109
        """Get the next input of a session, and wait for it when there is none yet. get_input is the same tool.

        The answer is the input itself. Your next i_tool, o_tool or ack_input of the session confirms that you have
        it; an input that nobody confirms is handed over again.
        """
        session = checked_session(session_id)

        async def tell(waited: float) -> None:
            await ctx.progress(waited, timeout, f"No input in session {session} yet.")

        handed = await self._bridge.next_input(session, wait=timeout, is_gone=lambda: ctx.is_gone, tell=tell)
        if handed is None:
            return (
                f"No input in session {session} yet, after {timeout or 0:g} s. "
                "Call i_tool again with the same session_id to go on waiting."
            )
        ctx.when_answered(handed.arrived)
        return handed.text

    async def o_tool(self, session_id: _Session, output: _Output, idempotency_key: _Key = None) -> str:
        """Hand an output of a session to whoever reads it, and confirm the inputs you were given. Returns at once.

        return_output is the same tool.
        """
        session, text = checked_session(session_id), checked_text(output, "output")
        put = await self._bridge.send_output(session, text, checked_key(idempotency_key))
        if put.repeated:
            return f"Output {put.seq} of session {session} was handed over before; nothing was added."
        return f"Output {put.seq} of session {session} is kept until it is read."

    async def ack_input(self, session_id: _Session) -> str:
        """Confirm that you have the input that i_tool gave you, before long work: else it is handed over again."""
        session = checked_session(session_id)
        count = await self._bridge.confirm(session)
        return f"Confirmed {count} input{'' if count == 1 else 's'} of session {session}."
