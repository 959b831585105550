"""Builds the assistant and its MCP server from the settings."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import nanobot_transcript
from nanobot_transcript.errors import StoreBusyError, StoreError, UnsafePathError
from nanobot_transcript.files.lock import exclusive
from transcript_mcp.assistant.questions.service import Assistant, Desk
from transcript_mcp.assistant.questions.sql_store import SqlQuestionStore
from transcript_mcp.assistant.tools import QuestionTools, ToolOptions
from transcript_mcp.sdk import Context, Server

if TYPE_CHECKING:
    from nanobot_transcript.record import Record
    from nanobot_transcript.settings import Settings
    from nanobot_transcript.settings.lazy_record import Opening
    from transcript_mcp.assistant.groups import GroupQuestions

__all__ = ["assistant_from", "build_server", "groups_from", "lock_questions", "options_from"]

_TAKE_OVER: Final = 3.0
"""Seconds to wait for a hub that is ending."""

_INSTRUCTIONS: Final = (
    "A line to people. ask_question asks a person and waits for the answer; "
    "task_finish tells people what was done. With `wait`, both return an id; "
    "get the answer later with get_answer. Messages that people sent you on their own come with the next answer."
)


def build_server(desk: Desk, scope_of: Callable[[Context], str], options: ToolOptions) -> Server:
    """The server over a desk. ``scope_of``: the scope in which a caller asks."""
    server = Server(
        "assistant", version=nanobot_transcript.__version__, title="Agent Assistant", instructions=_INSTRUCTIONS
    )
    QuestionTools(desk, scope_of, options).offer(server)
    return server


def lock_questions(folder: Path) -> ExitStack:
    """Lock the questions in a folder for this process, until the result is closed.

    Only one process may serve them, because waiting callers and timers are in its memory. Raises StoreBusyError and
    UnsafePathError.
    """
    held = ExitStack()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        held.enter_context(exclusive(str(folder / ".assistant.hub"), _TAKE_OVER, "the questions"))
    except StoreBusyError as error:
        raise StoreBusyError(
            f"Another hub already serves the questions in {folder}.",
            hint="Use that hub, or give this one its own folder (hub.data_dir).",
        ) from error
    except UnsafePathError:
        raise
    except (StoreError, OSError):
        pass  # the folder is not writable; each question will report that
    return held


def assistant_from(settings: "Settings", opening: "Opening") -> Assistant:
    """The assistant that the settings describe, with its store in the hub's folder or the record's database."""
    return Assistant(
        SqlQuestionStore(opening.shelf(settings.hub.data_dir)),
        grace=settings.assistant.grace,
        chat=settings.assistant.chat or "",
        lease=settings.io.lease,
    )


def groups_from(assistant: Assistant, record: "Record") -> "GroupQuestions":
    """Asks questions in the groups of a record."""
    from transcript_mcp.assistant.groups import GroupQuestions

    return GroupQuestions(assistant, record.outbox, record.members)


def options_from(settings: "Settings") -> ToolOptions:
    """The options of the MCP tools."""
    chosen = settings.assistant
    return ToolOptions(
        chosen.timeout, chosen.shortest_timeout, chosen.longest_timeout, int(chosen.max_attachment), chosen.elicit
    )
