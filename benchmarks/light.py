"""Clients that cost next to nothing, so that a server is measured and not they.

Plain sockets and bytes that were made before. One process waits for answers, another one sends what they come from.
Moments are those of ``time.monotonic``, which all processes of a machine share.
"""

import multiprocessing
import select
import socket
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Self

from benchmarks.children import end_with_parent

__all__ = ["Sender", "connected", "post", "until_answered", "web_frame", "web_upgrade"]

_HOST = "127.0.0.1"
_MUCH = 1 << 20
_PATIENCE = 30.0


def connected(port: int) -> socket.socket:
    """A connection to this port of this machine."""
    line = socket.create_connection((_HOST, port))
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line


def post(path: str, kind: str, body: bytes) -> bytes:
    """A request."""
    head = f"POST {path} HTTP/1.1\r\nHost: {_HOST}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def web_upgrade(path: str) -> bytes:
    """The request with which a WebSocket begins."""
    head = f"GET {path} HTTP/1.1\r\nHost: {_HOST}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    return f"{head}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()


def web_frame(data: bytes) -> bytes:
    """A binary frame of a client, of less than 64 KiB."""
    size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big")
    return b"\x82" + size + b"\0\0\0\0" + data


def until_answered(lines: Mapping[str, socket.socket]) -> dict[str, float]:
    """Wait for one HTTP answer with status 2xx on each line; the moments of their last bytes."""
    arrived: dict[str, float] = {}
    names = {line.fileno(): name for name, line in lines.items()}
    pieces = dict.fromkeys(lines, b"")
    deadline = time.monotonic() + _PATIENCE
    with select.epoll() as poll:
        for number in names:
            poll.register(number, select.EPOLLIN)
        while len(arrived) < len(lines):
            assert time.monotonic() < deadline, f"{len(arrived)} of {len(lines)} answers arrived"
            for number, _ in poll.poll(1):
                name = names[number]
                received = lines[name].recv(_MUCH)
                now = time.monotonic()
                pieces[name] += received
                if _is_whole(pieces[name]):
                    arrived[name] = now
    return arrived


def _is_whole(answer: bytes) -> bool:
    head, blank, body = answer.partition(b"\r\n\r\n")
    if not blank:
        return False
    assert head.startswith(b"HTTP/1.1 2"), answer
    return len(body) >= int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])


class Sender:
    """A process with lines to a port. It reads whatever comes; each line is greeted with ``greeting``, in turn."""

    def __init__(self, port: int, greetings: Sequence[Sequence[bytes]]) -> None:
        self.lines = len(greetings)
        fork = multiprocessing.get_context("fork")
        self._ours, theirs = fork.Pipe()
        self._process = fork.Process(target=_send, args=(theirs, port, greetings), daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        self._done()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.join()

    def send(self, pieces: Sequence[tuple[int, bytes]]) -> list[float]:
        """Send each on the line with this number, as fast as it goes; the moments at which each was sent."""
        return self._ask(("send", pieces))

    def until_read(self, words: Sequence[bytes]) -> None:
        """Wait until each word has come on some line."""
        self._ask(("read", words))

    def _ask(self, order: object) -> list[float]:
        self._ours.send(order)
        return self._done()

    def _done(self) -> list[float]:
        assert self._ours.poll(_PATIENCE), "the sender is stuck"
        return self._ours.recv()


def _send(orders: Connection, port: int, greetings: Sequence[Sequence[bytes]]) -> None:
    end_with_parent()
    lines = [connected(port) for _ in greetings]
    for line, pieces in zip(lines, greetings, strict=True):
        for piece in pieces:
            line.sendall(piece)
            line.recv(_MUCH)
    orders.send([])
    by_number = {line.fileno(): line for line in lines}
    heard, expected = b"", None
    with select.epoll() as poll:
        for number in (*by_number, orders.fileno()):
            poll.register(number, select.EPOLLIN)
        while True:
            ready = [number for number, _ in poll.poll()]
            for number in set(ready) & set(by_number):
                heard += by_number[number].recv(_MUCH)
            if orders.fileno() in ready:
                order, what = orders.recv()
                if order == "send":
                    heard = b""
                    orders.send(_sent(lines, what))
                else:
                    expected = what
            if expected is not None and all(word in heard for word in expected):
                expected = None
                orders.send([])


def _sent(lines: Sequence[socket.socket], pieces: Sequence[tuple[int, bytes]]) -> list[float]:
    moments: list[float] = []
    for number, piece in pieces:
        moments.append(time.monotonic())
        lines[number].sendall(piece)
    return moments
