"""The pre-commit guard against the real git."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.code_repo import Repo
from support.mail_hub import served
from support.spawning import spawning
from support.waiting import PATIENCE

from nanobot_transcript.errors import GuardError
from transcript_mcp.mail.claims.guard import install_guard, uninstall_guard
from transcript_mcp.mail.claims.guard_hook import held_by_others
from transcript_mcp.mail.claims.ledger import Claims
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.store import MailStore
from transcript_mcp.mail.values import Agent

DAY = 86_400.0
HUSKY = """\
#!/usr/bin/env sh
n=$(basename "$0")
s=$(dirname "$(dirname "$0")")/$n
[ ! -f "$s" ] && exit 0
sh -e "$s" "$@"
"""


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(params=["store", "仓库 mit Leerzeichen%?#"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> MailStore:
    return MailStore(tmp_path / request.param)


@pytest.mark.parametrize(
    ("held", "path", "is_granted"),
    [
        ("src/**/*.py", "src/README.md", True),
        ("**/*.py", "README.md", True),
        ("**/Makefile", "docs/en/mail.md", True),
        ("src/*.{ts,tsx}", "src/page.tsx", False),
        ("src/*.{ts,tsx}", "src/page.css", True),
        ("conf.d", "conf.d/site.conf", False),
        ("none.d/", "none.d/site.conf", False),
    ],
)
def test_what_the_hub_grants_can_be_committed_and_what_it_refuses_is_blocked(
    repo: Repo, store: MailStore, key: str, tmp_path: Path, held: str, path: str, is_granted: bool
) -> None:
    (repo.folder / "conf.d").mkdir()
    with served(tmp_path, store.root, enabled=False) as hub:
        for agent in ("GreenCastle", "BlueLake"):
            hub.call("register_agent", project_key=key, agent_name=agent, program="codex-cli", model="gpt5-codex")
        hub.call("install_precommit_guard", project_key=key, code_repo_path=key)
        assert hub.call("claim_paths", project_key=key, agent_name="GreenCastle", paths=[held])["granted"]
        answer = hub.call("claim_paths", project_key=key, agent_name="BlueLake", paths=[path])
        assert answer["granted"] == [path] * is_granted
        repo.write(path)
        assert repo.commit("BlueLake")[0] is is_granted
        hub.call("release_claims", project_key=key, agent_name="GreenCastle", paths=[held])
        assert is_granted or repo.commit("BlueLake")[0]


def test_a_commit_into_what_another_agent_holds_is_blocked_and_says_why(guarded: Repo, claims: Claims) -> None:
    [claim] = claims.list_claims()
    guarded.write("app/api/users.py")
    passed, said = guarded.commit()
    assert not passed
    until = time.strftime("%Y-%m-%d %H:%M", time.gmtime(claim.expires_ts))
    assert f"app/api/users.py: GreenCastle holds app/api/*.py until {until} (migrations)" in said
    assert "You commit as BlueLake." in said
    assert "AGENT_NAME=" not in said
    assert "AGENT_MAIL_BYPASS=1 git commit" in said
    assert "独占" in said
    assert guarded.git("log", "--oneline").stdout.count("\n") == 1


def test_who_did_not_say_a_name_is_told_how(guarded: Repo) -> None:
    guarded.write("app/api/users.py")
    said = guarded.commit(None)[1]
    assert "You commit as Ada, git's author: AGENT_NAME is not set." in said
    assert "Are the claims your own? AGENT_NAME=GreenCastle git commit ..." in said
    assert "Ada（git 的提交作者，没有设置 AGENT_NAME）" in said
    assert "如果占用者就是你：AGENT_NAME=GreenCastle git commit …" in said


def test_the_holder_commits_and_so_does_everybody_elsewhere(guarded: Repo) -> None:
    guarded.write("README.md")
    assert guarded.commit() == (True, "")
    guarded.write("app/api/users.py")
    assert guarded.commit("GreenCastle") == (True, "")


@pytest.mark.parametrize(
    ("environment", "options", "passed"),
    [
        ({"GIT_AUTHOR_NAME": "GreenCastle"}, (), True),
        ({"GIT_AUTHOR_NAME": "GreenCastle", "AGENT_NAME": "BlueLake"}, (), False),
        ({}, ("--author", "GreenCastle <g@example.org>"), True),
        ({}, (), False),
    ],
)
def test_who_commits_is_agent_name_else_the_author(
    guarded: Repo, environment: dict[str, str], options: tuple[str, ...], passed: bool
) -> None:
    guarded.write("app/api/users.py")
    assert guarded.commit(None, *options, **environment)[0] is passed


def test_every_way_of_touching_a_file_counts(guarded: Repo) -> None:
    guarded.write("app/api/new file 新.py")
    assert not guarded.commit()[0]
    guarded.git("reset", "-q", "--hard")
    guarded.git("rm", "-q", "app/api/users.py")
    assert not guarded.commit()[0]
    guarded.git("reset", "-q", "--hard")
    guarded.git("mv", "app/api/users.py", "people.py")
    passed, said = guarded.commit()
    assert not passed
    assert "app/api/users.py: GreenCastle" in said
    guarded.git("reset", "-q", "--hard")
    guarded.git("mv", "README.md", "app/api/readme.py")
    assert not guarded.commit()[0]


def test_names_that_are_no_text_and_submodules_count(
    guarded: Repo, claims: Claims, green: Agent, tmp_path: Path
) -> None:
    file = os.fsencode(guarded.folder) + b"/app/api/\xff.py"
    with open(file, "wb"):  # noqa: PTH123 - pathlib takes no bytes
        guarded.git("add", "-A")
    assert not guarded.commit()[0]
    guarded.git("reset", "-q", "--hard")
    claims.claim(green.project_id, green, ["vendor"])
    guarded.git("config", "diff.ignoreSubmodules", "all")
    guarded.git("clone", "-q", str(guarded.folder), str(tmp_path / "library"))
    guarded.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "library"), "vendor/lib")
    guarded.git("reset", "-q", ".gitmodules")
    passed, said = guarded.commit()
    assert not passed
    assert "vendor/lib: GreenCastle" in said


def test_a_file_that_is_only_meant_to_be_added_later_does_not_count(guarded: Repo) -> None:
    guarded.write("README.md")
    (guarded.folder / "app/api/later.py").write_text("x", encoding="utf-8")
    guarded.git("add", "-N", "app/api/later.py")
    assert guarded.commit() == (True, "")


def test_only_what_the_commit_holds_counts(guarded: Repo) -> None:
    guarded.write("app/api/users.py", "README.md")
    assert guarded.commit("BlueLake", "--", "README.md") == (True, "")
    (guarded.folder / "README.md").write_text("again", encoding="utf-8")
    assert not guarded.commit("BlueLake", "-a")[0]


def test_released_shared_and_expired_claims_block_nobody(
    repo: Repo, store: MailStore, key: str, green: Agent, mail: AgentMail, claims: Claims
) -> None:
    Claims(mail.database, lambda: time.time() - DAY).claim(green.project_id, green, ["a"], 60)
    claims.claim(green.project_id, green, ["b"], exclusive=False)
    claims.claim(green.project_id, green, ["c"])
    install_guard(store, key, repo.folder)
    repo.write("a", "b", "c")
    assert not repo.commit()[0]
    claims.release(green.project_id, green, ["c"])
    assert repo.commit() == (True, "")


def test_the_first_commit_is_guarded_too(tmp_path: Path, store: MailStore, mail: AgentMail, claims: Claims) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    repo = Repo(folder)
    repo.git("init", "-q")
    agent = mail.register_agent(str(folder), "GreenCastle").agent
    claims.claim(agent.project_id, agent, ["src"])
    install_guard(store, str(folder), folder)
    identity = {"GIT_AUTHOR_EMAIL": "a@b.c", "GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "a@b.c"}
    repo.write("src/a.py")
    assert not repo.commit(None, GIT_AUTHOR_NAME="BlueLake", **identity)[0]
    assert repo.commit(None, GIT_AUTHOR_NAME="GreenCastle", **identity)[0]


def test_a_merge_is_not_blamed_for_what_others_committed(guarded: Repo) -> None:
    guarded.git("checkout", "-q", "-b", "theirs")
    guarded.write("app/api/users.py", "README.md", text="theirs\n")
    assert guarded.commit("GreenCastle")[0]
    guarded.git("checkout", "-q", "main")
    guarded.write("README.md", text="ours\n")
    assert guarded.commit()[0]
    guarded.git("merge", "theirs", check=False)
    guarded.write("README.md", text="both\n")
    assert guarded.commit() == (True, "")


def test_a_merge_that_changes_the_file_itself_is_blocked(guarded: Repo) -> None:
    guarded.git("checkout", "-q", "-b", "theirs")
    guarded.write("app/api/users.py", text="theirs\n")
    assert guarded.commit("GreenCastle")[0]
    guarded.git("checkout", "-q", "main")
    guarded.write("app/api/users.py", text="ours\n")
    assert guarded.commit("GreenCastle")[0]
    guarded.git("merge", "theirs", check=False)
    guarded.write("app/api/users.py", text="both\n")
    assert not guarded.commit()[0]


def test_a_bypass_passes_and_is_noted(guarded: Repo, store: MailStore, key: str) -> None:
    guarded.write("app/api/users.py")
    assert not guarded.commit(AGENT_MAIL_BYPASS="0")[0]
    passed, said = guarded.commit(AGENT_MAIL_BYPASS="1")
    assert passed
    assert "noted in" in said
    [line] = (store.root / "guard-bypass.log").read_text(encoding="utf-8").splitlines()
    entry = json.loads(line)
    assert abs(entry.pop("ts") - time.time()) < 3600
    assert entry == {
        "agent": "BlueLake",
        "project": key,
        "work_tree": key,
        "files": [{"path": "app/api/users.py", "holder": "GreenCastle", "pattern": "app/api/*.py"}],
    }
    guarded.write("README.md")
    assert guarded.commit(AGENT_MAIL_BYPASS="1") == (True, "")


def test_claims_are_read_while_the_store_is_in_use_and_when_it_is_not_and_nothing_is_made(
    guarded: Repo, store: MailStore, mail: AgentMail
) -> None:
    guarded.write("app/api/users.py")
    assert (store.root / "mail.sqlite3-wal").stat().st_size > 0
    assert not guarded.commit()[0]
    mail.close()
    before = _names(store.root)
    assert "mail.sqlite3-wal" not in before
    stamp = store.database.stat()
    assert not guarded.commit()[0]
    assert _names(store.root) == before
    assert store.database.stat().st_mtime_ns == stamp.st_mtime_ns


def test_claims_are_read_after_the_server_was_killed(guarded: Repo, store: MailStore, mail: AgentMail) -> None:
    mail.close()
    code = (
        "import os, signal, sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "db.execute(\"UPDATE claims SET reason = 'last words'\")\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(store.database)], check=False, timeout=PATIENCE)
    guarded.write("app/api/users.py")
    assert (store.root / "mail.sqlite3-wal").stat().st_size > 0
    passed, said = guarded.commit()
    assert not passed
    assert "(last words)" in said
    (store.root / "mail.sqlite3-shm").unlink()
    passed, said = guarded.commit()
    assert passed
    assert "starting the server once mends it" in said
    assert not (store.root / "mail.sqlite3-shm").exists()


def test_claims_are_seen_while_others_open_and_close_the_store(
    store: MailStore, key: str, green: Agent, claims: Claims, mail: AgentMail
) -> None:
    claims.claim(green.project_id, green, ["src"])
    mail.close()
    looked = 0
    with spawning("support.claims_worker") as spawn:
        worker = spawn("open_and_close", store=store.root, project=key, agent="RedHill", rounds=150)
        worker.go()
        while worker.process.poll() is None:
            held = held_by_others(str(store.database), (key, time.time(), "BlueLake"))
            assert "src" in [pattern for _, pattern, _, _ in held]
            looked += 1
        assert worker.result() == 150
    assert looked > 50


@pytest.mark.parametrize("damage", ["missing", "rubbish", "locked"])
def test_a_store_that_cannot_be_read_blocks_nobody_and_is_mentioned(
    guarded: Repo, store: MailStore, mail: AgentMail, damage: str
) -> None:
    mail.close()
    if damage == "missing":
        store.database.unlink()
    elif damage == "rubbish":
        store.database.write_bytes(b"no database" * 1000)
    else:
        with sqlite3.connect(store.database) as db:
            db.execute("DROP TABLE claims")
        db.close()
    guarded.write("app/api/users.py")
    passed, said = guarded.commit()
    assert passed
    assert "claims were not checked" in said


def test_nothing_steers_the_terminal(guarded: Repo, claims: Claims, green: Agent) -> None:
    claims.claim(green.project_id, green, ["evil"])
    guarded.write("evil/\x1b[31mred\n.py")
    passed, said = guarded.commit()
    assert not passed
    assert "\x1b" not in said
    assert "evil/?[31mred?.py" in said


def test_a_claim_that_is_no_pattern_does_not_set_the_others_aside(guarded: Repo, mail: AgentMail, green: Agent) -> None:
    """As a person's edit of the archive may leave it."""
    mail.database.write(lambda db: db.execute("UPDATE claims SET path = '../elsewhere'"))
    Claims(mail.database, time.time).claim(green.project_id, green, ["docs"])
    guarded.write("docs/文档.md")
    passed, said = guarded.commit()
    assert not passed
    assert "GreenCastle holds docs until" in said


