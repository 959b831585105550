"""Jobs become commits: what is in them, that doing them twice changes nothing, and what is refused."""

import logging
import os
import shutil
import time
from pathlib import Path

import pygit2
import pytest
from support.mail_archive import NOON, SLUG, MailArchive, git, message_files

from nanobot_transcript.errors import ArchiveError
from transcript_mcp.mail.archive import jobs
from transcript_mcp.mail.archive.commits import ProjectRepository, commit_message
from transcript_mcp.mail.archive.jobs import ArchiveJob
from transcript_mcp.mail.archive.last_commit import take


def job(
    seq: int, files: dict[str, str], summary: str = "", present: tuple[str, ...] = (), ts: float = NOON
) -> ArchiveJob:
    return ArchiveJob(seq, 1, SLUG, summary or f"change {seq}", files, present, ts)


def mail(number: int) -> ArchiveJob:
    return job(number, message_files(f"msg_{number}"), f"mail: GreenCastle → BlueLake: number {number}")


def show(project: ProjectRepository, path: str) -> str:
    return git(project.folder, "show", f"HEAD:{path}")


def test_a_job_becomes_a_commit_with_its_files_and_its_summary(project: ProjectRepository) -> None:
    commit = project.commit([mail(1)])
    assert git(project.folder, "rev-parse", "HEAD").strip() == commit
    assert git(project.folder, "symbolic-ref", "HEAD").strip() == "refs/heads/main"
    for path, text in mail(1).files.items():
        assert show(project, path) == text
        assert (project.folder / path).read_text(encoding="utf-8") == text
    assert git(project.folder, "log", "-1", "--format=%s%n%an <%ae>%n%cn%n%at %ct %ad", "--date=raw").splitlines() == [
        "mail: GreenCastle → BlueLake: number 1",
        "nanobot-transcript <agent-mail@localhost>",
        "nanobot-transcript",
        f"{NOON:.0f} {NOON:.0f} {NOON:.0f} +0000",
    ]


def test_several_jobs_become_one_commit_that_tells_each_of_them(project: ProjectRepository) -> None:
    late = job(3, {"claims/x.json": "{}"}, "claim: GreenCastle\nsrc/*.py", ts=NOON + 60)
    project.commit([mail(1), late, mail(2)])
    assert git(project.folder, "rev-list", "--count", "HEAD").strip() == "1"
    assert git(project.folder, "log", "-1", "--format=%B").splitlines()[:5] == [
        "3 changes",
        "",
        "- mail: GreenCastle → BlueLake: number 1",
        "- claim: GreenCastle src/*.py",
        "- mail: GreenCastle → BlueLake: number 2",
    ]
    assert git(project.folder, "log", "-1", "--format=%at").strip() == f"{NOON + 60:.0f}"


def test_a_commit_keeps_what_earlier_ones_have(project: ProjectRepository, archive: MailArchive) -> None:
    project.commit([mail(1)])
    project.commit([job(2, {"agents/GreenCastle/profile.json": "{}"})])
    project.commit([mail(3)])
    expected = {*mail(1).files, *mail(3).files, "agents/GreenCastle/profile.json"}
    assert archive.files(SLUG) == expected
    assert archive.commits(SLUG) == 3
    archive.assert_sound(SLUG)


def test_jobs_done_again_make_no_commit(project: ProjectRepository, archive: MailArchive) -> None:
    first = project.commit([mail(1)])
    second = project.commit([mail(2), mail(3)])
    assert project.commit([mail(1)]) == second != first
    assert project.commit([mail(1), mail(2), mail(3)]) == second
    assert archive.commits(SLUG) == 2


def test_what_a_killed_archiver_had_committed_is_not_told_again(
    project: ProjectRepository, archive: MailArchive
) -> None:
    profile = "agents/GreenCastle/profile.json"
    before = [mail(1), job(2, {profile: "1"}, "first"), job(3, {profile: "2"}, "second")]
    commit = project.commit(before)
    project.close()
    assert project.commit(before) == commit
    project.close()
    project.commit([*before, mail(4), job(5, {profile: "1"}, "third")])
    assert git(project.folder, "log", "-1", "--format=%B").split("\n")[:4] == [
        "2 changes",
        "",
        "- mail: GreenCastle → BlueLake: number 4",
        "- third",
    ]
    assert show(project, profile) == "1"
    assert archive.commits(SLUG) == 2


def test_the_last_job_that_writes_a_file_decides(project: ProjectRepository) -> None:
    profile = "agents/GreenCastle/profile.json"
    project.commit([job(1, {profile: "1"}), job(2, {profile: "2"})])
    project.commit([job(3, {profile: "3"})])
    assert (show(project, profile), (project.folder / profile).read_text()) == ("3", "3")


