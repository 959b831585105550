"""Whether an answer has reached its client, and what is said where something is wrong."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import Mock

import pytest
import pytest_asyncio
from aiohttp import ClientError, ClientSession, web
from aiohttp.test_utils import make_mocked_request
from support.hubs import listening
from support.waiting import until

from nanobot_transcript.errors import (
    QueueFullError,
    StoreBusyError,
    StoreFullError,
    StoreUnavailableError,
    TranscriptError,
)
from transcript_mcp.door.delivery import ClientLeftError, HttpReceiver, error_response, failure, hand_over, takes_gzip


class Served:
    """A route that hands something over; ``told`` is what became of it. With ``hangs_up`` its clients leave first."""

    def __init__(self) -> None:
        self.told: list[bool] = []
        self.hangs_up = False
        self.url = ""
        self.app = web.Application()
        self.app.router.add_post("/handed", self.handed)
        self.app.router.add_post("/received", self.received)

    def _maybe_hang_up(self, request: web.Request) -> None:
        if self.hangs_up and request.transport is not None:
            request.transport.close()

    async def handed(self, request: web.Request) -> web.StreamResponse:
        self._maybe_hang_up(request)
        return await hand_over(request, web.Response(text="the only one"), self.told.append)

    async def received(self, request: web.Request) -> web.StreamResponse:
        with HttpReceiver(request) as receiver:
            receiver.when_answered(self.told.append)
            self._maybe_hang_up(request)
            return await receiver.sent(web.Response(text="the only one"))


@pytest_asyncio.fixture
async def served() -> AsyncIterator[Served]:
    made = Served()
    async with listening(made.app) as made.url:
        yield made


async def asked(served: Served, path: str) -> str | None:
    """What a client gets; None when it has left before. With POST it does not ask again by itself."""
    async with ClientSession() as http:
        try:
            async with http.post(served.url + path) as answer:
                return await answer.text()
        except ClientError:
            return None


@pytest.mark.parametrize("path", ["/handed", "/received"])
async def test_what_arrives_is_told_once_and_what_does_not_is_given_back(served: Served, path: str) -> None:
    assert await asked(served, path) == "the only one"
    assert served.told == [True]
    served.hangs_up = True
    assert await asked(served, path) is None
    await until(lambda: len(served.told) > 1)
    assert served.told == [True, False]


async def test_who_is_heard_of_no_more_has_not_got_the_answer() -> None:
    told: list[bool] = []
    with HttpReceiver(make_mocked_request("POST", "/mcp")) as receiver:
        receiver.when_answered(told.append)
    assert told == [False]
    assert receiver.is_gone
    receiver.when_answered(told.append)  # by work that goes on behind it
    await asyncio.sleep(0)
    assert told == [False, False]


async def test_nothing_is_sent_behind_the_end_of_a_request() -> None:
    there = Mock()
    there.is_closing.return_value = False
    with HttpReceiver(make_mocked_request("POST", "/mcp", transport=there)) as receiver:
        pass
    receiver._hooks.append(lambda _: None)
    with pytest.raises(ClientLeftError):
        await receiver.sent(web.Response())


@pytest.mark.parametrize(
    ("error", "status", "later"),
    [
        (QueueFullError("Full.", retry_after=7), 429, "7"),
        (StoreFullError("Full."), 507, None),
        (StoreBusyError("Busy."), 503, "5"),
        (StoreUnavailableError("Away."), 503, None),
        (TranscriptError("Wrong."), 400, None),
    ],
)
def test_an_error_of_ours_has_its_status_and_says_when_to_come_again(
    error: TranscriptError, status: int, later: str | None
) -> None:
    answer = failure(error)
    assert (answer.status, answer.headers.get("Retry-After")) == (status, later)


def test_an_error_is_said_in_one_form_that_no_browser_keeps() -> None:
    answer: Any = error_response(404, "none", "蓝湖 is not there.", "Look.")
    assert json.loads(answer.text) == {"error": {"code": "none", "message": "蓝湖 is not there.", "hint": "Look."}}
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("accepts", "takes"),
    [
        ("gzip", True),
        ("br, x-gzip;q=0.5", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("*", False),
        ("", False),
    ],
)
def test_who_takes_gzip_says_so_by_its_name(accepts: str, takes: bool) -> None:
    assert takes_gzip(make_mocked_request("GET", "/", {"Accept-Encoding": accepts})) is takes
