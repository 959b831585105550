"""Git and the database compared both ways, and the database made anew from git with the same answers."""

import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.mail_archive import git
from support.waiting import PATIENCE

from nanobot_transcript.errors import ArchiveError, InvalidLetterError, StoreError
from transcript_mcp.mail.archive import doctor, jobs
from transcript_mcp.mail.archive.archiver import ArchiverProcess, wait_for
from transcript_mcp.mail.archive.doctor import examine
from transcript_mcp.mail.archive.rebuild import rebuild
from transcript_mcp.mail.archive.repair import complete
from transcript_mcp.mail.archive.rounds import Archiving
from transcript_mcp.mail.claims.ledger import Claims
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.values import Draft, InboxQuery, MailOptions

BACKEND = "/abs/path/后端"
FRONTEND = "/abs/path/frontend"
EVERYTHING = InboxQuery(include_bodies=True, limit=1000)


class Scene:
    """A store in which everything happened that can happen."""

    def __init__(self, root: Path) -> None:
        self.now = 1_767_268_800.0
        self.mail = AgentMail(root, MailOptions(), clock=self.tick)
        self.claims = Claims(self.mail.database, self.tick)
        self.tokens: dict[str, str | None] = {}
        self.store = self.mail.places

    def tick(self) -> float:
        self.now += 0.25
        return self.now

    def play(self) -> None:
        mail = self.mail
        for project, name in ((BACKEND, "GreenCastle"), (FRONTEND, "BlueLake"), (BACKEND, "绿堡"), (FRONTEND, "Idle")):
            self.tokens[name] = mail.register_agent(project, name, "codex-cli", "m", f"task of {name}").token
        green, chinese = mail.acting(BACKEND, "GreenCastle"), mail.acting(BACKEND, "绿堡")
        blue = mail.acting(FRONTEND, "BlueLake")
        plan = mail.send(
            BACKEND,
            green,
            Draft(
                "Plan",
                "Here\r\n---\nis the plan 发布窗口\n",
                ["BlueLake"],
                ["绿堡"],
                importance="high",
                thread_id="TKT-1",
            ),
        )
        mail.send(BACKEND, green, Draft("秘密", "only you", ["BlueLake"], bcc=["绿堡"], idempotency_key="once"))
        first = mail.send(BACKEND, chinese, Draft("无线程", "x", ["GreenCastle"], ack_required=True))
        mail.reply(blue, plan.id, Draft(body="Questions: …"))
        mail.reply(green, first.id, Draft(body="Ja"))
        mail.send(FRONTEND, mail.human(FRONTEND), Draft("Hello", "from a person", ["BlueLake", "GreenCastle"]))
        mail.mark_read(blue, [plan.id])
        mail.acknowledge(green, first.id)
        mail.acknowledge(chinese, plan.id)
        mail.register_agent(FRONTEND, "BlueLake", task="another task")
        backend = mail.project(BACKEND).id
        self.claims.claim(backend, green, ["app/api/*.py", "docs/**"], 7200, reason="migrations")
        self.claims.release(backend, green, ["docs/**"])
        self.claims.claim(backend, chinese, ["docs/**", "README.md"], exclusive=False, reason="文档")
        self.claims.claim(backend, blue, ["docs/**"], exclusive=False)
        self.claims.renew(backend, green)

    def archive(self, batches: int = 1000) -> None:
        archiving = Archiving(self.store, self.mail.database, self.tick)
        for _ in range(batches):
            if not self.mail.database.read(jobs.has_waiting, False):
                break
            archiving.round(until=float("inf"))
        archiving.close()

    def answers(self) -> dict[str, Any]:
        """What agents are told, but for when they were active last and the rows' numbers."""
        mail, found = self.mail, {}
        for project in mail.projects():
            people = sorted(mail.agents(project.key, active_only=False), key=lambda agent: agent.name)
            found[project.key] = (project.slug, project.created_ts, [_plain(agent) for agent in people])
            for agent in people:
                ids = [letter.id for letter in mail.outbox(agent, limit=1000)]
                found[f"{project.key} {agent.name}"] = (
                    mail.inbox(agent, EVERYTHING),
                    mail.inbox(agent, replace(EVERYTHING, unread_only=True, urgent_only=True)),
                    mail.outbox(agent, include_bodies=True, limit=1000),
                    [mail.thread(message_id).letters for message_id in ids],
                )
            active = [replace(claim, id=0) for claim in self.claims.list_claims(project.id)]
            found[f"{project.key} claims"] = sorted(active, key=lambda claim: (claim.path, claim.agent))
        found["thread"] = mail.thread("TKT-1", BACKEND).letters
        query = "SELECT rowid FROM fts_messages WHERE fts_messages MATCH ? ORDER BY rowid"
        for words in ('"发 布 窗 口"', "plan", "questions"):
            found[words] = mail.database.read(
                lambda db, words=words: [
                    db.execute("SELECT id FROM messages WHERE seq = ?", row).fetchone()[0]
                    for row in map(tuple, db.execute(query, (words,)).fetchall())
                ],
                [],
            )
        return found

    def change(self, sql: str, *bound: Any) -> None:
        self.mail.database.write(lambda db: db.execute(sql, bound))

    def close(self) -> None:
        self.mail.close()


