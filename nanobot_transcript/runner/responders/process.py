"""One run of a program: its own process group, a deadline, and no process left behind."""

import asyncio
import contextlib
import errno
import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self, cast

from nanobot_transcript.errors import ResponderError
from nanobot_transcript.runner.responders.program import obstacle

__all__ = ["Run", "Started"]

_STDIN: Final = 0
_STDOUT: Final = 1
_STDERR: Final = 2
_TAIL: Final = 4096
_POLITE: Final = 2.0
_LAST_WORDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Run:
    """What to start, without a shell.

    ``stdin`` is written to it, None means no input. More than ``max_output`` bytes on stdout are an error. SIGKILL
    follows SIGTERM after ``polite`` seconds.
    """

    arguments: Sequence[str]
    stdin: bytes | None
    env: Mapping[str, str]
    cwd: Path | None = None
    max_output: int = 256 * 1024
    polite: float = _POLITE


class _Wire(asyncio.SubprocessProtocol):
    """What the program writes. asyncio's own streams would wait for every child that keeps a pipe open."""

    def __init__(self, run: Run) -> None:
        self._run: Run = run
        self._waiting: bytearray = bytearray()
        self._size: int = 0
        self.stderr: bytes = b""
        self.closed: bool = False
        self.stderr_closed: asyncio.Event = asyncio.Event()
        self.exited: asyncio.Event = asyncio.Event()
        self.changed: asyncio.Event = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != _STDOUT:
            self.stderr = (self.stderr + data)[-_TAIL:]
        elif not self.overflowed:
            self._size += len(data)
            self._waiting += data
            self.changed.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == _STDOUT:
            self.closed = True
            self.changed.set()
        elif fd == _STDERR:
            self.stderr_closed.set()

    def process_exited(self) -> None:
        self.exited.set()
        self.changed.set()

    @property
    def overflowed(self) -> bool:
        return self._size > self._run.max_output

    def take(self) -> bytes:
        data = bytes(self._waiting)
        self._waiting.clear()
        return data


class Started:
    """A running program. At the end of the block its whole process group is gone, however the block ended."""

    def __init__(self, run: Run) -> None:
        self._run: Run = run
        self._wire: _Wire = _Wire(run)
        self._transport: asyncio.SubprocessTransport | None = None

    @property
    def complaint(self) -> str:
        """The end of what it wrote to stderr, on one line."""
        return " ".join(self._wire.stderr.decode("utf-8", "replace").split())

    async def output(self, deadline: float) -> AsyncGenerator[bytes]:
        """What it writes to stdout, until it ends; does not wait for a child that keeps stdout open.

        Raises TimeoutError at ``deadline`` (the loop's time), ResponderError when it writes too much.
        """
        wire, last = self._wire, deadline
        while True:
            wire.changed.clear()
            if data := wire.take():
                yield data
            if wire.overflowed:
                raise ResponderError(
                    f"{self._run.arguments[0]} wrote more than {self._run.max_output} bytes.",
                    hint="Let it write less, or give it a higher `max_output`.",
                )
            if wire.closed:
                return
            if wire.exited.is_set():
                last = min(last, asyncio.get_running_loop().time() + _LAST_WORDS)
            try:
                async with asyncio.timeout_at(last):
                    await wire.changed.wait()
            except TimeoutError:
                if wire.exited.is_set():
                    return
                raise

    async def end(self, deadline: float) -> int:
        """Wait for the exit code; a negative one is the number of the signal that ended it. Raises TimeoutError."""
        async with asyncio.timeout_at(deadline):
            await self._wire.exited.wait()
        code = self._running.get_returncode() or 0
        if code:  # its exit may be reported before the end of its output
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(min(deadline, asyncio.get_running_loop().time() + _LAST_WORDS)):
                    await self._wire.stderr_closed.wait()
        return code

    async def __aenter__(self) -> Self:
        self._transport = await self._start()
        if self._run.stdin is not None:
            pipe = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(_STDIN))
            pipe.write(self._run.stdin)
            pipe.close()  # once all of it is written
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        pid = self._running.get_pid()
        try:
            if not self._wire.exited.is_set():
                _signal_group(pid, signal.SIGTERM)
                await self._exit(self._run.polite)
        finally:
            _signal_group(pid, signal.SIGKILL)  # the group: also children that it left behind
            try:
                await self._exit(_LAST_WORDS)  # a process in an uninterruptible system call survives even SIGKILL
            finally:
                self._running.close()

    async def _exit(self, longest: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(longest):
                await self._wire.exited.wait()

    @property
    def _running(self) -> asyncio.SubprocessTransport:
        assert self._transport is not None, "use it as a context manager"
        return self._transport

    async def _start(self) -> asyncio.SubprocessTransport:
        run = self._run
        try:
            transport, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: self._wire,
                *run.arguments,
                stdin=asyncio.subprocess.PIPE if run.stdin is not None else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=dict(run.env),
                cwd=run.cwd,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise _cannot_start(run, error) from error
        return transport


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _cannot_start(run: Run, error: OSError | ValueError) -> ResponderError:
    program = run.arguments[0]
    found = obstacle(program, run.cwd, run.env) if isinstance(error, OSError) else None
    if found is not None:
        return ResponderError(found.sentence, hint=found.hint)
    if isinstance(error, OSError) and error.errno == errno.E2BIG:
        return ResponderError(
            f"The prompt is too long for an argument of {program}.",
            hint="Leave {prompt} out of the command: on stdin the prompt may have any length.",
        )
    return ResponderError(f"{program} could not be started: {error}.", hint="Try the command in a terminal.")
