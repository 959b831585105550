"""``demo``: watch two real bots share one record, then talk to them."""

from typing import Annotated, Literal

import typer

from nanobot_transcript.cli.terminal.language import speak
from nanobot_transcript.cli.terminal.options import JsonOption

__all__ = ["demo"]


def demo(
    host: Annotated[
        Literal["nanobot", "runner"],
        typer.Option("--host", help="What runs the bots: nanobot with the plugin, or our own `run`, without nanobot."),
    ] = "nanobot",
    lang: Annotated[
        Literal["en", "zh"] | None,
        typer.Option("--lang", help="What the demo speaks; by default Chinese where LANG is Chinese."),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep what is removed at the end: record, settings, logs.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Watch two real bots share one record, then talk to them.

    Everything runs on this machine in a temporary folder: a simulated Feishu group, a process for each of two bots, and
    a script for a model, or your own endpoint if OPENAI_API_KEY or OPENAI_BASE_URL is set (OPENAI_MODEL names the
    model). Where NANOBOT_TRANSCRIPT_RECORD__URL names a database, the record is there, in a schema of the demo's own
    that is dropped at the end. After the scene you can go on typing, if there is a terminal. Exit code 1: something of
    the scene did not happen. 4: your endpoint refused.

    \b
    Example:
      nanobot-transcript demo --host runner
    """
    from nanobot_transcript.demo.run import run

    if lang is not None:
        speak(lang)
    raise typer.Exit(run(host, keep=keep, json=json))