def _plain(agent: Any) -> Any:
    return replace(agent, id=0, project_id=0, last_active_ts=0.0)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path / "邮件")
    made.play()
    yield made
    made.close()


def problems(scene: Scene) -> list[doctor.Finding]:
    return [finding for finding in examine(scene.store) if finding.severity in ("warning", "error")]


def test_a_store_without_mail_is_nothing_to_worry_about(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "nothing")
    assert [finding.severity for finding in examine(scene.store)] == ["info"]
    assert not scene.store.root.exists()


def test_what_is_in_git_as_in_the_database_is_well(scene: Scene) -> None:
    scene.archive()
    assert [finding.severity for finding in examine(scene.store)] == ["ok", "ok", "ok"]
    assert [finding.message.partition(": ")[2] for finding in examine(scene.store)[1:]] == [
        "git has 5 messages, as the database does.",
        "git has 1 message, as the database does.",
    ]


def test_two_projects_that_became_one_folder_are_told(scene: Scene, tmp_path: Path) -> None:
    folder, link = tmp_path / "code", tmp_path / "link"
    for path in (folder, link):
        scene.mail.register_agent(str(path), "Owl", "codex-cli", "m", "")
    assert [found for found in doctor.glance(scene.store) if found.check == "project"] == []
    folder.mkdir()
    link.symlink_to(folder)
    (found,) = [found for found in doctor.glance(scene.store) if found.check == "project"]
    assert found.message.startswith(f"{folder} and {link} are the same folder")
    assert str(folder) in found.fix


def test_what_waits_is_not_missing(scene: Scene) -> None:
    findings = examine(scene.store)
    assert [finding.check for finding in findings if finding.severity == "warning"] == ["archiver"]
    assert not [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("UPDATE messages SET body_md = 'another' WHERE subject = 'Plan'", "different in"),
        ("UPDATE agents SET task = 'another' WHERE name = '绿堡'", "different in"),
        ("UPDATE message_recipients SET read_ts = 5 WHERE ack_ts IS NOT NULL", "different in"),
        ("UPDATE message_recipients SET read_ts = 5 WHERE read_ts IS NULL", "not in git"),
        ("UPDATE claims SET released_ts = 7 WHERE path = 'README.md'", "different in"),
        ("DELETE FROM message_recipients WHERE kind = 'bcc'", "in git but not in the database"),
        ("UPDATE messages SET id = 'msg_20260101_00000000' WHERE subject = '无线程'", "not in git"),
        ("DELETE FROM claims WHERE path = 'README.md'", "in git but not in the database"),
        ('UPDATE messages SET attachments_json = \'[{"path": "attachments/aa/b.webp"}]\'', "named by a message"),
    ],
)
def test_every_kind_of_difference_is_found_and_a_way_out_is_told(scene: Scene, sql: str, said: str) -> None:
    scene.archive()
    scene.change("PRAGMA foreign_keys=OFF") if "SET id" in sql else None
    connection = sqlite3.connect(scene.store.database)
    connection.create_function("spaced", 1, lambda text: text, deterministic=True)
    with connection:
        connection.execute(sql)
    connection.close()
    found = [finding for finding in problems(scene) if said in finding.message]
    assert found, problems(scene)
    assert all(finding.fix for finding in found)


