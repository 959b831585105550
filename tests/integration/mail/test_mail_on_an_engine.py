"""Agent Mail whose tables are in PostgreSQL: carried into git, compared with it, and made anew from it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nanobot_transcript.errors import ArchiveError
from nanobot_transcript.sql.location import Shelf
from transcript_mcp.mail.archive import doctor
from transcript_mcp.mail.archive.rebuild import rebuild
from transcript_mcp.mail.archive.repair import complete
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.search.hits import search
from transcript_mcp.mail.service import ImageWish, MailService, ServiceOptions
from transcript_mcp.mail.store import MailStore
from transcript_mcp.mail.values import Draft

if TYPE_CHECKING:
    from nanobot_transcript.sql.postgres.engine import Engine

KEY = "/srv/shop"


@pytest.fixture
def store(tmp_path: Path, engine: "Engine") -> MailStore:
    return MailStore.on(Shelf(tmp_path / "store", engine))


@pytest.fixture
def service(store: MailStore) -> Iterator[MailService]:
    """Two agents; whoever sends waits for the commit."""
    made = MailService(AgentMail(store), ServiceOptions(sync=True))
    for name in ("GreenCastle", "RedStone"):
        made.mail.register_agent(KEY, name)
    yield made
    made.close()


def send(service: MailService, subject: str, body: str = "发布窗口") -> tuple[str, str | None]:
    """The message's id and its commit."""
    sender = service.mail.whois(KEY, "GreenCastle")
    posted = service.send(KEY, sender, Draft(subject, body, to=["RedStone"]), ImageWish())
    return posted.sent.id, posted.commit


def errors(store: MailStore) -> list[str]:
    return [finding.message for finding in doctor.examine(store) if finding.severity == "error"]


def test_what_is_sent_is_in_git_and_the_doctor_finds_it_there(service: MailService, store: MailStore) -> None:
    _, commit = send(service, "Plan")
    assert commit
    assert len(commit) == 40
    assert errors(store) == []


def test_what_git_has_lost_is_written_again(service: MailService, store: MailStore) -> None:
    message_id, _ = send(service, "Plan")
    service.close()
    repo = store.repo(service.mail.project(KEY).slug)
    repo.rename(repo.with_name("gone"))
    assert any("not in git" in error for error in errors(store))
    assert complete(store).files > 0
    with AgentMail(store) as mail:
        again = MailService(mail, ServiceOptions(sync=True))
        send(again, "Again")
        again.close()
    assert errors(store) == []
    assert list(repo.rglob(f"{message_id}.md"))


def test_the_tables_are_filled_anew_from_git(service: MailService, store: MailStore) -> None:
    kept, _ = send(service, "Plan")
    project = service.mail.project(KEY)
    service.claims.claim(project.id, service.mail.whois(KEY, "RedStone"), ["src/main.py"])
    service.close()
    store.opened(5).write(lambda db: db.execute("DELETE FROM message_recipients"))
    done = rebuild(store)
    assert (done.filled.messages, done.filled.agents, done.filled.claims) == (1, 2, 1)
    assert done.kept is None
    assert errors(store) == []
    with AgentMail(store) as mail:
        assert [each.letter.id for each in mail.inbox(mail.whois(KEY, "RedStone"))] == [kept]
        found = search(mail.reader, mail.project(KEY).id, "发布")
        assert [hit["id"] for hit in found.hits] == [kept]


def test_what_git_cannot_give_back_is_not_thrown_away(service: MailService, store: MailStore) -> None:
    send(service, "Plan")
    send(service, "Another")
    service.close()
    slug = service.mail.project(KEY).slug
    repo = store.repo(slug)
    (repo / ".git" / "HEAD").write_text("nonsense")
    with pytest.raises(ArchiveError, match="would lack"):
        rebuild(store)
    with AgentMail(store) as mail:
        assert len(mail.inbox(mail.whois(KEY, "RedStone"))) == 2