def test_many_files_are_not_all_listed(guarded: Repo) -> None:
    guarded.write(*(f"app/api/{number}.py" for number in range(30)))
    passed, said = guarded.commit()
    assert not passed
    assert said.count("GreenCastle holds") == 20
    assert "and 10 more" in said


def test_all_work_trees_are_guarded(guarded: Repo, tmp_path: Path) -> None:
    guarded.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side tree"))
    side = Repo(tmp_path / "side tree")
    side.write("app/api/users.py")
    assert not side.commit()[0]
    assert side.commit("GreenCastle")[0]


def test_a_guard_installed_from_another_work_tree_knows_the_project(
    repo: Repo, store: MailStore, key: str, green: Agent, claims: Claims, tmp_path: Path
) -> None:
    mail_project = AgentMail(store.root)
    agent = mail_project.register_agent(f"{key}/app", "RedHill").agent
    claims.claim(agent.project_id, agent, ["api"])
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    install_guard(store, f"{key}/app", tmp_path / "side" / "docs")
    side = Repo(tmp_path / "side")
    side.write("api/x.py")
    assert side.commit() == (True, "")
    side.write("app/api/users.py")
    assert not side.commit()[0]
    mail_project.close()


def test_a_project_above_the_repository_knows_its_own_paths(
    repo: Repo, store: MailStore, mail: AgentMail, claims: Claims
) -> None:
    above = str(repo.folder.parent)
    agent = mail.register_agent(above, "RedHill").agent
    claims.claim(agent.project_id, agent, [f"{repo.folder.name}/app"])
    install_guard(store, above, repo.folder / "docs")
    repo.write("app/x.py")
    assert not repo.commit()[0]