def test_a_file_that_lies_there_already_is_taken_into_the_commit(project: ProjectRepository) -> None:
    project.commit([mail(1)])
    image = "attachments/2a/2a6f.webp"
    (project.folder / image).parent.mkdir(parents=True)
    (project.folder / image).write_bytes(b"RIFF\0\xff")
    project.commit([job(2, {"messages/a.md": "![](…)"}, present=(image,))])
    repository = pygit2.Repository(str(project.folder))
    assert repository[repository.head.peel(pygit2.Tree)[image].id].read_raw() == b"RIFF\0\xff"
    (project.folder / image).unlink()
    commit = project.commit([job(3, {"messages/b.md": "![](…)"}, present=(image,))])
    assert git(project.folder, "ls-tree", "--name-only", commit, image).strip() == image


def test_a_missing_attachment_does_not_hold_up_its_message(
    project: ProjectRepository, caplog: pytest.LogCaptureFixture
) -> None:
    project.commit([job(1, {"messages/a.md": "text"}, present=("attachments/00/0.webp",))])
    assert show(project, "messages/a.md") == "text"
    assert "attachments/00/0.webp" in caplog.text


def test_git_status_is_clean_after_the_index_was_refreshed(project: ProjectRepository) -> None:
    project.commit([mail(1)])
    project.commit([mail(2)])
    project.refresh_index()
    assert git(project.folder, "status", "--porcelain") == ""
    (project.folder / "messages/2026/01/01/msg_1.md").write_text("changed")
    assert git(project.folder, "status", "--porcelain") == " M messages/2026/01/01/msg_1.md\n"


def test_chinese_names_and_texts_are_kept(archive: MailArchive) -> None:
    archive.add_project("后端-1f3a")
    project = ProjectRepository(archive.store, "后端-1f3a")
    project.commit([job(1, {"agents/绿堡/profile.json": "发布窗口在周三"}, "注册：绿堡")])
    project.refresh_index()
    assert show(project, "agents/绿堡/profile.json") == "发布窗口在周三"
    assert git(project.folder, "status", "--porcelain") == ""
    assert git(project.folder, "log", "-1", "--format=%s", "--name-only").split() == [
        "注册：绿堡",
        "agents/绿堡/profile.json",
    ]
    project.close()


