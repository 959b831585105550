"""``mcp``: MCP servers over stdin and stdout, for clients that start them."""

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.options import ConfigOption, StoreOption, read_settings, warn_of_record
from nanobot_transcript.cli.terminal.output import listed, notice

__all__ = ["mcp", "server_names"]

_AT_A_TERMINAL = (
    "An MCP server ({names}) for a client to start and talk to; "
    "Ctrl-C ends it. `nanobot-transcript mcp-config` sets up a client for it."
)


def mcp(
    servers: Annotated[
        str,
        typer.Argument(metavar="SERVERS", help="One or more servers, separated by commas.", show_default=False),
    ],
    host: Annotated[
        str | None, typer.Option("--host", metavar="HOST", help="For assistant: the hub's host, instead of hub.host.")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", metavar="PORT", help="For assistant: the hub's port, instead of hub.port.")
    ] = None,
    token: Annotated[
        str | None, typer.Option("--token", metavar="TOKEN", help="For assistant: the token of whoever asks.")
    ] = None,
    web: Annotated[bool, typer.Option("--web", help="For assistant: also open the page for the person.")] = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Serve MCP over stdin and stdout, for a client to start.

    The servers: transcript (what was said in the groups) and filebox (mailboxes of Markdown files). Three more need a
    running hub (`nanobot-transcript serve`), and each runs alone: mail (Agent Mail), io (the IO bridge) and assistant
    (questions to people). assistant may use another hub, named by the options or else by agentassistant-mcp.toml in the
    working directory. Only JSON-RPC goes to stdout; warnings go to stderr. Ends when stdin ends.

    \b
    Example:
      nanobot-transcript mcp transcript,filebox
      nanobot-transcript mcp assistant \\
        --host 127.0.0.1 --port 22080 --token test-token
    """
    import asyncio

    from transcript_mcp.rooms import ROOMS, open_rooms

    names = server_names(servers)
    remote = next((name for name in names if ROOMS[name].stdio == "relayed"), None)
    _check(names, remote, for_assistant=web or any(given is not None for given in (host, port, token)))
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s", force=True)
    if sys.stdin.isatty():  # after basicConfig: a Ctrl-C while that closes old handlers is swallowed
        notice(said(_AT_A_TERMINAL, names=listed(names)))
    if "assistant" in names:
        return _serve_assistant(config, host, port, token, web=web)
    settings = read_settings(config, store, dotenv="none" if remote else "ours")
    if "transcript" in names:
        warn_of_record(settings)

    if remote is not None:
        from transcript_mcp.hub.relay import serve_remote

        return asyncio.run(serve_remote(settings, remote))

    from transcript_mcp.sdk import merged, serve_stdio

    built = [room.server for room in open_rooms(settings, names, cwd=Path.cwd()).values()]
    return asyncio.run(serve_stdio(built[0] if len(built) == 1 else merged(built, name="nanobot-transcript")))


def _check(names: tuple[str, ...], remote: str | None, *, for_assistant: bool) -> None:
    """Raise UsageError for servers that cannot be combined, and for options that none of them has."""
    if for_assistant and "assistant" not in names:
        raise UsageError(said("--host, --port, --token and --web are for assistant."), hint=said("Leave them out."))
    if "assistant" in names and len(names) > 1:
        alone = said("assistant cannot be combined with other servers.")
        raise UsageError(alone, hint=said("Register it as a server of its own."))
    if remote is not None and len(names) > 1:
        raise UsageError(
            said("{name} is served by the hub, so it cannot be combined with other servers.", name=remote),
            hint=said("Register it as a server of its own."),
        )


def server_names(text: str) -> tuple[str, ...]:
    """``"transcript,filebox"`` as names, each once. Raises UsageError for an unknown one."""
    from transcript_mcp.rooms import ROOMS

    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in ROOMS]
    if unknown or not names:
        wrong = said("There is no server {name}.", name=repr(unknown[0])) if unknown else said("No server is named.")
        hint = said("The servers: {names}. Separate several with commas.", names=", ".join(ROOMS))
        raise UsageError(wrong, hint=hint)
    return names


def _serve_assistant(config: Path | None, host: str | None, port: int | None, token: str | None, *, web: bool) -> None:
    """Serve the tools over stdin and stdout, with the questions going to a hub; open its page first with ``web``."""
    import asyncio

    from transcript_mcp.assistant.adapter import adapter_server, open_page, target_from
    from transcript_mcp.sdk import serve_stdio

    settings = read_settings(config, None, dotenv="none")  # a stranger's .env must not say where the token goes
    target = target_from(settings, Path.cwd(), host=host, port=port, token=token)
    if web:
        open_page(target)
    asyncio.run(serve_stdio(adapter_server(settings, target)))
