"""A line to a hub that a test can cut, hold up, and mend: a TCP relay on a port of its own."""

import socket
import threading
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit

from support.procs import until

__all__ = ["Line"]

_PIECE = 4096


class Line:
    """``address`` leads to the hub at ``to``; ends with the ``with`` block."""

    def __init__(self, to: str) -> None:
        at = urlsplit(to)
        self._hub = (at.hostname or "", at.port or 0)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._hushed: set[tuple[socket.socket, socket.socket]] = set()
        self._lock = threading.Lock()
        self._whole = threading.Event()
        self._flowing = threading.Event()
        self._whole.set()
        self._flowing.set()
        self._left: int | None = None

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()
        self._flowing.set()
        self.cut()

    def cut(self) -> None:
        """Break every connection, and let none through until ``mend``."""
        with self._lock:
            self._whole.clear()
            pairs, self._pairs = self._pairs, []
        for each in (end for pair in pairs for end in pair):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def hush(self) -> None:
        """Let nothing more through what is open now, neither way, and do not close it; new connections are whole."""
        with self._lock:
            self._hushed.update(self._pairs)

    def cut_after(self, size: int) -> None:
        """Cut once so many more bytes have gone to the hub."""
        self._left = size

    def mend(self) -> None:
        """Let everything through again."""
        self._left = None
        self._whole.set()
        self._flowing.set()

    def hold(self) -> None:
        """Keep back what the hub says until ``mend``."""
        self._flowing.clear()

    def wait_cut(self) -> None:
        """Return when it is cut."""
        until(lambda: not self._whole.is_set(), "the line was cut")

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            if not self._whole.is_set():
                client.close()
                continue
            hub = socket.create_connection(self._hub)
            pair = (client, hub)
            with self._lock:
                cut = not self._whole.is_set()
                if not cut:
                    self._pairs.append(pair)
            if cut:  # since we looked
                client.close()
                hub.close()
                continue
            threading.Thread(target=self._pump, args=(pair, True), daemon=True).start()
            threading.Thread(target=self._pump, args=(pair, False), daemon=True).start()

    def _pump(self, pair: tuple[socket.socket, socket.socket], to_hub: bool) -> None:
        source, target = pair if to_hub else pair[::-1]
        with suppress(OSError):
            while piece := source.recv(_PIECE):
                if not to_hub:
                    self._flowing.wait()
                if pair in self._hushed:
                    continue
                if to_hub and self._left is not None:
                    piece, rest = piece[: self._left], piece[self._left :]
                    self._left -= len(piece)
                    if rest or self._left == 0:
                        target.sendall(piece)
                        self._left = None
                        self.cut()
                        return
                target.sendall(piece)
            if pair not in self._hushed:
                target.shutdown(socket.SHUT_WR)
