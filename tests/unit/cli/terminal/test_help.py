"""What `--help` says: nothing is cut, on a narrow terminal either."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer

from nanobot_transcript.cli import main
from nanobot_transcript.cli.app import app


def commands(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, *path, name)


COMMANDS = dict(commands(typer.main.get_command(app)))
Help = Callable[..., str]


@pytest.fixture(params=[60, 80])
def help_of(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Help:
    """``help_of("mail", "guard")`` on a terminal of some width."""
    monkeypatch.setenv("COLUMNS", str(request.param))

    def shown(*path: str) -> str:
        assert main([*path, "--help"]) == 0
        return capsys.readouterr().out

    return shown


def one_line(text: str) -> str:
    return " ".join(text.split())


def letters(text: str) -> str:
    """Without spaces: a word with a hyphen may go on in the next line."""
    return "".join(text.split())


def first_sentence(command: Any) -> str:
    return one_line(command.help).partition(". ")[0].partition(" Example:")[0].rstrip(".")


def test_each_list_of_commands_has_the_first_sentence_of_each_in_full(help_of: Help) -> None:
    groups = {path: command.commands for path, command in COMMANDS.items() if hasattr(command, "commands")}
    assert len(groups) == 7
    for path, below in groups.items():
        shown = one_line(help_of(*path).partition("\nCommands:\n")[2])
        missing = [name for name, each in below.items() if f"{name} {first_sentence(each)}" not in shown]
        assert missing == [], path


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_no_word_of_an_option_or_an_argument_is_cut(help_of: Help, path: tuple[str, ...]) -> None:
    shown = letters(help_of(*path))
    told = [each.help for each in COMMANDS[path].params if getattr(each, "help", None)]
    assert [words for words in told if letters(words) not in shown] == []


def test_every_line_fits_into_eighty_columns(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for path in COMMANDS:
        assert main([*path, "--help"]) == 0
        assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []
