"""The simulator as a process: credentials on the first line, commands on stdin, events on stdout, all JSON
lines.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

from transcript_channels.simulator import scopes, wire
from transcript_channels.simulator.changes import Notice
from transcript_channels.simulator.console import CommandError, Console, describe
from transcript_channels.simulator.model import ModelRequest, ScriptedModel
from transcript_channels.simulator.simulator import FeishuSimulator

__all__ = ["main"]

JSON = dict[str, Any]

DEFAULT_EVENTS = "message,edit,recall,card,reaction,gave_up,connected,disconnected"

EXPECTED = 'write one JSON object per line, such as {"do": "say", "from": "Ada", "text": "hello @Alpha"}'

EXAMPLES = """\
examples:
  python -m transcript_channels.simulator --apps Alpha,Beta --people Ada,Bo
  python -m transcript_channels.simulator --port 9400 --apps Alpha=cli_alpha:secret --model --stay

The first line on stdout holds base_url, the credentials of the apps, and the ids of people and chats. Then write
commands to stdin, one JSON object per line:
  {"do": "say", "from": "Ada", "text": "hello @Alpha"}
  {"do": "private", "from": "Ada", "to": "Alpha", "text": "between us"}
  {"do": "recall", "message_id": "om_..."}
  {"do": "who"}        {"do": "messages"}        {"do": "drop", "app": "Alpha"}
  {"do": "fail", "route": "POST /open-apis/im/v1/messages", "code": 230001, "times": 3}
  {"do": "quit"}
Each is answered by {"event": "done"} or {"event": "error"}; an "id" in a command comes back in its answer. Whatever
else happens comes as further lines with "event". The process ends with quit, at the end of stdin (not with --stay),
and at SIGINT or SIGTERM.
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(
        prog="python -m transcript_channels.simulator",
        description="A Feishu platform on loopback for trying bots: REST, long connection, people who talk.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = options.add_argument
    add("--port", type=int, default=0, help="port on 127.0.0.1 (default: a free one)")
    add("--apps", default="Alpha", help="apps, comma-separated: NAME or NAME=APP_ID:APP_SECRET (default: Alpha)")
    add("--people", default="Ada", help="people, comma-separated (default: Ada)")
    add("--group", default="Team", help="name of the group that all are in (default: Team)")
    add("--include-bots", action="store_true", help="grant the scopes that let bots see other bots' messages")
    add("--model", action="store_true", help="also run an OpenAI-compatible endpoint that echoes; see model_url")
    add("--model-port", type=int, default=0, help="its port (default: a free one)")
    add("--events", default=DEFAULT_EVENTS, help="kinds to print (default: %(default)s; also push, ack, call)")
    add("--stay", action="store_true", help="go on after the end of stdin")
    return options


def echo(request: ModelRequest) -> str:
    """What the ``--model`` endpoint says."""
    return f"You said: {request.question}" if request.question else "You said nothing."


def parse(line: bytes) -> JSON:
    """The command on a line of stdin. Raises CommandError."""
    try:
        command = json.loads(line)
    except ValueError as error:
        raise CommandError(f"this line is not JSON ({error}); {EXPECTED}") from error
    if not isinstance(command, dict):
        raise CommandError(f"a command is a JSON object, not {type(command).__name__}; {EXPECTED}")
    return command


class _Process:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.feishu = FeishuSimulator(port=options.port)
        self.model = ScriptedModel(echo, port=options.model_port) if options.model else None
        self.console = Console(self.feishu)
        self.ended = asyncio.Event()
        self.lines: asyncio.Queue[bytes | None] = asyncio.Queue()

    def populate(self) -> None:
        """The apps, people and group of the command line."""
        for name in filter(None, self.options.people.split(",")):
            self.feishu.add_person(name.strip())
        for app in filter(None, self.options.apps.split(",")):
            name, _, credentials = app.strip().partition("=")
            app_id, _, secret = credentials.partition(":")
            added = self.feishu.add_app(name, app_id=app_id or None, app_secret=secret or None)
            if self.options.include_bots:
                added.grant(scopes.GROUP_MSG_INCLUDE_BOT, scopes.GROUP_AT_MSG_INCLUDE_BOT)
        self.feishu.add_group(self.options.group, [*self.feishu.people, *self.feishu.apps])

    async def run(self) -> None:
        """Serve until told to end."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.ended.set)
        self.populate()
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.feishu)
            if self.model is not None:
                await stack.enter_async_context(self.model)
            everybody = await self.console.do({"do": "who"})
            model_url = self.model.base_url if self.model else None
            write({"event": "ready", "base_url": self.feishu.base_url, "model_url": model_url, **everybody})
            stack.callback(self.feishu.listen(self.report))
            threading.Thread(target=self.read_stdin, args=(loop,), daemon=True).start()
            obeying = asyncio.create_task(self.obey())
            await self.ended.wait()
            obeying.cancel()
            await asyncio.gather(obeying, return_exceptions=True)

    def report(self, notice: Notice) -> None:
        """Print what happened, if it is of a wanted kind."""
        if notice.kind in self.options.events.split(","):
            write(describe(notice))

    def read_stdin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Hand lines to the loop. Reads the descriptor itself: a thread inside ``sys.stdin`` would block the
        exit.
        """
        rest = b""
        while chunk := os.read(0, 65536):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                loop.call_soon_threadsafe(self.lines.put_nowait, line)
        loop.call_soon_threadsafe(self.lines.put_nowait, rest)
        loop.call_soon_threadsafe(self.lines.put_nowait, None)

    async def obey(self) -> None:
        """Do what stdin says."""
        while (line := await self.lines.get()) is not None:
            if line.strip():
                await self.obey_line(line)
        if not self.options.stay:
            self.ended.set()

    async def obey_line(self, line: bytes) -> None:
        """Do one command and print its answer."""
        answer: JSON = {}
        try:
            command = parse(line)
            answer = {key: command[key] for key in ("do", "id") if key in command}
            if command.get("do") == "quit":
                self.ended.set()
                result: JSON = {}
            else:
                result = await self.console.do(command)
            write({"event": "done", **answer, **result})
        except ValueError as error:
            write({"event": "error", **answer, "message": str(error)})


def write(line: JSON) -> None:
    """One JSON line on stdout."""
    sys.stdout.buffer.write(wire.encode(line) + b"\n")
    sys.stdout.buffer.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the process; returns the exit code."""
    options = parser().parse_args(arguments)

    async def run() -> None:
        await _Process(options).run()

    try:
        asyncio.run(run())
    except OSError as error:
        sys.stderr.write(f"the simulator could not start: {error}\n")
        return 1
    return 0
