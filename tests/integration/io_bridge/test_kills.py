"""Inputs and outputs while the hub is killed again and again: none is lost and none is there twice."""

import random
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.mail_hub import HubProcess
from support.procs import until
from support.sizes import short_and_full
from support.waiting import PATIENCE

SESSIONS = 6
StartHub = Callable[..., HubProcess]


class Standing:
    """The hub that runs now, for clients that have lost theirs."""

    def __init__(self, hub: HubProcess) -> None:
        self.hub = hub
        self.kills = 0
        self._changed = threading.Condition()

    def kill(self) -> None:
        self.kills += 1
        self.hub.kill()

    def replace(self, hub: HubProcess) -> None:
        with self._changed:
            self.hub = hub
            self._changed.notify_all()

    def after(self, lost: HubProcess) -> HubProcess:
        """Wait for the next one; in vain when ``lost`` failed without having been killed."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.hub is not lost, PATIENCE), "the hub failed by itself"
            return self.hub


class Client:
    """One program, which repeats what was not answered."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._http = httpx.Client(timeout=PATIENCE)
        self.repeated = 0

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        hub = self._standing.hub
        while True:
            try:
                return self._http.request(method, f"{hub.root}{path}", **options)
            except httpx.TransportError:
                self.repeated += 1
                hub = self._standing.after(hub)

    def call(self, tool: str, **arguments: Any) -> str:
        params = {"name": tool, "arguments": arguments}
        answer = self.request(
            "POST", "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        )
        result = answer.raise_for_status().json()["result"]
        assert not result["isError"], result
        return result["content"][0]["text"]

    def close(self) -> None:
        self._http.close()


@dataclass
class Session:
    """A person who sends, an agent that answers, and somebody who reads, each of them on their own."""

    name: str
    standing: Standing
    sent: list[str] = field(default_factory=list[str])
    received: list[str] = field(default_factory=list[str])
    read: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Numbers and texts of outputs."""
    repeated: Counter[str] = field(default_factory=Counter[str])
    unconfirmed: set[str] = field(default_factory=set[str])
    """Inputs that were with the agent, or on their way to it, when the hub was killed."""
    quiet: threading.Event = field(default_factory=threading.Event)
    """Nothing more is sent."""

    def send(self, ended: threading.Event) -> None:
        with closing(Client(self.standing)) as client:
            while not ended.is_set():
                text = f"{self.name} {len(self.sent)}"
                headers = {"Idempotency-Key": text}
                answer = client.request("POST", f"/agent/input/{self.name}", json={"data": text}, headers=headers)
                if answer.status_code == 429:
                    ended.wait(0.05)
                    continue
                assert answer.status_code == 202, answer.text
                self.sent.append(text)
            self.repeated["inputs"] += client.repeated
        self.quiet.set()

    def work(self) -> None:
        with closing(Client(self.standing)) as client:
            while not self.quiet.is_set() or len(set(self.received)) < len(self.sent):
                kills = self.standing.kills
                text = client.call("i_tool", session_id=self.name, timeout=1)
                if text.startswith("No input"):
                    continue
                self.received.append(text)
                client.call("o_tool", session_id=self.name, output=f"done: {text}", idempotency_key=text)
                if self.standing.kills != kills:
                    self.unconfirmed.add(text)
            client.call("ack_input", session_id=self.name)
            self.repeated["calls"] += client.repeated

    def listen(self) -> None:
        with closing(Client(self.standing)) as client:
            while not self.quiet.is_set() or len({text for _, text in self.read}) < len(self.sent):
                answer = client.request("GET", f"/agent/output/{self.name}?wait=1")
                if answer.status_code == 200:
                    self.read.append((answer.headers["X-Sequence"], answer.json()["output"]))
                else:
                    assert answer.status_code == 404, answer.text
            self.repeated["reads"] += client.repeated


def left(home: Path) -> int:
    """Items that lie in the queues."""
    path = home / ".nanobot" / "hub" / "io.sqlite3"
    with closing(sqlite3.connect(path, timeout=PATIENCE)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        return database.execute("SELECT count(*) FROM items").fetchone()[0]


@pytest.mark.parametrize("kills", short_and_full(1, 20, seconds=900))
def test_no_input_or_output_is_lost_or_doubled_when_the_hub_is_killed(
    start_hub: StartHub, tmp_path: Path, soak_row: Callable[..., None], kills: int
) -> None:
    dice, standing, ended = random.Random(kills), Standing(start_hub()), threading.Event()
    sessions = [Session(f"s{number}", standing) for number in range(SESSIONS)]
    with ThreadPoolExecutor(3 * SESSIONS) as pool:
        running: list[Future[None]] = []
        for session in sessions:
            running += [pool.submit(session.send, ended), pool.submit(session.work), pool.submit(session.listen)]
        try:
            for _ in range(kills):
                goal = sum(len(session.read) for session in sessions) + dice.randrange(20, 200)
                until(
                    lambda goal=goal: sum(len(s.read) for s in sessions) >= goal or any(r.done() for r in running),
                    "work goes on",
                )
                time.sleep(dice.random() / 50)  # at any moment of what goes on then, not at the end of a reading
                standing.kill()
                standing.replace(start_hub())
        finally:
            ended.set()
        for each in running:
            each.result(4 * PATIENCE)
    standing.hub.process.terminate()
    assert standing.hub.process.wait(PATIENCE) == 0
    sent = {text for session in sessions for text in session.sent}
    received = Counter(text for session in sessions for text in session.received)
    unconfirmed = {text for session in sessions for text in session.unconfirmed}
    again = {text for text, count in received.items() if count > 1}
    outputs = Counter(dict.fromkeys((item for session in sessions for item in session.read), 1))
    read = Counter(text for _, text in outputs)
    readings = sum(len(session.read) for session in sessions)
    soak_row(
        kills=kills,
        inputs=len(sent),
        repeated_requests=sum((session.repeated for session in sessions), Counter[str]()).total(),
        inputs_lost=len(sent - received.keys()),
        inputs_doubled=len(again - unconfirmed),
        handed_over_again_as_unconfirmed=len(again & unconfirmed),
        outputs_lost=len({f"done: {text}" for text in sent} - read.keys()),
        outputs_doubled=read.total() - len(read),
        outputs_read_again_with_their_number=readings - len(outputs),
        left=left(tmp_path),
    )
    assert received.keys() == sent, "an input was lost"
    assert again <= unconfirmed, "an input that was confirmed was handed over again"
    assert set(received.values()) <= {1, 2}
    assert read == Counter(f"done: {text}" for text in sent), "an output was lost or is there twice"
    for session in sessions:
        assert list(dict.fromkeys(session.received)) == session.sent, "out of order"
    assert left(tmp_path) == 0
