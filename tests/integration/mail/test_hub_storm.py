"""Many clients of a hub at once: senders while hub and archiver are killed, and claims on the same files."""

import json
import os
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.claims_worker import COVERED
from support.mail_archive import git
from support.mail_hub import HubProcess, StartHub, processes_of
from support.procs import until
from support.sizes import short_and_full
from support.waiting import PATIENCE

from transcript_mcp.mail.archive import doctor
from transcript_mcp.mail.store import MailStore

PROJECT = "/abs/path/backend"
SENDERS = 8
CLAIMANTS = 16
RESTART = 5.0
"""Seconds after a restart within which git has all that was accepted before."""
TO_ONE_READER = 150
"""Messages for one inbox, so that a single call shows it whole."""
KILLS = [["hub"], ["archiver"], ["archiver", "hub"]]


class Client:
    """One kept connection to a hub."""

    def __init__(self) -> None:
        self._http = httpx.Client(timeout=PATIENCE)

    def call(self, hub: HubProcess, tool: str, **arguments: Any) -> Any:
        """The data of a tool's answer; fails with its sentence. Raises httpx.TransportError when the hub is gone."""
        about = {"project_key": PROJECT} | arguments
        payload = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": about}}
        answer = self._http.post(hub.url, json=payload).raise_for_status().json()
        assert not answer["result"]["isError"], answer
        return json.loads(answer["result"]["content"][0]["text"])

    def close(self) -> None:
        self._http.close()


class Standing:
    """The hub that runs now, for senders that have lost theirs."""

    def __init__(self, hub: HubProcess) -> None:
        self.hub = hub
        self._changed = threading.Condition()

    def replace(self, hub: HubProcess) -> None:
        with self._changed:
            self.hub = hub
            self._changed.notify_all()

    def after(self, lost: HubProcess) -> HubProcess:
        """Wait for the next one; in vain when ``lost`` failed without having been killed."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.hub is not lost, PATIENCE), "the hub failed by itself"
            return self.hub


@dataclass
class Sender:
    """Sends one message after the other, each with a key and as often as it takes to have an answer."""

    name: str
    standing: Standing
    accepted: dict[str, str] = field(default_factory=dict[str, str])
    """Ids by subject, of all messages that the hub has acknowledged."""
    readers: list[str] = field(default_factory=list[str])
    retried: int = 0
    accepted_before: int = 0
    """Retried messages whose first answer was lost, not they."""

    def run(self, ended: threading.Event) -> None:
        with closing(Client()) as client:
            self._call(client, "register_agent", agent_name=self.name)
            while not ended.is_set():
                self._send(client)

    def _send(self, client: Client) -> None:
        number = len(self.accepted)
        if number == len(self.readers) * TO_ONE_READER:
            reader = f"{self.name}Reader{len(self.readers)}"
            self._call(client, "register_agent", agent_name=reader)
            self.readers.append(reader)
        key = f"{self.name} {number}"
        letter = {"from_agent": self.name, "to": [self.readers[-1]], "subject": key, "body_md": "第 1 行\n"}
        answer = self._call(client, "send_message", **letter, idempotency_key=key)
        self.accepted_before += "repeated" in answer
        self.accepted[key] = answer["id"]

    def _call(self, client: Client, tool: str, **arguments: Any) -> Any:
        hub = self.standing.hub
        while True:
            try:
                return client.call(hub, tool, **arguments)
            except httpx.TransportError:
                self.retried += 1
                hub = self.standing.after(hub)


@dataclass
class Storm:
    """Senders, and the hub that they have. ``restarts`` are the seconds from each restart until git had everything."""

    start_hub: StartHub
    root: Path
    standing: Standing
    senders: Sequence[Sender]
    running: list[Future[None]] = field(default_factory=list[Future[None]])
    restarts: list[float] = field(default_factory=list[float])

    def accepted(self) -> dict[str, str]:
        return {key: value for sender in self.senders for key, value in sender.accepted.copy().items()}

    def round(self, victims: Sequence[str], enough: int) -> None:
        """Kill the victims after ``enough`` more messages; fails when git is late with what was accepted before."""
        goal = len(self.accepted()) + enough
        until(lambda: self._failed() or len(self.accepted()) >= goal, "messages are accepted")
        if "archiver" in victims:
            until(lambda: processes_of(self.root), "an archiver works")
        before = self._kill(victims)
        if "hub" in victims:
            self.standing.replace(self.start_hub())
        else:
            until(lambda: set(processes_of(self.root)) - before, "there is another archiver")
        began, accepted = time.monotonic(), self.accepted()
        self.settle()
        self.restarts.append(time.monotonic() - began)
        assert set(accepted.values()) <= self.archived().keys()

    def settle(self) -> None:
        """Wait until what was accepted before is in git."""
        last = self._last_job()
        until(lambda: not self._waiting(last), "what was accepted before is in git")

    def archived(self) -> Counter[str]:
        """How often each message is in the last commit."""
        listed = git(self.repo(), "ls-tree", "-r", "--name-only", "HEAD", "messages")
        return Counter(Path(line).stem for line in listed.splitlines())

    def committed(self) -> Counter[str]:
        """How often the log names each message."""
        lines = git(self.repo(), "log", "--format=%B").splitlines()
        words = [line.removeprefix("- ").split() for line in lines]
        return Counter(each[1].rstrip(":") for each in words if each[:1] == ["mail"])

    def received(self) -> list[tuple[str, str]]:
        """Subject and id of all messages in all inboxes."""
        with closing(Client()) as client:
            boxes = (
                client.call(self.standing.hub, "check_my_messages", agent_name=reader, limit=200)["messages"]
                for sender in self.senders
                for reader in sender.readers
            )
            return [(each["subject"], each["id"]) for box in boxes for each in box]

    def repo(self) -> Path:
        (found,) = (self.root / "projects").glob("*/repo")
        return found

    def _failed(self) -> bool:
        """False while all senders run; fails with what ended one."""
        return any(each.done() and each.result() is None for each in self.running)

    def _kill(self, victims: Sequence[str]) -> set[int]:
        """SIGKILL; the archivers that there were."""
        archivers = set(processes_of(self.root))
        if "archiver" in victims:
            for pid in archivers:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        if "hub" in victims:
            self.standing.hub.kill()
        return archivers

    def _last_job(self) -> int:
        return self._one("SELECT coalesce(max(seq), 0) FROM archive_jobs")

    def _waiting(self, last: int) -> int:
        return self._one("SELECT count(*) FROM archive_jobs WHERE done_ts IS NULL AND seq <= ?", last)

    def _one(self, query: str, *values: int) -> int:
        with closing(sqlite3.connect(self.root / "mail.sqlite3", timeout=PATIENCE)) as database:
            return database.execute(query, values).fetchone()[0]


@pytest.mark.parametrize("rounds", short_and_full(2, 30, seconds=900))
def test_mail_that_was_acknowledged_outlives_kills_of_hub_and_archiver_and_is_there_once(
    start_hub: StartHub, mail_root: Path, soak_row: Callable[..., None], rounds: int
) -> None:
    dice, standing, ended = random.Random(rounds), Standing(start_hub()), threading.Event()
    senders = [Sender(f"Sender{number}", standing) for number in range(SENDERS)]
    storm = Storm(start_hub, mail_root, standing, senders)
    victims = [KILLS[number % len(KILLS)] for number in range(rounds)]
    dice.shuffle(victims)
    with ThreadPoolExecutor(SENDERS) as pool:
        storm.running = [pool.submit(sender.run, ended) for sender in senders]
        try:
            for each in victims:
                storm.round(each, dice.randrange(20, 150))
        finally:
            ended.set()
        for each in storm.running:
            each.result(2 * PATIENCE)
    accepted, received = storm.accepted(), storm.received()
    storm.settle()  # a hub that ends leaves to the next one what does not reach git within a second
    standing.hub.process.terminate()
    assert standing.hub.process.wait(PATIENCE) == 0
    subjects, archived, committed = Counter(subject for subject, _ in received), storm.archived(), storm.committed()
    soak_row(
        kills=rounds,
        acknowledged=len(accepted),
        retried=sum(sender.retried for sender in senders),
        retried_though_accepted=sum(sender.accepted_before for sender in senders),
        missing=len(set(accepted.items()) - set(received)),
        doubled=(subjects - Counter(set(subjects))).total(),
        not_in_git=len(set(accepted.values()) - archived.keys()),
        slowest_restart_s=round(max(storm.restarts), 2),
    )
    assert sorted(received) == sorted(accepted.items()), "lost, doubled or invented"
    assert rounds < 10 or max(storm.restarts) < RESTART, "only the soak has the machine to itself"
    assert archived == committed == Counter(accepted.values())
    assert {finding.message for finding in doctor.examine(MailStore(mail_root)) if finding.severity == "error"} == set()
    git(storm.repo(), "fsck", "--full", "--strict")


@pytest.fixture
def clients() -> Iterator[dict[str, Client]]:
    """Sixteen agents' connections by name."""
    with ExitStack() as stack:
        yield {f"Agent{number}": stack.enter_context(closing(Client())) for number in range(CLAIMANTS)}


