"""Reads lines that a person types, with line editing, while the event loop keeps running."""

import asyncio
import contextlib
import shutil
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

from rich.cells import cell_len

__all__ = ["Keyboard"]

_END_OF_PASTE_MODE: Final = "\x1b[?2004l"


@dataclass(slots=True, eq=False)
class Keyboard:
    """``async with Keyboard("You │ ") as keyboard: line = await keyboard.line()``. Needs a terminal.

    The thread that waits for a line cannot be stopped; at the end the terminal is put back into the state it had.
    """

    prompt: str
    _waiting: bool = field(default=False, init=False)
    _state: list[Any] = field(default_factory=list, init=False)

    async def __aenter__(self) -> Self:
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 - arrow keys, and a backspace that knows how wide Chinese is
        self._state = termios.tcgetattr(sys.stdin.fileno())
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._waiting:
            with contextlib.suppress(OSError, termios.error):  # the terminal is gone
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._state)
                sys.stdout.write(f"{_END_OF_PASTE_MODE}\n")
                sys.stdout.flush()

    @contextmanager
    def above(self) -> Iterator[None]:
        """For what is printed while a line is being typed: it goes above the prompt, and what is typed stays below."""
        if not self._waiting:
            yield
            return
        typed = f"{self.prompt}{_typed()}"
        higher = (cell_len(typed) - 1) // shutil.get_terminal_size().columns
        sys.stdout.write("\r" + (f"\x1b[{higher}A" if higher else "") + "\x1b[J")
        sys.stdout.flush()
        try:
            yield
        finally:
            sys.stdout.write(typed)
            sys.stdout.flush()

    async def line(self) -> str | None:
        """The next line without its end; None when the person closed the input (Ctrl-D)."""
        loop = asyncio.get_running_loop()
        typed: asyncio.Future[str | None] = loop.create_future()

        def deliver(text: str | None) -> None:
            if not typed.done():
                typed.set_result(text)

        def read() -> None:
            text = _read(self.prompt)
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(deliver, text)

        self._waiting = True
        threading.Thread(target=read, name="keyboard", daemon=True).start()
        text = await typed
        self._waiting = False
        return text


def _typed() -> str:
    """What stands behind the prompt."""
    try:
        import readline
    except ImportError:
        return ""
    return readline.get_line_buffer()


def _read(prompt: str) -> str | None:
    try:
        return input(prompt)
    except (EOFError, OSError):
        return None
    except UnicodeDecodeError:
        return ""
