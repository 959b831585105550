"""``service``: runs the hub or bots as services of systemd, which start with the machine and after a crash."""

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from nanobot_transcript.cli.terminal.exit_codes import NEGATIVE, UsageError
from nanobot_transcript.cli.terminal.help import WholeSentences
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.options import ConfigOption, JsonOption, StoreOption, read_settings
from nanobot_transcript.cli.terminal.output import emit_json, listed, notice, printable
from nanobot_transcript.errors import ConfigError, NothingFoundError

if TYPE_CHECKING:
    from nanobot_transcript.cli.commands.service.systemd import ServiceStatus
    from nanobot_transcript.cli.commands.service.unit import Unit
    from nanobot_transcript.settings import LoadedSettings

__all__ = ["app"]

app = typer.Typer(cls=WholeSentences, no_args_is_help=True, rich_markup_mode=None)
_installing = typer.Typer(cls=WholeSentences, no_args_is_help=True, rich_markup_mode=None)
app.add_typer(_installing, name="install")

_OF_THE_NETWORK: Final = frozenset(
    {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"}
    | {"SSL_CERT_FILE", "SSL_CERT_DIR"}
)
"""Variables that a machine behind a proxy needs to reach anything."""

_OF_MODELS: Final = frozenset({"OPENAI_API_KEY", "OPENAI_BASE_URL"})
"""Variables that the package openai reads where the settings say nothing."""

_OF_SYSTEMD: Final = frozenset({"HOME", "LOGNAME", "PATH", "SHELL", "USER"})
"""Variables that systemd sets for every service."""

_MEANING: Final = {2: "usage or configuration", 3: "the store is not available", 4: "the platform refuses a bot"}

_NameOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Another name for the service; with it there may be several."),
]
_PrintOption: TypeAlias = Annotated[
    bool, typer.Option("--print", help="Print the unit file and change nothing; needs no systemd.")
]
_NameArgument: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="NAME", help="Which service; needed when there are several.", show_default=False)
]


@dataclass(frozen=True, slots=True)
class _Command:
    """What is to be kept running: ``words`` of the command line, and ``check`` says what would keep it from starting.

    ``variables`` are taken along when they are there; ``update`` lets it take the place of another command.
    """

    name: str
    words: tuple[str, ...]
    check: Callable[["LoadedSettings"], object]
    settings: Callable[[], "LoadedSettings"]
    variables: frozenset[str]
    update: bool


@app.callback()
def group() -> None:
    """Keep the hub or the bots running: after you log out, after a crash, after a restart of the machine.

    \b
    Example:
      nanobot-transcript service install serve
    """


@_installing.callback()
def install() -> None:
    """Let systemd keep a command running, as a service of this user.

    It runs as it would in this folder and this terminal: paths are written out, and the variables that its settings
    need are kept in a file that nobody else may read. Done again, this brings the service up to date.

    \b
    Example:
      nanobot-transcript service install serve
      nanobot-transcript service install run -c command.yaml
    """