@pytest.mark.parametrize("meetings", short_and_full(5, 150))
def test_of_sixteen_clients_that_claim_overlapping_globs_at_once_no_two_have_the_same_file(
    start_hub: StartHub, clients: dict[str, Client], soak_row: Callable[..., None], meetings: int
) -> None:
    hub, start, counted = start_hub(), threading.Barrier(CLAIMANTS), Counter[bool]()
    for name, client in clients.items():
        client.call(hub, "register_agent", agent_name=name)

    def claim(name: str, pattern: str) -> Any:
        clients[name].call(hub, "release_claims", agent_name=name)
        start.wait(PATIENCE)
        return clients[name].call(hub, "claim_paths", agent_name=name, paths=[pattern])

    with ThreadPoolExecutor(CLAIMANTS) as pool:
        for number in range(meetings):
            dice = random.Random(number)
            patterns = [dice.choice(list(COVERED)) for _ in clients]
            answers = dict(zip(clients, pool.map(claim, clients, patterns, timeout=PATIENCE), strict=True))
            held = {name: answer["granted"] for name, answer in answers.items() if answer["granted"]}
            files = Counter(path for mine in held.values() for pattern in mine for path in COVERED[pattern])
            assert set(files.values()) == {1}, f"meeting {number}: {held}"
            refused = [answer["conflicts"] for name, answer in answers.items() if name not in held]
            assert all(refused), "whoever gets nothing is told why"
            assert all(held[each["holder"]] == [each["pattern"]] for conflicts in refused for each in conflicts)
            listed = clients["Agent0"].call(hub, "list_claims")
            assert {each["agent"]: [each["path"]] for each in listed} == held
            counted.update(name in held for name in clients)
    soak_row(meetings=meetings, granted=counted[True], refused=counted[False], files_with_two_holders=0)
