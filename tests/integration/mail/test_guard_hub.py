"""The guard that asks a hub, against the real git: a laptop without any mail of its own, and the hub elsewhere."""

import json
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.answering import Answering, answer, dripping, silent
from support.code_repo import Repo
from support.mail_hub import HubProcess, served
from support.ports import free_port

from nanobot_transcript.errors import GuardError
from transcript_mcp.mail.claims.guard import HOOKS, GuardWay, install_guard, uninstall_guard
from transcript_mcp.mail.claims.guard_hook import held_by_others
from transcript_mcp.mail.claims.guard_hub import asked
from transcript_mcp.mail.claims.ledger import Claims
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.store import MailStore
from transcript_mcp.mail.values import Agent

HELD = "app/api/users.py"
BLUE, GREEN = {"AGENT_NAME": "BlueLake"}, {"AGENT_NAME": "GreenCastle"}
PATIENT, HASTY = {"AGENT_MAIL_TIMEOUT": "60"}, {"AGENT_MAIL_TIMEOUT": "0.3"}
TOKEN = "open-sesame-1"
NOTHING = "claims were not checked"


@pytest.fixture
def laptop(tmp_path: Path) -> MailStore:
    """A store in which there is no mail; it is not made yet."""
    return MailStore(tmp_path / "laptop" / "mail")


@pytest.fixture
def hub(tmp_path: Path, store: MailStore, green: Agent, claims: Claims) -> Iterator[str]:
    """The address of a hub with the mail; GreenCastle holds ``app/api/*.py``."""
    claims.claim(green.project_id, green, ["app/api/*.py"], 86_400.0, reason="migrations")
    with served(tmp_path, store.root, enabled=False) as running:
        yield running.root


@pytest.fixture
def asking(repo: Repo, laptop: MailStore, hub: str, key: str) -> Repo:
    """The guard asks that hub."""
    made = install_guard(laptop, key, repo.folder, GuardWay(hub))
    assert (made.hub, list(made.projects)) == (hub, [key])
    return repo


def guarded_entries(repo: Repo) -> list[dict[str, str]]:
    """What the guard has of its projects."""
    line = next(line for line in repo.hook().read_text("utf-8").splitlines() if line.startswith("GUARDED"))
    found: list[dict[str, str]] = json.loads(line.removeprefix("GUARDED = ").replace("'", '"'))
    return found


def passes_unchecked(repo: Repo, **environment: str) -> str:
    """Commit into what somebody else holds; what was said, in English and in Chinese."""
    repo.write(HELD)
    passed, said = repo.commit(**environment)
    assert passed
    english, chinese = said.splitlines()
    assert english.startswith(f"Agent Mail: {NOTHING}: ")
    assert chinese.startswith("Agent Mail：未能检查占用情况，本次提交不受影响。")
    return said


def test_a_guard_without_a_store_blocks_what_another_agent_holds_at_the_hub(
    asking: Repo, laptop: MailStore, claims: Claims, green: Agent
) -> None:
    assert not laptop.database.exists()
    asking.write(HELD)
    passed, said = asking.commit(**PATIENT)
    assert not passed
    assert f"{HELD}: GreenCastle holds app/api/*.py until" in said
    assert "(migrations)" in said
    assert "独占" in said
    claims.release(green.project_id, green)
    assert asking.commit(**PATIENT) == (True, "")


def test_the_holder_commits_and_so_does_everybody_elsewhere(asking: Repo) -> None:
    asking.write(HELD)
    assert asking.commit("GreenCastle", **PATIENT) == (True, "")
    asking.write("README.md")
    assert asking.commit(**PATIENT) == (True, "")


