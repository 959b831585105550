"""``mcp-config``: configures an MCP client for our servers, and tells its agent when to use them."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, TypeAlias, get_args

import typer

from nanobot_transcript.cli.commands.mcp import server_names
from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.options import ConfigOption, JsonOption, StoreOption, read_settings
from nanobot_transcript.cli.terminal.output import emit_json, listed, notice, printable
from nanobot_transcript.errors import ConfigError

if TYPE_CHECKING:
    from nanobot_transcript.cli.commands.mcp_config.clients import Client, Scope, ServerEndpoint
    from nanobot_transcript.cli.commands.mcp_config.instructions import Instructions

__all__ = ["mcp_config"]

_DEFAULT: Final = "transcript,filebox"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")

_ClientName: TypeAlias = Literal[
    "claude-code",
    "claude-desktop",
    "cursor",
    "vscode",
    "codex",
    "gemini-cli",
    "qwen-code",
    "opencode",
    "cline",
    "windsurf",
    "trae",
    "nanobot",
]
_ClientArgument: TypeAlias = Annotated[
    _ClientName,
    typer.Argument(
        metavar="CLIENT",
        help=f"One of {', '.join(get_args(_ClientName))}.",
        show_default=False,
        show_choices=False,
    ),
]
_ServersOption: TypeAlias = Annotated[
    str, typer.Option("--servers", metavar="NAMES", help="The servers, separated by commas.")
]
_HttpOption: TypeAlias = Annotated[
    bool, typer.Option("--http", help="Connect to the running hub instead of starting a process.")
]
_UrlOption: TypeAlias = Annotated[
    str | None, typer.Option("--url", metavar="URL", help="Address of a hub elsewhere. Default: from the settings.")
]
_NameOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        help="Its name in the client. Default: nanobot-transcript, or for a single server agent-mail, "
        "io-bridge, agent-assistant.",
    ),
]
_WriteOption: TypeAlias = Annotated[
    bool, typer.Option("--write", help="Write it to the client's file; other entries stay.")
]
_ScopeOption: TypeAlias = Annotated[
    Literal["project", "user"] | None,
    typer.Option("--scope", help="For this project, or for all of yours; without it the client's usual one."),
]
_FileOption: TypeAlias = Annotated[
    Path | None, typer.Option("--file", metavar="FILE", help="Use this file instead of the client's usual one.")
]
_RulesOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--rules",
        help="Tell its agent, in CLAUDE.md, AGENTS.md or the like, when to ask, to report and to read mail.",
    ),
]
_RemoveOption: TypeAlias = Annotated[bool, typer.Option("--remove", help="With --rules: take them out again.")]
_YesOption: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="With --rules: do not ask.")]


def mcp_config(
    client: _ClientArgument,
    servers: _ServersOption = _DEFAULT,
    http: _HttpOption = False,
    url: _UrlOption = None,
    name: _NameOption = None,
    write: _WriteOption = False,
    scope: _ScopeOption = None,
    file: _FileOption = None,
    rules: _RulesOption = False,
    remove: _RemoveOption = False,
    yes: _YesOption = False,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Print what an MCP client needs to know, or put it into its configuration.

    --config and --store go into the command where they are not the usual ones. A token is never written: the client
    takes it from the variable TRANSCRIPT_HUB_TOKEN, or, where it calls one server alone, from that server's, such as
    TRANSCRIPT_FILEBOX_TOKEN. Agent Mail (mail) and the IO bridge (io) are always those of the running hub. --rules
    adds rules for the servers that the client has, after asking you.

    \b
    Example:
      nanobot-transcript mcp-config claude-code --write
      nanobot-transcript mcp-config cursor --servers filebox
      nanobot-transcript mcp-config codex --servers assistant --write --rules
      nanobot-transcript mcp-config codex --http
      nanobot-transcript mcp-config gemini-cli --scope user --servers mail --write
      nanobot-transcript mcp-config claude-code --rules --remove
    """
    from nanobot_transcript.cli.commands.mcp_config.clients import CLIENTS
    from nanobot_transcript.cli.commands.mcp_config.endpoint import endpoint_of

    if remove and (write or not rules):
        raise UsageError(said("--remove takes rules out."), hint=said("Use --rules --remove, without --write."))
    known, names = CLIENTS[client], server_names(servers)
    job = None
    if write or not rules:
        endpoint = endpoint_of(known, names, (http, url), store, config)
        job = _Job(known, _name(name, names), endpoint, file or _path(known, scope, write=write))
    plan = _planned(known, scope, job, file, config, remove=remove) if rules else None
    if plan is not None and plan.changes and not yes:
        plan.ask(json=json)
    told: dict[str, Any] = {"client": client}
    if job is not None:
        told |= _carried_out(job, write=write, json=json)
    if plan is not None:
        changed = plan.carry_out()
        told["rules"] = {"file": str(plan.path), "changed": changed}
        if not json:
            plan.tell(changed, known.title)
    if json:
        emit_json(told)


