"""The archiver as a process: killed, doubled, orphaned, out of space; what was put down gets into git, once."""

import logging
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.mail_archive import SLUG, MailArchive, git, message_files
from support.procs import processor_time, until
from support.sizes import short_and_full
from support.spawning import SpawnAction, spawning
from support.waiting import PATIENCE

from nanobot_transcript.sql.location import Shelf
from transcript_mcp.mail.archive.archiver import ArchiverProcess, wait_for
from transcript_mcp.mail.store import MailStore

OTHER = "前端-9c01"
RESTART = 5.0
"""Seconds after its start within which an archiver has done what an earlier one left."""


class Archivers:
    """Archivers of a store as processes of their own, each with a parent's pipe on stdin."""

    def __init__(self, store: MailStore) -> None:
        self._store = store
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, stderr: int | None = None) -> "subprocess.Popen[bytes]":
        command, address = [sys.executable, "-m", "transcript_mcp.mail.archive.archiver"], self._store.tables.address
        told = [str(self._store.root)] if address is None else [str(self._store.root), "told"]
        process = subprocess.Popen([*command, *told], stdin=subprocess.PIPE, stderr=stderr)
        if address is not None:
            assert process.stdin is not None
            process.stdin.write(f"{address}\n".encode())
            process.stdin.flush()
        self.processes.append(process)
        return process

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait(PATIENCE)
            for stream in (process.stdin, process.stderr):
                if stream is not None:
                    stream.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.soak)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """Where the tables are, if not in the store's folder."""
    return Shelf(tmp_path, request.getfixturevalue("engine")).address if request.param == "postgres" else None


@pytest.fixture
def archive(tmp_path: Path, address: str | None) -> Iterator[MailArchive]:
    opened = MailArchive(tmp_path / "邮件", SLUG, address=address)
    yield opened
    opened.close()


@pytest.fixture
def archivers(archive: MailArchive) -> Iterator[Archivers]:
    started = Archivers(archive.store)
    yield started
    started.end()


@pytest.fixture
def spawn_mail() -> Iterator[SpawnAction]:
    with spawning("support.mail_worker") as start:
        yield start


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_what_is_put_down_is_in_git_soon_and_the_work_tree_is_clean(archive: MailArchive, archivers: Archivers) -> None:
    archivers.start()
    commit = wait_for(archive.database, archive.send(SLUG, "msg_1"), PATIENCE)
    assert commit == git(archive.repo(SLUG), "rev-parse", "HEAD").strip()
    assert archive.messages(SLUG) == ["msg_1"]
    until(lambda: not git(archive.repo(SLUG), "status", "--porcelain"), "the index was refreshed")
    later = [archive.send(SLUG, f"msg_{number}") for number in range(2, 30)]
    assert {wait_for(archive.database, seq, PATIENCE) for seq in later} <= set(
        git(archive.repo(SLUG), "rev-list", "HEAD").split()
    )
    assert archive.commits(SLUG) < 15


def test_who_waits_in_vain_is_told_so(archive: MailArchive) -> None:
    assert wait_for(archive.database, archive.send(SLUG, "msg_1"), 0.05) is None
    assert wait_for(archive.database, 999, 0.05) == ""


@pytest.mark.parametrize("kills", short_and_full(4, 30))
def test_an_archiver_killed_at_any_moment_leaves_nothing_out_and_nothing_doubled(
    archive: MailArchive,
    archivers: Archivers,
    spawn_mail: SpawnAction,
    tmp_path: Path,
    soak_row: Any,
    kills: int,
) -> None:
    archive.add_project(OTHER)
    into = {"store": archive.store.root, "address": archive.store.tables.address, "slugs": [SLUG, OTHER]}
    notes = [tmp_path / f"acks{number}" for number in range(4)]
    writers = [
        spawn_mail("send_forever", **into, prefix=f"msg_{n}_", ack=ack, pause=0.03) for n, ack in enumerate(notes)
    ]
    for writer in writers:
        writer.go()
    dice, slowest = random.Random(kills), 0.0
    for _ in range(kills):
        began = time.monotonic()
        archiver = archivers.start()
        acked = sum(len(ack.read_text().splitlines()) for ack in notes if ack.exists())
        until(lambda: _last_done(archive) > 0, "the first commit")
        before = _last_done(archive)
        goal = max(before, acked)
        until(lambda goal=goal: _last_done(archive) >= goal, "what had waited is done")
        slowest = max(slowest, time.monotonic() - began)
        select.select([], [], [], dice.uniform(0, 0.4))
        archiver.kill()
        archiver.wait(PATIENCE)
    for writer in writers:
        writer.stop()
    sent = [line.split() for ack in notes for line in ack.read_text().splitlines()]
    archivers.start()
    until(lambda: archive.waiting() == 0, "everything is archived")
    for slug in (SLUG, OTHER):
        assert archive.messages(slug) == sorted(message_id for place, message_id in sent if place == slug)
        archive.assert_sound(slug)
        text = git(archive.repo(slug), "log", "--format=%B")
        mentioned = [line.rpartition(" ")[2] for line in text.splitlines() if "mail: msg_" in line]
        assert len(mentioned) == len(set(mentioned)), "a change was committed twice"
        until(lambda slug=slug: not git(archive.repo(slug), "status", "--porcelain"), "a clean work tree")
    soak_row(kills=kills, messages=len(sent), missing=0, doubled=0, slowest_restart_s=round(slowest, 2))
    assert kills < 10 or slowest < RESTART, "only the soak has the machine to itself"


