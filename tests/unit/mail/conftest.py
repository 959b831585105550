"""A store in which three agents of two projects have mail, and a client of it; an archive without any."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.letterbox import Letterbox
from support.mail_archive import SLUG, MailArchive
from support.mail_desk import desk

from transcript_mcp.mail.archive.commits import ProjectRepository
from transcript_mcp.mail.server import build_server
from transcript_mcp.sdk.testing import InMemoryClient

on_both = pytest.mark.parametrize("box", ["sqlite", "postgres"], indirect=True)
"""Also in the usual run with its tables in PostgreSQL; all others are only with the full repetitions."""

in_a_file = pytest.mark.parametrize("box", ["sqlite"], indirect=True)
"""For what is so in a file alone."""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.soak)])
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Letterbox]:
    """GreenCastle and RedStone in one project, BlueLake in another."""
    engine = request.getfixturevalue("engine") if request.param == "postgres" else None
    made = Letterbox(tmp_path / "store", engine=engine)
    with made.mail:
        yield made


@pytest.fixture
def client(box: Letterbox) -> InMemoryClient:
    """A client of the three agents' mail."""
    return InMemoryClient(build_server(desk(box)))


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[MailArchive]:
    """A store with one project and no mail, in a folder whose name is not ASCII."""
    opened = MailArchive(tmp_path / "邮件", SLUG)
    yield opened
    opened.close()


@pytest.fixture
def project(archive: MailArchive) -> Iterator[ProjectRepository]:
    """The repository of that project, as the archiver opens it."""
    repository = ProjectRepository(archive.store, SLUG)
    yield repository
    repository.close()
