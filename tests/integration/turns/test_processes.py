"""Leases, budgets, claims and relays between real processes, some of which are killed."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from support.leases import FOR_EVER, held_by, run_out
from support.procs import Worker, until
from support.spawning import SpawnAction
from support.waiting import PATIENCE

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.turns import GUARD_HISTORY, FileLease, LoopGuard

KEY = "feishu:oc_turns"
BOTS = ("Alpha", "Beta", "Gamma", "Delta")


def noted(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def test_of_four_processes_exactly_one_gets_each_lease(base_dir: Path, spawn_turn: SpawnAction) -> None:
    names = [f"name {number}" for number in range(100)]
    workers = [spawn_turn("acquire_all", base_dir=base_dir, names=names, holder=name) for name in BOTS]
    for worker in workers:
        worker.go()
    had = Counter(name for worker in workers for name in worker.result())
    assert had == Counter(names)


def test_four_processes_share_one_budget(base_dir: Path, spawn_turn: SpawnAction) -> None:
    workers = [spawn_turn("take_all", base_dir=base_dir, count=100, limit=150) for _ in BOTS]
    for worker in workers:
        worker.go()
    assert sum(worker.result() for worker in workers) == 150


def test_a_full_disk_refuses_and_keeps_what_was_granted(base_dir: Path, spawn_turn: SpawnAction) -> None:
    worker = spawn_turn("acquire_on_a_full_disk", base_dir=base_dir, limit=2000)
    worker.go()
    told = worker.result()
    assert told["error"].startswith("store")
    assert told["hint"]
    lease = FileLease(base_dir, wait=PATIENCE)
    assert told["had"]
    assert [name for name in told["had"] if lease.acquire(name, "late", 60) is not None] == []
    assert lease.acquire(told["refused"], "late", 60) is not None


def churned(base_dir: Path, spawn_turn: SpawnAction, kills: int, seed: int) -> list[int]:
    """The tokens in the order in which they were granted, by processes that are killed at any moment."""
    ack, dice = base_dir.parent / "tokens", random.Random(seed)
    started = 0

    def start() -> tuple[str, Worker]:
        nonlocal started
        started += 1
        worker = spawn_turn("churn", base_dir=base_dir, holder=f"churn {started}", ack=ack)
        worker.go()
        return f"churn {started}", worker

    def kill(name: str, worker: Worker) -> None:
        worker.kill()
        if held_by(base_dir, "churned") == name:
            run_out(base_dir, "churned")

    workers = [start(), start()]
    for _ in range(kills):
        enough = len(noted(ack)) + dice.randrange(2, 40)
        until(lambda enough=enough: len(noted(ack)) > enough, "leases were granted")
        victim = dice.randrange(2)
        kill(*workers[victim])
        workers[victim] = start()
    for worker in workers:
        kill(*worker)
    return [int(line.split()[0]) for line in ack.read_text().splitlines()]


def assert_tokens_never_repeat(tokens: list[int]) -> None:
    assert len(tokens) == len(set(tokens)) > 0
    assert tokens == sorted(tokens)


def test_tokens_never_repeat_when_processes_are_killed_at_any_moment(base_dir: Path, spawn_turn: SpawnAction) -> None:
    assert_tokens_never_repeat(churned(base_dir, spawn_turn, kills=4, seed=1))
    assert FileLease(base_dir, wait=PATIENCE).acquire("churned", "after", 60) is not None


def contest(base_dir: Path, spawn_turn: SpawnAction, die: str = "") -> tuple[list[str], list[str]]:
    """Four bots and one message for nobody; the best one dies if told to. Who sent, and how the others ended."""
    sent = base_dir.parent / "sent"
    sent.unlink(missing_ok=True)
    with GroupTranscriptStore(base_dir) as store:
        message_id = f"om_{sum(1 for _ in store.scan(KEY))}"
        store.append(KEY, "user", "Who knows?", "on_ada", message_id)
        workers = [
            spawn_turn(
                "answer",
                base_dir=base_dir,
                agent=f"{name}{message_id}",
                message_id=message_id,
                score=1 - number / 10,
                die=die if number == 0 else "",
                sent=sent,
                ttl=FOR_EVER,
            )
            for number, name in enumerate(BOTS)
        ]
        first, *others = workers
        first.go()
        if die:
            assert first.line()["won"]
            first.process.wait(PATIENCE)
        for worker in others:
            worker.go()
        if die:
            assert [worker.line()["won"] for worker in others] == [None, None, None]
            run_out(base_dir, f"answer {KEY} {message_id}")
        ended = [str(worker.result()) for worker in (others if die else workers)]
        answers = [entry["sender"] for entry in store.scan(KEY) if entry.get("reply_to") == message_id]
    assert answers == noted(sent)
    return answers, sorted(ended)


def test_four_bots_give_one_answer(base_dir: Path, spawn_turn: SpawnAction) -> None:
    answers, ended = contest(base_dir, spawn_turn)
    assert len(answers) == 1
    assert ended == ["answered", "left", "left", "left"]


def test_when_the_holder_is_killed_before_its_send_another_one_answers(base_dir: Path, spawn_turn: SpawnAction) -> None:
    answers, ended = contest(base_dir, spawn_turn, die="before send")
    assert len(answers) == 1
    assert not answers[0].startswith(BOTS[0])
    assert ended == ["answered", "left", "left"]


def test_when_the_holder_is_killed_after_recording_nobody_answers_again(
    base_dir: Path, spawn_turn: SpawnAction
) -> None:
    answers, ended = contest(base_dir, spawn_turn, die="after record")
    assert len(answers) == 1
    assert answers[0].startswith(BOTS[0])
    assert ended == ["left", "left", "left"]


def relayed(base_dir: Path, spawn_turn: SpawnAction, rounds: int, seed: int) -> tuple[list[str], int]:
    """What a relay handed out while it was killed again and again, and how much there was."""
    ack, dice, number = base_dir.parent / "handed", random.Random(seed), 0
    with GroupTranscriptStore(base_dir) as store:
        for _ in range(rounds):
            worker = spawn_turn("relay", base_dir=base_dir, agent="Beta", ack=ack)
            worker.go()
            for _ in range(10):
                store.append(KEY, "user", "Go on", "on_ada", f"om_p{number}")
                store.append(KEY, "assistant", f"Step {number}", "Alpha", f"om_{number}", agent="Alpha", hop=1)
                number += 1
            enough = len(noted(ack)) + dice.randrange(1, 5)
            until(lambda enough=enough: len(noted(ack)) >= enough, "some were handed out")
            worker.kill()
        last = spawn_turn("relay", base_dir=base_dir, agent="Beta", ack=ack, until="om_last")
        last.go()
        store.append(KEY, "user", "Go on", "on_ada", "om_person")
        store.append(KEY, "assistant", "The last step", "Alpha", "om_last", agent="Alpha", hop=1)
        last.result()
    return noted(ack), number + 1


def test_a_relay_that_is_killed_hands_out_nothing_twice(base_dir: Path, spawn_turn: SpawnAction) -> None:
    handed, said = relayed(base_dir, spawn_turn, rounds=3, seed=1)
    assert len(handed) == len(set(handed))
    assert len(handed) >= said - 3  # a kill between noting and handing out costs that one entry
    assert handed[-1] == "om_last"


def discussed(base_dir: Path, spawn_turn: SpawnAction, bots: tuple[str, ...]) -> list[str]:
    """Bots that were told to discuss; who spoke, once nobody has anything to answer any more."""
    with GroupTranscriptStore(base_dir) as store:
        store.append(KEY, "user", "Discuss it, all of you", "on_ada", "om_person")
        workers = [spawn_turn("discuss", base_dir=base_dir, agent=name, limit=4) for name in bots]
        for worker in workers:
            worker.go()

        def all_have_heard_everything() -> bool:
            end = store.end(KEY)
            places = [json.loads(path.read_text()) for path in base_dir.glob(".state/cursors/relay-*.json")]
            heard = [place for place in places if place.get("cursor") == end and not place["waiting"]]
            return len(heard) == len(bots) and store.end(KEY) == end

        def nobody_may_go_on() -> bool:
            history = store.recent(KEY, GUARD_HISTORY).entries
            return not any(LoopGuard().allows(history[-1], history, AgentProfile(name)).allowed for name in bots)

        until(lambda: nobody_may_go_on() and all_have_heard_everything(), "they fell silent")
        said = sum(worker.stop() for worker in workers)
        spoke = [entry["sender"] for entry in store.scan(KEY) if entry["role"] == "assistant"]
        assert said == len(spoke)
    return spoke


def turns_of(spoke: list[str]) -> int:
    return sum(1 for before, now in zip(["", *spoke], spoke, strict=False) if before != now)


@pytest.mark.parametrize("bots", [("Alpha", "Beta"), BOTS], ids=["two", "four"])
def test_bots_told_to_discuss_stop_by_themselves(
    base_dir: Path, spawn_turn: SpawnAction, bots: tuple[str, ...]
) -> None:
    spoke = discussed(base_dir, spawn_turn, bots)
    # Four turns; each of the others may be about to speak when the last one is said.
    assert len(bots) <= turns_of(spoke) <= 4 + len(bots) - 1


@pytest.mark.soak
def test_twenty_discussions_stop_by_themselves(tmp_path: Path, spawn_turn: SpawnAction, soak_row: object) -> None:
    turns = [turns_of(discussed(tmp_path / f"{n}", spawn_turn, ("Alpha", "Beta"))) for n in range(20)]
    soak_row(discussions=20, fewest_turns=min(turns), most_turns=max(turns))  # type: ignore[operator]
    assert max(turns) <= 5


@pytest.mark.soak
def test_fifty_contests_with_one_answer_each(base_dir: Path, spawn_turn: SpawnAction, soak_row: object) -> None:
    ways = ("", "before send", "after record")
    wrong = [way for number in range(50) if len(contest(base_dir, spawn_turn, die=(way := ways[number % 3]))[0]) != 1]
    soak_row(contests=50, killed_holders=33, not_exactly_one_answer=len(wrong))  # type: ignore[operator]
    assert wrong == []


@pytest.mark.soak
def test_tokens_never_repeat_in_many_kills(base_dir: Path, spawn_turn: SpawnAction, soak_row: object) -> None:
    tokens = churned(base_dir, spawn_turn, kills=60, seed=7)
    soak_row(kills=60, grants=len(tokens), repeated=len(tokens) - len(set(tokens)))  # type: ignore[operator]
    assert_tokens_never_repeat(tokens)


@pytest.mark.soak
def test_a_relay_killed_thirty_times_hands_out_nothing_twice(
    base_dir: Path, spawn_turn: SpawnAction, soak_row: object
) -> None:
    handed, said = relayed(base_dir, spawn_turn, rounds=30, seed=7)
    soak_row(kills=30, said=said, handed_out=len(handed), twice=len(handed) - len(set(handed)))  # type: ignore[operator]
    assert len(handed) == len(set(handed))
    assert len(handed) >= said - 30
