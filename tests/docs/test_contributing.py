"""CONTRIBUTING names files that there are, so that its recipes lead somewhere."""

import re
from pathlib import Path

from support.listed import ROOT, spans

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FOLDERS = (".ci", "channels", "docs", "mcp_tools", "nanobot_transcript", "requirements", "tests", "tools", "web/src")
FILES = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")] + list(ROOT.iterdir())
ENDINGS = {f"/{path.relative_to(ROOT).as_posix()}" for path in FILES}
FILE = re.compile(r"[\w./-]*\w\.(?:py|md|toml|yaml|json|ts|tsx|sh)")
OF_NEW_ROOMS = frozenset({"docs/{en,zh}/NAME.md", "words.ts", "index.tsx", "NAME.py", "NAME/command.py", "french.json"})
"""What a recipe tells to write."""


def in_both_languages(name: str) -> list[str]:
    return [name.replace("{en,zh}", language) for language in ("en", "zh")] if "{en,zh}" in name else [name]


def is_there(name: str) -> bool:
    """A path may begin at any folder: the sentence says in which room it is."""
    return any(path.endswith(f"/{name}") for path in ENDINGS)


def test_every_file_that_contributing_names_is_there() -> None:
    named = {span for span in spans(re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)) if span not in OF_NEW_ROOMS}
    files = {name for span in named for name in in_both_languages(span) if FILE.fullmatch(name)}
    assert len(files) > 60
    assert sorted(name for name in files if not is_there(name)) == []


def test_links_of_contributing_lead_somewhere() -> None:
    targets = [target for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", TEXT) if "://" not in target]
    assert targets
    assert [target for target in targets if not Path(ROOT, target).exists()] == []


def test_there_are_recipes_for_what_is_usually_added() -> None:
    recipes = re.findall(r"^\*\*… (?:an? )?([^.,*]+)", TEXT, flags=re.MULTILINE)
    usual = {"command", "setting", "error", "tool", "MCP server", "page", "platform", "room", "rule of the loop guard"}
    assert usual - set(recipes) == set()
