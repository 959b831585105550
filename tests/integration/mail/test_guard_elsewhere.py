"""The guard where git runs no ``pre-commit``, against the real git: merges, patches, rebases, picks."""

import os

import pytest
from support.code_repo import Repo

from transcript_mcp.mail.claims.guard import HOOKS, install_guard, uninstall_guard
from transcript_mcp.mail.claims.ledger import Claims
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.store import MailStore
from transcript_mcp.mail.values import Agent

HELD = "app/api/users.py"
LINES = "".join(f"line {number}\n" for number in range(30))
BLUE, GREEN = {"AGENT_NAME": "BlueLake"}, {"AGENT_NAME": "GreenCastle"}


def _commits(repo: Repo) -> int:
    return repo.git("rev-list", "HEAD").stdout.count("\n")


@pytest.fixture
def joined(guarded: Repo) -> Repo:
    """GreenCastle has changed a file's beginning on ``theirs`` and its end on ``main``: git joins them by itself."""
    guarded.write(HELD, text=LINES)
    assert guarded.commit("GreenCastle")[0]
    guarded.git("checkout", "-q", "-b", "theirs")
    guarded.write(HELD, text=f"theirs\n{LINES}")
    assert guarded.commit("GreenCastle")[0]
    guarded.git("checkout", "-q", "main")
    guarded.write(HELD, text=f"{LINES}ours\n")
    assert guarded.commit("GreenCastle")[0]
    return guarded


# -- merges


def test_a_merge_that_makes_a_new_version_of_a_claimed_file_is_blocked(joined: Repo) -> None:
    before = _commits(joined)
    done = joined.git("merge", "theirs", check=False, **BLUE)
    assert done.returncode != 0
    assert "this merge touches files" in done.stderr
    assert f"{HELD}: GreenCastle holds" in done.stderr
    assert "git merge --abort" in done.stderr
    assert _commits(joined) == before
    joined.git("merge", "--abort")
    assert joined.git("merge", "theirs", **GREEN).returncode == 0


def test_a_blocked_merge_can_be_ended_as_it_says(joined: Repo, store: MailStore) -> None:
    assert "AGENT_MAIL_BYPASS=1 git commit" in joined.git("merge", "theirs", check=False, **BLUE).stderr
    assert not joined.commit("BlueLake")[0]
    assert joined.commit("BlueLake", AGENT_MAIL_BYPASS="1")[0]
    assert (store.root / "guard-bypass.log").is_file()
    assert len(joined.git("log", "-1", "--format=%P").stdout.split()) == 2


@pytest.mark.parametrize("options", [("merge", "--no-ff", "theirs"), ("pull", "-q", "--no-rebase", ".", "theirs")])
def test_a_merge_that_only_brings_in_what_was_committed_elsewhere_passes(
    guarded: Repo, options: tuple[str, ...]
) -> None:
    guarded.git("checkout", "-q", "-b", "theirs")
    guarded.write(HELD, "app/api/new.py")
    assert guarded.commit("GreenCastle")[0]
    guarded.git("checkout", "-q", "main")
    guarded.write("README.md")
    assert guarded.commit()[0]
    done = guarded.git(*options, **BLUE)
    assert "Agent Mail" not in done.stderr
    assert len(guarded.git("log", "-1", "--format=%P").stdout.split()) == 2


def test_so_does_a_merge_of_several_branches(guarded: Repo) -> None:
    for branch, path in (("one", HELD), ("two", "app/api/new.py")):
        guarded.git("checkout", "-q", "-b", branch, "main")
        guarded.write(path)
        assert guarded.commit("GreenCastle")[0]
    guarded.git("checkout", "-q", "main")
    guarded.write("README.md")
    assert guarded.commit()[0]
    guarded.git("merge", "one", "two", **BLUE)
    assert len(guarded.git("log", "-1", "--format=%P").stdout.split()) == 3