def test_a_file_that_was_changed_or_lost_in_git_is_found_and_completed(scene: Scene) -> None:
    scene.archive()
    repo = scene.store.repo(scene.mail.project(BACKEND).slug)
    git(repo, "reset", "-q", "--hard")
    victim = next(repo.glob("messages/*/*/*/*.md"))
    changed = next(repo.glob("agents/*/profile.json"))
    victim.unlink()
    changed.write_text("{}")
    (repo / "messages" / "stray.md").write_text("?")
    git(repo, "add", "-A")
    git(repo, "-c", "user.name=Ada", "-c", "user.email=a@b", "commit", "-qm", "tidied")
    text = " ".join(finding.message for finding in problems(scene))
    for words in (victim.name, changed.relative_to(repo).as_posix(), "stray.md"):
        assert words in text
    assert complete(scene.store).files == 2
    scene.archive()
    assert git(repo, "log", "-1", "--format=%s").strip() == "complete: 2 files from the database"
    left = problems(scene)
    assert len(left) == 1
    assert "stray.md is in git but not in the database" in left[0].message
    assert complete(scene.store).files == 0


def test_of_many_files_that_are_lost_a_few_are_named_and_the_others_counted(scene: Scene) -> None:
    scene.archive()
    repo = scene.store.repo(scene.mail.project(BACKEND).slug)
    git(repo, "reset", "-q", "--hard")
    lost = sorted(repo.glob("messages/*/*/*/*.md"))
    assert len(lost) > 3
    git(repo, "rm", "-qr", "messages")
    git(repo, "-c", "user.name=Ada", "-c", "user.email=a@b", "commit", "-qm", "tidied")
    (told,) = (each for each in problems(scene) if "messages/" in each.message)
    assert f".md and {len(lost) - 3} more are" in told.message


def test_a_claim_is_completed_as_it_was_first_written(scene: Scene) -> None:
    scene.archive()
    repo = scene.store.repo(scene.mail.project(BACKEND).slug)
    git(repo, "reset", "-q", "--hard")
    written = {path.name: path.read_text() for path in (repo / "claims").iterdir()}
    git(repo, "rm", "-qr", "claims")
    git(repo, "-c", "user.name=Ada", "-c", "user.email=a@b", "commit", "-qm", "tidied")
    assert complete(scene.store).files == len(written) == 4
    scene.archive()
    git(repo, "reset", "-q", "--hard")
    assert {path.name: path.read_text() for path in (repo / "claims").iterdir()} == written
    assert problems(scene) == []


def test_a_lost_database_is_told(scene: Scene) -> None:
    scene.archive()
    scene.close()
    scene.store.database.unlink()
    (finding,) = examine(scene.store)
    assert finding.severity == "error"
    assert "--rebuild" in finding.fix
    assert not scene.store.database.exists()


def test_a_damaged_database_is_told(scene: Scene) -> None:
    scene.archive()
    scene.close()
    scene.store.database.write_bytes(b"no database" * 1000)
    (finding,) = examine(scene.store)
    assert (finding.severity, "--rebuild" in finding.fix) == ("error", True)


def _lost(scene: Scene) -> None:
    scene.store.database.unlink()


def _damaged(scene: Scene) -> None:
    scene.store.database.write_bytes(b"no database" * 1000)


def _whole(scene: Scene) -> None:
    """Rebuilt though nothing is wrong."""


@pytest.mark.parametrize("harm", [_lost, _damaged, _whole])
@pytest.mark.parametrize("shard", ["day", "month"])
def test_a_rebuilt_database_gives_the_same_answers(tmp_path: Path, harm: Callable[[Scene], None], shard: Any) -> None:
    scene = Scene(tmp_path / "邮件")
    scene.mail.archive = replace(scene.mail.archive, shard=shard)
    scene.play()
    scene.archive()
    before = scene.answers()
    scene.close()
    harm(scene)
    rebuilt = rebuild(scene.store)
    assert rebuilt.filled.problems == []
    assert (rebuilt.filled.projects, rebuilt.filled.messages) == (2, 6)
    assert scene.answers() == before
    assert problems(scene) == []
    if harm is _lost:
        assert rebuilt.kept is None
    else:
        assert rebuilt.kept == Path(f"{scene.store.database}.broken-1")
        assert rebuilt.kept is not None
        assert rebuilt.kept.exists()
    scene.close()
    assert {path.name for path in scene.store.root.iterdir()} - {"mail.sqlite3.broken-1"} == {
        "archiver.lock",
        "mail.lock",
        "mail.sqlite3",
        "projects",
    }