def test_merges_patches_and_rebases_are_looked_at_too(asking: Repo, claims: Claims, green: Agent) -> None:
    asking.git("checkout", "-q", "-b", "theirs")
    asking.write(HELD, text="theirs\n")
    assert asking.commit("GreenCastle", **PATIENT)[0]
    patch = asking.folder.parent / "change.patch"
    patch.write_text(asking.git("format-patch", "-1", "--stdout").stdout, encoding="utf-8")
    asking.git("checkout", "-q", "main")
    assert f"{HELD}: GreenCastle holds" in asking.git("am", str(patch), check=False, **BLUE, **PATIENT).stderr
    asking.git("am", "--abort")
    asking.write("docs/文档.md")
    assert asking.commit(**PATIENT)[0]
    claims.claim(green.project_id, green, ["docs"])
    said = asking.git("rebase", "theirs", **BLUE, **PATIENT).stderr
    assert "docs/文档.md: GreenCastle holds docs" in said


def test_a_bypass_is_noted_on_this_machine(asking: Repo, laptop: MailStore) -> None:
    asking.write(HELD)
    passed, said = asking.commit(AGENT_MAIL_BYPASS="1", **PATIENT)
    assert passed
    assert "noted in" in said
    assert json.loads((laptop.root / "guard-bypass.log").read_text("utf-8"))["agent"] == "BlueLake"
    assert laptop.root.stat().st_mode & 0o077 == 0