def test_who_merges_without_a_name_is_whom_git_would_name(joined: Repo) -> None:
    joined.git("config", "user.name", "GreenCastle")
    assert joined.git("merge", "theirs").returncode == 0


def test_a_merge_passes_the_guard_without_verifying_and_forwards_alone(joined: Repo) -> None:
    """As it is documented: git asks no hook about these."""
    joined.git("merge", "--no-verify", "theirs", **BLUE)
    joined.git("reset", "-q", "--hard", "HEAD~2")
    assert joined.git("merge", "--ff-only", "theirs", check=False, **BLUE).returncode == 0


# -- patches


@pytest.fixture
def patch(guarded: Repo) -> str:
    """A change of the claimed file by its holder, as mail; the branch does not have it."""
    guarded.git("checkout", "-q", "-b", "theirs")
    guarded.write(HELD, text="theirs\n")
    assert guarded.commit("GreenCastle")[0]
    file = guarded.folder.parent / "change.patch"
    file.write_text(guarded.git("format-patch", "-1", "--stdout").stdout, encoding="utf-8")
    guarded.git("checkout", "-q", "main")
    return str(file)


def test_a_patch_of_a_claimed_file_is_blocked(guarded: Repo, patch: str) -> None:
    before = _commits(guarded)
    done = guarded.git("am", patch, check=False, **BLUE)
    assert done.returncode != 0
    assert "this patch touches files" in done.stderr
    assert f"{HELD}: GreenCastle holds" in done.stderr
    assert "AGENT_MAIL_BYPASS=1 git am --continue" in done.stderr
    assert _commits(guarded) == before
    assert guarded.git("am", "--continue", check=False, **BLUE).returncode != 0
    guarded.git("am", "--continue", AGENT_MAIL_BYPASS="1", **BLUE)
    assert _commits(guarded) == before + 1


def test_the_holder_applies_a_patch_and_so_does_everybody_elsewhere(guarded: Repo, patch: str) -> None:
    assert guarded.git("am", patch, **GREEN).returncode == 0
    guarded.write("README.md")
    assert guarded.commit()[0]
    other = guarded.folder.parent / "other.patch"
    other.write_text(guarded.git("format-patch", "-1", "--stdout").stdout, encoding="utf-8")
    guarded.git("reset", "-q", "--hard", "HEAD~1")
    assert guarded.git("am", str(other), **BLUE).returncode == 0


# -- rebases


@pytest.fixture
def ahead(guarded: Repo, claims: Claims, green: Agent) -> Repo:
    """On ``mine`` BlueLake has committed ``docs``, which GreenCastle claimed afterwards; ``main`` has gone on."""
    guarded.git("checkout", "-q", "-b", "mine")
    guarded.write("docs/文档.md")
    assert guarded.commit()[0]
    guarded.git("checkout", "-q", "main")
    guarded.write(HELD)
    assert guarded.commit("GreenCastle")[0]
    guarded.git("checkout", "-q", "mine")
    claims.claim(green.project_id, green, ["docs"])
    return guarded


@pytest.mark.parametrize("backend", ["--merge", "--apply"])
def test_a_rebase_goes_its_way_and_what_it_touches_is_told_when_it_is_done(ahead: Repo, backend: str) -> None:
    done = ahead.git("rebase", backend, "main", **BLUE)
    assert "the commits that were rewritten touch files" in done.stderr
    assert "docs/文档.md: GreenCastle holds docs" in done.stderr
    assert "before you push" in done.stderr
    assert HELD not in done.stderr
    assert ahead.git("merge-base", "--is-ancestor", "main", "HEAD", check=False).returncode == 0


def test_a_rebase_of_what_nobody_holds_says_nothing(ahead: Repo) -> None:
    assert "Agent Mail" not in ahead.git("rebase", "main", **GREEN).stderr
    ahead.git("reset", "-q", "--hard", "main")
    ahead.write("README.md")
    assert ahead.commit()[0]
    assert ahead.commit("BlueLake", "--amend") == (True, "")