@_installing.command("serve")
def install_serve(
    host: Annotated[str | None, typer.Option("--host", metavar="HOST", help="As for `serve`.")] = None,
    port: Annotated[int | None, typer.Option("--port", metavar="PORT", help="As for `serve`.")] = None,
    name: _NameOption = None,
    shown: _PrintOption = False,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Keep the hub running.

    \b
    Example:
      nanobot-transcript service install serve --host 0.0.0.0
    """
    given: dict[str, Any] = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    options = [word for key, value in given.items() for word in (f"--{key}", str(value))]
    command = _Command(
        name or "serve",
        ("serve", *options, *_origin(config, store)),
        _check_hub,
        lambda: read_settings(config, store, {"hub": given} if given else None, dotenv="hub"),
        _OF_THE_NETWORK,
        update=True,
    )
    _install(command, shown=shown, json=json)


@_installing.command("run")
def install_run(
    config: Annotated[
        Path | None,
        typer.Option("-c", "--config", metavar="FILE", help="Configuration file of the bots.", readable=False),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", metavar="NAME", help="Run only this agent; may be given several times."),
    ] = None,
    name: _NameOption = None,
    shown: _PrintOption = False,
    json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Keep bots running, those of a configuration file or some of them.

    The service is called after the file and the agents, so that each file may have one.

    \b
    Example:
      nanobot-transcript service install run -c command.yaml
      nanobot-transcript service install run -c bots.yaml --agent A --name a
    """
    from nanobot_transcript.cli.commands.run.agents import chosen
    from nanobot_transcript.cli.commands.service.unit import name_from

    agents = agent or []
    command = _Command(
        name or name_from("run", config.stem if config is not None else "", *agents),
        ("run", *_origin(config, store), *(word for each in agents for word in ("--agent", each))),
        lambda settings: chosen(settings, agents),
        lambda: read_settings(config, store),
        _OF_THE_NETWORK | _OF_MODELS,
        update=False,
    )
    _install(command, shown=shown, json=json)


@app.command()
def status(name: _NameArgument = None, json: JsonOption = False) -> None:
    """Say how the services are.

    Exit code 1: one of them does not run, or there is none.

    \b
    Example:
      nanobot-transcript service status
    """
    from nanobot_transcript.cli.commands.service.files import installed
    from nanobot_transcript.cli.commands.service.systemd import Systemd, lingers

    names = installed()
    if name is not None:
        names = [_meant(name, names)]
    if not names:
        raise NothingFoundError(
            said("No service is installed."), hint=said("`nanobot-transcript service install serve` makes one.")
        )
    systemd = Systemd()
    found = {each: systemd.look_at(_unit_name(each)) for each in names}
    lingering = lingers()
    if json:
        emit_json({"services": [_document(*each) for each in found.items()], "lingers": lingering})
    else:
        for each, running in found.items():
            typer.echo(printable(_shown(each, running)))
        _tell_of_lingering(lingering)
    if not all(running.is_up for running in found.values()):
        raise typer.Exit(NEGATIVE)


@app.command()
def uninstall(name: _NameArgument = None, json: JsonOption = False) -> None:
    """Stop a service and remove all that there is of it, its variables and what you changed about it, too.

    Exit code 1: there is no such service.

    \b
    Example:
      nanobot-transcript service uninstall serve
    """
    from nanobot_transcript.cli.commands.service.files import installed, remove
    from nanobot_transcript.cli.commands.service.systemd import Systemd
    from nanobot_transcript.cli.commands.service.unit import check_name

    meant = name or _meant(None, installed())
    check_name(meant)
    try:
        systemd = Systemd()
    except ConfigError:
        systemd = None  # without systemd nothing runs, and only the files are to be removed
    if systemd is not None and meant in installed():
        systemd.forget(_unit_name(meant))
    gone = remove(meant)
    if systemd is not None:
        systemd.reload()
    if json:
        emit_json({"name": meant, "removed": [str(path) for path in gone]})
    elif gone:
        notice(said("The service {name} is gone. Removed: {files}.", name=meant, files=listed(map(str, gone))))
    else:
        notice(said("There is no service {name}.", name=meant))
    if not gone:
        raise typer.Exit(NEGATIVE)


# -- installing


def _install(command: _Command, *, shown: bool, json: bool) -> None:
    from nanobot_transcript.cli.commands.service import files
    from nanobot_transcript.cli.commands.service.systemd import Systemd, lingers
    from nanobot_transcript.cli.commands.service.variables import put, read

    if shown and json:
        raise UsageError("--print prints a unit file, which is no JSON.", hint="Leave --print or --json out.")
    systemd = None if shown else Systemd()
    file = files.variables_file(command.name)
    unit = _unit(command, file)  # refuses a name before it is part of a path
    for key, value in read(file).items():
        os.environ.setdefault(key, value)  # as the service will have it
    settings = command.settings()
    command.check(settings)
    wanted = (settings.variables | command.variables) - _OF_SYSTEMD
    variables = {key: os.environ[key] for key in wanted if key in os.environ}
    if systemd is None:
        typer.echo(printable(unit.text()), nl=False)
        return
    changed = files.write(unit, update=command.update)
    changed |= put(file, unit.name, unit.file_name, variables)
    systemd.reload()
    known = systemd.look_at(unit.file_name)
    changed |= not (known.is_up and known.enabled)
    if changed:
        notice(said("Starting {service} …", service=unit.file_name))
        systemd.start(unit.file_name)
    lingering = lingers()
    if json:
        running = systemd.look_at(unit.file_name)
        emit_json({**_document(unit.name, running), "changed": changed, "lingers": lingering})
        return
    runs, as_before = "{service} runs: {command}", "{service} runs as it did: {command}"
    notice(said(runs if changed else as_before, service=unit.file_name, command=shlex.join(unit.words)))
    names = listed(sorted(variables)) or said("none so far")
    notice(said("Its variables, for you alone (0600): {file} ({names})", file=file, names=names))
    notice(said("Its log: {command}", command=f"journalctl --user -u {unit.file_name} -f"))
    _tell_of_lingering(lingering)
    if os.environ.get("SUDO_USER") and os.getuid() == 0:
        warning = "WARNING: it is a service of root, as sudo was used; as one of {user} leave sudo out."
        notice(said(warning, user=os.environ["SUDO_USER"]))


def _unit(command: _Command, variables: Path) -> "Unit":
    from nanobot_transcript.cli.commands.mcp_config.endpoint import program
    from nanobot_transcript.cli.commands.service.unit import Unit

    found = program()
    start = (found,) if Path(found).is_absolute() else (sys.executable, "-m", "nanobot_transcript.cli")
    return Unit(
        command.name,
        shlex.join(["nanobot-transcript", *command.words]),
        (*start, *command.words),
        Path.cwd(),
        variables,
        os.environ.get("PATH", os.defpath),
    )


def _check_hub(settings: "LoadedSettings") -> None:
    from transcript_mcp.hub.app import door_of

    door_of(settings)


def _origin(config: Path | None, store: Path | None) -> Iterable[str]:
    """The options by which the service finds the settings that hold here, with whole paths."""
    from nanobot_transcript.settings.config_file import find_file

    file = find_file(config, look_in_cwd=True)
    if file is not None and (config is not None or file != Path.home() / ".nanobot" / "transcript.yaml"):
        yield from ("--config", str(file.absolute()))
    if store is not None:
        yield from ("--store", str(store.expanduser().absolute()))


# -- telling


def _meant(name: str | None, names: list[str]) -> str:
    """The service that is meant. Raises UsageError when there is none of this name, or several and no name."""
    if name in names:
        return str(name)
    makes_one = said("`nanobot-transcript service install serve` makes one.")
    hint = said("There are: {names}.", names=listed(names)) if names else makes_one
    if name is not None:
        raise UsageError(said("There is no service {name}.", name=name), hint=hint)
    if not names:
        raise NothingFoundError(said("No service is installed."), hint=hint)
    if len(names) > 1:
        hint = said("Name one of them: {names}.", names=listed(names))
        raise UsageError(said("There are several services."), hint=hint)
    return names[0]


def _unit_name(name: str) -> str:
    from nanobot_transcript.cli.commands.service.files import unit_file

    return unit_file(name).name


def _document(name: str, running: "ServiceStatus") -> Mapping[str, Any]:
    from nanobot_transcript.cli.commands.service.files import about, unit_file, variables_file

    return {
        "name": name,
        "unit": _unit_name(name),
        "command": about(name),
        "file": str(unit_file(name)),
        "variables": str(variables_file(name)),
        "state": running.state,
        "since": running.since,
        "enabled": running.enabled,
        "exit_code": running.exit_code,
        "restarts": running.restarts,
    }


def _shown(name: str, running: "ServiceStatus") -> str:
    from nanobot_transcript.cli.commands.service.files import about

    state = said(running.state)
    if running.is_up:
        state += said(" since {moment}", moment=running.since)
    elif running.exit_code is not None:
        meaning = _MEANING.get(running.exit_code)
        state += said(", exit code {code}", code=running.exit_code) + (
            said(" ({what})", what=said(meaning)) if meaning else ""
        )
    if running.restarts:
        once = running.restarts == 1
        again = said(", started again once") if once else said(", started again {count} times", count=running.restarts)
        state += again
    if not running.enabled:
        state += said(", not started with the machine")
    log = said("log: {command}", command=f"journalctl --user -u {_unit_name(name)}")
    return f"{name}: {state}\n  {about(name)}\n  {log}"


def _tell_of_lingering(lingering: bool | None) -> None:
    if not lingering:
        may, will = "It may end when you log out.", "It ends when you log out."
        kept = said(" `loginctl enable-linger` keeps it running, and starts it with the machine.")
        notice(said(may if lingering is None else will) + kept)
