"""The ways of a letter, of its archive, of a question to a person and of the answer, as one JSON document.

    python -m benchmarks.way.trips hub FOLDER        what runs in the hub; of the archive, in the archiver
    python -m benchmarks.way.trips adapter FOLDER    what runs in the adapter that an agent asks through

What is counted runs in this process; hub or adapter beside it run in one of their own, as people start them. A program
of its own, because it looks at all threads from their beginning.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from benchmarks.way.counting import Counting, Way
from benchmarks.way.hosts import document
from benchmarks.way.rooms import room_of

if TYPE_CHECKING:
    from aiohttp import ClientSession

__all__: list[str] = []

_IDLE: Final = 1.2
"""Seconds in which what runs is found that nobody's call sets in motion."""
_AFTERWARDS: Final = 0.05
"""Seconds in which a call comes to its end behind the answer."""
_TOKEN: Final = "token-of-a-program"
_PROJECT: Final = "/srv/shop"

_Ask: TypeAlias = Callable[[str], Awaitable[Any]]
"""Ask a question; it comes back with the answer."""


@asynccontextmanager
async def _hub(folder: Path) -> AsyncIterator[tuple[str, "ClientSession"]]:
    from aiohttp import ClientSession
    from support.hubs import listening

    from nanobot_transcript.settings import Settings
    from transcript_mcp.hub import create_app

    sections = {
        "store": {"dir": folder / "transcripts"},
        "mail": {"store": folder / "mail", "archive": {"enabled": False}},
        "hub": {"data_dir": folder / "hub", "tokens": {"program": _TOKEN}},
    }
    headers = {"Authorization": f"Bearer {_TOKEN}"}
    async with listening(create_app(Settings.model_validate(sections))) as url, ClientSession(headers=headers) as http:
        yield url, http


async def _letter(counting: Counting, url: str, http: "ClientSession", project: str) -> Way:
    async def call(tool: str, **arguments: Any) -> None:
        params = {"name": tool, "arguments": {"project_key": project, **arguments}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        async with http.post(f"{url}/mcp/mail", json=message) as answer:
            assert not (await answer.json())["result"].get("isError")

    async def send(number: int) -> None:
        await call("send_message", from_agent="Ada", to=["Bob"], subject=f"Letter {number}", body_md="Hello.")

    for name in ("Ada", "Bob"):
        await call("register_agent", agent_name=name, program="program", model="model")
    for number in range(3):  # imports, caches, and what is made at the first one
        await send(number)
    with counting.idle():
        await asyncio.sleep(_IDLE)
    with counting.under_way() as way:
        await send(3)
        await asyncio.sleep(_AFTERWARDS)
    return way


async def _question(counting: Counting, url: str, ask: _Ask) -> tuple[Way, Way]:
    """Of the question, until it is on the person's screen, and of the answer, until the agent has it."""
    from support.assistant_clients import page

    async with page(url, _TOKEN, "Ada") as screen:
        for number in range(2):
            asked = asyncio.ensure_future(ask(f"Question {number}?"))
            frame = await screen.until("AskQuestion")
            await screen.reply(frame.AskQuestionRequest.ID, "Yes.")
            await asked
        with counting.idle():
            await asyncio.sleep(_IDLE)
        with counting.under_way() as question:
            asked = asyncio.ensure_future(ask("Ship it?"))
            frame = await screen.until("AskQuestion")
        with counting.idle():
            await asyncio.sleep(_IDLE)
        with counting.under_way() as answer:
            await screen.reply(frame.AskQuestionRequest.ID, "Yes.")
            await asked
    return question, answer


@contextmanager
def _agent(url: str) -> Iterator[_Ask]:
    """An agent whose adapter is a program beside this one."""
    from support.mcp_raw import RawClient

    port = f"NANOBOT_TRANSCRIPT_HUB__PORT={url.rpartition(':')[2]}"
    token = f"NANOBOT_TRANSCRIPT_HUB__TOKENS__PROGRAM={_TOKEN}"
    with RawClient(["env", port, token, sys.executable, "-m", "nanobot_transcript", "mcp", "assistant"]) as client:
        client.begin()
        yield lambda text: asyncio.to_thread(client.call, "ask_question", project_directory=_PROJECT, question=text)


def _agent_here(url: str) -> _Ask:
    """An agent whose adapter is in this process."""
    from transcript_mcp.assistant.remote_desk import RemoteDesk
    from transcript_mcp.assistant.server import build_server
    from transcript_mcp.assistant.tools import ToolOptions
    from transcript_mcp.sdk.testing import InMemoryClient

    client = InMemoryClient(build_server(RemoteDesk(url, _TOKEN), lambda _ctx: "", ToolOptions(shortest=1)))
    return lambda text: client.call("ask_question", project_directory=_PROJECT, question=text)


def _archive(counting: Counting, folder: Path, project: str) -> Way:
    from transcript_mcp.mail.archive.rounds import Archiving
    from transcript_mcp.mail.mail import AgentMail
    from transcript_mcp.mail.values import Draft

    mail = AgentMail(folder / "archived")
    ada = mail.register_agent(project, "Ada").agent
    mail.register_agent(project, "Bob")
    archiving = Archiving(mail.places, mail.database)

    def letter(number: int) -> None:
        mail.send(project, ada, Draft(subject=f"Letter {number}", body="Hello.", to=["Bob"]))

    for number in range(2):
        letter(number)
        archiving.round(until=float("inf"))
    letter(2)
    with counting.under_way() as way:
        archiving.round(until=float("inf"))
    archiving.close()
    mail.close()
    return way


async def _in_hub(counting: Counting, folder: Path) -> dict[str, Way]:
    project = folder / "project"
    project.mkdir()
    async with _hub(folder) as (url, http):
        letter = await _letter(counting, url, http, str(project))
        with _agent(url) as ask:
            question, answer = await _question(counting, url, ask)
    archive = _archive(counting, folder, str(project))
    return {"send_message": letter, "archive": archive, "ask_question": question, "its answer": answer}


async def _in_adapter(counting: Counting, folder: Path) -> dict[str, Way]:
    from benchmarks.hubs import served

    with served(folder, hub__tokens__program=_TOKEN) as hub:
        url = f"http://127.0.0.1:{hub.port}"
        question, answer = await _question(counting, url, _agent_here(url))
    return {"ask_question, adapter": question, "its answer, adapter": answer}


async def _trips(place: str, folder: Path) -> dict[str, Way]:
    """What is looked at is imported when everything is, for the threads that it starts."""
    counting = Counting(room_of)
    counting.begin()
    try:
        return await {"hub": _in_hub, "adapter": _in_adapter}[place](counting, folder)
    finally:
        counting.end()


def main(place: str, folder: str) -> None:
    trips = asyncio.run(_trips(place, Path(folder)))
    print(json.dumps({name: document(way) for name, way in trips.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
