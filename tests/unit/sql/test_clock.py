"""The server's clock: how often it is looked at, and what goes on where nobody can look."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import Mock

import pytest

from nanobot_transcript.errors import StoreBusyError
from nanobot_transcript.sql.postgres.clock import ServerClock


class Server:
    """Its clock is ``ahead`` seconds; ``looks`` counts who has looked. ``is_busy``: no connection can be had."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.ahead, self.looks, self.asked, self.is_busy = 1000.0, 500.0, 0, 0, False
        self.clock = ServerClock(self.borrow)
        monkeypatch.setattr("nanobot_transcript.sql.postgres.clock.time.clock_gettime", lambda _: self.now)

    @contextmanager
    def borrow(self) -> Iterator[Any]:
        self.asked += 1
        if self.is_busy:
            raise StoreBusyError("All connections are in use.", hint="Try again.")
        connection = Mock()
        connection.execute = self.execute
        self.clock.look(connection)
        yield connection

    def execute(self, _: str) -> Any:
        self.looks += 1
        return Mock(fetchone=lambda: (self.now + self.ahead,))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    return Server(monkeypatch)


def test_it_is_looked_at_now_and_then(server: Server) -> None:
    assert server.clock() == 1500.0
    server.now, server.ahead = 1050.0, 700.0
    assert (server.clock(), server.looks) == (1550.0, 1)
    server.now = 1061.0
    assert (server.clock(), server.looks) == (1761.0, 2)


def test_where_all_connections_are_in_use_the_last_look_counts_and_nobody_asks_again_at_once(server: Server) -> None:
    server.clock()
    server.now, server.is_busy = 1100.0, True
    assert [server.clock() for _ in range(3)] == [1600.0] * 3
    assert server.asked == 2
    server.now, server.is_busy, server.ahead = 1131.0, False, 700.0
    assert server.clock() == 1831.0


def test_where_nobody_has_ever_looked_it_cannot_be_told(server: Server) -> None:
    server.is_busy = True
    with pytest.raises(StoreBusyError):
        server.clock()
    server.is_busy = False
    server.clock()
    server.clock.forget()
    server.is_busy = True
    with pytest.raises(StoreBusyError):
        server.clock()
