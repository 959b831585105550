"""What systemd is told, character by character; tests/integration/cli/test_service.py asks whether it understands."""

from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript.cli.commands.service.unit import MARK, Unit, description_of, name_from
from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.errors import ConfigError


def unit(**different: Any) -> Unit:
    said: dict[str, Any] = {
        "name": "serve",
        "description": "nanobot-transcript serve",
        "words": ("/opt/bin/nanobot-transcript", "serve"),
        "folder": Path("/srv/bots"),
        "variables": Path("/srv/serve.env"),
        "path": "/usr/bin:/bin",
    }
    return Unit(**said | different)


def lines(of: Unit) -> dict[str, str]:
    return dict(line.split("=", 1) for line in of.text().splitlines() if "=" in line and not line.startswith("#"))


def test_a_unit_says_all_that_systemd_needs() -> None:
    text = unit().text()
    assert text.startswith(MARK)
    assert lines(unit()) == {
        "Description": "nanobot-transcript serve",
        "Type": "notify",
        "ExecStart": "/opt/bin/nanobot-transcript serve",
        "WorkingDirectory": "/srv/bots",
        "Environment": '"PATH=/usr/bin:/bin"',
        "EnvironmentFile": "-/srv/serve.env",
        "Restart": "on-failure",
        "RestartSec": "5",
        "RestartPreventExitStatus": "2 4",
        "WantedBy": "default.target",
    }


@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("/srv/my bots/a.yaml", '"/srv/my bots/a.yaml"'),
        ("100%", '"100%%"'),
        ("$HOME", '"$$HOME"'),
        ('say "hi"', r'"say \"hi\""'),
        ("back\\slash", r'"back\\slash"'),
        ("it's", '"it\'s"'),
        ("中文", '"中文"'),
        (";", '";"'),
        ("", '""'),
    ],
)
def test_what_means_something_to_systemd_is_a_part_of_a_word_all_the_same(word: str, written: str) -> None:
    assert lines(unit(words=("/bin/x", word)))["ExecStart"] == f"/bin/x {written}"


@pytest.mark.parametrize(
    ("program", "written"), [("/my $HOME/x", '"/my $HOME/x"'), ("/$a/x", '"/$a/x"'), ("/100%/x", '"/100%%/x"')]
)
def test_a_dollar_is_itself_in_the_path_of_the_program(program: str, written: str) -> None:
    assert lines(unit(words=(program, "$a")))["ExecStart"] == f'{written} "$$a"'


@pytest.mark.parametrize(
    "different",
    [{"words": (f"/srv/{each}/x", "serve")} for each in "\"'\\"]
    + [{"variables": Path(f"/srv/{each}/serve.env")} for each in "[*?\\"],
)
def test_a_path_that_systemd_takes_for_another_one_is_refused(different: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="systemd") as refused:
        unit(**different)
    assert refused.value.hint


def test_a_path_of_its_own_line_is_not_quoted_but_has_no_place_holders() -> None:
    told = lines(unit(folder=Path('/srv/my "100%" bots'), path="/a b:/100%$"))
    assert told["WorkingDirectory"] == '/srv/my "100%%" bots'
    assert told["Environment"] == '"PATH=/a b:/100%%$"'


@pytest.mark.parametrize(
    "different",
    [
        {"words": ("/bin/x", "two\nlines")},
        {"folder": Path("/srv/bots ")},
        {"folder": Path("/srv/bots\\")},
        {"folder": Path("/srv/\udcff")},
        {"path": "/usr/bin\x00"},
        {"variables": Path("/srv/a\tb")},
    ],
)
def test_what_systemd_cannot_be_told_is_refused(different: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="systemd cannot be given"):
        unit(**different)


@pytest.mark.parametrize("name", ["", "-x", ".x", "a/b", "../a", "a b", "名字", "a\n"])
def test_a_name_that_is_none_for_a_file_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="not a name"):
        unit(name=name)


def test_a_name_that_is_too_long_is_told_as_that() -> None:
    assert unit(name="x" * 100).name
    with pytest.raises(UsageError, match="101 characters is too long"):
        unit(name="x" * 101)


def test_a_unit_is_known_by_what_it_is_for() -> None:
    about = "nanobot-transcript run --config '/srv/100% mine.yaml'"
    assert description_of(unit(description=about).text()) == about
    assert description_of("[Unit]\n") == ""


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("run", ""), "run"),
        (("run", "command"), "run-command"),
        (("run", "my bots", "Alpha"), "run-my-bots-Alpha"),
        (("run", "机器人"), "run"),
        (("run", "--x--"), "run-x"),
    ],
)
def test_a_service_is_called_after_what_it_runs(parts: tuple[str, ...], name: str) -> None:
    assert name_from(*parts) == name