def _last_done(archive: MailArchive) -> int:
    query = "SELECT count(*) FROM archive_jobs WHERE done_ts IS NOT NULL"
    return archive.database.read(lambda found: found.execute(query).fetchone()[0], 0)


def test_of_two_archivers_one_works_and_the_other_takes_over(archive: MailArchive, archivers: Archivers) -> None:
    first = archivers.start()
    assert wait_for(archive.database, archive.send(SLUG, "msg_1"), PATIENCE)
    second = archivers.start()
    third = archivers.start()
    first.send_signal(signal.SIGSTOP)
    stuck = archive.send(SLUG, "msg_2")
    assert wait_for(archive.database, stuck, 1.0) is None, "somebody worked without the lock"
    first.kill()
    assert wait_for(archive.database, stuck, PATIENCE)
    assert second.poll() is None
    assert third.poll() is None
    assert archive.messages(SLUG) == ["msg_1", "msg_2"]
    assert archive.commits(SLUG) == 2


@pytest.mark.parametrize("how", ["end of the pipe", "SIGTERM"])
def test_an_archiver_that_shall_end_first_does_what_waits(archive: MailArchive, archivers: Archivers, how: str) -> None:
    process = archivers.start()
    assert wait_for(archive.database, archive.send(SLUG, "msg_0"), PATIENCE)
    for number in range(1, 40):
        archive.send(SLUG, f"msg_{number}")
    if how == "SIGTERM":
        process.terminate()
    else:
        assert process.stdin is not None
        process.stdin.close()
    assert process.wait(PATIENCE) == 0
    assert (len(archive.messages(SLUG)), archive.waiting()) == (40, 0)


def test_an_archiver_ends_with_a_killed_parent_and_the_work_stays(
    archive: MailArchive, spawn_mail: SpawnAction
) -> None:
    parent = spawn_mail("host", store=archive.store.root, address=archive.store.tables.address)
    parent.go()
    pid = parent.line()["pid"]
    assert wait_for(archive.database, archive.send(SLUG, "msg_1"), PATIENCE)
    parent.kill()
    until(lambda: is_gone(pid), "the archiver ended with its parent")
    archive.send(SLUG, "msg_2")
    assert archive.waiting() == 1
    with ArchiverProcess(archive.store):
        until(lambda: archive.waiting() == 0, "the next one does it")
    assert archive.messages(SLUG) == ["msg_1", "msg_2"]


