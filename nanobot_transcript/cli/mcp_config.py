"""``mcp-config``: tell an MCP client of the servers."""

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

import typer

from nanobot_transcript.cli.mcp_names import HUB_ONLY, OWN_ENTRY, server_names
from nanobot_transcript.cli.options import ConfigOption, JsonOption, StoreOption, read_settings
from nanobot_transcript.cli.output import emit_json, notice, printable
from nanobot_transcript.cli.problems import UsageError
from nanobot_transcript.errors import ConfigError

if TYPE_CHECKING:
    from nanobot_transcript.cli.mcp_clients import Client, Endpoint
    from nanobot_transcript.settings import LoadedSettings

__all__ = ["mcp_config", "program"]

_DEFAULT: Final = "transcript,filebox"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ONE_SERVER: Final = re.compile(r"/mcp/([a-z_]+)$")


_ClientName: TypeAlias = Literal["claude-code", "cursor", "vscode", "codex", "nanobot"]


def mcp_config(
    client: Annotated[_ClientName, typer.Argument(metavar="CLIENT", help="Which client.", show_default=False)],
    servers: Annotated[
        str, typer.Option("--servers", metavar="NAMES", help="The servers, separated by commas.")
    ] = _DEFAULT,
    http: Annotated[
        bool, typer.Option("--http", help="Connect to the running hub instead of starting a process.")
    ] = False,
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="Address of a hub elsewhere, instead of the settings'.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="What the client calls it: nanobot-transcript; alone, mail agent-mail, io io-bridge, assistant "
            "agent-assistant.",
        ),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Put it into the client's file; what is there stays.")] = False,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Another file than the client's usual one.")
    ] = None,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Print what an MCP client needs to know, or put it into its configuration.

    --config and --store go into the command where they are not the usual ones. A token is never written: the client
    takes it from the variable TRANSCRIPT_HUB_TOKEN, or, where it calls one server alone, from that server's, such as
    TRANSCRIPT_FILEBOX_TOKEN. Agent Mail (mail) and the IO bridge (io) are always those of the running hub.

    \b
    Example:
      nanobot-transcript mcp-config claude-code --write
      nanobot-transcript mcp-config cursor --servers filebox
      nanobot-transcript mcp-config claude-code --servers assistant --write
      nanobot-transcript mcp-config codex --http
      nanobot-transcript mcp-config claude-code --servers mail --write
    """
    from nanobot_transcript.cli.mcp_clients import CLIENTS

    names = server_names(servers)
    name = name or (OWN_ENTRY.get(names[0]) if len(names) == 1 else None) or "nanobot-transcript"
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a name for a server.", hint="Use letters, digits, - and _.")
    known = CLIENTS[client]
    endpoint = _endpoint(known, names, (http, url), store, config)
    path = file or known.path(Path.home(), Path.cwd())
    changed = _write(known, path, name, endpoint) if write else None
    if not json:
        _tell(known, path, name, endpoint, changed)
    elif write:
        emit_json({"client": client, "file": str(path), "changed": changed})
    else:
        emit_json({"client": client, "file": str(path), "name": name, "entry": known.entry(endpoint)})


def _tell(client: "Client", path: Path, name: str, endpoint: "Endpoint", changed: bool | None) -> None:
    """For people. ``changed``: whether the file had to be; None when it was not to be written."""
    from nanobot_transcript.cli.mcp_clients import snippet

    if changed is None:
        typer.echo(printable(snippet(client, name, endpoint)), nl=False)
        notice(f"This belongs in {path}; --write puts it there.")
    else:
        notice(f"{'Written to' if changed else 'Already in'} {path}. Restart {client.title} to use it.")
    if endpoint.token is not None:
        source = "filebox.tokens" if endpoint.token == _variable("filebox") else "hub.tokens"
        notice(f"Set {endpoint.token} to a token of the hub ({source}) where {client.title} runs.")


def _endpoint(
    client: "Client", names: tuple[str, ...], hub: tuple[bool, str | None], store: Path | None, config: Path | None
) -> "Endpoint":
    """What the client is to start, or to call. ``hub`` are the options --http and --url."""
    from nanobot_transcript.cli.mcp_clients import Endpoint

    http, url = hub
    remote = [name for name in names if name in HUB_ONLY]
    alone = [name for name in names if name in OWN_ENTRY]
    if url is None and not http and not (remote and len(names) == 1):
        if alone and len(names) > 1:
            hint = f"Add --http for the hub's servers, or give it an entry of its own: --servers {alone[0]}"
            raise UsageError(f"{alone[0]} cannot stand in one entry with others.", hint=hint)
        settings = read_settings(config, store)
        _warn_of_variables(client, settings)
        return Endpoint(names, program(), ("mcp", ",".join(names), *_origin(settings)))
    if store is not None:
        raise UsageError("A hub has a store of its own.", hint="Give --store to `nanobot-transcript serve`.")
    return _called(names, url, read_settings(config, None, dotenv="none"))


def _called(names: tuple[str, ...], url: str | None, settings: "LoadedSettings") -> "Endpoint":
    from nanobot_transcript.cli.mcp_clients import Endpoint
    from nanobot_transcript.settings.addresses import url_of

    hub = settings.hub
    address = (url or url_of(hub.host, hub.port)).rstrip("/")
    if not address.startswith(("http://", "https://")):
        raise UsageError(f"{url} is not an address.", hint="Write it like http://127.0.0.1:8765.")
    if not address.endswith("/mcp") and "/mcp/" not in address:
        address += "/mcp" if len(names) != 1 else f"/mcp/{names[0]}"
    alone = _ONE_SERVER.search(address)
    needs_token = url is not None or settings.hub_wants_tokens
    return Endpoint(names, url=address, token=_variable(alone[1] if alone else "hub") if needs_token else None)


def _variable(server: str) -> str:
    """Each entry has a variable of its own, for a mailbox's token is good for nothing else."""
    return f"TRANSCRIPT_{server.upper()}_TOKEN"


