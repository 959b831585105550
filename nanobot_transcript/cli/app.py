"""Finds the commands and puts them together."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any, Final

import typer

from nanobot_transcript.cli import commands
from nanobot_transcript.cli.terminal.help import PlainUsage, WholeSentences

__all__ = ["app"]

_ORDER: Final = (
    "demo",
    "run",
    "serve",
    "mcp",
    "tail",
    "show",
    "search",
    "stats",
    "post",
    "fetch",
    "export",
    "import",
    "migrate",
    "verify",
    "purge",
    "doctor",
    "mcp-config",
    "gate",
    "mail",
    "service",
    "config",
)
"""The commands as ``--help`` lists them: groups behind commands, and behind both those that are not named here."""

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


def _found() -> dict[str, Any]:
    """The commands by name: a function each, or a ``typer.Typer`` for a group of them.

    Each module of ``commands`` is one, ``NAME.py``, and each package, ``NAME/command.py``. It has a function of its
    name, or ``app``. ``import_`` is the command ``import``, ``mcp_config`` the command ``mcp-config``.
    """
    found: dict[str, Any] = {}
    for _, name, is_package in iter_modules(commands.__path__):
        if name.startswith("_"):
            continue
        module = import_module(f"{commands.__name__}.{name}" + (".command" if is_package else ""))
        group = getattr(module, "app", None)
        found[name.strip("_").replace("_", "-")] = group if group is not None else getattr(module, name)
    return found


def _add_all() -> None:
    found = _found()
    known = [name for name in _ORDER if name in found]
    for name in [*known, *sorted(found.keys() - set(known))]:
        command = found[name]
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name, cls=PlainUsage)(command)


_add_all()
