"""Packing: when it is due, that nothing is lost, and that it also goes without git."""

import os
import time
from pathlib import Path

import pytest
from support.mail_archive import NOON, SLUG, MailArchive, message_files
from support.procs import until

from transcript_mcp.mail.archive.commits import ProjectRepository
from transcript_mcp.mail.archive.jobs import ArchiveJob
from transcript_mcp.mail.archive.packs import Repacking
from transcript_mcp.mail.archive.repository import loose_objects, packs


def fill(project: ProjectRepository, start: int, count: int) -> None:
    for number in range(start, start + count):
        project.commit([ArchiveJob(number, 1, SLUG, "mail", message_files(f"msg_{number}"), (), NOON)])


def loose(project: ProjectRepository) -> int:
    return sum(1 for _ in loose_objects(project.folder / ".git"))


def pack(repacking: Repacking, project: ProjectRepository, *, quiet: bool = True) -> None:
    """Let it do whatever it finds to do."""
    while repacking.start_if_due(project, quiet=quiet):
        pass

    def ended() -> bool:
        repacking.look()
        return not repacking.is_running

    until(ended, "the repack ended")


@pytest.mark.parametrize("program", ["git", "no-such-git"])
def test_many_loose_objects_are_packed_and_the_archive_goes_on(
    archive: MailArchive, project: ProjectRepository, program: str
) -> None:
    repacking = Repacking(loose=50, git=program)
    fill(project, 0, 10)
    assert loose(project) > 50
    pack(repacking, project)
    assert (loose(project), len(packs(project.folder / ".git"))) == (0, 1)
    fill(project, 10, 10)
    assert len(archive.messages(SLUG)) == 20
    pack(repacking, project)
    assert loose(project) == 0
    project.close()
    fill(project, 20, 1)
    assert len(archive.messages(SLUG)) == 21
    archive.assert_sound(SLUG)


def test_few_loose_objects_are_left_alone(project: ProjectRepository) -> None:
    repacking = Repacking(loose=50)
    fill(project, 0, 2)
    before = loose(project)
    pack(repacking, project)
    assert loose(project) == before > 0


def test_in_busy_times_only_very_many_are_packed(project: ProjectRepository) -> None:
    repacking = Repacking(loose=50)
    fill(project, 0, 8)
    pack(repacking, project, quiet=False)
    assert 50 < loose(project) < 200
    fill(project, 8, 20)
    pack(repacking, project, quiet=False)
    assert loose(project) == 0


def test_few_large_objects_are_packed_too(project: ProjectRepository) -> None:
    fill(project, 0, 3)
    text = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(100_000))
    repacking = Repacking(weight=100_000)
    pack(repacking, project)
    assert loose(project) > 0
    project.commit([ArchiveJob(9, 1, SLUG, "mail", message_files("msg_9", body=text), (), NOON)])
    pack(repacking, project)
    assert loose(project) == 0


def test_once_a_day_the_whole_is_packed_into_one(project: ProjectRepository) -> None:
    repacking = Repacking(loose=50)
    fill(project, 0, 10)
    pack(repacking, project)
    fill(project, 10, 1)
    yesterday = time.time() - 90_000
    for path in (project.folder / ".git" / "objects" / "pack").iterdir():
        os.utime(path, (yesterday, yesterday))
    os.utime(project.folder / ".git" / "description", (yesterday, yesterday))
    pack(Repacking(loose=50), project)
    assert (loose(project), len(packs(project.folder / ".git"))) == (0, 1)


def test_a_repack_that_fails_is_told_and_not_repeated_at_once(
    project: ProjectRepository, caplog: pytest.LogCaptureFixture
) -> None:
    fill(project, 0, 10)
    repacking = Repacking(loose=50, git="false")
    pack(repacking, project)
    assert "ended with 1" in caplog.text
    assert repacking.start_if_due(project, quiet=True) is False


def test_a_repack_leaves_the_processor_to_others(project: ProjectRepository, tmp_path: Path) -> None:
    git = tmp_path / "git"
    git.write_text('#!/bin/sh\nnice > "$0.told"\n', encoding="utf-8")
    git.chmod(0o700)
    fill(project, 0, 10)
    pack(Repacking(loose=50, git=str(git)), project)
    assert int((tmp_path / "git.told").read_text()) == min(os.nice(0) + 10, 19)


def test_a_repack_that_is_cut_off_loses_nothing(archive: MailArchive, project: ProjectRepository) -> None:
    fill(project, 0, 20)
    for _ in range(5):
        repacking = Repacking(loose=50)
        while repacking.start_if_due(project, quiet=True):
            pass
        repacking.close()
        fill(project, 0, 1)
    archive.assert_sound(SLUG)
    assert len(archive.messages(SLUG)) == 20
