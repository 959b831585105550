"""Processes that end with what started them, whatever ends it: an error, Ctrl-C, a kill.

Each gets a process group of its own, so that Ctrl-C at the terminal is for the benchmark alone, and what it has started
in turn ends with it. On Linux the kernel kills it when the benchmark itself is killed.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["child", "end_with_parent"]

_SYSTEM = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1
_PATIENCE = 30.0


@contextmanager
def child(command: Sequence[str], **options: Any) -> Iterator["subprocess.Popen[Any]"]:
    """A process for as long as this lasts. Whoever needs it to end by itself waits for that before."""
    process = subprocess.Popen(
        command,
        process_group=0,
        preexec_fn=end_with_parent,  # noqa: PLW1509 - one call of the system, that no thread can be in the middle of
        **options,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(_PATIENCE)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was not flushed has nowhere to go
                    pipe.close()


def end_with_parent() -> None:
    """Called in a new process: let it be killed when the one that started it is gone."""
    if sys.platform == "linux":
        _SYSTEM.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
