"""How long the body of a request may take: one time for all routes, whoever reads it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from aiohttp import StreamReader, web

__all__ = ["READING", "SlowBodyError", "read_in_time"]

READING: Final = 60.0
"""Seconds in which the body of a request has to be there; a phone needs half of them for its largest picture."""


class SlowBodyError(TimeoutError):
    """What reads the body of a request gets this once the time is over."""


@contextmanager
def read_in_time(request: web.Request, seconds: float) -> Iterator[None]:
    """Inside of this, whoever still reads the body after ``seconds`` gets SlowBodyError."""
    timer = asyncio.get_running_loop().call_later(seconds, _give_up, request.content, seconds)
    try:
        yield
    finally:
        timer.cancel()


def _give_up(body: StreamReader, seconds: float) -> None:
    if not body.is_eof():
        body.set_exception(SlowBodyError(f"The request had not arrived after {seconds:g} s."))