def test_one_hook_guards_for_several_projects(
    guarded: Repo, store: MailStore, mail: AgentMail, claims: Claims, key: str
) -> None:
    agent = mail.register_agent(f"{key}/docs", "RedHill").agent
    claims.claim(agent.project_id, agent, ["*.md"])
    installed = install_guard(store, f"{key}/docs", guarded.folder)
    assert list(installed.projects) == [key, f"{key}/docs"]
    for path in ("docs/文档.md", "app/api/users.py"):
        guarded.write(path)
        assert not guarded.commit()[0]
        guarded.git("reset", "-q", "--hard")


@pytest.mark.parametrize("configured", ["tools/.githooks", "absolute"])
def test_the_configured_folder_of_hooks_is_honoured(
    repo: Repo, store: MailStore, key: str, green: Agent, claims: Claims, tmp_path: Path, configured: str
) -> None:
    claims.claim(green.project_id, green, ["app"])
    folder = tmp_path / "hooks for all" if configured == "absolute" else repo.folder / configured
    repo.git("config", "core.hooksPath", str(folder) if configured == "absolute" else configured)
    installed = install_guard(store, key, repo.folder / "docs")
    assert installed.hook == str(folder / "pre-commit")
    assert installed.note
    repo.write("app/x.py")
    assert not repo.commit()[0]
    assert uninstall_guard(store, repo.folder / "app").removed
    assert list(folder.iterdir()) == []


