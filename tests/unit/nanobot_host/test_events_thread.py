"""Events of the SDK's connection, taken in a thread: in order, acknowledged as before, and nothing else waits."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from transcript_channels.nanobot_host.events_thread import take_events_in_a_thread


def frame(payload: bytes, kind: str = "event", **headers: str) -> Any:
    named = {"type": kind, "message_id": "m1", "sum": "1", "seq": "0", **headers}
    return SimpleNamespace(
        payload=payload, headers=[SimpleNamespace(key=key, value=value) for key, value in named.items()]
    )


class Client:
    """As much of the SDK's client as takes part: it asks its handler and answers, 500 where that raises."""

    def __init__(self, handler: Any, name: str) -> None:
        self._event_handler = handler
        self._name = name
        self.answers: list[tuple[bytes, object]] = []
        self._pieces: dict[str, dict[int, bytes]] = {}

    def _combine(self, message_id: str, count: int, seq: int, piece: bytes) -> bytes | None:
        pieces = self._pieces.setdefault(message_id, {})
        pieces[seq] = piece
        return b"".join(pieces[at] for at in range(count)) if len(pieces) == count else None

    async def _handle_data_frame(self, frame: Any) -> None:
        try:
            answer = getattr(self._event_handler, self._name)(frame.payload)
        except ValueError:
            answer = 500
        await asyncio.sleep(0)
        self.answers.append((frame.payload, answer))


@pytest.fixture(params=["do_without_validation", "_do_without_validation"])
def client(request: pytest.FixtureRequest) -> Client:
    """Of an older and of a newer SDK."""
    seen: list[tuple[bytes, str]] = []

    def take(payload: bytes) -> object:
        seen.append((payload, threading.current_thread().name))
        if payload == b"bad":
            raise ValueError(payload)
        return payload.decode()

    made = Client(SimpleNamespace(**{request.param: take}), request.param)
    made.seen = seen  # type: ignore[attr-defined]
    take_events_in_a_thread(made)
    return made


async def test_events_are_taken_in_their_order_in_one_thread_and_each_gets_its_answer(client: Any) -> None:
    payloads = [b"one", b"bad", *(f"{number}".encode() for number in range(20))]
    await asyncio.gather(*(client._handle_data_frame(frame(payload)) for payload in payloads))
    assert [payload for payload, _ in client.seen] == payloads
    assert {name for _, name in client.seen} == {"group-transcript-events_0"}
    expected = [(payload, 500 if payload == b"bad" else payload.decode()) for payload in payloads]
    assert sorted(client.answers) == sorted(expected, key=lambda answer: answer[0])


async def test_an_event_in_pieces_is_taken_once_when_all_are_there(client: Any) -> None:
    for seq, piece in ((1, b"-two"), (0, b"one")):
        await client._handle_data_frame(frame(piece, sum="2", seq=str(seq)))
    assert [payload for payload, _ in client.seen] == [b"one-two"]
    assert client.answers == [(b"one-two", "one-two")]


async def test_what_is_no_event_stays_with_the_sdk(client: Any) -> None:
    await client._handle_data_frame(frame(b"card", kind="card"))
    (name,) = {name for _, name in client.seen}
    assert name == threading.main_thread().name
