"""Which commands there are: each module or package of ``cli/commands`` is one."""

from pathlib import Path

import typer

from nanobot_transcript.cli import commands
from nanobot_transcript.cli.app import _ORDER, app


def test_each_module_and_each_package_of_the_commands_is_a_command_of_its_name() -> None:
    files = {path.stem for path in Path(commands.__path__[0]).iterdir() if not path.name.startswith("__")}
    named = typer.main.get_command(app).commands  # pyright: ignore[reportAttributeAccessIssue]
    assert sorted(named) == sorted(name.strip("_").replace("_", "-") for name in files)


def test_the_help_lists_the_commands_in_their_order() -> None:
    named = typer.main.get_command(app).commands  # pyright: ignore[reportAttributeAccessIssue]
    assert [name for name in named if name in _ORDER] == list(_ORDER)