# -- what no hook can refuse, as it is documented


def test_picks_and_reverts_run_no_hook_that_could_refuse(guarded: Repo) -> None:
    guarded.git("checkout", "-q", "-b", "theirs")
    guarded.write(HELD)
    assert guarded.commit("GreenCastle")[0]
    guarded.git("checkout", "-q", "main")
    guarded.git("cherry-pick", "theirs", **BLUE)
    guarded.git("revert", "--no-edit", "HEAD", **BLUE)
    assert _commits(guarded) == 3


def test_a_pick_that_stopped_at_a_conflict_is_looked_at(guarded: Repo) -> None:
    guarded.git("checkout", "-q", "-b", "theirs")
    guarded.write(HELD, text="theirs\n")
    assert guarded.commit("GreenCastle")[0]
    guarded.git("checkout", "-q", "main")
    guarded.write(HELD, text="ours\n")
    assert guarded.commit("GreenCastle")[0]
    guarded.git("cherry-pick", "theirs", check=False, **BLUE)
    guarded.write(HELD, text="both\n")
    done = guarded.git("cherry-pick", "--continue", check=False, **BLUE)
    assert done.returncode != 0
    assert f"{HELD}: GreenCastle holds" in done.stderr


# -- the hooks that were there before


def _put(repo: Repo, name: str, text: str) -> None:
    repo.hook(name).parent.mkdir(exist_ok=True)
    repo.hook(name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    repo.hook(name).chmod(0o755)


@pytest.mark.parametrize("name", HOOKS)
def test_every_hook_that_was_there_is_kept_and_comes_back(
    repo: Repo, store: MailStore, key: str, green: Agent, name: str
) -> None:
    assert green.name == "GreenCastle"
    _put(repo, name, "exit 0")
    before = repo.hook(name).stat()
    for _ in range(2):
        assert install_guard(store, key, repo.folder).earlier == str(repo.hook(f"{name}.before-agent-mail"))
    assert uninstall_guard(store, repo.folder).restored
    assert os.path.samestat(repo.hook(name).stat(), before)
    assert [path.name for path in repo.hook().parent.iterdir() if not path.name.endswith(".sample")] == [name]


def test_each_of_them_runs_first_and_under_its_own_name(joined: Repo, store: MailStore, key: str) -> None:
    uninstall_guard(store, joined.folder)
    for name in HOOKS:
        _put(joined, name, f"echo earlier {name} >&2")
    install_guard(store, key, joined.folder)
    said = joined.git("merge", "theirs", check=False, **BLUE).stderr
    assert said.index("earlier pre-merge-commit") < said.index("GreenCastle holds")
    assert "earlier pre-commit" not in said


def test_an_earlier_hook_reads_which_commits_were_rewritten(ahead: Repo, store: MailStore, key: str) -> None:
    uninstall_guard(store, ahead.folder)
    _put(ahead, "post-rewrite", 'echo "$1 $(cat)" >&2')
    install_guard(store, key, ahead.folder)
    old = ahead.git("rev-parse", "HEAD").stdout.strip()
    said = ahead.git("rebase", "main", **BLUE).stderr
    assert f"rebase {old} {ahead.git('rev-parse', 'HEAD').stdout.strip()}" in said
    assert "GreenCastle holds docs" in said


def test_an_earlier_merge_hook_that_calls_the_one_for_commits_runs_that_too(
    joined: Repo, store: MailStore, key: str
) -> None:
    """As git's own sample does."""
    uninstall_guard(store, joined.folder)
    _put(joined, "pre-commit", "echo commits >&2")
    _put(joined, "pre-merge-commit", 'exec "$(git rev-parse --git-dir)/hooks/pre-commit"')
    install_guard(store, key, joined.folder)
    said = joined.git("merge", "theirs", check=False, **BLUE).stderr
    assert said.count("commits\n") == 1
    assert "GreenCastle holds" in said
    joined.git("merge", "--abort")
    assert joined.git("merge", "theirs", **GREEN).returncode == 0


def test_husky_users_hooks_for_merges_keep_working(joined: Repo, store: MailStore, key: str) -> None:
    uninstall_guard(store, joined.folder)
    folder = joined.folder / ".husky" / "_"
    folder.mkdir(parents=True)
    (folder / "h").write_text(
        '#!/usr/bin/env sh\ns=$(dirname "$(dirname "$0")")/$(basename "$0")\n'
        '[ ! -f "$s" ] && exit 0\nsh -e "$s" "$@"\n',
        encoding="utf-8",
    )
    for name in HOOKS:
        (folder / name).write_text('#!/usr/bin/env sh\n. "$(dirname "$0")/h"', encoding="utf-8")
        (folder / name).chmod(0o755)
    (folder.parent / "pre-merge-commit").write_text("echo husky ran >&2\n", encoding="utf-8")
    joined.git("config", "core.hooksPath", ".husky/_")
    install_guard(store, key, joined.folder)
    said = joined.git("merge", "theirs", check=False, **BLUE).stderr
    assert said.index("husky ran") < said.index("GreenCastle holds")


def test_an_installation_that_was_cut_off_is_taken_out_and_completed(guarded: Repo, store: MailStore, key: str) -> None:
    """As a kill leaves it between two files: one set aside and not yet written, others missing."""
    _put(guarded, "pre-merge-commit.before-agent-mail", "echo earlier >&2")
    for name in HOOKS[1:]:
        guarded.hook(name).unlink()
    assert uninstall_guard(store, guarded.folder).restored
    assert "earlier" in guarded.hook("pre-merge-commit").read_text(encoding="utf-8")
    assert not guarded.hook().exists()
    install_guard(store, key, guarded.folder)
    guarded.hook().unlink()
    assert list(install_guard(store, key, guarded.folder).projects) == [key]
    assert all(guarded.hook(name).is_file() for name in HOOKS)


# -- whose change it is


@pytest.mark.parametrize("given", ["José", "Jose\u0301", " José ", "Jose\u0301\n"])
def test_the_guard_knows_a_name_however_it_is_encoded(
    repo: Repo, store: MailStore, key: str, claims: Claims, green: Agent, given: str
) -> None:
    with AgentMail(store.root) as mail:
        agent = mail.register_agent(key, "José").agent
    claims.claim(green.project_id, agent, ["app"])
    install_guard(store, key, repo.folder)
    repo.write("app/x.py")
    assert not repo.commit("Jose")[0]
    assert repo.commit(given) == (True, "")


def test_a_name_that_looks_like_the_holders_is_not_the_holders(guarded: Repo) -> None:
    guarded.write(HELD)
    for name in ("GreenC\u0430stle", "GreenCast1e", "greencastle"):
        assert not guarded.commit(name)[0]


@pytest.mark.parametrize("name", ["  ", "\u3000"])
def test_a_name_of_spaces_alone_is_none(guarded: Repo, name: str) -> None:
    guarded.write(HELD)
    passed, said = guarded.commit(name)
    assert not passed
    assert "AGENT_NAME is not set" in said
    assert guarded.commit(name, GIT_AUTHOR_NAME="GreenCastle")[0]


def test_a_name_that_is_no_text_does_not_switch_the_guard_off(guarded: Repo) -> None:
    guarded.write(HELD)
    passed, said = guarded.commit(os.fsdecode(b"Blue\xff"))
    assert not passed
    assert f"{HELD}: GreenCastle holds" in said


def test_one_file_stands_under_every_name_and_nothing_else_is_left(guarded: Repo) -> None:
    lying = [path for path in guarded.hook().parent.iterdir() if not path.name.endswith(".sample")]
    assert {path.name for path in lying} == set(HOOKS)
    assert len({path.read_bytes() for path in lying}) == 1
