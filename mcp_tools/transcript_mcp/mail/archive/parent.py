"""Lets a child process end with its parent, even if the parent is killed."""

import ctypes
import signal

__all__ = ["end_with_parent"]

_PR_SET_PDEATHSIG = 1


def end_with_parent(number: signal.Signals) -> None:
    """Let the kernel send the signal ``number`` when the thread that started this process ends. Linux only."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


# Looked up at import: between fork and exec, loading a library could deadlock.
_prctl = getattr(ctypes.CDLL(None), "prctl", None)
