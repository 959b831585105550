"""A child process that ends with its parent, also when the parent is killed."""

import ctypes
import signal

__all__ = ["end_with_parent"]

_PR_SET_PDEATHSIG = 1


def end_with_parent(number: signal.Signals) -> None:
    """Let the kernel send this process ``number`` when the thread that started it ends. Does nothing but on Linux."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


# Looked up beforehand: between fork and exec nothing may be loaded.
_prctl = getattr(ctypes.CDLL(None), "prctl", None)
