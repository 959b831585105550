"""Puts the commands together."""

from importlib.util import find_spec
from typing import Annotated

import typer

from nanobot_transcript.cli.commands.config import app as config
from nanobot_transcript.cli.commands.doctor.command import doctor
from nanobot_transcript.cli.commands.export import export
from nanobot_transcript.cli.commands.fetch import fetch
from nanobot_transcript.cli.commands.gate.command import app as gate
from nanobot_transcript.cli.commands.import_ import import_
from nanobot_transcript.cli.commands.mail.command import app as mail
from nanobot_transcript.cli.commands.mcp import mcp
from nanobot_transcript.cli.commands.mcp_config.command import mcp_config
from nanobot_transcript.cli.commands.migrate import migrate
from nanobot_transcript.cli.commands.post import post
from nanobot_transcript.cli.commands.purge import purge
from nanobot_transcript.cli.commands.run.command import run
from nanobot_transcript.cli.commands.search import search
from nanobot_transcript.cli.commands.serve.command import serve
from nanobot_transcript.cli.commands.service.command import app as service
from nanobot_transcript.cli.commands.show import show
from nanobot_transcript.cli.commands.stats import stats
from nanobot_transcript.cli.commands.tail import tail
from nanobot_transcript.cli.commands.verify import verify
from nanobot_transcript.cli.terminal.help import PlainUsage, WholeSentences

__all__ = ["app"]

app = typer.Typer(
    name="nanobot-transcript",
    cls=WholeSentences,
    epilog="Settings come from the command line, NANOBOT_TRANSCRIPT_* variables and a YAML file; "
    "`config show --origin` says where each one comes from. Exit codes: 0 done, 1 negative result, "
    "2 usage or configuration, 3 store unavailable, 4 remote failure, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        from nanobot_transcript import __version__

        typer.echo(f"nanobot-transcript {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("-V", "--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """One shared record for all the bots of a group chat: read it, search it, move it, check it.

    \b
    Example:
      nanobot-transcript tail -f
    """


def _add_demo() -> None:
    if find_spec("nanobot_transcript.cli.commands.demo") is not None:
        from nanobot_transcript.cli.commands.demo import demo  # pyright: ignore[reportMissingImports]

        app.command()(demo)


_add_demo()
app.command()(run)
app.command()(serve)
app.command(cls=PlainUsage)(mcp)
app.command()(tail)
app.command()(show)
app.command(cls=PlainUsage)(search)
app.command()(stats)
app.command()(post)
app.command()(fetch)
app.command()(export)
app.command("import", cls=PlainUsage)(import_)
app.command(cls=PlainUsage)(migrate)
app.command()(verify)
app.command()(purge)
app.command()(doctor)
app.command("mcp-config", cls=PlainUsage)(mcp_config)
app.add_typer(gate, name="gate")
app.add_typer(mail, name="mail")
app.add_typer(service, name="service")
app.add_typer(config, name="config")
