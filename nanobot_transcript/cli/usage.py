"""How a command says what it must be given."""

from typing import Any

from typer.core import TyperCommand

__all__ = ["PlainUsage"]


class PlainUsage(TyperCommand):
    """A command whose usage line names what it must be given without braces."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words of the usage line."""
        return [piece.translate({ord("{"): None, ord("}"): None}) for piece in super().collect_usage_pieces(ctx)]