def test_a_killed_archiver_is_started_again(archive: MailArchive, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    with ArchiverProcess(archive.store) as archiver:
        for number in range(3):
            until(lambda: archiver.alive, "it runs")
            pid = archiver.pid
            assert pid is not None
            assert wait_for(archive.database, archive.send(SLUG, f"msg_{number}"), PATIENCE)
            os.kill(pid, signal.SIGKILL)
            until(lambda pid=pid: archiver.pid not in (None, pid), "another one runs")
        last = archiver.pid
    assert archiver.alive is False
    assert last is not None
    assert is_gone(last)
    assert "restarting it" in caplog.text


def test_closing_before_and_after_and_twice_does_no_harm(archive: MailArchive) -> None:
    archiver = ArchiverProcess(archive.store)
    archiver.close()
    archiver.start()
    archiver.close()
    archiver.close()
    assert archiver.alive is False


def test_an_archiver_waits_for_a_store_that_is_not_there_yet(tmp_path: Path) -> None:
    store = MailArchive(tmp_path / "later")
    with ArchiverProcess(store.store):
        until(store.store.archiver_lock.exists, "it has begun")
        assert not store.store.database.exists()
        store.add_project(SLUG)
        assert wait_for(store.database, store.send(SLUG, "msg_1"), PATIENCE)
    store.close()


def test_a_repository_that_fails_does_not_hold_up_the_others(
    archive: MailArchive, archivers: Archivers, tmp_path: Path
) -> None:
    archive.add_project(OTHER)
    obstacle = archive.repo(SLUG).parent
    obstacle.parent.mkdir(parents=True)
    obstacle.symlink_to(tmp_path)
    for number in range(300):
        archive.send(SLUG, f"msg_{number}")
    process = archivers.start(stderr=subprocess.PIPE)
    assert wait_for(archive.database, archive.send(OTHER, "msg_a"), PATIENCE)
    assert archive.waiting() == 300
    obstacle.unlink()
    until(lambda: archive.waiting() == 0, "trying again in an hour")
    assert (len(archive.messages(SLUG)), archive.messages(OTHER)) == (300, ["msg_a"])
    process.terminate()
    _, said = process.communicate(timeout=PATIENCE)
    assert said.decode().count("follows no links") == 1
    assert said.decode().count("works again") == 1


@pytest.mark.parametrize("limit", [400, 8192, 200_000])
def test_no_space_leaves_the_jobs_and_a_sound_repository(
    archive: MailArchive, spawn_mail: SpawnAction, limit: int
) -> None:
    """A limit on the size of files makes the kernel write only what fits: the sharpest form of a full disk."""
    body = random.Random(1).randbytes(200_000).hex()
    for number in range(20):
        archive.enqueue(SLUG, f"mail {number}", message_files(f"msg_{number}", body=body[: 20_000 * (1 + number)]))
    into = {"store": archive.store.root, "address": archive.store.tables.address}
    worker = spawn_mail("archive_within", **into, limit=limit)
    worker.go()
    assert worker.result()["done"] == 0
    assert archive.waiting() == 20
    free = spawn_mail("archive_within", **into)
    free.go()
    assert free.result() == {"done": 20, "error": None}
    assert len(archive.messages(SLUG)) == 20
    archive.assert_sound(SLUG)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of twelve megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=12m,mode=0700", "none", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root and the right to mount")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def cramped(disk: Path) -> Iterator[MailArchive]:
    opened = MailArchive(disk / "store", SLUG)
    yield opened
    opened.close()


@pytest.fixture
def cramped_archivers(cramped: MailArchive) -> Iterator[Archivers]:
    started = Archivers(cramped.store)
    yield started
    started.end()


def test_a_full_disk_holds_the_archive_up_until_there_is_room(
    disk: Path, cramped: MailArchive, cramped_archivers: Archivers
) -> None:
    archive = cramped
    for number in range(100):
        archive.send(SLUG, f"msg_{number}")
    filler = disk / "filler"
    free = os.statvfs(disk)
    filler.write_bytes(b"\0" * (free.f_bavail * free.f_frsize - 120_000))
    process = cramped_archivers.start(stderr=subprocess.PIPE)
    assert process.stderr is not None
    assert select.select([process.stderr], [], [], PATIENCE)[0], "nothing was said about the full disk"
    assert b"Free space" in os.read(process.stderr.fileno(), 65536)
    assert archive.waiting() == 100
    filler.unlink()
    until(lambda: archive.waiting() == 0, "it goes on when there is room")
    assert len(archive.messages(SLUG)) == 100
    archive.assert_sound(SLUG)


@pytest.mark.soak
def test_an_idle_archiver_hardly_uses_the_processor(archive: MailArchive, archivers: Archivers) -> None:
    """Counted in processor time, not by the clock: at most a twentieth, where it aims at a hundredth."""
    process = archivers.start()
    assert wait_for(archive.database, archive.send(SLUG, "msg_1"), PATIENCE)
    until(lambda: not git(archive.repo(SLUG), "status", "--porcelain"), "it has nothing to do")
    before, began = processor_time(process.pid), time.monotonic()
    select.select([], [], [], 2.0)
    assert (processor_time(process.pid) - before) / (time.monotonic() - began) < 0.05