def test_a_rebuilt_database_goes_on_where_the_old_one_ended(scene: Scene) -> None:
    scene.archive()
    scene.close()
    rebuild(scene.store)
    strict = AgentMail(scene.store.root, MailOptions(require_agent_token=True), clock=scene.tick)
    green = strict.acting(BACKEND, "GreenCastle", scene.tokens["GreenCastle"])
    again = strict.send(BACKEND, green, Draft("秘密", "only you", ["BlueLake"], bcc=["绿堡"], idempotency_key="once"))
    assert again.repeated is True
    assert again.recipients["bcc"] == ("绿堡",)
    taken = scene.claims.claim(strict.project(BACKEND).id, strict.whois(BACKEND, "绿堡"), ["app/api/x.py"])
    assert [conflict.holder for conflict in taken.conflicts] == ["GreenCastle"]
    strict.send(BACKEND, green, Draft("New", "after", ["绿堡"]))
    scene.archive()
    assert problems(scene) == []
    strict.close()


def test_what_had_not_reached_git_is_carried_there_first(scene: Scene) -> None:
    before = scene.answers()
    scene.close()
    assert rebuild(scene.store).filled.messages == 6
    assert scene.answers() == before


def test_nothing_is_rebuilt_while_something_cannot_reach_git(scene: Scene) -> None:
    slug = scene.mail.project(BACKEND).slug
    scene.store.repo(slug).parent.mkdir(parents=True)
    (scene.store.repo(slug)).symlink_to(scene.store.root)
    before = scene.answers()
    scene.close()
    with pytest.raises(ArchiveError, match="could not be written to git"):
        rebuild(scene.store)
    assert scene.answers() == before


def test_a_file_that_cannot_be_read_is_left_out_and_told(scene: Scene) -> None:
    scene.archive()
    repo = scene.store.repo(scene.mail.project(BACKEND).slug)
    git(repo, "reset", "-q", "--hard")
    for path in (next(repo.glob("messages/*/*/*/*.md")), next(repo.glob("agents/*/receipts/*.json"))):
        path.write_text("?")
    git(repo, "-c", "user.name=Ada", "-c", "user.email=a@b", "commit", "-qam", "harm")
    before = scene.answers()
    scene.close()
    with pytest.raises(ArchiveError, match="lack 1 message, which") as refused:
        rebuild(scene.store)
    assert "--accept-loss" in refused.value.hint
    assert scene.answers() == before
    scene.close()
    rebuilt = rebuild(scene.store, accept_loss=True)
    assert rebuilt.filled.messages == 5
    assert len(rebuilt.filled.problems) == 2


@pytest.mark.parametrize(
    ("pattern", "old", "new"),
    [
        ("claims/*.json", r'"path": "README.md"', '"path": "../README.md"'),
        ("claims/*.json", r'"expires_ts": [^,]*', '"expires_ts": 1e300'),
        ("messages/**/*.md", r'("subject": "Plan",[^}]*"created_ts": )[^,\n]*', r"\g<1>1e300"),
        ("agents/GreenCastle/profile.json", r'"inception_ts": [^,\n]*', '"inception_ts": -1e300'),
    ],
)
def test_what_no_answer_could_show_is_left_out_and_told(scene: Scene, pattern: str, old: str, new: str) -> None:
    """As a person's edit, or another program, may leave it in git."""
    scene.archive()
    repo = scene.store.repo(scene.mail.project(BACKEND).slug)
    git(repo, "reset", "-q", "--hard")
    for path in repo.glob(pattern):
        path.write_text(re.sub(old, new, path.read_text()))
    assert git(repo, "status", "--short")
    git(repo, "-c", "user.name=Ada", "-c", "user.email=a@b", "commit", "-qam", "edited")
    scene.close()
    filled = rebuild(scene.store, accept_loss=True).filled
    assert any("is skipped" in each for each in filled.problems)
    assert scene.answers()
    scene.claims.claim(scene.mail.project(BACKEND).id, scene.mail.acting(BACKEND, "绿堡"), ["anything/*.py"])


