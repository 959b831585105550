"""Describes this room to the hub and the commands: questions to people."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from transcript_mcp.room import OpenRoom, Room, Stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from contextlib import AbstractAsyncContextManager

    from aiohttp.web import AbstractRouteDef

    from nanobot_transcript.record.transfer.kept_tables import KeptTables
    from nanobot_transcript.settings import Settings
    from nanobot_transcript.settings.lazy_record import Opening
    from transcript_mcp.page import WebPage
    from transcript_mcp.room import News, OwnAccess

__all__ = ["ROOM"]

_RULES: Final = """\
- Ask instead of guessing. Call `ask_question` when a person has to decide, when neither the code nor the documents say
  what you need to know, and before anything that cannot be undone. Say all that is needed to answer, offer `options`
  where there are some, and wait. When nobody answers in time, stop there and say so.
- If your calls end after a short time, pass `wait: 50` and fetch the answer with `get_answer`.
- When a task is finished, call `task_finish`: what you did, how you checked it, what is left. Pass `confirm: true` only
  when a person has to agree before you go on.
- Write to people in the language that they use.
"""


def _opened(settings: "Settings", opening: "Opening", _cwd: Path | None) -> OpenRoom:
    from transcript_mcp.assistant.agent_notes import AgentNotes
    from transcript_mcp.assistant.server import (
        assistant_from,
        build_server,
        groups_from,
        lock_questions,
        options_from,
    )
    from transcript_mcp.tokens import tokens_of

    tokens, options = tokens_of(settings), options_from(settings)
    held = lock_questions(settings.hub.data_dir)
    assistant = assistant_from(settings, opening)
    server = build_server(assistant, lambda ctx: tokens.asks_in(ctx.who), options)
    server.on_close(assistant.close)
    server.on_close(held.close)
    server.on_close(opening.close)

    def routes() -> "Iterable[AbstractRouteDef]":
        from transcript_mcp.assistant.protocol.connect import routes

        return routes(assistant, tokens)

    def own_access() -> "OwnAccess":
        from transcript_mcp.assistant.protocol.callers import Callers

        return Callers(own_tokens=bool(settings.assistant.tokens), behind_token=settings.hub_wants_tokens)

    def pages(_news: "News") -> "Mapping[str, WebPage]":
        from transcript_mcp.assistant.page import QuestionsPage

        return {"questions": QuestionsPage(options.max_attachment)}

    def stored() -> "Iterator[Stored]":
        from nanobot_transcript.files.usage import database_size

        file = settings.hub.data_dir / "assistant.sqlite3"
        size, files = database_size(file)
        yield Stored("questions", file, size, files=files)

    def running() -> "AbstractAsyncContextManager[None]":
        return groups_from(assistant, opening.record).running()

    return OpenRoom(
        server,
        routes,
        own_access=own_access,
        pages=pages,
        stored=stored,
        running=running,
        notes=AgentNotes(assistant.unasked, tokens, options.max_attachment),
    )


def _tables(settings: "Settings") -> "Iterator[KeptTables]":
    from nanobot_transcript.record.transfer.kept_tables import KeptTables
    from transcript_mcp.assistant.questions.tables import SCHEMA, opened

    yield KeptTables("questions", SCHEMA, lambda place: opened(place.record.shelf(settings.hub.data_dir)))


ROOM: Final = Room(
    "assistant",
    _opened,
    stdio="adapter",
    entry="agent-assistant",
    waits=True,
    safe=("ask_question", "task_finish", "work_report", "get_answer", "withdraw_question"),
    rules=_RULES,
    tables=_tables,
)
