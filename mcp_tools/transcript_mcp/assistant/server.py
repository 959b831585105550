"""Puts the MCP server of the assistant together."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import nanobot_transcript
from transcript_mcp.assistant.service import Assistant, Desk
from transcript_mcp.assistant.sqlite import SqliteQuestionStore
from transcript_mcp.assistant.tools import ToolOptions, Tools
from transcript_mcp.sdk import Context, Server

if TYPE_CHECKING:
    from nanobot_transcript.settings import Settings
    from transcript_mcp.assistant.groups import GroupQuestions
    from transcript_mcp.assistant.scopes import Scopes

__all__ = ["assistant_from", "build_server", "groups_from", "options_from", "scopes_from"]

_INSTRUCTIONS: Final = (
    "A line to people. ask_question puts a question to a person and waits for the answer; task_finish tells people "
    "what was done. With `wait`, both return an id, and get_answer looks for the answer later. What people wrote to "
    "you without being asked comes with the next answer."
)


def build_server(desk: Desk, scope_of: Callable[[Context], str], options: ToolOptions) -> Server:
    """The server over a desk. ``scope_of`` says whose questions a caller asks."""
    server = Server(
        "assistant", version=nanobot_transcript.__version__, title="Agent Assistant", instructions=_INSTRUCTIONS
    )
    Tools(desk, scope_of, options).offer(server)
    return server


def assistant_from(settings: "Settings") -> Assistant:
    """The questions of the hub that the settings describe."""
    return Assistant(
        SqliteQuestionStore(settings.hub.data_dir),
        grace=settings.assistant.grace,
        chat=settings.assistant.chat or "",
        lease=settings.io.lease,
    )


def groups_from(settings: "Settings", assistant: Assistant) -> "GroupQuestions":
    """The groups of the record that the settings describe, for questions that are asked there."""
    from nanobot_transcript.outbox import Outbox
    from transcript_mcp.assistant.groups import GroupQuestions

    store = settings.store.open()
    return GroupQuestions(assistant, Outbox(store.base_dir, settings.outbox.limits()), store.members)


def scopes_from(settings: "Settings", *, open_to_all: bool) -> "Scopes":
    """The tokens of the settings; ``open_to_all`` as in ``Scopes``."""
    from transcript_mcp.assistant.scopes import Scopes

    return Scopes(
        {name: token.get_secret_value() for name, token in settings.assistant.tokens.items()},
        {name: token.get_secret_value() for name, token in settings.hub.tokens.items()},
        open_to_all=open_to_all,
    )


def options_from(settings: "Settings") -> ToolOptions:
    """How long questions of the MCP tools wait, and what they hand over."""
    chosen = settings.assistant
    return ToolOptions(
        chosen.timeout, chosen.shortest_timeout, chosen.longest_timeout, int(chosen.max_attachment), chosen.elicit
    )