@pytest.mark.parametrize("lost", ["commit", "folder"])
def test_a_database_is_made_anew_also_where_a_part_of_the_history_is_lost(scene: Scene, lost: str) -> None:
    scene.archive()
    backend = scene.mail.project(BACKEND)
    for number in range(3):
        scene.claims.claim(backend.id, scene.mail.acting(BACKEND, "GreenCastle"), [f"src/{number}"])
        scene.archive()
    before = scene.answers()
    repo = scene.store.repo(backend.slug)
    name = git(repo, "rev-parse", "HEAD~1" if lost == "commit" else "HEAD~1:claims").strip()
    (repo / ".git" / "objects" / name[:2] / name[2:]).unlink()
    (told,) = problems(scene)
    assert "lost part of its history" in told.message
    scene.close()
    filled = rebuild(scene.store).filled
    assert filled.messages == 6
    assert any("lost part of its history" in each for each in filled.problems)
    assert scene.answers() == before


def test_nothing_is_rebuilt_while_an_archiver_is_at_work(scene: Scene) -> None:
    scene.archive()
    scene.close()
    with ArchiverProcess(scene.store):
        late = scene.mail.send(BACKEND, scene.mail.whois(BACKEND, "GreenCastle"), Draft("Late", "x", ["BlueLake"]))
        assert wait_for(scene.mail.database, late.job, PATIENCE)
        scene.close()
        with pytest.raises(ArchiveError, match="in use"):
            rebuild(scene.store)
    assert rebuild(scene.store).filled.messages == 7


def test_a_store_that_cannot_be_written_is_told_by_a_rebuild(scene: Scene) -> None:
    scene.archive()
    scene.close()
    scene.store.archiver_lock.mkdir()
    with pytest.raises(StoreError, match=re.escape("archiver.lock")) as caught:
        rebuild(scene.store)
    assert caught.value.hint


def test_nothing_is_rebuilt_while_another_process_has_the_database_open(scene: Scene) -> None:
    scene.archive()
    scene.close()
    script = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('SELECT id FROM messages').fetchall();"
        " print('open', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(scene.store.database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(ArchiveError, match="in use"):
            rebuild(scene.store)
        other.communicate(timeout=PATIENCE)
    assert rebuild(scene.store).filled.messages == 6


def _objects(scene: Scene, *paths: str) -> list[Path]:
    """The files of git's objects behind paths of the backend's last commit."""
    repo = scene.store.repo(scene.mail.project(BACKEND).slug)
    names = [git(repo, "rev-parse", f"HEAD:{path}").strip() for path in paths]
    return [repo / ".git" / "objects" / name[:2] / name[2:] for name in names]


def _message_paths(scene: Scene) -> list[str]:
    repo = scene.store.repo(scene.mail.project(BACKEND).slug)
    return git(repo, "-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", "HEAD", "messages").split()


@pytest.mark.parametrize("harm", ["gone", "damaged"])
def test_messages_whose_content_git_has_lost_are_found_and_put_back(scene: Scene, harm: str) -> None:
    scene.archive()
    paths = _message_paths(scene)[:3]
    for place in _objects(scene, *paths):
        place.unlink()
        if harm == "damaged":
            place.write_bytes(b"not zlib")
    (told,) = problems(scene)
    assert "without content" in told.message
    assert "--complete" in told.fix
    scene.close()
    with pytest.raises(ArchiveError, match="lack 3 messages"):
        rebuild(scene.store)
    done = complete(scene.store)
    assert (done.files >= 3, done.aside, done.problems) == (True, [], [])
    scene.archive()
    assert problems(scene) == []
    scene.close()
    assert rebuild(scene.store).filled.messages == 6