def _origin(settings: "LoadedSettings") -> list[str]:
    """The options by which a process elsewhere finds the settings of this one."""
    words: list[str] = []
    if settings.file is not None and settings.file != Path.home() / ".nanobot" / "transcript.yaml":
        words += ["--config", str(settings.file.expanduser().absolute())]
    if settings.origin_of("store.dir").kind in ("command line", "environment"):
        words += ["--store", str(settings.store.dir.absolute())]
    return words


def _warn_of_variables(client: "Client", settings: "LoadedSettings") -> None:
    """The options name file and store; whatever else this terminal's variables say, the client need not know."""
    found = {value.origin.where for value in settings.values() if value.origin.kind == "environment"}
    found.discard(settings.origin_of("store.dir").where)
    for variable in sorted(found):
        notice(
            f"WARNING: {variable} counts here, but {client.title} may not see it; write it into a configuration file."
        )


def program() -> str:
    """The whole path, because a client with windows does not know the PATH of this terminal."""
    beside = Path(sys.executable).with_name("nanobot-transcript")
    return str(beside) if beside.exists() else shutil.which("nanobot-transcript") or "nanobot-transcript"


def _write(client: "Client", path: Path, name: str, endpoint: "Endpoint") -> bool:
    from nanobot_transcript.cli.mcp_clients import merged_text
    from nanobot_transcript.files.replace import write_whole

    path = path.resolve()  # a link to a file that is kept elsewhere stays a link
    try:
        known = path.read_text(encoding="utf-8") if path.exists() else ""
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        text, gone = merged_text(client, path, known, name, endpoint)
        if text == known:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(str(path), text.encode())
        path.chmod(mode)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"{path} cannot be changed: {reason}.", hint="Name another with --file.") from error
    if gone:
        notice(f"Taken out of {name}, as it does not fit any more: {', '.join(gone)}.")
    return True