@pytest.mark.parametrize(
    "path",
    [
        *("../out", "/etc/out", "a/../../out", ".git/config", "a/.GIT/x", "a/git~1/x", "GIT~1"),
        *("", "a//b", "./a", "a/", "a\0b", "x" * 300, "a\udcffb", "a\ud800b"),
    ],
)
def test_a_path_that_leads_elsewhere_is_left_out_and_the_others_are_kept(
    project: ProjectRepository, archive: MailArchive, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    project.commit([job(1, {path: "evil", "messages/a.md": "good"}, present=(path,))])
    assert archive.files(SLUG) == {"messages/a.md"}
    assert "is not a path in the archive" in caplog.text
    assert not [found for found in archive.store.root.rglob("out") if found.is_file()]


@pytest.mark.parametrize("name", [".git::$INDEX_ALLOCATION", ".git ", ".git."])
@pytest.mark.parametrize("path", ["agents/{}/profile.json", "agents/{}", "{}"])
def test_a_name_that_git_refuses_is_told_once_and_does_not_hold_up_the_rest(
    project: ProjectRepository, archive: MailArchive, caplog: pytest.LogCaptureFixture, path: str, name: str
) -> None:
    path = path.format(name)
    project.commit([job(1, {path: "1", "messages/a.md": "good"})])
    project.commit([job(2, {path: "2"}), job(3, {"messages/b.md": "good"})])
    assert archive.files(SLUG) == {"messages/a.md", "messages/b.md"}
    assert caplog.text.count("is skipped") == 1
    archive.assert_sound(SLUG)


def test_a_link_in_the_folder_is_never_followed_and_git_has_the_file_all_the_same(
    project: ProjectRepository, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    project.commit([mail(1)])
    (project.folder / "claims").symlink_to(outside)
    (project.folder / "project.json").symlink_to(outside / "file")
    (project.folder / "attachments").symlink_to(outside)
    files = {"claims/x.json": "claim", "project.json": "{}"}
    project.commit([job(2, files, present=("attachments/file",))])
    assert (show(project, "claims/x.json"), show(project, "project.json")) == ("claim", "{}")
    assert [path.name for path in outside.iterdir()] == ["file"]
    assert (outside / "file").read_text() == "mine"
    assert caplog.text.count("follows no links") == 3


@pytest.mark.parametrize("link", ["projects", "projects/" + SLUG, "projects/" + SLUG + "/repo"])
def test_a_project_whose_folder_is_a_link_is_refused(archive: MailArchive, tmp_path: Path, link: str) -> None:
    place = archive.store.root / link
    place.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "outside").mkdir()
    place.symlink_to(tmp_path / "outside")
    with pytest.raises(ArchiveError, match="follows no links"):
        ProjectRepository(archive.store, SLUG).commit([mail(1)])
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_repository_that_is_a_link_is_refused(project: ProjectRepository, tmp_path: Path) -> None:
    project.folder.mkdir(parents=True)
    pygit2.init_repository(str(tmp_path / "other"))
    (project.folder / ".git").symlink_to(tmp_path / "other" / ".git")
    with pytest.raises(ArchiveError, match="not a folder"):
        project.commit([mail(1)])


def test_commits_go_to_the_branch_that_a_person_has_checked_out(project: ProjectRepository) -> None:
    project.commit([mail(1)])
    project.refresh_index()
    git(project.folder, "checkout", "-q", "-b", "审计")
    project.commit([mail(2)])
    assert git(project.folder, "rev-list", "--count", "审计").strip() == "2"
    assert git(project.folder, "rev-list", "--count", "main").strip() == "1"


@pytest.mark.parametrize("reopened", [False, True])
@pytest.mark.parametrize("branch", ["main", "trunk"])
@pytest.mark.parametrize("look", [("checkout", "-q", "HEAD~1"), ("switch", "-q", "--orphan", "empty")])
def test_history_goes_on_where_it_was_while_a_person_looks_elsewhere(
    project: ProjectRepository, archive: MailArchive, look: tuple[str, ...], branch: str, reopened: bool
) -> None:
    project.commit([mail(1)])
    project.commit([mail(2)])
    project.refresh_index()
    git(project.folder, "branch", "-q", "-m", branch)
    git(project.folder, *look)
    if reopened:
        project.close()
    project.commit([mail(3)])
    project.refresh_index()
    assert sorted(take(archive.store, SLUG).files) == sorted({**mail(1).files, **mail(2).files, **mail(3).files})
    git(project.folder, "checkout", "-q", branch)
    assert git(project.folder, "status", "--short") == ""
    assert archive.messages(SLUG) == ["msg_1", "msg_2", "msg_3"]
    assert archive.commits(SLUG) == 3
    archive.assert_sound(SLUG)


def test_what_a_person_commits_stays(project: ProjectRepository, archive: MailArchive) -> None:
    project.commit([mail(1)])
    project.refresh_index()
    (project.folder / "README.md").write_text("about")
    git(project.folder, "add", "README.md")
    git(project.folder, "-c", "user.name=Ada", "-c", "user.email=a@b", "commit", "-qm", "readme")
    project.commit([mail(2)])
    assert archive.files(SLUG) == {*mail(1).files, *mail(2).files, "README.md"}
    assert archive.commits(SLUG) == 3


def test_it_goes_on_after_git_has_packed_everything(project: ProjectRepository, archive: MailArchive) -> None:
    project.commit([mail(1)])
    git(project.folder, "gc", "-q", "--prune=now")
    project.commit([mail(2)])
    assert archive.messages(SLUG) == ["msg_1", "msg_2"]
    archive.assert_sound(SLUG)


@pytest.mark.parametrize("left", ["refs/heads/main.lock", "HEAD.lock", "index.lock"])
def test_a_lock_that_a_killed_process_left_is_removed_when_it_is_old(project: ProjectRepository, left: str) -> None:
    project.commit([mail(1)])
    project.close()
    lock = project.folder / ".git" / left
    lock.touch()
    os.utime(lock, (time.time() - 11, time.time() - 11))
    project.commit([mail(2)])
    project.refresh_index()
    assert not lock.exists()
    assert git(project.folder, "status", "--porcelain") == ""


def test_a_fresh_lock_is_somebody_elses(project: ProjectRepository, archive: MailArchive) -> None:
    project.commit([mail(1)])
    lock = project.folder / ".git" / "refs" / "heads" / "main.lock"
    lock.touch()
    with pytest.raises(ArchiveError):
        project.commit([mail(2)])
    assert lock.exists()
    lock.unlink()
    project.commit([mail(2)])
    assert archive.messages(SLUG) == ["msg_1", "msg_2"]


def _nothing_but_a_folder(made: Path) -> None:
    shutil.rmtree(made)
    made.mkdir()


def _without_head(made: Path) -> None:
    (made / "HEAD").unlink()


def _with_an_empty_head(made: Path) -> None:
    (made / "HEAD").write_bytes(b"")


def _without_settings(made: Path) -> None:
    (made / "config").unlink()


def _without_branch(made: Path) -> None:
    (made / "refs" / "heads" / "main").unlink()


def _with_an_empty_branch(made: Path) -> None:
    (made / "refs" / "heads" / "main").write_bytes(b"")


def _without_refs(made: Path) -> None:
    shutil.rmtree(made / "refs")


@pytest.mark.parametrize(
    ("damage", "kept"),
    [
        (_nothing_but_a_folder, 0),
        (_without_head, 2),
        (_with_an_empty_head, 2),
        (_without_settings, 2),
        (_without_branch, 2),
        (_with_an_empty_branch, 2),
        (_without_refs, 2),
    ],
)
def test_a_half_made_or_damaged_repository_is_mended_and_keeps_its_history(
    project: ProjectRepository, archive: MailArchive, damage: object, kept: int
) -> None:
    project.commit([mail(1)])
    project.commit([mail(2)])
    project.close()
    damage(project.folder / ".git")  # type: ignore[operator]
    project.commit([mail(3)])
    assert archive.commits(SLUG) == kept + 1
    archive.assert_sound(SLUG)


def test_an_object_that_a_power_cut_emptied_is_written_again(project: ProjectRepository, archive: MailArchive) -> None:
    project.commit([mail(1)])
    project.close()
    blob = pygit2.hash(mail(2).files[next(iter(mail(2).files))].encode())
    path = project.folder / ".git" / "objects" / str(blob)[:2] / str(blob)[2:]
    path.parent.mkdir(exist_ok=True)
    path.touch()
    project.commit([mail(2)])
    archive.assert_sound(SLUG)


def test_what_a_killed_making_left_is_replaced(project: ProjectRepository, archive: MailArchive) -> None:
    making = project.folder.parent / "repo.making"
    (making / ".git" / "objects").mkdir(parents=True)
    project.commit([mail(1)])
    assert not making.exists()
    archive.assert_sound(SLUG)


def test_a_repository_without_objects_is_told_and_not_begun_anew(project: ProjectRepository) -> None:
    project.commit([mail(1)])
    git(project.folder, "gc", "-q", "--prune=now")
    project.close()
    (project.folder / ".git" / "packed-refs").unlink()
    for pack in (project.folder / ".git" / "objects" / "pack").glob("*.idx"):
        pack.unlink()
    with pytest.raises(ArchiveError, match="lost its history"):
        project.commit([mail(2)])


@pytest.mark.parametrize(
    ("summaries", "message"),
    [
        (["one"], "one\n"),
        (["one", "two"], "2 changes\n\n- one\n- two\n"),
        (["a\nb\0c"], "a b c\n"),
    ],
)
def test_a_commit_message_has_a_line_for_each_change(summaries: list[str], message: str) -> None:
    assert commit_message(summaries) == message


def test_waiting_jobs_are_found_project_by_project(archive: MailArchive) -> None:
    for slug in ("b", "c", "d"):
        archive.add_project(slug)
    seqs = [archive.send(slug, f"msg_{slug}{n}") for n in range(3) for slug in ("d", SLUG, "c")]
    found = archive.database.read(jobs.waiting_projects, {})
    assert sorted(found.values()) == sorted([SLUG, "c", "d"])
    (first,) = [key for key, slug in found.items() if slug == SLUG]
    batch = archive.database.read(lambda connection: jobs.waiting(connection, first, 2), [])
    assert [one.seq for one in batch] == [seqs[1], seqs[4]]
    assert archive.database.read(lambda connection: jobs.count_waiting(connection, first, 200), 0) == 3


def test_large_jobs_are_taken_in_smaller_batches(archive: MailArchive) -> None:
    for number in range(3):
        archive.enqueue(SLUG, f"mail {number}", {"messages/a.md": "x" * (9 << 20)})
    batch = archive.database.read(lambda connection: jobs.waiting(connection, 1, 200), [])
    assert [one.seq for one in batch] == [1]
    assert len(archive.database.read(lambda connection: jobs.waiting(connection, 1, None), [])) == 3


def test_jobs_that_were_done_long_ago_are_forgotten(archive: MailArchive) -> None:
    old, new, open_one = (archive.send(SLUG, f"msg_{n}") for n in range(3))
    archive.database.write(lambda found: jobs.finish(found, [old], "sha1", 1000.0))
    archive.database.write(lambda found: jobs.finish(found, [new], "sha2", 5000.0))
    assert archive.database.write(lambda found: jobs.forget_done(found, 4700.0)) is False
    assert [archive.commit_of(seq) for seq in (old, new, open_one)] == ["", "sha2", None]


def test_a_complaint_says_which_folder_and_what_to_do(
    project: ProjectRepository, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    project.commit([mail(1)])
    shutil.rmtree(project.folder / ".git" / "objects")
    (project.folder / ".git" / "objects").touch()
    with pytest.raises(ArchiveError) as caught:
        project.commit([mail(2)])
    assert str(project.folder) in str(caught.value)
    assert "fsck" in caught.value.hint
