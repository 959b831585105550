"""The server refuses a file exactly where the guard would block its commit."""

import random
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from transcript_mcp.mail.claims.ledger import Claims
from transcript_mcp.mail.claims.patterns import covered, is_file_by_look
from transcript_mcp.mail.mail import AgentMail

PROJECT = "/abs/path/backend"
FOLDERS = ("src", "docs", "en", "app", "conf.d", "v1.2", ".github", "文档", "cafe\N{COMBINING ACUTE ACCENT}")
FILES = ("main.py", "README.md", "users.ts", "a.c", "Makefile", ".gitignore", "说明.md", "x.min.js", "conf.d")


@pytest.fixture
def mail(tmp_path: Path) -> Iterator[AgentMail]:
    with AgentMail(tmp_path / "store", clock=lambda: 1_761_232_934.5) as opened:
        yield opened


def path_of(draw: random.Random) -> str:
    """What git could name; some of it does not look like a file."""
    return "/".join([*draw.choices(FOLDERS, k=draw.randint(0, 3)), draw.choice((*FILES, *FILES, *FOLDERS))])


def pattern_of(draw: random.Random, path: str) -> str:
    """What somebody could claim who means this path, or one beside it, and others."""
    names = [draw.choice(_wider(name)) for name in path.split("/")]
    shortened = names[: draw.randint(1, len(names))] if draw.random() < 0.3 else names
    return draw.choice(("", "", "./", "**/")) + "/".join(shortened) + draw.choice(("", "", "", "/"))


def _wider(name: str) -> tuple[str, ...]:
    wild = ("*", "**", f"{name[0]}*", f"*{name[-3:]}", f"?{name[1:]}")
    classes = (f"[!x]{name[1:]}", f"[{name[0]}x]*", f"{{{name},{{en,x}}.md}}", f"*.{{py,{name[-2:]}}}")
    return (name, name, name, unicodedata.normalize("NFC", name), *wild, *classes, "main.py", "docs")


def beside(draw: random.Random, path: str) -> str:
    """The path itself, or one that shares names with it."""
    names = path.split("/")
    names[draw.randrange(len(names))] = draw.choice((*names, *names, *FILES, *FOLDERS))
    return "/".join(names)


@pytest.mark.parametrize("pairs", [400, pytest.param(10_000, marks=pytest.mark.soak)])
def test_what_the_server_grants_passes_the_guard_and_what_the_guard_blocks_is_refused(
    mail: AgentMail, pairs: int
) -> None:
    draw = random.Random(16)
    green, blue = (mail.register_agent(PROJECT, name).agent for name in ("GreenCastle", "BlueLake"))
    claims, project = Claims(mail.database, mail.now), green.project_id
    blocked = refused_of_folders = 0
    for _ in range(pairs // 8):
        meant = path_of(draw)
        pattern = pattern_of(draw, meant)
        assert claims.claim(project, green, [pattern]).granted
        held = [claim.path for claim in claims.list_claims(project, green.id)]
        for path in (beside(draw, meant) for _ in range(8)):
            is_granted, is_blocked = bool(claims.claim(project, blue, [path]).granted), bool(covered(held, [path]))
            if is_file_by_look(path):
                assert is_granted is not is_blocked, (pattern, held, path)
            else:  # whoever claims what may be a folder wants what is below, too
                assert not (is_granted and is_blocked), (pattern, held, path)
                refused_of_folders += not is_granted and not is_blocked
            blocked += is_blocked
        claims.release(project, green)
        claims.release(project, blue)
    assert pairs / 10 < blocked < pairs / 2
    assert refused_of_folders
