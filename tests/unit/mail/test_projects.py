"""One project, however its key is spelled."""

import os
from pathlib import Path

import pytest
from support.letterbox import BACKEND, Letterbox
from support.mail_desk import told

from nanobot_transcript.errors import UnknownProjectError
from transcript_mcp.mail.agents import projects
from transcript_mcp.mail.values import Draft
from transcript_mcp.sdk.dispatch import ProtocolError
from transcript_mcp.sdk.testing import InMemoryClient


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """The folder of a project, to which ``link`` leads, too."""
    folder = tmp_path / "code" / "shop"
    folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(folder)
    return folder


def spellings(code: Path) -> list[str]:
    root, link = code.parent.parent, code.parent.parent / "link"
    return [
        str(code),
        f"{code}/",
        str(link),
        f"{link}/",
        f"{link}//",
        f"{link}/.",
        f"/{code}",
        f"{code.parent}//shop",
        f"{code.parent}/./shop",
        f"{code}/../shop",
        f"{root}/link/../shop",
    ]


@pytest.mark.parametrize("first", range(11))
def test_all_spellings_of_a_folder_are_one_project_whichever_comes_first(
    box: Letterbox, code: Path, first: int
) -> None:
    before = len(box.mail.projects())
    names = spellings(code)
    box.new(names[first], "GrayOwl")
    for number, spelled in enumerate(names):
        assert box.mail.project(spelled).key == str(code)
        assert box.mail.whois(spelled, "GrayOwl").project == str(code)
        box.new(spelled, f"Owl{number}")
        box.mail.create_agent(spelled, "p", "m", "t")
    assert len(box.mail.projects()) == before + 1
    assert len(box.mail.agents(names[2])) == 23


def test_a_folder_that_is_not_here_is_known_by_its_letters(box: Letterbox) -> None:
    for spelled in ("/abs//path/backend", "/abs/./path/backend", "/abs/path/x/../backend", "//abs/path/backend/"):
        assert box.mail.project(spelled).key == BACKEND
    for other in ("abs/path/backend", "/abs/path", "/abs/path/backend/x", "https://example.com//abs/path/backend"):
        with pytest.raises(UnknownProjectError):
            box.mail.project(other)


def test_a_key_that_is_no_path_stays_as_it_is(box: Letterbox) -> None:
    box.new("https://example.com//shop/../v2", "GrayOwl")
    assert box.mail.projects()[-1].key == "https://example.com//shop/../v2"
    with pytest.raises(UnknownProjectError):
        box.mail.project("https://example.com/v2")


@pytest.mark.parametrize("kept", ["{root}/link", "{root}/code//shop", "{root}/code/./shop"])
def test_a_project_that_an_earlier_version_kept_in_another_spelling_is_still_found(
    box: Letterbox, code: Path, kept: str
) -> None:
    key = kept.format(root=code.parent.parent)
    agent = box.new("/old", "GrayOwl")
    box.mail.database.write(lambda db: db.execute("UPDATE projects SET human_key = ? WHERE human_key = '/old'", (key,)))
    before = len(box.mail.projects())
    for spelled in (key, *spellings(code)):
        assert box.mail.project(spelled).key == key
        assert box.mail.whois(spelled, "GrayOwl").id == agent.id
        assert box.mail.send(spelled, box.green, Draft("s", "b", to=["GrayOwl"])).project == key
    box.new(str(code), "TwinOak")
    assert len(box.mail.projects()) == before


def test_two_projects_that_an_earlier_version_kept_apart_are_each_found_by_their_own_key(
    box: Letterbox, code: Path
) -> None:
    link = f"{code.parent.parent}/link"
    for number, key in enumerate((link, str(code))):
        box.new(f"/old{number}", "GrayOwl")
        change = ("UPDATE projects SET human_key = ? WHERE human_key = ?", (key, f"/old{number}"))
        box.mail.database.write(lambda db, change=change: db.execute(*change))
    assert (box.mail.project(link).key, box.mail.project(str(code)).key) == (link, str(code))
    assert box.mail.project(f"{code}/.").key == str(code)


def test_a_link_to_a_folder_whose_name_is_no_text_is_known_by_its_own_name(box: Letterbox, tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    folder.mkdir()
    (tmp_path / "plain").symlink_to(folder)
    assert box.new(str(tmp_path / "plain"), "GrayOwl").project == str(tmp_path / "plain")


async def test_a_path_in_a_project_may_be_written_by_way_of_a_link_to_it(
    client: InMemoryClient, box: Letterbox, code: Path
) -> None:
    link = f"{code.parent.parent}/link"
    box.new(link, "GrayOwl")
    asked = {"project_key": link, "agent_name": "GrayOwl"}
    granted = await told(client, "claim_paths", asked, paths=[f"{link}/src/*.py", f"{code}/docs", "app/"])
    assert granted["granted"] == ["src/*.py", "docs", "app"]
    assert (await told(client, "release_claims", asked, paths=[f"{link}/docs"]))["released"] == ["docs"]
    assert projects.inside(str(code), f"{code.parent}/other") == f"{code.parent}/other"


async def test_who_subscribes_in_another_spelling_is_told_which_one_counts(
    client: InMemoryClient, box: Letterbox, code: Path
) -> None:
    box.new(str(code), "GrayOwl")
    with pytest.raises(ProtocolError, match=f"Subscribe to resource://claims/{code}"):
        await client.subscribe(f"resource://claims/{code.parent.parent}/link")
    await client.subscribe(f"resource://claims/{code}/")
