"""``mail`` as a person meets it: on a terminal, and writing to agents with a real archiver."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from support.forking import HUB, Forked, preload
from support.letterbox import BACKEND, FRONTEND, Letterbox
from support.mail_archive import git
from support.waiting import PATIENCE

from transcript_mcp.mail.archive.archiver import ArchiverProcess, wait_for

preload(*HUB)

Command = Callable[..., list[str]]
OnTerminal = Callable[..., Any]


@pytest.fixture
def box(base_dir: Path) -> Letterbox:
    return Letterbox(base_dir)


@pytest.fixture
def done(command: Command, env: dict[str, str]) -> "Callable[..., subprocess.CompletedProcess[str]]":
    def call(*arguments: str, text: str = "") -> "subprocess.CompletedProcess[str]":
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process = Forked(*command("mail", *arguments)[2:], env=env, text=True, **pipes)
        process.stdin.write(text)
        out, err = process.communicate()
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    return call


def test_columns_hold_on_a_terminal_of_80_characters(box: Letterbox, on_terminal: OnTerminal) -> None:
    box.send(["BlueLake"], "关于用户接口的发布计划：周三晚上的发布窗口之前要完成的全部事情", ack_required=True)
    box.send(["BlueLake"], "Short", importance="urgent")
    watched = on_terminal("mail", "inbox", "BlueLake", "--project", FRONTEND, NO_COLOR="1")
    assert watched.end() == 0
    lines = watched.seen.splitlines()
    assert len(lines) == 3
    ids = {cell_len(line[: line.index("msg_")]) for line in lines[1:]}
    assert len(ids) == 1, lines
    assert max(map(cell_len, lines)) <= 80


def test_what_a_person_writes_is_delivered_and_in_git_when_the_command_ends(
    box: Letterbox, done: "Callable[..., subprocess.CompletedProcess[str]]"
) -> None:
    ended = done(
        "send", "--as-human", "--to", "BlueLake", "--subject", "等一下", "--project", BACKEND, "--json", text="等修复。"
    )
    assert ended.returncode == 0, ended.stderr
    sent = json.loads(ended.stdout)
    (delivery,) = box.mail.inbox(box.blue)
    assert (delivery.letter.id, delivery.letter.sender) == (sent["id"], "human")
    assert box.mail.message(sent["id"]).body == "等修复。"
    repo = box.mail.places.repo(box.mail.project(BACKEND).slug)
    assert sent["id"] in git(repo, "log", "-1", "--name-only", "--format=%H", sent["commit"])

    answered = done("reply", sent["id"], "--as-human", "Go on.")
    assert answered.returncode == 0, answered.stderr
    assert answered.stderr.startswith("Sent to BlueLake as msg_")
    assert [each.letter.subject for each in box.mail.inbox(box.blue)] == ["Re: 等一下", "等一下"]
    assert done("doctor").returncode == 0


def test_a_recipient_that_there_is_not_is_told_and_nothing_is_sent(
    box: Letterbox, done: "Callable[..., subprocess.CompletedProcess[str]]"
) -> None:
    ended = done("send", "--as-human", "--to", "Redstone", "--subject", "s", "--project", BACKEND, "text")
    assert ended.returncode == 2
    assert "Do you mean RedStone?" in ended.stderr
    assert box.count("messages") == 0


def test_rebuild_refuses_while_an_archiver_runs_and_complete_leaves_the_work_to_it(
    box: Letterbox, done: "Callable[..., subprocess.CompletedProcess[str]]"
) -> None:
    sent = box.send(["BlueLake"])
    with ArchiverProcess(box.mail.places):
        assert wait_for(box.mail.reader, sent.job, PATIENCE)
        refused = done("doctor", "--rebuild")
        assert refused.returncode == 2
        assert "is in use by another process" in refused.stderr
        box.mail.database.write(lambda db: db.execute("UPDATE messages SET body_md = 'changed'"))
        assert done("doctor").returncode == 1
        completed = done("doctor", "--complete", "--json")
        assert json.loads(completed.stdout) == {"completed": 3, "in_git": True, "aside": [], "problems": []}
        assert done("doctor").returncode == 0
