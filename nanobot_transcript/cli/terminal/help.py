"""Details of ``--help``: the usage line of a command, and the list of a group's commands."""

from typing import Any, Final

from typer.core import TyperCommand, TyperGroup

__all__ = ["PlainUsage", "WholeSentences"]

_UNCUT: Final = 10_000
"""Characters, more than any first sentence has."""


class PlainUsage(TyperCommand):
    """A command whose usage line shows required arguments without typer's braces."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words of the usage line."""
        return [piece.translate({ord("{"): None, ord("}"): None}) for piece in super().collect_usage_pieces(ctx)]


class WholeSentences(TyperGroup):
    """A group whose list of commands has the whole first sentence of each, however narrow the terminal is."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        shown = {name: command for name, command in commands.items() if command is not None and not command.hidden}
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(_UNCUT)) for name, command in shown.items()])
