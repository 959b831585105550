"""An MCP client over pipes that sees every byte: for what the SDK's client hides."""

import json
import os
import select
import signal
import subprocess
import time
from types import TracebackType
from typing import Any, Self

from support.forking import Forked, preload
from support.waiting import PATIENCE

__all__ = ["RawClient"]

preload("transcript_mcp.sdk", "mcp", "mcp.server")


class RawClient:
    """Starts the test server (or another command) and talks lines with it. Ends it with the ``with`` block."""

    def __init__(self, command: list[str] | None = None) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process: Any = subprocess.Popen(command, **pipes) if command else Forked("support.mcp_server", **pipes)
        self._buffer = b""
        self._id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)

    def send(self, line: bytes) -> None:
        """Bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> int:
        """Send a request; returns its id."""
        self._id += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}).encode() + b"\n")
        return self._id

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")

    def begin(self) -> dict[str, Any]:
        """The handshake."""
        client = {"name": "raw", "version": "0"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        begun = self.line()
        self.notify("notifications/initialized")
        return begun["result"]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and wait for its result."""
        asked = self.ask("tools/call", name=tool, arguments=arguments)
        return self.answer(asked)

    def answer(self, asked: int) -> dict[str, Any]:
        """The result (or error) of a request, skipping whatever comes before."""
        while True:
            line = self.line()
            if line.get("id") == asked:
                return line.get("result", line.get("error"))

    def line(self) -> Any:
        """The next line of stdout, which has to be JSON."""
        deadline = time.monotonic() + PATIENCE
        while b"\n" not in self._buffer:
            chunk = self._chunk(deadline)
            assert chunk, f"the server ended: {self.process.poll()}"
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    def end(self, how: signal.Signals | None = None) -> tuple[int, list[Any], str]:
        """Close stdin, or send a signal; returns the exit code, the remaining lines, and stderr."""
        if how is None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.stdin = None  # or communicate() would flush it
        else:
            self.process.send_signal(how)
        rest, errors = self.process.communicate(timeout=PATIENCE)
        lines = (self._buffer + rest).splitlines()
        return self.process.returncode, [json.loads(line) for line in lines], errors.decode()

    def _chunk(self, deadline: float) -> bytes:
        assert self.process.stdout is not None
        left = deadline - time.monotonic()
        assert left > 0, "the server said nothing in time"
        select.select([self.process.stdout], [], [], left)
        return os.read(self.process.stdout.fileno(), 1 << 16)
