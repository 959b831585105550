"""A hub with Agent Assistant in it, in this process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest_asyncio
from support.assistant_clients import Caller
from support.hubs import listening

from nanobot_transcript.settings import Settings
from nanobot_transcript.sql.location import Shelf
from transcript_mcp.assistant.protocol.callers import Callers
from transcript_mcp.assistant.protocol.connect import routes
from transcript_mcp.assistant.questions.service import Assistant
from transcript_mcp.assistant.questions.sql_store import SqlQuestionStore
from transcript_mcp.assistant.server import build_server
from transcript_mcp.assistant.tools import ToolOptions
from transcript_mcp.door.identity import Tokens
from transcript_mcp.hub import create_app
from transcript_mcp.room import OpenRoom


class Hub:
    """Where it listens, and what is in it."""

    def __init__(self, url: str, assistant: Assistant, tokens: Tokens) -> None:
        self.url = url
        self.assistant = assistant
        self.tokens = tokens
        self.caller = Caller(url)


@asynccontextmanager
async def running_hub(folder: Path, chat: str = "", **tokens: str) -> AsyncIterator[Hub]:
    """A hub on a folder, whose settings name this chat. ``tokens`` by name; without any, every token is let in."""
    assistant = Assistant(SqlQuestionStore(Shelf(folder)), grace=30, chat=chat)
    known = Tokens(askers=tokens, local=True)
    server = build_server(assistant, lambda ctx: known.asks_in(ctx.who), ToolOptions(shortest=1))
    server.on_close(assistant.close)
    room = OpenRoom(
        server,
        routes=lambda: routes(assistant, known),
        own_access=lambda: Callers(own_tokens=False, behind_token=False),
    )
    async with listening(create_app(Settings(), {"assistant": room})) as url:
        yield Hub(url, assistant, known)


@pytest_asyncio.fixture
async def hub(tmp_path: Path) -> AsyncIterator[Hub]:
    async with running_hub(tmp_path) as running:
        yield running
