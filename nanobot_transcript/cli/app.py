"""Puts the commands together."""

from importlib.util import find_spec
from typing import Annotated

import typer

from nanobot_transcript.cli import (
    config,
    doctor,
    fetch,
    gate,
    mail,
    mcp,
    mcp_config,
    migrate,
    post,
    reading,
    run,
    searching,
    serve,
    service,
    stats,
    transfer,
    upkeep,
)
from nanobot_transcript.cli.usage import PlainUsage, WholeSentences

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
    if find_spec("nanobot_transcript.cli.demo") is not None:
        from nanobot_transcript.cli.demo import demo  # pyright: ignore[reportMissingImports]

        app.command()(demo)


_add_demo()
app.command()(run.run)
app.command()(serve.serve)
app.command(cls=PlainUsage)(mcp.mcp)
app.command()(reading.tail)
app.command()(reading.show)
app.command(cls=PlainUsage)(searching.search)
app.command()(stats.stats)
app.command()(post.post)
app.command()(fetch.fetch)
app.command("export")(transfer.export)
app.command("import", cls=PlainUsage)(transfer.import_)
app.command(cls=PlainUsage)(migrate.migrate)
app.command()(upkeep.verify)
app.command()(upkeep.purge)
app.command()(doctor.doctor)
app.command("mcp-config", cls=PlainUsage)(mcp_config.mcp_config)
app.add_typer(gate.app, name="gate")
app.add_typer(mail.app, name="mail")
app.add_typer(service.app, name="service")
app.add_typer(config.app, name="config")
