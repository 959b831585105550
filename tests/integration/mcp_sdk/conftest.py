"""The test server over HTTP, in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from support.forking import Forked, preload
from support.waiting import PATIENCE

preload("transcript_mcp.sdk", "mcp", "mcp.server", "aiohttp.web")


@dataclass
class HttpServer:
    """A running server; ``/mcp`` with sessions, ``/plain`` without."""

    process: Forked
    port: int

    def url(self, path: str = "/mcp") -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}{path}"

    def stop(self) -> str:
        """End it in order; returns what it logged."""
        self.process.terminate()
        _, errors = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, errors
        return errors


def start() -> HttpServer:
    """A server on a free port."""
    process = Forked("support.mcp_server", "http", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return HttpServer(process, int(process.stdout.readline()))


@pytest.fixture
def http_server() -> Iterator[HttpServer]:
    """One for this test, which may stop it."""
    server = start()
    yield server
    if server.process.poll() is None:
        server.process.kill()
        server.process.communicate(timeout=PATIENCE)


@pytest.fixture(scope="module")
def shared_server() -> Iterator[HttpServer]:
    """One for all tests of a module; it must have logged no error at the end."""
    server = start()
    yield server
    errors = server.stop()
    sys.stderr.write(errors)
    assert "Traceback" not in errors
