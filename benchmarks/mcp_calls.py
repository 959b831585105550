"""What a call of a tool costs that does nothing, and how soon a server answers at all.

The baseline is a server built with the SDK's own high-level class, the way anybody would build one. The client is plain
JSON over a pipe or a socket, one call after the other, so that only the server is measured.
"""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.children import child
from benchmarks.context import Context
from benchmarks.table import Bar, Row

__all__ = ["mcp_calls"]

_ROOT = Path(__file__).resolve().parents[1]
_KINDS = ("ours", "sdk")
_BEGIN = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}
_CALL = {"name": "nothing", "arguments": {}}

_Ask = Callable[[str, dict[str, Any]], None]


def mcp_calls(context: Context) -> Generator[Row]:
    """Both servers in turns."""
    count = context.scaled(300)

    def calls(connect: Callable[[str], Any]) -> dict[str, float]:
        return {kind: _p50(connect, kind, count) for kind in _KINDS}

    name = "no-op tool over stdio p50"
    yield _row(name, context.measured(name, lambda: calls(_stdio)), Bar("<=", 1.2, of="value"))
    name = "no-op tool over HTTP p50"
    yield _row(name, context.measured(name, lambda: calls(_http)), Bar("<=", 3.5, of="value"))
    name = "first answer over stdio"
    starts = context.measured(name, lambda: {kind: _first_answer(kind) for kind in _KINDS})
    yield _row(name, starts, Bar("<=", 1000, of="value"))


def _row(name: str, runs: list[dict[str, float]], bar: Bar) -> Row:
    ours, theirs = ([run[kind] for run in runs] for kind in _KINDS)
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    return Row(name, "ms", median(ours), "the SDK's own server", median(theirs), ratios, bar)


def _first_answer(kind: str) -> float:
    began = time.perf_counter()
    with _stdio(kind):
        return (time.perf_counter() - began) * 1000


def _p50(connect: Callable[[str], Any], kind: str, count: int) -> float:
    times: list[float] = []
    with connect(kind) as ask:
        for _ in range(count):
            began = time.perf_counter()
            ask("tools/call", _CALL)
            times.append(time.perf_counter() - began)
    return median(times) * 1000


@contextmanager
def _process(kind: str, place: str) -> Iterator["subprocess.Popen[bytes]"]:
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    command = [sys.executable, "-m", "benchmarks.mcp_servers", kind, place]
    with child(command, cwd=_ROOT, stdin=pipe, stdout=pipe, stderr=nowhere) as process:
        yield process


@contextmanager
def _stdio(kind: str) -> Iterator[_Ask]:
    with _process(kind, "stdio") as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def ask(method: str, params: dict[str, Any]) -> None:
            stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
            stdin.flush()
            assert b'"result"' in stdout.readline()

        ask("initialize", _BEGIN)
        stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        yield ask


@contextmanager
def _http(kind: str) -> Iterator[_Ask]:
    with _process(kind, "http") as process:
        assert process.stdout is not None
        connection = http.client.HTTPConnection("127.0.0.1", int(process.stdout.readline()), timeout=30)
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}

        def post(message: dict[str, Any]) -> bytes:
            connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}).encode(), headers)
            response = connection.getresponse()
            headers.setdefault("Mcp-Session-Id", response.headers["Mcp-Session-Id"] or "")
            return response.read()

        def ask(method: str, params: dict[str, Any]) -> None:
            assert b'"result"' in post({"id": 1, "method": method, "params": params})

        _wait_for(connection)
        ask("initialize", _BEGIN)
        post({"method": "notifications/initialized"})
        yield ask
        connection.close()


def _wait_for(connection: http.client.HTTPConnection) -> None:
    """The SDK's server tells its port before it listens."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return connection.connect()
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
