"""Posts and their answers between real processes that are killed at any moment: nothing lost, nothing twice."""

import random
from collections import Counter
from pathlib import Path

import pytest
from support.outbox_worker import messages
from support.procs import Worker, until
from support.spawning import SpawnAction
from support.waiting import PATIENCE

from nanobot_transcript.outbox import Outbox

KEY = "feishu:oc_posts"


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def started(worker: Worker) -> Worker:
    worker.go()
    return worker


def test_the_same_key_from_eight_processes_is_one_post(
    base_dir: Path, outbox: Outbox, spawn_outbox: SpawnAction
) -> None:
    workers = [spawn_outbox("post_same", base_dir=base_dir, key="build 7") for _ in range(8)]
    for worker in workers:
        worker.go()
    assert len({worker.result() for worker in workers}) == 1
    assert outbox.take("one", [KEY]) is not None
    assert outbox.take("one", [KEY]) is None


def test_two_processes_never_take_the_same_post(base_dir: Path, outbox: Outbox, spawn_outbox: SpawnAction) -> None:
    ids = [outbox.post(KEY, f"{number}") for number in range(40)]
    workers = [spawn_outbox("take_forever", base_dir=base_dir, holder=f"holder {number}") for number in range(2)]
    for worker in workers:
        worker.go()
    had = Counter(post_id for worker in workers for post_id in worker.result())
    assert had == Counter(ids)


@pytest.mark.parametrize("when", ["taken", "delivered"])
def test_a_sender_killed_in_the_middle_is_succeeded_and_nothing_stands_twice(
    base_dir: Path, platform: Path, outbox: Outbox, spawn_outbox: SpawnAction, when: str
) -> None:
    post_id = outbox.post(KEY, "Ship it?")
    first = started(spawn_outbox("serve", base_dir=base_dir, platform=platform, die=when))
    first.process.wait(PATIENCE)
    assert outbox.status(post_id).state == "queued"
    started(spawn_outbox("serve", base_dir=base_dir, platform=platform))
    until(lambda: outbox.status(post_id).state == "sent", "the successor sent it")
    assert messages(platform) == ["Ship it?"]
    assert outbox.status(post_id).message_id == f"om_{post_id}"
    assert len(lines(platform / "sends")) == (1 if when == "taken" else 2)


def test_a_press_between_a_killed_senders_message_and_its_note_reaches_who_asked(
    base_dir: Path, platform: Path, tmp_path: Path, outbox: Outbox, spawn_outbox: SpawnAction
) -> None:
    post_id = outbox.post(KEY, "Ship it?")
    first = started(spawn_outbox("serve", base_dir=base_dir, platform=platform, die="delivered"))
    first.process.wait(PATIENCE)
    ack = tmp_path / "answered"
    started(spawn_outbox("answer_forever", base_dir=base_dir, platform=platform, ack=ack))
    until(lambda: lines(ack), "somebody has answered")
    assert lines(ack) == [f"{post_id} (False, False)"]
    assert (outbox.status(post_id).state, outbox.answers(post_id)) == ("queued", [])
    started(spawn_outbox("serve", base_dir=base_dir, platform=platform))
    until(lambda: outbox.status(post_id).state == "sent", "the successor was told the same message")
    pressed, replied = outbox.answers(post_id)
    assert (pressed.kind, pressed.value, pressed.sender, pressed.message_id) == (
        "action", {"ok": post_id}, "on_ada", f"om_{post_id}",
    )  # fmt: skip
    assert (replied.kind, replied.text, replied.message_id) == ("reply", "Yes", f"om_to_{post_id}")
    assert messages(platform) == ["Ship it?"]


def test_what_was_accepted_from_a_killed_poster_is_queued(
    base_dir: Path, tmp_path: Path, outbox: Outbox, spawn_outbox: SpawnAction
) -> None:
    ack = tmp_path / "accepted"
    for number in range(3):
        worker = started(spawn_outbox("post_forever", base_dir=base_dir, prefix=f"p{number}_", ack=ack))
        enough = len(lines(ack)) + 5
        until(lambda enough=enough: len(lines(ack)) > enough, "posts were accepted")
        worker.kill()
    for line in lines(ack):
        assert outbox.status(line.split()[1]).state == "queued"


def storm(base_dir: Path, platform: Path, outbox: Outbox, spawn_outbox: SpawnAction, kills: int, seed: int) -> int:
    """Two servers, one poster, all killed again and again, and somebody who answers everything as soon as it stands
    there; the number of posts that were accepted.
    """
    dice, ack, answered = random.Random(seed), platform.parent / "accepted", platform.parent / "answered"
    started(spawn_outbox("answer_forever", base_dir=base_dir, platform=platform, ack=answered))
    servers = [started(spawn_outbox("serve", base_dir=base_dir, platform=platform)) for _ in range(2)]
    for number in range(kills):
        poster = started(spawn_outbox("post_forever", base_dir=base_dir, prefix=f"p{number}_", ack=ack))
        enough = len(lines(ack)) + dice.randrange(1, 8)
        until(lambda enough=enough: len(lines(ack)) >= enough, "posts were accepted")
        victim = dice.randrange(2)
        servers[victim].kill()  # while posts come in, so that it has something in hand now and then
        poster.kill()
        servers[victim] = started(spawn_outbox("serve", base_dir=base_dir, platform=platform))
    last = outbox.post(KEY, "last")
    until(lambda: outbox.status(last).state == "sent", "everything was sent", 120)
    accepted = [line.split() for line in lines(ack)]
    assert {outbox.status(post_id).state for _, post_id in accepted} == {"sent"}
    sent = Counter(messages(platform))
    assert max(sent.values()) == 1
    assert {key for key, _ in accepted} <= sent.keys()
    until(lambda: len(lines(answered)) == sent.total(), "everything was answered")
    for line in lines(answered):
        assert [answer.kind for answer in outbox.answers(line.split()[0])] == ["action", "reply"]
    return len(accepted)


def test_a_storm_of_kills_loses_and_doubles_nothing(
    base_dir: Path, platform: Path, outbox: Outbox, spawn_outbox: SpawnAction
) -> None:
    assert storm(base_dir, platform, outbox, spawn_outbox, kills=3, seed=1) >= 3


def test_a_full_disk_refuses_and_keeps_what_was_accepted(
    base_dir: Path, outbox: Outbox, spawn_outbox: SpawnAction
) -> None:
    worker = started(spawn_outbox("post_until_error", base_dir=base_dir, limit=300_000))
    told = worker.result()
    assert told["error"] == "store_full"
    assert told["hint"]
    assert told["accepted"]
    assert {outbox.status(post_id).state for post_id in told["accepted"]} == {"queued"}
    assert outbox.status(outbox.post(KEY, "there is room again")).state == "queued"


@pytest.mark.soak
def test_a_long_storm_of_kills_loses_and_doubles_nothing(
    base_dir: Path, platform: Path, outbox: Outbox, spawn_outbox: SpawnAction, soak_row: object
) -> None:
    posts = storm(base_dir, platform, outbox, spawn_outbox, kills=40, seed=7)
    sends = len(lines(platform / "sends"))
    early = sum(line.endswith("(False, False)") for line in lines(platform.parent / "answered"))
    soak_row(kills=80, posts=posts, sends=sends, lost=0, twice=0, answered_early=early, answers_lost=0)  # type: ignore[operator]
