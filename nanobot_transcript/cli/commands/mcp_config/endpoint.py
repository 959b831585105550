"""What a client has to start or call for the servers that a person wants."""

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nanobot_transcript.cli.commands.mcp_config.clients import Client, ServerEndpoint
from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.options import read_settings
from nanobot_transcript.cli.terminal.output import notice

if TYPE_CHECKING:
    from nanobot_transcript.settings import LoadedSettings

__all__ = ["endpoint_of", "program", "variable"]

_ONE_SERVER: Final = re.compile(r"/mcp/([a-z_]+)$")


def endpoint_of(
    client: Client, names: tuple[str, ...], hub: tuple[bool, str | None], store: Path | None, config: Path | None
) -> ServerEndpoint:
    """``hub`` are the options --http and --url. Raises UsageError for what the client or the servers cannot do.

    A server that only the hub serves is called; where the client cannot do that, it starts a process that does.
    """
    from transcript_mcp.rooms import ROOMS

    called = hub[0] or hub[1] is not None
    if called and not client.calls:
        hint = said("Leave out --http and --url: what it starts goes to the hub where it has to.")
        sentence = said("{client} accepts no addresses in its file, only programs to start.", client=client.title)
        raise UsageError(sentence, hint=hint)
    alone = [name for name in names if ROOMS[name].entry]
    if alone and len(names) > 1 and not called:
        own, either = (
            "Give it an entry of its own: {option}",
            "Add --http for the hub's servers, or give it an entry of its own: {option}",
        )
        hint = said(either if client.calls else own, option=f"--servers {alone[0]}")
        raise UsageError(said("{name} cannot share an entry with others.", name=alone[0]), hint=hint)
    if called or any(ROOMS[name].stdio == "relayed" for name in names):
        if store is not None:
            hint = said("Give --store to `nanobot-transcript serve`.")
            raise UsageError(said("A hub has its own store."), hint=hint)
        endpoint = _at_the_hub(names, hub[1], read_settings(config, None, dotenv="none"))
        if client.calls and (endpoint.token is None or client.reads_variables):
            return endpoint
        if called:
            hint = said("Leave out --http and --url: what it starts takes the token from hub.tokens of the settings.")
            sentence = "{client} cannot read a token from a variable, and tokens are never written into its file."
            raise UsageError(said(sentence, client=client.title), hint=hint)
    settings = read_settings(config, store)
    _warn_of_variables(client, settings)
    return ServerEndpoint(names, program(), ("mcp", ",".join(names), *_origin(settings)))


def variable(server: str) -> str:
    """The variable for a server's token. Each entry has its own, since a mailbox's token works for nothing else."""
    return f"TRANSCRIPT_{server.upper()}_TOKEN"


def _at_the_hub(names: tuple[str, ...], url: str | None, settings: "LoadedSettings") -> ServerEndpoint:
    from nanobot_transcript.settings.hub_address import url_of

    hub = settings.hub
    address = (url or url_of(hub.host, hub.port)).rstrip("/")
    if not address.startswith(("http://", "https://")):
        hint = said("Write it like http://127.0.0.1:8765.")
        raise UsageError(said("{url} is not an address.", url=url), hint=hint)
    if not address.endswith("/mcp") and "/mcp/" not in address:
        address += "/mcp" if len(names) != 1 else f"/mcp/{names[0]}"
    alone = _ONE_SERVER.search(address)
    needs_token = url is not None or settings.hub_wants_tokens
    return ServerEndpoint(names, url=address, token=variable(alone[1] if alone else "hub") if needs_token else None)


def _origin(settings: "LoadedSettings") -> list[str]:
    """The options by which a process elsewhere finds the settings of this one."""
    words: list[str] = []
    if settings.file is not None and settings.file != Path.home() / ".nanobot" / "transcript.yaml":
        words += ["--config", str(settings.file.expanduser().absolute())]
    if settings.origin_of("store.dir").kind in ("command line", "environment"):
        words += ["--store", str(settings.store.dir.absolute())]
    return words


def _warn_of_variables(client: Client, settings: "LoadedSettings") -> None:
    """The options name file and store; whatever else this terminal's variables say, the client need not know."""
    found = {value.origin.where for value in settings.values() if value.origin.kind == "environment"}
    found.discard(settings.origin_of("store.dir").where)
    for name in sorted(found):
        warning = "WARNING: {name} is set here, but {client} may not see it; put it into a configuration file."
        notice(said(warning, name=name, client=client.title))


def program() -> str:
    """The whole path, because a client with windows does not know the PATH of this terminal."""
    beside = Path(sys.executable).with_name("nanobot-transcript")
    return str(beside) if beside.exists() else shutil.which("nanobot-transcript") or "nanobot-transcript"