def test_a_repository_whose_folders_cannot_be_read_is_written_anew_and_the_others_are_left(scene: Scene) -> None:
    scene.archive()
    before = scene.answers()
    (place,) = _objects(scene, "messages")
    place.unlink()
    found = examine(scene.store)
    assert [finding.severity for finding in found] == ["ok", "error", "ok"]
    assert found[1].message.startswith(f"{BACKEND}: ")
    assert "--complete" in found[1].fix
    scene.close()
    with pytest.raises(ArchiveError, match="1 whole project"):
        rebuild(scene.store)
    done = complete(scene.store)
    repo = scene.store.repo(scene.mail.project(BACKEND).slug)
    assert done.aside == [repo.parent / "repo.broken-1"]
    assert done.aside[0].is_dir()
    assert done.problems == []
    scene.archive()
    assert problems(scene) == []
    assert complete(scene.store).files == 0
    scene.close()
    assert rebuild(scene.store).filled.messages == 6
    assert scene.answers()["thread"] == before["thread"]


def test_a_repository_that_lies_elsewhere_is_not_passed_over(scene: Scene, tmp_path: Path) -> None:
    scene.archive()
    scene.close()
    place = scene.store.repo(scene.mail.project(BACKEND).slug) / ".git"
    place.rename(tmp_path / "elsewhere")
    place.write_text(f"gitdir: {tmp_path / 'elsewhere'}\n")
    (told,) = problems(scene)
    assert "is not a folder" in told.message
    scene.close()
    with pytest.raises(ArchiveError, match="lack 1 whole project"):
        rebuild(scene.store)
    assert len(complete(scene.store).aside) == 1
    scene.archive()
    assert problems(scene) == []


def test_no_repository_is_moved_away_under_an_archiver_at_work(scene: Scene) -> None:
    scene.archive()
    (place,) = _objects(scene, "messages")
    place.unlink()
    with ArchiverProcess(scene.store):
        late = scene.mail.send(FRONTEND, scene.mail.whois(FRONTEND, "BlueLake"), Draft("Late", "x", ["Idle"]))
        assert wait_for(scene.mail.database, late.job, PATIENCE)
        done = complete(scene.store)
    assert done.aside == []
    assert "in use" in done.problems[0]


def test_a_rebuild_that_accepts_the_loss_says_which_project_it_left_out(scene: Scene) -> None:
    scene.archive()
    (place,) = _objects(scene, "messages")
    place.unlink()
    scene.close()
    rebuilt = rebuild(scene.store, accept_loss=True)
    assert rebuilt.filled.projects == 1
    assert any("the project" in problem for problem in rebuilt.filled.problems)


def test_a_bcc_recipient_of_another_project_is_the_same_after_a_rebuild(scene: Scene) -> None:
    green, idle = scene.mail.acting(BACKEND, "GreenCastle"), scene.mail.acting(FRONTEND, "Idle")
    sent = scene.mail.send(BACKEND, green, Draft("Quiet", "x", ["绿堡"], bcc=["Idle"]))
    scene.mail.mark_read(idle, [sent.id])
    scene.archive()
    assert problems(scene) == []
    scene.close()
    rebuild(scene.store)
    again = scene.mail.acting(FRONTEND, "Idle")
    (found,) = scene.mail.inbox(again)
    assert (found.letter.id, found.kind, found.read_ts) == (sent.id, "bcc", None)
    assert "Idle" not in [agent.name for agent in scene.mail.agents(BACKEND, active_only=False)]
    assert problems(scene) == []


@pytest.mark.parametrize(
    "other",
    [
        {"body": "something else"},
        {"subject": "Other"},
        {"to": ["绿堡"]},
        {"bcc": ["BlueLake"]},
        {"importance": "urgent"},
        {"thread_id": "T"},
    ],
)
def test_a_key_that_was_used_is_refused_for_another_message_also_after_a_rebuild(
    scene: Scene, other: dict[str, Any]
) -> None:
    scene.archive()
    scene.close()
    rebuild(scene.store)
    green = scene.mail.acting(BACKEND, "GreenCastle")
    same: dict[str, Any] = {"subject": "秘密", "body": "only you", "to": ["BlueLake"], "bcc": ["绿堡"]}
    assert scene.mail.send(BACKEND, green, Draft(**same, idempotency_key="once")).repeated
    with pytest.raises(InvalidLetterError, match="another message"):
        scene.mail.send(BACKEND, green, Draft(**(same | other), idempotency_key="once"))
