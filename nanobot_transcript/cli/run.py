"""``run``: let agents of any kind answer in group chats, without nanobot."""

import logging
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nanobot_transcript.cli.options import JsonlOption, StoreOption, read_settings
from nanobot_transcript.cli.output import emit_line, notice
from nanobot_transcript.cli.problems import DONE, INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable

    from nanobot_transcript.cli.run_agents import Composed
    from nanobot_transcript.runner import Runner

__all__ = ["run"]

_LOG = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


def run(
    config: Annotated[
        Path | None,
        typer.Option(
            "-c", "--config", metavar="FILE", help="Configuration file, instead of the usual places.", readable=False
        ),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", metavar="NAME", help="Run only this agent; may be given several times."),
    ] = None,
    jsonl: JsonlOption = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Log each decision, too.")] = False,
    store: StoreOption = None,
) -> None:
    """Let a model, a command or a script answer in group chats.

    Runs the bots under `agents` that have a responder: all in this process, or with --agent one process for each. Ends
    with SIGTERM or Ctrl-C, after the answers under way; the second time at once. The log goes to stderr;
    --jsonl says on stdout when the agents are connected and when they have stopped.

    \b
    Example:
      nanobot-transcript run -c config.yaml
    """
    import asyncio

    from nanobot_transcript.cli.run_agents import compose

    logging.basicConfig(level=logging.WARNING, format=_LOG, force=True)
    for room in ("nanobot_transcript", "transcript_channels"):
        logging.getLogger(room).setLevel(logging.DEBUG if verbose else logging.INFO)
    settings = read_settings(config, store)
    number = asyncio.run(_work(lambda: compose(settings, agent or ()), jsonl=jsonl))
    raise typer.Exit(INTERRUPTED if number == signal.SIGINT else DONE)


async def _work(make: "Callable[[], Composed]", *, jsonl: bool) -> int | None:
    """Run until a signal; returns its number."""
    import asyncio

    composed = make()
    runner = composed.runner
    names = [hosted.name for hosted in runner.agents]
    announcing = asyncio.ensure_future(_announce(runner, names, jsonl=jsonl))
    try:
        await runner.run(signals=True)
    finally:
        announcing.cancel()
        await composed.close()
    if jsonl:
        emit_line({"event": "stopped", "agents": names})
    return runner.signal


async def _announce(runner: "Runner", names: list[str], *, jsonl: bool) -> None:
    await runner.ready.wait()
    if jsonl:
        emit_line({"event": "ready", "agents": names})
    else:
        notice(f"Connected: {', '.join(names)}. Ctrl-C ends it.")
