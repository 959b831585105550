"""Something that answers at an address of this machine, and is no hub: what it says, and how, is up to the test."""

import json
import select
import socketserver
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

from support.waiting import PATIENCE

__all__ = ["Answering", "answer", "dripping", "endless", "silent"]

Answer = Callable[[socketserver.StreamRequestHandler], object]


def answer(status: int = 200, body: bytes | dict[str, Any] = b"", **headers: str) -> Answer:
    """An answer as a whole."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} So", *(f"{name}: {value}" for name, value in headers.items()), "", ""]

    def give(request: socketserver.StreamRequestHandler) -> None:
        request.wfile.write("\r\n".join(lines).encode() + content)

    return give


def silent(request: socketserver.StreamRequestHandler) -> None:
    """Says nothing until the client has left."""
    select.select([request.connection], [], [], PATIENCE)


def dripping(request: socketserver.StreamRequestHandler) -> None:
    """Says a little again and again, until the client has left."""
    request.wfile.write(b"HTTP/1.1 200 So\r\n\r\n")
    while not select.select([request.connection], [], [], 0.02)[0]:
        request.wfile.write(b" ")


def endless(request: socketserver.StreamRequestHandler) -> None:
    """Says more and more, as fast as it can, until the client has left."""
    with suppress(ConnectionError):
        request.wfile.write(b"HTTP/1.1 200 So\r\n\r\n")
        while True:
            request.wfile.write(b" " * 65_536)


class Answering:
    """Answers every request in this way; ``heads`` are the requests that came."""

    def __init__(self, way: Answer) -> None:
        heads: list[str] = []

        class Handler(socketserver.StreamRequestHandler):
            """One request."""

            def handle(self) -> None:
                head = b"".join(iter(self.rfile.readline, b"\r\n"))
                heads.append(head.decode("latin-1"))
                way(self)

        self.heads = heads
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.url: str = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(PATIENCE)
        self._server.server_close()
