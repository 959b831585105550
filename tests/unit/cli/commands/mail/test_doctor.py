"""``mail doctor``: whether git and the database agree, and mending one from the other."""

import fcntl
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.letterbox import BACKEND, Letterbox
from support.mail_archive import git

from transcript_mcp.mail.archive.rounds import Archiving

Run = Callable[..., Any]


@pytest.fixture
def archived(base_dir: Path) -> Iterator[Letterbox]:
    """Two messages that are in git."""
    box = Letterbox(base_dir)
    box.send(["BlueLake"], "First")
    box.send(["RedStone"], "Second")
    archive(box)
    box.mail.close()
    yield box
    box.mail.close()


def archive(box: Letterbox) -> None:
    archiving = Archiving(box.mail.places, box.mail.database)
    archiving.round(until=float("inf"))
    archiving.close()


def delete_a_message(box: Letterbox) -> None:
    with sqlite3.connect(box.mail.places.database) as db:
        db.execute("DELETE FROM message_recipients WHERE message_id = (SELECT id FROM messages LIMIT 1)")
    db.close()


def test_a_sound_store_is_reported_sound(run: Run, archived: Letterbox) -> None:
    document = run("mail", "doctor", "--json").document
    assert document["ok"] is True
    assert {finding["check"] for finding in document["findings"]} == {"archiver", "archive"}
    ended = run("mail", "doctor")
    assert ended.code == 0
    assert f"{BACKEND}: git has 2 messages, as the database does" in ended.out


def test_no_mail_is_no_fault(run: Run, base_dir: Path) -> None:
    ended = run("mail", "doctor", "--json")
    assert (ended.code, ended.document["findings"][0]["severity"]) == (0, "info")
    assert not base_dir.exists()


def test_a_difference_ends_with_one_and_says_what_to_do(run: Run, archived: Letterbox) -> None:
    delete_a_message(archived)
    ended = run("mail", "doctor", "--json")
    assert ended.code == 1
    (wrong,) = [finding for finding in ended.document["findings"] if finding["severity"] == "error"]
    assert wrong.keys() == {"check", "severity", "message", "fix"}
    assert "--rebuild" in wrong["fix"]


def test_rebuild_brings_back_what_the_database_lost(run: Run, archived: Letterbox) -> None:
    delete_a_message(archived)
    ended = run("mail", "doctor", "--rebuild")
    assert ended.code == 0
    assert "holds 2 messages, 3 agents and 0 claims of 2 projects" in ended.err
    assert run("mail", "doctor").code == 0
    document = run("mail", "doctor", "--rebuild", "--json").document
    assert document["rebuilt"] == {"projects": 2, "agents": 3, "messages": 2, "claims": 0}
    assert Path(document["kept"]).exists()


def test_rebuild_refuses_while_the_mail_is_in_use(run: Run, archived: Letterbox) -> None:
    with archived.mail.places.archiver_lock.open("w") as lock:  # as the archiver of a hub holds it
        fcntl.flock(lock, fcntl.LOCK_EX)
        ended = run("mail", "doctor", "--rebuild")
    assert ended.code == 2
    assert "is in use by another process" in ended.err
    assert "Stop the server" in ended.err


def test_rebuild_without_an_archive_is_refused(run: Run, base_dir: Path) -> None:
    ended = run("mail", "doctor", "--rebuild")
    assert ended.code == 2
    assert "There is no archive" in ended.err
    assert not base_dir.exists()
    assert run("mail", "doctor", "--rebuild", "--complete").code == 2


def test_complete_has_nothing_to_do_where_git_lacks_nothing(run: Run, archived: Letterbox) -> None:
    assert run("mail", "doctor", "--complete", "--json").document == {
        "completed": 0,
        "in_git": True,
        "aside": [],
        "problems": [],
    }


def test_complete_counts_what_it_wrote(run: Run, archived: Letterbox) -> None:
    repo = archived.mail.places.repo(archived.mail.project(BACKEND).slug)
    git(repo, "reset", "-q", "--hard")
    git(repo, "rm", "-q", _messages(repo)[0])
    git(repo, "-c", "user.name=Ada", "-c", "user.email=a@b", "commit", "-qm", "tidied")
    archived.mail.close()
    assert "1 file written to git." in run("mail", "doctor", "--complete").err
    assert git(repo, "log", "-1", "--format=%s").strip() == "complete: 1 file from the database"


def test_a_loss_is_accepted_by_a_rebuild_only(run: Run, archived: Letterbox) -> None:
    told = run("mail", "doctor", "--accept-loss")
    assert told.code == 2
    assert "--rebuild" in told.err


def test_rebuild_leaves_no_message_out_unless_told_to(run: Run, archived: Letterbox) -> None:
    archived.mail.close()
    repo = archived.mail.places.repo(archived.mail.project(BACKEND).slug)
    (blob,) = {git(repo, "rev-parse", f"HEAD:{path}").strip() for path in _messages(repo)[:1]}
    (repo / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    archived.mail.close()
    refused = run("mail", "doctor", "--rebuild")
    assert refused.code != 0
    assert "would lack 1 message" in " ".join(refused.err.split())
    assert run("mail", "doctor", "--rebuild", "--accept-loss", "--json").document["left_out"]


def _messages(repo: Path) -> list[str]:
    return git(repo, "ls-tree", "-r", "--name-only", "HEAD", "messages").split()