def test_where_hooks_lie_in_the_work_tree_the_next_one_needs_its_own_and_it_is_said(
    repo: Repo, store: MailStore, key: str, green: Agent, claims: Claims, tmp_path: Path
) -> None:
    claims.claim(green.project_id, green, ["app"])
    repo.git("config", "core.hooksPath", ".githooks")
    assert "install the guard there, too" in install_guard(store, key, repo.folder).note
    repo.git("worktree", "add", "-q", str(tmp_path / "other"), "-b", "other")
    other = Repo(tmp_path / "other")
    install_guard(store, key, other.folder)
    for tree in (repo, other):
        tree.write("app/x.py")
        assert not tree.commit()[0]


def test_hooks_that_several_repositories_share_guard_each_for_its_own_projects(
    repo: Repo, store: MailStore, key: str, mail: AgentMail, green: Agent, claims: Claims, tmp_path: Path
) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    other = Repo(folder)
    other.git("init", "-q")
    other.git("config", "user.name", "Ada")
    other.git("config", "user.email", "ada@example.org")
    for each in (repo, other):
        each.git("config", "core.hooksPath", str(tmp_path / "hooks"))
    claims.claim(green.project_id, green, ["app"])
    install_guard(store, key, repo.folder)
    other.write("app/x.py")
    assert other.commit() == (True, "")
    red = mail.register_agent(str(folder), "RedHill").agent
    claims.claim(red.project_id, red, ["lib"])
    install_guard(store, str(folder), folder)
    for each, path in ((repo, "app/x.py"), (other, "lib/x.py")):
        each.write(path)
        assert not each.commit()[0]
    uninstall_guard(store, folder)
    assert other.commit()[0]
    assert not repo.commit()[0]


