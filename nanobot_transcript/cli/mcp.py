"""``mcp``: MCP servers over stdin and stdout, for clients that start them."""

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from nanobot_transcript.cli.mcp_names import HUB_ONLY, server_names
from nanobot_transcript.cli.options import ConfigOption, StoreOption, read_settings, warn_of_directory
from nanobot_transcript.cli.output import notice
from nanobot_transcript.cli.problems import UsageError

__all__ = ["mcp"]


def mcp(
    servers: Annotated[
        str,
        typer.Argument(metavar="SERVERS", help="One or several, separated by commas.", show_default=False),
    ],
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Serve MCP over stdin and stdout, as clients start it.

    The servers: transcript (what was said in the groups), filebox (mailboxes of Markdown files), and, each alone and
    out of a running hub (`nanobot-transcript serve`), mail (Agent Mail) and io (the IO bridge). Nothing but JSON-RPC
    goes to stdout; warnings go to stderr. Ends when stdin does.

    \b
    Example:
      nanobot-transcript mcp transcript,filebox
    """
    import asyncio

    names = server_names(servers)
    remote = next((name for name in names if name in HUB_ONLY), None)
    if sys.stdin.isatty():
        notice(
            f"An MCP server ({', '.join(names)}) that a client starts and talks to; Ctrl-C ends it. "
            "`nanobot-transcript mcp-config` tells a client of it."
        )
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s", force=True)
    settings = read_settings(config, store, dotenv="none" if remote else "ours")
    if "transcript" in names:
        warn_of_directory(settings.store.dir)

    if remote is not None:
        if len(names) > 1:
            raise UsageError(
                f"{remote} is served by the hub, so it stands alone.", hint="Register it as a server of its own."
            )
        from transcript_mcp.hub.remote import serve_remote

        return asyncio.run(serve_remote(settings, remote))

    from transcript_mcp.hub.rooms import build_rooms
    from transcript_mcp.sdk import merged, serve_stdio

    built = [room.server for room in build_rooms(settings, names, cwd=Path.cwd()).values()]
    return asyncio.run(serve_stdio(built[0] if len(built) == 1 else merged(built, name="nanobot-transcript")))