def test_the_hub_answers_as_the_database_does(
    store: MailStore, mail: AgentMail, claims: Claims, hub: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_MAIL_TIMEOUT", "60")
    draw = random.Random(21)
    names = ["GreenCastle", "BlueLake", "José", "红枫"]
    agents = [mail.register_agent(key, name).agent for name in names]
    elsewhere = mail.register_agent("/another", "RedHill").agent
    old = Claims(mail.database, lambda: time.time() - 86_400.0)
    for number in range(60):
        holder, mine = draw.choice([*agents, elsewhere]), draw.choice([claims, claims, old])
        ttl, exclusive = draw.choice([60, 86_400]) if mine is old else 86_400, draw.random() < 0.7
        path, reason = f"目录 {number}/*.py", draw.choice(["", "改 \\ 'x'\n"])
        mine.claim(agents[0].project_id, holder, [path], ttl, exclusive=exclusive, reason=reason)
        if draw.random() < 0.2:
            claims.release(agents[0].project_id, holder)
    for name in (*names, "RedHill", "", "nobody", "Jose\u0301"):
        kept = "José" if name == "Jose\u0301" else name  # the guard composes names before it reads the database
        held = held_by_others(str(store.database), (key, time.time(), kept))
        assert asked(hub, key, name) == (key, held)
        assert held


# -- who may ask


def test_the_token_comes_from_the_variable_or_the_file_and_never_stands_in_the_hook(
    tmp_path: Path, repo: Repo, store: MailStore, laptop: MailStore, key: str, green: Agent, claims: Claims
) -> None:
    claims.claim(green.project_id, green, ["app"])
    file = tmp_path / "token of hub"
    file.write_text(TOKEN, encoding="utf-8")
    file.chmod(0o600)
    people = "token-of-people-1"
    rights = {"NANOBOT_TRANSCRIPT_HUB__TOKENS__LAPTOP": TOKEN, "NANOBOT_TRANSCRIPT_HUB__PAGE_TOKEN": people}
    with HubProcess(tmp_path, store.root, **rights) as hub:
        install_guard(laptop, key, repo.folder, GuardWay(hub.root))
        assert f"the hub at {hub.root} requires a token" in passes_unchecked(repo, **PATIENT)
        for wrong in ("token-of-nobody-1", people):
            said = passes_unchecked(repo, AGENT_MAIL_TOKEN=wrong, **PATIENT)
            assert f"the hub at {hub.root} refuses this token" in said
            assert wrong not in said
        repo.write(HELD)
        assert not repo.commit(AGENT_MAIL_TOKEN=TOKEN, **PATIENT)[0]
        install_guard(laptop, key, repo.folder, GuardWay(hub.root, str(file)))
        assert not repo.commit(**PATIENT)[0]
        for name in HOOKS:
            assert TOKEN not in repo.hook(name).read_text(encoding="utf-8")


# -- when nobody answers


def test_a_hub_that_was_killed_stopped_or_is_slow_blocks_nobody_and_is_mentioned(
    tmp_path: Path, repo: Repo, store: MailStore, laptop: MailStore, key: str, green: Agent, claims: Claims
) -> None:
    claims.claim(green.project_id, green, ["app"])
    with HubProcess(tmp_path, store.root) as hub:
        install_guard(laptop, key, repo.folder, GuardWay(hub.root))
        repo.write(HELD)
        assert not repo.commit(**PATIENT)[0]
        hub.process.send_signal(signal.SIGSTOP)
        assert f"the hub at {hub.root} did not answer within 0.3 s" in passes_unchecked(repo, **HASTY)
        hub.process.send_signal(signal.SIGCONT)
        repo.write(HELD)
        assert not repo.commit(**PATIENT)[0]
        hub.kill()
        said = passes_unchecked(repo, **PATIENT)
    assert f"no hub answers at {hub.root}" in said
    assert said.count("nanobot-transcript serve") == 2


@pytest.mark.parametrize(
    ("way", "why"),
    [
        (silent, "did not answer within 0.3 s"),
        (dripping, "did not answer within 0.3 s"),
        (answer(401), "requires a token"),
        (answer(302, Location="http://127.0.0.1:1/"), "redirects to another address"),
        (answer(body=b"<html>"), "is not a hub that guards can ask"),
        (answer(body=b" " * 10_000_000), "is not a hub that guards can ask (over 8 MiB)"),
        (answer(503, {"error": {"code": "x", "message": "It is full.", "hint": "Wait."}}), "answered 503: It is full"),
    ],
)
def test_whatever_answers_in_the_place_of_a_hub_the_commit_passes_and_it_is_said(
    repo: Repo, laptop: MailStore, key: str, way: Any, why: str
) -> None:
    with Answering(way) as hub:
        install_guard(laptop, key, repo.folder, GuardWay(hub.url))
        limit = HASTY if way in (silent, dripping) else PATIENT
        assert why in passes_unchecked(repo, **limit)


def test_an_unknown_project_is_mentioned_and_others_of_that_hub_are_asked_for(
    asking: Repo, laptop: MailStore, hub: str, key: str
) -> None:
    install_guard(laptop, "/no/such", asking.folder, GuardWay(hub))
    install_guard(laptop, key, asking.folder)
    asking.write(HELD)
    passed, said = asking.commit(**PATIENT)
    assert not passed
    assert f"the hub at {hub} has no project /no/such" in said


def test_a_hub_that_is_not_there_is_mentioned_once_for_all_its_projects(repo: Repo, laptop: MailStore) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    for key in ("one", "two", "three"):
        install_guard(laptop, key, repo.folder, GuardWay(url))
    assert passes_unchecked(repo, **PATIENT).count(url) == 2


# -- guards that read, and guards that ask


def test_one_guard_reads_for_one_project_and_asks_for_another(
    guarded: Repo, store: MailStore, mail: AgentMail, claims: Claims, key: str, tmp_path: Path
) -> None:
    red = mail.register_agent("docs of all", "RedHill").agent
    claims.claim(red.project_id, red, ["docs"])
    with served(tmp_path, store.root, enabled=False) as hub:
        made = install_guard(store, "docs of all", guarded.folder, GuardWay(hub.root))
        assert list(made.projects) == [key, "docs of all"]
        for path in (HELD, "docs/文档.md"):
            guarded.write(path)
            assert not guarded.commit(**PATIENT)[0]
            guarded.git("reset", "-q", "--hard")
    guarded.write(HELD, "docs/文档.md")
    passed, said = guarded.commit(**PATIENT)
    assert not passed
    assert f"{HELD}: GreenCastle holds" in said
    assert f"no hub answers at {hub.root}" in said
    assert uninstall_guard(store, guarded.folder).removed
    assert guarded.commit() == (True, "")


def test_installing_again_changes_where_it_asks_and_keeps_what_is_not_said(
    repo: Repo, store: MailStore, key: str, green: Agent
) -> None:
    assert green.project == key
    install_guard(store, key, repo.folder)
    assert guarded_entries(repo)[0]["database"] == str(store.database)
    for way, hub, file in (
        (GuardWay("http://127.0.0.1:1/mcp/mail", "/t"), "http://127.0.0.1:1", "/t"),
        (GuardWay(), "http://127.0.0.1:1", "/t"),
        (GuardWay(otherwise="http://127.0.0.1:2"), "http://127.0.0.1:1", "/t"),
        (GuardWay("http://127.0.0.1:1", "/u"), "http://127.0.0.1:1", "/u"),
        (GuardWay("http://127.0.0.1:3"), "http://127.0.0.1:3", ""),
    ):
        made = install_guard(store, key, repo.folder, way)
        [entry] = guarded_entries(repo)
        assert entry["database"] == ""
        assert (made.hub, made.token_file) == (entry["hub"], entry["token_file"]) == (hub, file)
    uninstall_guard(store, repo.folder)
    install_guard(store, key, repo.folder)
    assert [set(each) & {"hub", "token_file"} for each in guarded_entries(repo)] == [set()]


def test_a_guard_that_reads_asks_once_mail_is_in_no_file_any_more(
    repo: Repo, store: MailStore, key: str, green: Agent
) -> None:
    assert green.project == key
    install_guard(store, key, repo.folder)
    made = install_guard(store, key, repo.folder, GuardWay(otherwise="http://127.0.0.1:8765"))
    assert made.hub == "http://127.0.0.1:8765"
    assert [each["hub"] for each in guarded_entries(repo)] == ["http://127.0.0.1:8765"]


def test_an_installation_that_was_cut_off_goes_on_as_it_was_begun(
    repo: Repo, store: MailStore, key: str, green: Agent
) -> None:
    """As a kill leaves it: the first file asks already, the others still read."""
    assert green.project == key
    install_guard(store, key, repo.folder)
    before = repo.hook("post-rewrite").read_bytes()
    install_guard(store, key, repo.folder, GuardWay("http://127.0.0.1:1"))
    repo.hook("post-rewrite").write_bytes(before)
    assert install_guard(store, key, repo.folder).hub == "http://127.0.0.1:1"
    assert len({repo.hook(name).read_bytes() for name in HOOKS}) == 1


def test_a_hub_is_not_asked_for_the_projects_of_another_repository(
    repo: Repo, laptop: MailStore, key: str, tmp_path: Path
) -> None:
    other = Repo(tmp_path / "other")
    other.folder.mkdir()
    other.git("init", "-q")
    for name, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
        other.git("config", name, value)
    for each in (repo, other):
        each.git("config", "core.hooksPath", str(tmp_path / "hooks"))
    claim = {"agent": "GreenCastle", "path": "app", "reason": "", "expires_ts": 1_900_000_000}
    with Answering(answer(body={"project": key, "claims": [claim]})) as hub:
        install_guard(laptop, key, repo.folder, GuardWay(hub.url))
        other.write("app/x.py")
        assert other.commit(**PATIENT) == (True, "")
        assert hub.heads == []
        repo.write("app/x.py")
        assert not repo.commit(**PATIENT)[0]


@pytest.mark.parametrize(
    "url",
    [
        *("", "hub", "ftp://hub", "http://", "http://hub:0", "http://hub:x", "http://hub:99999", "http://h ub"),
        *("http://me:secret@hub", "http://hub?token=x", "http://hub#x", "http://[::1", "http://集线器", "http://h\nub"),
    ],
)
def test_what_is_no_address_of_a_hub_is_refused_and_nothing_is_installed(
    repo: Repo, laptop: MailStore, url: str
) -> None:
    with pytest.raises(GuardError, match="not the address of a hub" if url else "no mail store"):
        install_guard(laptop, "k", repo.folder, GuardWay(url))
    assert not repo.hook().exists()


def test_a_token_for_a_guard_that_reads_is_refused(repo: Repo, store: MailStore, key: str, green: Agent) -> None:
    assert green.project == key
    with pytest.raises(GuardError, match="reads the database"):
        install_guard(store, key, repo.folder, GuardWay(token_file="/t"))
    assert not repo.hook().exists()


def test_a_folder_of_mail_that_cannot_be_made_is_told(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(GuardError, match="cannot be created"):
        install_guard(MailStore(tmp_path / "file" / "mail"), "k", repo.folder, GuardWay("http://hub"))
