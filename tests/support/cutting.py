"""A line on loopback between a program and a server, which can be cut at any byte of an answer, or go silent."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from support.waiting import PATIENCE

__all__ = ["CuttableLine", "cuttable_line"]

_CHUNK: Final = 1 << 16


class CuttableLine:
    """Listens on ``port`` and hands everything on to another port of loopback, and back."""

    def __init__(self, to: int) -> None:
        self._to: int = to
        self._mutex: threading.Condition = threading.Condition()
        self._open: list[tuple[socket.socket, socket.socket]] = []
        self._left: int | None = None
        """Bytes of answers until all is cut; None: it is not."""
        self._silent: bool = False
        self._hanging: list[socket.socket] = []
        self.refuses: bool = False
        """True: whoever connects is cut off at once."""
        self.cuts: int = 0
        self.answered: int = 0
        """Bytes that have come back from the server."""
        self._listening: socket.socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_after(self, answered: int | None) -> None:
        """Cut all connections when ``answered`` more bytes have come back from the server; None: never."""
        with self._mutex:
            self._left = answered

    def cut(self) -> None:
        """Cut all connections now."""
        with self._mutex:
            self._left = None
            self._cut()

    def leave_hanging(self) -> None:
        """Cut all connections of the program, of which the server notices nothing before ``cut_hanging``."""
        with self._mutex:
            for near, far in self._open:
                self._hanging.append(far.dup())
                with suppress(OSError):
                    near.shutdown(socket.SHUT_RDWR)

    def cut_hanging(self) -> None:
        """Let the server notice."""
        with self._mutex:
            hanging, self._hanging = self._hanging, []
            for each in hanging:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()

    def hush(self, *, silent: bool) -> None:
        """Hand on nothing any more, as a network that loses everything; or again all that has waited."""
        with self._mutex:
            self._silent = silent
            self._mutex.notify_all()

    @property
    def connections(self) -> int:
        """How many there are now."""
        with self._mutex:
            return len(self._open)

    def close(self) -> None:
        """Cut all, and listen no more."""
        self.refuses = True
        self.hush(silent=False)
        self._listening.close()
        self.cut_hanging()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            if self.refuses:
                near.close()
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self._to), PATIENCE)
            except OSError:
                near.close()
                continue
            pair = (near, far)
            with self._mutex:
                self._open.append(pair)
            threading.Thread(target=self._carry, args=(near, far, pair, False), daemon=True).start()
            threading.Thread(target=self._carry, args=(far, near, pair, True), daemon=True).start()

    def _carry(
        self, source: socket.socket, target: socket.socket, pair: tuple[socket.socket, socket.socket], back: bool
    ) -> None:
        with suppress(OSError):
            while some := source.recv(_CHUNK):
                some, ends = self._let_through(some, back=back)
                target.sendall(some)
                if ends:
                    self.cut()
        with self._mutex:
            self._end(pair)

    def _let_through(self, some: bytes, *, back: bool) -> tuple[bytes, bool]:
        """What of it goes on, and whether all is cut behind it."""
        with self._mutex:
            self._mutex.wait_for(lambda: not self._silent, PATIENCE)
            self.answered += len(some) if back else 0
            if not back or self._left is None:
                return some, False
            some, self._left = some[: self._left], self._left - len(some)
            if self._left > 0:
                return some, False
            self._left = None
            return some, True

    def _cut(self) -> None:
        self.cuts += bool(self._open)
        for pair in list(self._open):
            self._end(pair)

    def _end(self, pair: tuple[socket.socket, socket.socket]) -> None:
        if pair in self._open:
            self._open.remove(pair)
            near, far = pair
            for each in (near,) if self._hanging else pair:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)  # wakes who reads it
            near.close()
            far.close()


@contextmanager
def cuttable_line(to: int) -> Iterator[CuttableLine]:
    """A line to a port of loopback that ends with the ``with``."""
    line = CuttableLine(to)
    try:
        yield line
    finally:
        line.close()
