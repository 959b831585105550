"""Python programs as processes of their own that begin with their imports done.

    process = Forked("nanobot_transcript", "serve", "--jsonl", env={...}, stdout=subprocess.PIPE)

Importing lark_oapi alone takes half a second of CPU, and two where it is whole. So one process of each test run
imports what `preload` names, and every `Forked` is a fork of it: a process with its own pid, environment, open files
and exit code, which tests stop, kill and wait for like any other. That one process starts before the first test
(`begin`), so that no test's environment decides what modules read when they are imported. Tests of what happens before
the imports are done, of Python's own command line, or of ``PYTHON...`` variables start the program with ``subprocess``.
"""

import asyncio
import atexit
import contextlib
import ctypes
import faulthandler
import gc
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from functools import partial
from multiprocessing import forkserver
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import IO, Any, Self

from support.waiting import PATIENCE

__all__ = ["HUB", "REMOTE", "Forked", "Streamed", "begin", "preload"]

HUB = ("transcript_mcp.hub.app", "mcp", "pydantic_settings", "typer.main", "rich.console", "sqlite3")
"""What ``nanobot-transcript serve`` spends its start on."""

REMOTE = "RECORDS_AT"
"""The variable that says at which socket a process has its records, instead of in folders."""

_PR_SET_PDEATHSIG = 1
_LIGHT_LARK = "tests.support.light_lark"
"""By the name that it has in the repository's folder: the process imports it before it knows pytest's path."""
_forking = multiprocessing.get_context("forkserver")
_preloaded: list[str] = []


def preload(*modules: str) -> None:
    """Have these imported before the first fork. Called at the top of the modules whose processes need them."""
    _preloaded.extend(module for module in modules if module not in _preloaded)
    _forking.set_forkserver_preload([_LIGHT_LARK, *_preloaded])


def begin() -> None:
    """Start the process of which all are forks, if anybody asked for modules in it; it imports them in its own time."""
    if _preloaded:
        forkserver.ensure_running()


class Forked:
    """``python -m MODULE ARGUMENTS…``, with the part of ``subprocess.Popen`` that tests use.

    ``stdin``, ``stdout`` and ``stderr`` are ``subprocess.PIPE``, ``subprocess.DEVNULL``, an open file, or this
    process's own; pipes carry UTF-8 text with ``text=True``. ``env`` is the whole environment, this one's by default.
    """

    def __init__(
        self,
        module: str,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: IO[Any] | int | None = None,
        stdout: IO[Any] | int | None = None,
        stderr: IO[Any] | int | None = None,
        text: bool = False,
    ) -> None:
        self.args = [module, *arguments]
        self.stdin, in_child = _opened(stdin, 0, text=text)
        self.stdout, out_child = _opened(stdout, 1, text=text)
        self.stderr, error_child = _opened(stderr, 2, text=text)
        given = [each for each in (in_child, out_child, error_child) if each is not None]
        streams = [None if each is None else _Handed(each) for each in (in_child, out_child, error_child)]
        place = (str(cwd or Path.cwd()), dict(os.environ if env is None else env))
        try:
            # A daemon: one that a test forgets is ended with the run, which would wait for it otherwise.
            self._process = _forking.Process(target=_become, args=(module, arguments, *place, streams), daemon=True)
            self._process.start()
        finally:
            for each in given:
                os.close(each)

    @property
    def pid(self) -> int:
        """The process id, also after its end."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """The same."""
        return self._process.exitcode

    def wait(self, timeout: float = PATIENCE) -> int:
        """The exit code, once it has ended. Raises subprocess.TimeoutExpired."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float = PATIENCE) -> tuple[Any, Any]:
        """What is left of standard output and standard error, and wait for the end.

        Raises subprocess.TimeoutExpired.
        """
        give_up = time.monotonic() + timeout
        if self.stdin is not None:
            self.stdin.close()
        said, errors = _Rest(self.stdout), _Rest(self.stderr)
        for each in (said, errors):
            each.join(max(0.0, give_up - time.monotonic()))
            if each.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout)
        self.wait(max(0.0, give_up - time.monotonic()))
        self.close()
        return said.text, errors.text

    def close(self) -> None:
        """Close the pipes."""
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


