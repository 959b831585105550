"""The hub with mail in it: ended in order, killed, and two of them on one store."""

import os
import signal
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.mail_archive import git
from support.mail_hub import HubProcess, StartHub, processes_of
from support.procs import until
from support.sizes import short_and_full
from support.waiting import PATIENCE

PROJECT = "/abs/path/backend"
SYNC = {"NANOBOT_TRANSCRIPT_MAIL__ARCHIVE__SYNC": "true"}


def people(hub: HubProcess) -> None:
    for name in ("GreenCastle", "BlueLake"):
        hub.call("register_agent", project_key=PROJECT, agent_name=name, program="codex-cli", model="gpt5-codex")


def send(hub: HubProcess, **more: Any) -> Any:
    mail = {"project_key": PROJECT, "from_agent": "GreenCastle", "to": ["BlueLake"], "subject": "Plan", "body_md": "x"}
    return hub.call("send_message", **(mail | more))


def waiting(root: Path) -> int:
    """Jobs that are not in git."""
    with closing(sqlite3.connect(root / "mail.sqlite3", timeout=PATIENCE)) as database:
        return database.execute("SELECT count(*) FROM archive_jobs WHERE done_ts IS NULL").fetchone()[0]


def archived(root: Path) -> set[str]:
    """The ids of the messages in the last commit."""
    (repo,) = (root / "projects").glob("*/repo")
    listed = git(repo, "ls-tree", "-r", "--name-only", "HEAD", "messages")
    return {Path(line).stem for line in listed.splitlines()}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
@pytest.mark.parametrize("seconds", short_and_full(PATIENCE, 2.0))
def test_it_ends_soon_with_all_mail_in_git_and_nothing_left_behind(
    start_hub: StartHub, mail_root: Path, number: signal.Signals, code: int, seconds: float
) -> None:
    """Within two seconds, where the soak has the machine to itself."""
    hub = start_hub()
    people(hub)
    sent = {send(hub)["id"] for _ in range(30)}
    assert processes_of(mail_root), "an archiver works"
    began = time.monotonic()
    hub.process.send_signal(number)
    assert hub.process.wait(PATIENCE) == code
    assert time.monotonic() - began < seconds
    assert processes_of(mail_root) == []
    assert waiting(mail_root) == 0
    assert archived(mail_root) == sent


def test_two_hubs_serve_one_store_and_the_second_goes_on_when_the_first_ends(
    start_hub: StartHub, mail_root: Path
) -> None:
    first, second = start_hub(), start_hub()
    people(first)
    sent = {send(hub)["id"] for hub in (first, second) * 5}
    for hub in (first, second):
        inbox = hub.call("check_my_messages", project_key=PROJECT, agent_name="BlueLake")
        assert {each["id"] for each in inbox["messages"]} == sent
    first.process.terminate()
    assert first.process.wait(PATIENCE) == 0
    sent.add(send(second)["id"])
    until(lambda: waiting(mail_root) == 0, "all mail is in git")
    assert archived(mail_root) == sent


@pytest.mark.parametrize("seconds", short_and_full(PATIENCE, 5.0))
def test_a_killed_hub_leaves_no_process_and_the_next_one_brings_its_mail_into_git_soon(
    start_hub: StartHub, mail_root: Path, seconds: float
) -> None:
    """Within five seconds, where the soak has the machine to itself."""
    hub = start_hub()
    people(hub)
    with ThreadPoolExecutor(4) as pool:
        sent = {each["id"] for each in pool.map(lambda _: send(hub), range(60))}
        hub.kill()
    until(lambda: not processes_of(mail_root), "the archiver is gone")
    again = start_hub()
    began = time.monotonic()
    until(lambda: waiting(mail_root) == 0, "all mail is in git")
    assert time.monotonic() - began < seconds
    assert archived(mail_root) == sent
    inbox = again.call("check_my_messages", project_key=PROJECT, agent_name="BlueLake", limit=200)
    assert {each["id"] for each in inbox["messages"]} == sent
    assert send(again)["id"] not in sent


def test_a_killed_archiver_is_started_again_and_costs_no_mail(start_hub: StartHub, mail_root: Path) -> None:
    hub = start_hub()
    people(hub)
    until(lambda: len(processes_of(mail_root)) == 1, "an archiver works")
    (archiver,) = processes_of(mail_root)
    os.kill(archiver, signal.SIGKILL)
    sent = {send(hub)["id"] for _ in range(10)}
    until(lambda: waiting(mail_root) == 0, "all mail is in git")
    assert archived(mail_root) == sent
    assert processes_of(mail_root) != [archiver]


def test_where_callers_wait_for_the_archive_every_change_tells_its_commit(start_hub: StartHub, mail_root: Path) -> None:
    hub = start_hub(**SYNC)
    people(hub)
    sent = send(hub)
    about = {"project_key": PROJECT, "agent_name": "BlueLake"}
    commits = [
        sent["commit"],
        hub.call("acknowledge_message", **about, message_id=sent["id"])["commit"],
        hub.call("claim_paths", **about, paths=["a.py"])["commit"],
        hub.call("renew_claims", **about)["commit"],
        hub.call("release_claims", **about)["commit"],
    ]
    (repo,) = (mail_root / "projects").glob("*/repo")
    log = git(repo, "log", "--format=%H").split()
    assert [commit for commit in log if commit in commits] == commits[::-1]
    assert f"mail {sent['id']}: GreenCastle -> BlueLake: Plan" in git(repo, "log", "-1", "--format=%B", sent["commit"])


def test_without_an_archive_there_is_neither_a_process_nor_a_repository(start_hub: StartHub, mail_root: Path) -> None:
    hub = start_hub(NANOBOT_TRANSCRIPT_MAIL__ARCHIVE__ENABLED="false")
    people(hub)
    send(hub)
    assert processes_of(mail_root) == []
    assert not (mail_root / "projects").exists()
