"""Runs a demo from beginning to end: folder, signals, exit code, and the document for ``--json``."""

import asyncio
import contextlib
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Coroutine
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from nanobot_transcript.cli.terminal.exit_codes import DONE, INTERRUPTED, REMOTE
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.output import emit_json, notice
from nanobot_transcript.demo.chronicle import Chronicle
from nanobot_transcript.demo.errors import DemoError
from nanobot_transcript.demo.free_talk import FreeTalk
from nanobot_transcript.demo.hosts import DemoHost, HostName, host_named
from nanobot_transcript.demo.mind import ScriptedMind
from nanobot_transcript.demo.model_proxy import ModelEndpoint
from nanobot_transcript.demo.record import DemoPlace
from nanobot_transcript.demo.scene import DemoScene
from nanobot_transcript.demo.screen import DemoScreen
from nanobot_transcript.demo.tally import MessageTally, count
from nanobot_transcript.demo.world import World
from nanobot_transcript.errors import StoreError

__all__ = ["run"]

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(host: HostName, *, keep: bool, json: bool) -> int:
    """Play the demo and return the command's exit code. Raises HostError when what it needs is not installed."""
    version = host_named(host).require()
    folder = Path(tempfile.mkdtemp(prefix="transcript-demo-"))
    place, is_told = DemoPlace(folder), False
    try:
        place = DemoPlace.from_environment(folder / "record")
        demo = _Demo(folder, place, host_named(host), version, keep=keep, json=json)
        return asyncio.run(_until_signalled(demo.run()))
    except StoreError as error:
        is_told = True
        if not keep and (left := place.remove(known=True)):
            error.hint = f"{error.hint}\n{left}"  # the error is told before what is left behind it
        raise
    finally:
        with contextlib.suppress(OSError):  # the terminal may be gone
            if keep:
                _tell_kept(folder, place)
            elif not is_told and (left := place.remove()):
                notice(left)
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _tell_kept(folder: Path, place: DemoPlace) -> None:
    both = said("Kept: {folder}, and the schema {schema} in the database", folder=folder, schema=place.schema)
    notice(f"{both}\n{place.dropping}" if place.schema else said("Kept: {folder}", folder=folder))


async def _until_signalled(work: Coroutine[Any, Any, int]) -> int:
    """Do the work; a signal cancels it, so that it cleans up, and a second one cuts the cleaning up short."""
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
    received: list[int] = []

    def end(number: int) -> None:
        received.append(number)
        task.cancel()

    for number in _SIGNALS:
        loop.add_signal_handler(number, end, number)
    try:
        return await task
    except asyncio.CancelledError:
        if not received:
            raise
        with contextlib.suppress(OSError):  # the terminal may be gone
            notice(said("Interrupted; both bots have stopped."))
        return INTERRUPTED


class _Demo:
    """One run of it."""

    def __init__(self, folder: Path, place: DemoPlace, host: DemoHost, version: str, *, keep: bool, json: bool) -> None:
        self._version: str = version
        self._keep: bool = keep
        self._json: bool = json
        self._began: float = time.monotonic()
        self._screen: DemoScreen = DemoScreen(aside=json)
        self._goes_on: bool = not json and sys.stdin.isatty() and sys.stdout.isatty()
        mind = ModelEndpoint.from_environment() or ScriptedMind()
        self._world: World = World(folder, place, mind, host, page=self._goes_on)
        self._chronicle: Chronicle = Chronicle(self._world, self._screen.show)

    async def run(self) -> int:
        async with self._world:
            try:
                tally = await self._play()
            except DemoError as failure:
                return self._failed(failure)
        if self._json:
            emit_json({"ok": True, **self._document(tally)})
        return DONE

    async def _play(self) -> MessageTally:
        screen, world = self._screen, self._world
        screen.title(world.host)
        async with screen.starting(world.host) as ready:
            await world.open(lambda bot: ready(bot.app.name))
        for bot in world.bots:
            screen.bot(bot, self._version)
        screen.facts(world.mind.label, world.record.place, world.page.address if world.page else "")
        if world.page is not None:
            world.page.show()
        await DemoScene(world, self._chronicle, screen).play()
        tally = await self._count()
        if (self._goes_on or self._keep) and (world.place.schema or world.transcript is not None):
            screen.place(world.place, world.transcript, follow=self._goes_on, kept=self._keep)
        if self._goes_on:
            await FreeTalk(world, screen).run()
            tally = await self._count()
        if not self._keep:
            screen.farewell(world.host, world.place)
        screen.settings(world.host, world.place)
        return tally

    async def _count(self) -> MessageTally:
        await self._world.recorded()
        tally = await asyncio.to_thread(count, self._world)
        self._screen.tally(tally, self._world.place)
        if not tally.exact:
            raise DemoError(said("Messages and entries do not match."))
        return tally

    def _failed(self, failure: DemoError) -> int:
        logs = {} if failure.code == REMOTE else {one.log_path: one.log_tail() for one in self._world.bots}
        self._screen.failure(str(failure), failure.hint, logs)
        if self._json:
            error = {"code": "demo", "message": str(failure), "hint": failure.hint}
            emit_json({"ok": False, "error": error, **self._document(None)})
        return failure.code

    def _document(self, tally: MessageTally | None) -> dict[str, Any]:
        world = self._world
        turns = self._chronicle.turns
        return {
            "events": self._chronicle.events,
            "given": [{"bot": name, "entries": [asdict(line) for line in turn.given]} for name, turn in turns],
            "transcript": {
                "session_key": world.key,
                "store": world.record.place,
                "path": str(world.transcript) if world.transcript else None,
                "kept": self._keep,
            },
            "counts": asdict(tally) if tally else None,
            "model": {"name": world.mind.label, "scripted": world.mind.scripted, "requests": len(world.model.requests)},
            "bots": [
                {"name": one.app.name, "pid": one.pid, "host": self._version, "seconds": round(one.started_in, 2)}
                for one in world.bots
            ],
            "seconds": round(time.monotonic() - self._began, 2),
        }
