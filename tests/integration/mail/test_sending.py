"""Real processes that send into one store at once, and are killed at any moment: nothing lost, nothing twice."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.letterbox import BACKEND
from support.procs import Worker, until
from support.spawning import SpawnAction, spawning
from support.waiting import PATIENCE

from transcript_mcp.mail.archive import jobs
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.values import Draft, InboxQuery

SENDERS = 8


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def mail(store: Path) -> Iterator[AgentMail]:
    """The store as this process sees it."""
    with AgentMail(store) as opened:
        yield opened


@pytest.fixture
def spawn_sender() -> Iterator[SpawnAction]:
    with spawning("support.letter_worker") as start:
        yield start


def started(worker: Worker) -> Worker:
    worker.go()
    return worker


def received(mail: AgentMail, name: str) -> list[tuple[str, str]]:
    """Subject and id of all that is in somebody's inbox."""
    agent = mail.acting(BACKEND, name)
    sql = (
        "SELECT messages.subject, messages.id FROM message_recipients AS recipient"
        " JOIN messages ON messages.seq = recipient.seq WHERE recipient.agent_id = ? ORDER BY messages.seq"
    )
    return mail.reader.read(lambda db: [tuple(row) for row in db.execute(sql, (agent.id,))], [])


def archived(mail: AgentMail) -> Counter[str]:
    """How often each path of a message stands in the archive's list."""
    project_id = mail.project(BACKEND).id
    waiting = mail.reader.read(lambda db: jobs.waiting(db, project_id, None), [])
    return Counter(path for job in waiting for path in job.files if path.startswith("messages/"))


def test_sixteen_processes_send_at_once_into_a_new_store_without_error_or_loss(
    mail: AgentMail, store: Path, spawn_sender: SpawnAction
) -> None:
    count = 20
    workers = [
        spawn_sender(
            "send_many", store=store, name=f"Agent{number}", to=["Receiver", f"Agent{(number + 1) % 16}"], count=count
        )
        for number in range(16)
    ]
    for worker in workers:
        worker.go()
    ids = [message_id for worker in workers for message_id in worker.result(120)["ids"]]
    assert len(set(ids)) == 16 * count
    assert {message_id for _, message_id in received(mail, "Receiver")} == set(ids)
    assert Counter(subject.split()[0] for subject, _ in received(mail, "Agent5")) == {"Agent4": count}
    assert len(mail.agents(BACKEND)) == 17
    assert len(mail.projects()) == 1
    assert set(archived(mail).values()) == {1}
    assert len(archived(mail)) == 16 * count
    times = [each.letter.created_ts for each in mail.inbox(mail.acting(BACKEND, "Receiver"), InboxQuery(limit=1000))]
    assert times == sorted(set(times), reverse=True)


def test_the_threads_of_one_process_share_a_front(mail: AgentMail) -> None:
    sender, receiver = (mail.register_agent(BACKEND, name).agent for name in ("Sender", "Receiver"))

    def send(number: int) -> str:
        sent = mail.send(BACKEND, sender, Draft(f"{number}", to=["Receiver"]))
        assert sent.id in {each.letter.id for each in mail.inbox(receiver, InboxQuery(limit=200))}
        mail.mark_read(receiver, [sent.id])
        return sent.id

    with ThreadPoolExecutor(16) as pool:
        ids = list(pool.map(send, range(160), timeout=PATIENCE))
    assert {message_id for _, message_id in received(mail, "Receiver")} == set(ids)
    assert len(set(ids)) == 160
    assert mail.inbox(receiver, InboxQuery(unread_only=True)) == []


def test_the_same_key_from_eight_processes_is_one_message(
    mail: AgentMail, store: Path, spawn_sender: SpawnAction
) -> None:
    for name in ("Sender", "Receiver"):
        mail.register_agent(BACKEND, name)
    workers = [spawn_sender("send_same", store=store, key="build 7") for _ in range(8)]
    for worker in workers:
        worker.go()
    assert len({worker.result() for worker in workers}) == 1
    assert len(received(mail, "Receiver")) == 1


def storm(mail: AgentMail, spawn_sender: SpawnAction, folder: Path, rounds: int, seed: int) -> dict[str, int]:
    """Eight senders, one of them killed in each round and begun again at what it had not yet been told of."""
    dice = random.Random(seed)
    names = [f"Agent{number}" for number in range(SENDERS)]
    for name in ("Receiver", *names):
        mail.register_agent(BACKEND, name)
    notes = {name: folder / f"accepted-{name}" for name in names}

    def acknowledged(name: str) -> list[list[str]]:
        lines = notes[name].read_text(encoding="utf-8").splitlines() if notes[name].exists() else []
        return [line.split() for line in lines]

    def begin(name: str) -> Worker:
        first = len(acknowledged(name))
        return started(spawn_sender("send_forever", store=mail.places.root, name=name, first=first, ack=notes[name]))

    senders = {name: begin(name) for name in names}
    for _ in range(rounds):
        victim = dice.choice(names)
        enough = len(acknowledged(victim)) + dice.randrange(1, 6)
        until(more_than(acknowledged, victim, enough), "messages were accepted")
        senders[victim].kill()
        senders[victim] = begin(victim)
    for worker in senders.values():
        worker.kill()
    accepted = {key: message_id for name in names for key, message_id in acknowledged(name)}
    found = received(mail, "Receiver")
    subjects = Counter(subject for subject, _ in found)
    lost = set(accepted.items()) - set(found)
    copies = {message_id for name in names for _, message_id in received(mail, name)}
    return {
        "killed": rounds + SENDERS,
        "accepted": len(accepted),
        "lost": len(lost) + len(set(accepted.values()) - copies),
        "doubled": sum(count - 1 for count in subjects.values()),
        "unarchived": len(found) - len(archived(mail)),
    }


def more_than(acknowledged: Callable[[str], list[list[str]]], name: str, count: int) -> Callable[[], bool]:
    return lambda: len(acknowledged(name)) >= count


def test_what_was_accepted_from_killed_senders_is_received_once(
    mail: AgentMail, spawn_sender: SpawnAction, tmp_path: Path
) -> None:
    counted = storm(mail, spawn_sender, tmp_path, rounds=4, seed=1)
    assert counted["accepted"] > 4
    assert (counted["lost"], counted["doubled"], counted["unarchived"]) == (0, 0, 0)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_thirty_rounds_of_kills_lose_and_double_nothing(
    mail: AgentMail, spawn_sender: SpawnAction, tmp_path: Path, soak_row: Callable[..., None]
) -> None:
    counted = storm(mail, spawn_sender, tmp_path, rounds=30, seed=2)
    soak_row(**counted)
    assert (counted["lost"], counted["doubled"], counted["unarchived"]) == (0, 0, 0)
