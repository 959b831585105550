"""``gate``: why an agent answered or did not, and how good the gate is."""

import typer

from nanobot_transcript.cli.commands.gate.eval import evaluate
from nanobot_transcript.cli.commands.gate.explain import explain
from nanobot_transcript.cli.terminal.help import WholeSentences

__all__ = ["app"]

app = typer.Typer(
    name="gate",
    cls=WholeSentences,
    help="Who should answer: explain one decision, or measure the gate.\n\n\b\nExample:\n"
    "  nanobot-transcript gate explain oc_team",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command()(explain)
app.command("eval")(evaluate)