def test_a_linked_folder_of_hooks_is_guarded_for_this_repository_alone(
    repo: Repo, store: MailStore, key: str, green: Agent, claims: Claims, tmp_path: Path
) -> None:
    claims.claim(green.project_id, green, ["app"])
    hooks = repo.hook().parent
    hooks.rename(tmp_path / "linked")
    hooks.symlink_to(tmp_path / "linked")
    assert "checks only this one" in install_guard(store, key, repo.folder).note
    repo.write("app/x.py")
    assert not repo.commit()[0]
    uninstall_guard(store, repo.folder)
    assert not (tmp_path / "linked" / "pre-commit").exists()


# -- the hook that was there before


def _earlier(repo: Repo, text: str = "#!/bin/sh\necho earlier ran >&2\n", mode: int = 0o755) -> None:
    repo.hook().parent.mkdir(exist_ok=True)
    repo.hook().write_text(text, encoding="utf-8")
    repo.hook().chmod(mode)


def test_the_earlier_hook_runs_first_and_comes_back(
    repo: Repo, store: MailStore, key: str, green: Agent, claims: Claims
) -> None:
    claims.claim(green.project_id, green, ["app"])
    _earlier(repo)
    before = repo.hook().stat()
    for _ in range(2):  # twice is fine
        installed = install_guard(store, key, repo.folder)
        assert installed.earlier == str(repo.hook("pre-commit.before-agent-mail"))
    repo.write("README.md")
    assert repo.commit() == (True, "earlier ran\n")
    repo.write("app/x.py")
    passed, said = repo.commit()
    assert not passed
    assert said.index("earlier ran") < said.index("GreenCastle")
    taken = uninstall_guard(store, repo.folder)
    assert (taken.removed, taken.restored) == (True, True)
    assert os.path.samestat(repo.hook().stat(), before)
    assert not repo.hook("pre-commit.before-agent-mail").exists()
    assert repo.commit() == (True, "earlier ran\n")
    again = uninstall_guard(store, repo.folder)
    assert (again.removed, again.restored) == (False, False)


