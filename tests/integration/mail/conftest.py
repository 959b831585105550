"""A hub with the mail of one store, ended with the test; a repository of code with its guard."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.code_repo import Repo
from support.mail_hub import HubProcess, StartHub

from transcript_mcp.mail.claims.guard import install_guard
from transcript_mcp.mail.claims.ledger import Claims
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.store import MailStore
from transcript_mcp.mail.values import Agent


@pytest.fixture
def mail_root(tmp_path: Path) -> Path:
    """Where the mail lies; not made yet."""
    return tmp_path / "mail"


@pytest.fixture
def start_hub(tmp_path: Path, mail_root: Path) -> Iterator[StartHub]:
    """``start_hub(VARIABLE="value")``: one more hub on the store."""
    with ExitStack() as stack:

        def start(**variables: str) -> HubProcess:
            return stack.enter_context(HubProcess(tmp_path, mail_root, **variables))

        yield start


@pytest.fixture
def store(tmp_path: Path) -> MailStore:
    """A mail store; not made yet."""
    return MailStore(tmp_path / "store")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """One with a commit by Ada."""
    folder = tmp_path / "代码 repo"
    folder.mkdir()
    made = Repo(folder)
    made.git("init", "-q", "-b", "main")
    made.git("config", "user.name", "Ada")
    made.git("config", "user.email", "ada@example.org")
    made.write("README.md", "app/api/users.py", "docs/文档.md")
    made.commit(None)
    return made


@pytest.fixture
def key(repo: Repo) -> str:
    """The key of the project whose code this is."""
    return str(repo.folder)


@pytest.fixture
def mail(store: MailStore) -> Iterator[AgentMail]:
    """The mail of the store."""
    opened = AgentMail(store.root)
    yield opened
    opened.close()


@pytest.fixture
def claims(mail: AgentMail) -> Claims:
    """The claims of the store."""
    return Claims(mail.database, time.time)


@pytest.fixture
def green(mail: AgentMail, key: str) -> Agent:
    """GreenCastle, at home in the project."""
    return mail.register_agent(key, "GreenCastle").agent


@pytest.fixture
def guarded(repo: Repo, store: MailStore, key: str, green: Agent, claims: Claims) -> Repo:
    """GreenCastle holds ``app/api/*.py``, and the guard is installed."""
    claims.claim(green.project_id, green, ["app/api/*.py"], 86_400.0, reason="migrations")
    install_guard(store, key, repo.folder)
    return repo
