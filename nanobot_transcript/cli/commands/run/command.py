"""``run``: let agents of any kind answer in group chats, without nanobot."""

import logging
import signal
from typing import TYPE_CHECKING, Annotated

import typer

from nanobot_transcript.cli.commands.service.notification import tell_ready
from nanobot_transcript.cli.terminal.exit_codes import DONE, INTERRUPTED, REMOTE, described
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.options import ConfigOrCOption, JsonlOption, StoreOption, read_settings
from nanobot_transcript.cli.terminal.output import LOG_FORMAT, emit_line, listed, notice
from nanobot_transcript.errors import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from nanobot_transcript.cli.commands.run.agents import Composed
    from nanobot_transcript.record import Record
    from nanobot_transcript.runner import Runner

__all__ = ["run"]

logger = logging.getLogger(__name__)


def run(
    config: ConfigOrCOption = None,
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", metavar="NAME", help="Run only this agent; may be given several times."),
    ] = None,
    jsonl: JsonlOption = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Log each decision, too.")] = False,
    store: StoreOption = None,
) -> None:
    """Let a model, a command or a script answer in group chats.

    Runs the bots under `agents` that have a responder: all in this process, or with --agent one process for each.
    SIGTERM or Ctrl-C stops it once unfinished answers are done; a second one stops it at once. An agent that the
    platform refuses is reported and skipped; the exit code is then 4. The log goes to stderr; --jsonl says on stdout
    when the agents are connected and when they have stopped.

    \b
    Example:
      nanobot-transcript run -c config.yaml
    """
    import asyncio

    from nanobot_transcript.cli.commands.run.agents import chosen, compose
    from nanobot_transcript.cli.commands.run.platforms import code_rooms

    logging.basicConfig(level=logging.WARNING, format=LOG_FORMAT, force=True)
    for room in code_rooms():
        logging.getLogger(room).setLevel(logging.DEBUG if verbose else logging.INFO)
    settings = read_settings(config, store, later=True)  # `chosen` requires what these agents need
    agents = chosen(settings, agent or ())
    with settings.open_record() as record:
        _require(record, spooled=settings.record.address is not None)
        place = record.place
    runner = asyncio.run(_work(lambda: compose(settings, agents), place, jsonl=jsonl))
    raise typer.Exit(_code(runner))


def _require(record: "Record", *, spooled: bool) -> None:
    """Raise StoreUnavailableError when nothing can be recorded now; with a spool only warn, as it is recorded later."""
    try:
        record.require(written=True)
    except StoreUnavailableError as error:
        if not spooled:
            raise
        waits = "Until then messages wait on this machine, and the bots answer only when they are mentioned."
        logger.warning("%s %s %s", error, error.hint, waits)


async def _work(make: "Callable[[], Composed]", record: str, *, jsonl: bool) -> "Runner":
    """Run until a signal."""
    import asyncio

    composed = make()
    runner = composed.runner
    names = [hosted.name for hosted in runner.agents]
    way = f" ({composed.ways})" if composed.ways else ""
    notice(said("Record: {record}\nConnecting {names}{way} …", record=record, names=listed(names), way=way))
    tell_ready()  # already now: connecting takes as long as the platform cannot be reached
    announcing = asyncio.ensure_future(_announce(runner, jsonl=jsonl))
    try:
        await runner.run(signals=True)
    finally:
        announcing.cancel()
        await composed.close()
    if jsonl:
        emit_line({"event": "stopped", "agents": names})
    return runner


async def _announce(runner: "Runner", *, jsonl: bool) -> None:
    await runner.ready.wait()
    names = [agent.name for agent in runner.agents if agent in runner.connected]
    refused = runner.refused
    if jsonl:
        told = [{"agent": name, **described(error)} for name, error in refused.items()]
        emit_line({"event": "ready", "agents": names, **({"refused": told} if told else {})})
        return
    left_out = said(" Not connected: {names}.", names=listed(refused)) if refused else ""
    notice(said("Connected: {names}.{left_out} Ctrl-C ends it.", names=listed(names), left_out=left_out))


def _code(runner: "Runner") -> int:
    if runner.refused:
        return REMOTE
    return INTERRUPTED if runner.signal == signal.SIGINT else DONE