@pytest.mark.parametrize(
    ("text", "mode", "said", "passes"),
    [
        ("#!/bin/sh\nexit 3\n", 0o755, "", False),
        ("echo no first line >&2\n", 0o755, "no first line", True),
        ("#!/bin/sh\nexit 3\n", 0o644, "", True),
        ("#!/no/such/program\n", 0o755, "No such file", False),
    ],
)
def test_the_earlier_hook_is_obeyed_as_git_would(
    repo: Repo, store: MailStore, key: str, green: Agent, text: str, mode: int, said: str, passes: bool
) -> None:
    _earlier(repo, text, mode)
    install_guard(store, key, repo.folder)
    repo.write("README.md")
    passed, heard = repo.commit()
    assert passed is passes
    assert said in heard


def test_what_the_earlier_hook_adds_is_looked_at_too(
    repo: Repo, store: MailStore, key: str, green: Agent, claims: Claims
) -> None:
    claims.claim(green.project_id, green, ["generated"])
    _earlier(repo, "#!/bin/sh\nmkdir -p generated && date > generated/x && git add generated\n")
    install_guard(store, key, repo.folder)
    repo.write("README.md")
    assert not repo.commit()[0]


def test_a_linked_hook_stays_a_link(repo: Repo, store: MailStore, key: str, green: Agent) -> None:
    target = repo.folder / "tools" / "check"
    target.parent.mkdir()
    target.write_text("#!/bin/sh\necho linked ran >&2\n", encoding="utf-8")
    target.chmod(0o755)
    repo.hook().parent.mkdir(exist_ok=True)
    repo.hook().symlink_to("../../tools/check")
    install_guard(store, key, repo.folder)
    repo.write("README.md")
    assert repo.commit() == (True, "linked ran\n")
    uninstall_guard(store, repo.folder)
    assert repo.hook().readlink() == Path("../../tools/check")
    assert target.read_text(encoding="utf-8").startswith("#!/bin/sh\necho linked")


def test_a_hook_that_calls_the_guard_again_does_not_go_round(
    repo: Repo, store: MailStore, key: str, green: Agent, claims: Claims
) -> None:
    claims.claim(green.project_id, green, ["app"])
    _earlier(repo, '#!/bin/sh\necho around >&2\nexec "${0%/*}/pre-commit"\n')
    install_guard(store, key, repo.folder)
    repo.write("README.md")
    assert repo.commit() == (True, "around\n")
    repo.write("app/x.py")
    assert not repo.commit()[0]


def test_hooks_of_husky_keep_working(repo: Repo, store: MailStore, key: str, green: Agent, claims: Claims) -> None:
    claims.claim(green.project_id, green, ["app"])
    folder = repo.folder / ".husky" / "_"
    folder.mkdir(parents=True)
    (folder / "h").write_text(HUSKY, encoding="utf-8")
    (folder / "pre-commit").write_text('#!/usr/bin/env sh\n. "$(dirname "$0")/h"', encoding="utf-8")
    (folder / "pre-commit").chmod(0o755)
    (folder.parent / "pre-commit").write_text("echo husky ran >&2\n", encoding="utf-8")
    repo.git("config", "core.hooksPath", ".husky/_")
    install_guard(store, key, repo.folder)
    repo.write("README.md")
    assert repo.commit() == (True, "husky ran\n")
    repo.write("app/x.py")
    assert not repo.commit()[0]