class _Handed:
    """A descriptor that goes to the new process with the request for it. ``DupFd``, outside of pickling, would have it
    fetched from a thread of ours, one process after the other."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (DupFd(self._descriptor),)


def _received(duplicate: Any) -> int:
    return duplicate.detach()


class Streamed:
    """``await Streamed.start("nanobot_transcript", "serve", stdout=subprocess.PIPE)``: a `Forked` whose pipes are
    asyncio's, with the part of ``asyncio.subprocess.Process`` that tests use. ``limit`` is the longest line."""

    def __init__(self, process: Forked) -> None:
        self._process = process
        self.pid = process.pid
        self.send_signal, self.terminate, self.kill = process.send_signal, process.terminate, process.kill
        self.stdin: asyncio.StreamWriter | None = None
        self.stdout: asyncio.StreamReader | None = None
        self.stderr: asyncio.StreamReader | None = None

    @classmethod
    async def start(cls, module: str, *arguments: str, limit: int = 1 << 16, **options: Any) -> Self:
        """The arguments of `Forked`. The first start of all takes seconds: then modules are imported."""
        made = cls(await asyncio.to_thread(Forked, module, *arguments, **options))
        loop = asyncio.get_running_loop()
        for name in ("stdout", "stderr"):
            if pipe := getattr(made._process, name):
                reader = asyncio.StreamReader(limit)
                await loop.connect_read_pipe(partial(asyncio.StreamReaderProtocol, reader), pipe)
                setattr(made, name, reader)
        if pipe := made._process.stdin:
            transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, pipe)
            made.stdin = asyncio.StreamWriter(transport, protocol, None, loop)
        return made

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.poll()

    async def wait(self) -> int:
        """The exit code, once it has ended."""
        return await asyncio.to_thread(self._process.wait)

    async def communicate(self) -> tuple[bytes, bytes]:
        """What is left of standard output and standard error, and wait for the end."""
        if self.stdin is not None:
            self.stdin.close()
        readers = [stream.read() if stream else _nothing() for stream in (self.stdout, self.stderr)]
        said = await asyncio.gather(*readers)
        await self.wait()
        return said[0], said[1]


class _Rest(threading.Thread):
    """Reads a stream to its end, in a thread: whoever waits for it may give up."""

    def __init__(self, stream: Any) -> None:
        super().__init__(daemon=True)
        self.text: Any = None
        self._stream = stream
        self.start()

    def run(self) -> None:
        if self._stream is not None and not self._stream.closed:
            self.text = self._stream.read()


async def _nothing() -> bytes:
    return b""


def _opened(wanted: IO[Any] | int | None, number: int, *, text: bool) -> tuple[Any, int | None]:
    """Our end of a pipe, and the child's descriptor; None where it has ours."""
    if wanted is None:
        return None, None
    if wanted == subprocess.DEVNULL:
        return None, os.open(os.devnull, os.O_RDWR)
    if wanted != subprocess.PIPE:
        return None, os.dup(wanted if isinstance(wanted, int) else wanted.fileno())
    read, write = os.pipe()
    ours, theirs, mode = (write, read, "w") if number == 0 else (read, write, "r")
    if text:
        return os.fdopen(ours, mode, 1, encoding="utf-8"), theirs
    return os.fdopen(ours, f"{mode}b", 0 if number == 0 else -1), theirs


def _become(module: str, arguments: tuple[str, ...], cwd: str, env: dict[str, str], streams: list[Any]) -> None:
    """In the new process."""
    _end_with_parent()
    for number, opened in enumerate(streams):
        if opened is not None:
            os.dup2(opened, number)
            os.close(opened)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", 1, encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)
    faulthandler.enable()  # a process that a test aborts says where it stood
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    gc.freeze()  # or the first collection copies every page of what was imported
    _forget_loops()
    sys.argv = [module, *arguments]
    if REMOTE in env:
        from support.remote_record import instead_of_folders

        instead_of_folders(env[REMOTE])
    interrupted = False
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except KeyboardInterrupt:
        traceback.print_exc()
        interrupted = True
    finally:
        atexit._run_exitfuncs()
    if interrupted:  # it ends by that signal, as the interpreter itself would
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)


def _end_with_parent() -> None:
    """Also where the run of tests is cut off, and nobody ends what it has started.

    The one it is forked from ends with that run, unless a fork holds its lifeline.
    """
    server: Any = forkserver._forkserver
    os.close(server._forkserver_alive_fd)
    server._forkserver_alive_fd = None
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _forget_loops() -> None:
    """lark_oapi makes an event loop when it is imported; every fork would wait on the same one."""
    asyncio.set_event_loop_policy(None)
    client: Any = sys.modules.get("lark_oapi.ws.client")
    if client is not None:
        client.loop = asyncio.new_event_loop()
