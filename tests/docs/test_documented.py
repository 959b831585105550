"""Undocumented is red: settings, commands, options, error codes and checks stand in the documents of both languages."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from nanobot_transcript import errors
from nanobot_transcript.cli.app import app
from nanobot_transcript.errors import TranscriptError
from nanobot_transcript.settings import describe

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = ("en", "zh")
PAGES = sorted((ROOT / "docs" / "en").glob("*.md"))
CHINESE_PAGES = sorted((ROOT / "docs" / "zh").glob("*.md"))


def page(language: str, name: str) -> str:
    return (ROOT / "docs" / language / f"{name}.md").read_text(encoding="utf-8")


def commands(command: Any, path: str = "nanobot-transcript") -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{path} {name}")


COMMANDS = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_setting_is_documented(language: str) -> None:
    text = page(language, "settings")
    missing = [item.key for item in describe() if not item.section and f"`{item.key}`" not in text]
    assert missing == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_command_is_documented(language: str) -> None:
    text = page(language, "commands")
    assert [path for path in COMMANDS if f"### {path}\n" not in text] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_error_stands_in_the_tree_of_its_module(language: str) -> None:
    names = [name for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, TranscriptError)]
    assert [name for name in names if f" {name} " not in page(language, "api").replace("\n", " ")] == []
    assert sorted(names) == sorted(errors.__all__)


def test_every_error_says_what_has_happened_and_has_a_code_of_its_own() -> None:
    kinds = [getattr(errors, name) for name in errors.__all__]
    assert [kind.__name__ for kind in kinds if not (vars(kind).get("__doc__") or "").strip()] == []
    assert len({kind.code for kind in kinds}) == len(kinds)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_exit_code_is_documented(language: str) -> None:
    text = page(language, "commands")
    assert [code for code in (0, 1, 2, 3, 4, 130) if f"| {code} |" not in text] == []


def test_every_command_has_a_summary_and_an_example() -> None:
    for path, command in COMMANDS.items():
        described = inspect.cleandoc(command.help or "").replace("\b", "")
        summary, _, rest = described.partition("\n")
        assert summary.endswith("."), path
        assert len(summary) <= 100, path
        assert "Example:" in rest, path
        assert "\n  nanobot-transcript " in rest, path


def test_every_option_says_what_it_does() -> None:
    silent = [
        (path, param.name)
        for path, command in COMMANDS.items()
        for param in command.params
        if not getattr(param, "help", None)
    ]
    assert silent == []


def shown_commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Every call of ours in code spans and code blocks: the command and the options it is given."""
    outside = re.sub(r"<!-- generated:begin.*?generated:end -->", "", text, flags=re.DOTALL)
    for call in re.findall(r"\bnanobot-transcript ((?:[a-z][^`\n#|]*|-[^`\n#|]*))", outside):
        words = re.sub(r"'[^']*'|\"[^\"]*\"", "x", call).split()
        path = "nanobot-transcript"
        while words and f"{path} {words[0]}" in COMMANDS:
            path = f"{path} {words.pop(0)}"
        yield path, [word.partition("=")[0].rstrip(".,;:") for word in words if re.match(r"--?[a-zA-Z]", word)]


def test_options_in_the_documents_exist() -> None:
    everywhere = {"-h", "--help", "--install-completion", "--show-completion"}
    known = {name: {option for param in command.params for option in param.opts} for name, command in COMMANDS.items()}
    wrong = [
        (path.relative_to(ROOT).as_posix(), name, option)
        for path in (ROOT / "README.md", ROOT / "README.zh-CN.md", *PAGES, *CHINESE_PAGES)
        for name, options in shown_commands(path.read_text(encoding="utf-8"))
        for option in options
        if option not in known[name] | everywhere
    ]
    assert wrong == []


def test_commands_that_the_page_shows_exist() -> None:
    known = {name: {option for param in command.params for option in param.opts} for name, command in COMMANDS.items()}
    shown = [
        call
        for path in (
            *sorted((ROOT / "web" / "src" / "words").glob("*.ts")),
            *sorted((ROOT / "web" / "src" / "pages").glob("*/words.ts")),
            *sorted((ROOT / "web" / "src" / "pages").glob("*/start.ts")),
        )
        for call in re.findall(r"[\"`](nanobot-transcript [^\"`]+)[\"`]", path.read_text(encoding="utf-8"))
    ]
    assert len(shown) > 10
    for call in shown:
        [(name, options)] = shown_commands(call)
        assert name != "nanobot-transcript", call
        assert set(options) <= known[name] | {"--help"}, call


# -- both languages


def outline(text: str) -> list[int]:
    """The levels of a page's headings, code blocks left out."""
    prose = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    return [len(marks) for marks in re.findall(r"^(#+) ", prose, flags=re.MULTILINE)]


def test_every_page_exists_in_both_languages() -> None:
    assert [path.name for path in PAGES] == [path.name for path in CHINESE_PAGES]


def test_a_chinese_page_has_the_headings_of_its_english_one() -> None:
    for path in PAGES:
        chinese = path.parent.parent / "zh" / path.name
        assert outline(chinese.read_text(encoding="utf-8")) == outline(path.read_text(encoding="utf-8")), path.name


def test_a_chinese_page_is_in_chinese() -> None:
    for path in CHINESE_PAGES:
        text = path.read_text(encoding="utf-8")
        prose = re.sub(r"```.*?```|<!-- generated:begin.*?end -->", "", text, flags=re.DOTALL)
        for heading in re.findall(r"^#+ (.+)$", prose, flags=re.MULTILINE):
            plain = re.sub(r"`[^`]*`", "", heading).strip()
            assert not plain or re.search(r"[\u4e00-\u9fff]", plain) or " " not in plain, (path.name, heading)


def test_both_readmes_have_the_same_headings() -> None:
    english, chinese = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh-CN.md"))
    assert outline(english) == outline(chinese)


def test_links_between_files_lead_somewhere() -> None:
    for path in (*PAGES, *CHINESE_PAGES):
        text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
        local = [target for target in targets if not target.startswith(("http://", "https://", "mailto:"))]
        assert [target for target in local if not (path.parent / target).exists()] == [], path