# -- what is left alone


def test_a_changed_guard_is_neither_overwritten_nor_removed(guarded: Repo, store: MailStore, key: str) -> None:
    changed = guarded.hook().read_text(encoding="utf-8").replace("exit 0", "exit 1")
    guarded.hook().write_text(changed, encoding="utf-8")
    for call in (lambda: install_guard(store, key, guarded.folder), lambda: uninstall_guard(store, guarded.folder)):
        with pytest.raises(GuardError, match="changed by hand"):
            call()
    assert guarded.hook().read_text(encoding="utf-8") == changed


def test_a_hook_of_somebody_else_is_not_taken_out(repo: Repo, store: MailStore) -> None:
    _earlier(repo)
    assert not uninstall_guard(store, repo.folder).removed
    assert "earlier ran" in repo.hook().read_text(encoding="utf-8")


def test_two_hooks_of_somebody_else_are_left_alone(guarded: Repo, store: MailStore, key: str) -> None:
    _earlier(guarded)
    guarded.hook("pre-commit.before-agent-mail").write_text("another", encoding="utf-8")
    with pytest.raises(GuardError, match="both") as caught:
        install_guard(store, key, guarded.folder)
    assert caught.value.hint
    assert guarded.hook("pre-commit.before-agent-mail").read_text(encoding="utf-8") == "another"


def test_places_that_cannot_be_guarded_are_refused_with_a_hint(
    tmp_path: Path, repo: Repo, store: MailStore, key: str, green: Agent
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    repo.git("init", "-q", "--bare", str(tmp_path / "bare.git"))
    for path in (plain, tmp_path / "bare.git", tmp_path / "nowhere", Path(), repo.folder / ".git"):
        for call in (lambda path=path: install_guard(store, key, path), lambda path=path: uninstall_guard(store, path)):
            with pytest.raises(GuardError) as caught:
                call()
            assert caught.value.hint
    repo.git("config", "core.hooksPath", os.devnull)
    with pytest.raises(GuardError, match="switched off"):
        install_guard(store, key, repo.folder)


def test_a_guard_needs_a_store(tmp_path: Path, repo: Repo, key: str) -> None:
    with pytest.raises(GuardError, match="no mail store"):
        install_guard(MailStore(tmp_path / "none"), key, repo.folder)
    assert not repo.hook().exists()


def test_it_works_without_what_this_machine_has_in_its_environment(guarded: Repo, tmp_path: Path) -> None:
    slipped_in = tmp_path / "slipped in"
    slipped_in.mkdir()
    for module in ("sqlite3", "json", "subprocess", "sitecustomize"):
        (slipped_in / f"{module}.py").write_text("raise SystemExit(0)", encoding="utf-8")
    guarded.write("app/api/users.py")
    assert not guarded.commit(PYTHONPATH=str(slipped_in), PYTHONHOME=str(slipped_in))[0]


def test_without_a_python_the_earlier_hook_runs_and_the_guard_says_that_it_did_not(
    guarded: Repo, tmp_path: Path
) -> None:
    text = guarded.hook().read_text(encoding="utf-8").replace(os.path.realpath(sys.executable), "/no/python")
    (tmp_path / "bin").mkdir()
    guarded.hook().write_text(text, encoding="utf-8")
    before = guarded.hook("pre-commit.before-agent-mail")
    before.write_text("#!/bin/sh\necho earlier ran >&2\nexit 4\n", encoding="utf-8")
    before.chmod(0o755)
    done = subprocess.run(
        [guarded.hook()],
        cwd=guarded.folder,
        env={"PATH": str(tmp_path / "bin")},
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 4
    assert b"there is no Python" in done.stderr
    assert b"earlier ran" in done.stderr