class _Job(NamedTuple):
    """An entry of this name, and the file that it belongs in."""

    client: "Client"
    name: str
    endpoint: "ServerEndpoint"
    path: Path


def _name(name: str | None, servers: tuple[str, ...]) -> str:
    from transcript_mcp.rooms import ROOMS

    name = name or (ROOMS[servers[0]].entry if len(servers) == 1 else "") or "nanobot-transcript"
    if not _NAME.fullmatch(name):
        raise UsageError(
            said("{name} is not a name for a server.", name=repr(name)), hint=said("Use letters, digits, - and _.")
        )
    return name


def _path(client: "Client", scope: "Scope | None", *, write: bool) -> Path:
    if write and not client.lives_here():
        hint = said("Name its file with --file, or run this where the client is.")
        sentence = said("It is not known where {client} keeps its file on this system.", client=client.title)
        raise UsageError(sentence, hint=hint)
    return client.path(scope, Path.home(), Path.cwd())


def _planned(
    client: "Client",
    scope: "Scope | None",
    job: _Job | None,
    file: Path | None,
    config: Path | None,
    *,
    remove: bool,
) -> "Instructions":
    from nanobot_transcript.cli.commands.mcp_config.instructions import rules_for, rules_taken_out
    from transcript_mcp.rooms import offered

    if remove:
        return rules_taken_out(client, scope)
    servers = offered(read_settings(config, None, dotenv="none").hub.servers)
    entry = client.entry(job.endpoint) if job is not None else None
    return rules_for(client, scope, entry, file, servers)


def _carried_out(job: _Job, *, write: bool, json: bool) -> dict[str, Any]:
    changed = _write(job) if write else None
    if not json:
        _tell(job, changed)
    if write:
        return {"file": str(job.path), "changed": changed}
    return {"file": str(job.path), "name": job.name, "entry": job.client.entry(job.endpoint)}


def _tell(job: _Job, changed: bool | None) -> None:
    """For people. ``changed``: whether the file had to be; None when it was not to be written."""
    from nanobot_transcript.cli.commands.mcp_config.endpoint import variable
    from nanobot_transcript.cli.commands.mcp_config.entry import snippet

    client, name, endpoint, path = job
    if changed is None:
        typer.echo(printable(snippet(client, name, endpoint)), nl=False)
        here, mac = "This belongs in {file}; --write puts it there.", "This belongs in {file} on macOS."
        notice(said(here if client.lives_here() else mac, file=path))
    else:
        new, known = "Written to {file}. Restart {client} to use it.", "Already in {file}. Restart {client} to use it."
        notice(said(new if changed else known, file=path, client=client.title))
    if endpoint.token is not None:
        source = "filebox.tokens" if endpoint.token == variable("filebox") else "hub.tokens"
        sentence = "Set {variable} to a token of the hub ({source}) where {client} runs."
        notice(said(sentence, variable=endpoint.token, source=source, client=client.title))


def _write(job: _Job) -> bool:
    from nanobot_transcript.cli.commands.mcp_config.client_file import change
    from nanobot_transcript.cli.commands.mcp_config.entry import merged_text

    gone: list[str] = []

    def merged(known: bytes | None) -> bytes:
        nonlocal gone
        try:
            before = (known or b"").decode()
        except UnicodeDecodeError as error:
            hint = said("Correct it, or name another with --file.")
            raise ConfigError(said("{path} is not UTF-8.", path=job.path), hint=hint) from error
        text, gone = merged_text(job.client, job.path, before, job.name, job.endpoint)
        return text.encode()

    changed = change(job.path, merged)
    if gone:
        notice(said("Taken out of {name}, as it no longer applies: {keys}.", name=job.name, keys=listed(gone)))
    return changed
