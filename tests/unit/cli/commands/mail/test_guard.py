"""``mail guard``: a guard for the mail of a hub, on a machine that may have none of its own."""

import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from socketserver import StreamRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from support.answering import Answering, answer
from support.letterbox import Letterbox
from support.ports import free_port
from support.waiting import PATIENCE

Run = Callable[..., Any]
OF_HUB = {"project": "/srv/backend", "claims": []}
UNKNOWN = {"error": {"code": "unknown_project", "message": "There is no project.", "hint": "Do you mean /srv/backend?"}}


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, in whose folder the command is called."""
    for name in ("AGENT_MAIL_TOKEN", "TRANSCRIPT_MAIL_TOKEN", "TRANSCRIPT_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENT_MAIL_TIMEOUT", "60")
    folder = tmp_path / "code"
    subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=PATIENCE)
    (folder / "src").mkdir()
    monkeypatch.chdir(folder / "src")
    return folder


@pytest.fixture
def laptop(run: Run, tmp_path: Path) -> Run:
    """Commands where there is no mail."""
    return partial(run, store=tmp_path / "laptop")


def asked_keys(hub: Answering) -> list[str]:
    return [parse_qs(urlsplit(head.split(" ")[1]).query)["project_key"][0] for head in hub.heads]


def test_a_guard_is_installed_for_the_mail_of_a_hub_elsewhere(laptop: Run, code: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("open-sesame-1", encoding="utf-8")
    token.chmod(0o600)
    hook, words = code / ".git" / "hooks" / "pre-commit", ("--project", "/srv//backend", "--token-file", str(token))
    with Answering(answer(body=OF_HUB)) as hub:
        put = laptop("mail", "guard", "install", *words, "--hub", f"{hub.url}/mcp/mail")
        assert put.code == 0
        first, second = put.err.splitlines()
        assert first.startswith(f"{hook} guards the claims of /srv/backend, and so do")
        assert second == f"It asks the hub at {hub.url}, with the token in {token}."
        again = laptop("mail", "guard", "install", "--project", "/srv/backend", "--hub", hub.url, "--json").document
        assert (again["hub"], again["token_file"]) == (hub.url, str(token))
        assert all("Bearer open-sesame-1" in head for head in hub.heads)
    assert asked_keys(hub) == ["/srv//backend", "/srv/backend"]
    assert laptop("mail", "guard", "uninstall").code == 0
    assert not hook.exists()


def test_without_a_project_the_hub_is_asked_for_the_folders_up_to_the_repositorys(laptop: Run, code: Path) -> None:
    def only_of_the_repository(request: StreamRequestHandler) -> None:
        last = asked_keys(hub)[-1]
        answer(400, UNKNOWN)(request) if last != str(code) else answer(body={**OF_HUB, "project": last})(request)

    with Answering(only_of_the_repository) as hub:
        put = laptop("mail", "guard", "install", "--hub", hub.url, "--json").document
        assert put["projects"] == [str(code)]
        assert "AGENT_MAIL_TOKEN" in put["note"]
        assert laptop("mail", "guard", "install", "--hub", hub.url, "--project", "..").code == 0
    assert asked_keys(hub) == [str(code / "src"), str(code), str(code)]


def test_where_the_hub_has_no_such_project_nothing_is_installed(laptop: Run, code: Path, tmp_path: Path) -> None:
    with Answering(answer(400, UNKNOWN)) as hub:
        here = laptop("mail", "guard", "install", "--hub", hub.url)
        named = laptop("mail", "guard", "install", "--hub", hub.url, "--project", "/srv/backent")
    assert (here.code, named.code) == (2, 2)
    assert f"{hub.url} has no project for {code / 'src'}." in here.err
    assert f"The hub at {hub.url} has no project /srv/backent." in named.err
    assert "Do you mean /srv/backend?" in named.err
    assert asked_keys(hub) == [str(code / "src"), str(code), "/srv/backent"]
    assert not (code / ".git" / "hooks" / "pre-commit").exists()
    assert not (tmp_path / "laptop").exists()


def test_a_hub_that_cannot_be_asked_is_told_and_nothing_is_installed(
    laptop: Run, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    refused = laptop("mail", "guard", "install", "--hub", url)
    assert refused.code == 2
    assert f"Error: No hub answers at {url} (Connection refused)." in refused.err
    assert "Hint: Start it with `nanobot-transcript serve`" in refused.err
    assert laptop("mail", "guard", "install", "--hub", "hub:8765").code == 2
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    in_chinese = laptop("mail", "guard", "install", "--hub", url).err
    assert f"错误：{url} 没有 hub 应答（Connection refused）。" in in_chinese
    assert not (code / ".git" / "hooks" / "pre-commit").exists()


def test_a_guard_that_goes_on_asking_says_when_nobody_answers_now(run: Run, base_dir: Path, code: Path) -> None:
    Letterbox(base_dir).new(str(code), "Local")
    with Answering(answer(body={**OF_HUB, "project": str(code)})) as hub:
        assert run("mail", "guard", "install", "--hub", hub.url).code == 0
        well = run("mail", "guard", "install")
        assert f"It asks the hub at {hub.url}." in well.err
        assert "WARNING" not in well.err
    ended = run("mail", "guard", "install")
    assert ended.code == 0
    assert f"WARNING: No hub answers at {hub.url}" in ended.err
