"""``serve``: the hub, one process that serves MCP over HTTP."""

import errno
import logging
import signal
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from nanobot_transcript.cli.commands.service.notification import tell_ready
from nanobot_transcript.cli.terminal.exit_codes import DONE, INTERRUPTED
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.options import (
    ConfigOption,
    JsonlOption,
    StoreOption,
    read_settings,
    warn_of_record,
)
from nanobot_transcript.cli.terminal.output import LOG_FORMAT, emit_line, notice
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.files.os_errors import reason

if TYPE_CHECKING:
    from aiohttp import web

    from nanobot_transcript.settings import LoadedSettings, Settings

__all__ = ["listening_at", "serve"]


_GRACE: Final = 0.25
"""Seconds that open connections still have once the hub has ended its own work; aiohttp waits for this twice."""

_IDLE: Final = 30.0
"""Seconds in which a request's head has to arrive, and after which an idle connection is closed."""


def serve(
    host: Annotated[
        str | None, typer.Option("--host", metavar="HOST", help="Address to listen on, instead of hub.host.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="PORT", help="Port to listen on, instead of hub.port; 0 takes a free one."),
    ] = None,
    jsonl: JsonlOption = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Log each request, too.")] = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Serve MCP over HTTP, and the page for people.

    That is the transcript, the mailboxes, Agent Mail, Agent Assistant and the IO bridge, as hub.servers says. Ends
    with SIGTERM or Ctrl-C within two seconds. The log goes to stderr; --jsonl says on stdout where the hub listens,
    and when it has stopped.

    \b
    Example:
      nanobot-transcript serve --port 8765
    """
    if not jsonl:
        notice(said("Starting the hub …"))  # importing what it needs takes seconds
    import asyncio

    logging.basicConfig(level=logging.WARNING, format=LOG_FORMAT, force=True)
    settings = _settings(config, store, host, port)
    for room in ("nanobot_transcript", "transcript_mcp"):
        logging.getLogger(room).setLevel(settings.hub.log_level.upper())
    logging.getLogger("transcript_mcp.hub.access").setLevel(logging.INFO if verbose else logging.WARNING)
    warn_of_record(settings)
    number = asyncio.run(_work(settings, jsonl=jsonl))
    raise typer.Exit(INTERRUPTED if number == signal.SIGINT else DONE)


def _settings(config: Path | None, store: Path | None, host: str | None, port: int | None) -> "LoadedSettings":
    """The settings, the command line before all others."""
    given: dict[str, Any] = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    return read_settings(config, store, {"hub": given} if given else None, dotenv="hub")


async def _work(settings: "LoadedSettings", *, jsonl: bool) -> int:
    """Serve until a signal; returns its number."""
    import asyncio
    import gc

    from aiohttp import web

    from nanobot_transcript.settings.hub_address import url_of
    from transcript_mcp.hub import create_app
    from transcript_mcp.rooms import open_rooms

    await _check_port(settings)
    try:
        rooms = open_rooms(settings)
        hub = create_app(settings, rooms)
    except ConfigError as error:
        raise ConfigError(f"{error}{_origins(settings, str(error))}", hint=error.hint) from error
    runner = web.AppRunner(
        hub,
        access_log=None,
        handle_signals=False,
        shutdown_timeout=_GRACE,
        keepalive_timeout=_IDLE,
        auto_decompress=False,  # the hub unpacks itself, what it reads only: see transcript_mcp.door.bodies
    )
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, _stop, stopped, number)
    try:
        name, port = await _listen(runner, settings)
        if _holds_questions(settings, rooms):
            await _listen_again(runner, settings)
        gc.collect()
        gc.freeze()  # what is loaded now stays for good: each full collection would scan it, and all clients would wait
        tell_ready()
        if jsonl:
            emit_line({"event": "ready", "url": url_of(name, port)})
        else:
            told, untold = (
                "MCP servers at {where}, with a token.",
                "MCP servers at {where}, from this machine, without a token.",
            )
            where = listening_at(name, port)
            notice(said(told if settings.hub_wants_tokens else untold, where=where) + said(" Ctrl-C ends it."))
            for line in _addresses(page_at(name, port), settings, rooms):
                notice(line)
            _show_to_phones(name, port, settings, rooms)
        return await stopped
    finally:
        await runner.cleanup()
        if jsonl:
            emit_line({"event": "stopped"})


def _addresses(page: str, settings: "Settings", rooms: Collection[str]) -> Iterator[str]:
    """Where people look, by the tokens that open it, and programs that ask them."""
    from transcript_mcp.door.identity import SET_PAGE_TOKEN

    if settings.hub.page_token is not None:
        yield said("The page for people: {page}?token=TOKEN, with hub.page_token for TOKEN.", page=page)
    elif settings.hub_wants_tokens:  # those of programs and mailboxes open no page
        yield said("The page for people is closed until it has a token of its own: {how}", how=SET_PAGE_TOKEN)
    else:
        yield said("The page for people: {page}", page=page)
    if _holds_questions(settings, rooms):
        if settings.assistant.tokens:
            questions = f"{page}?token=TOKEN#/questions"
            yield said("Questions of agents: {page}, with one of assistant.tokens for TOKEN.", page=questions)
        if settings.assistant.listen is not None:
            yield said("Programs of Agent Assistant find it at {address}, too.", address=settings.assistant.listen)


def _show_to_phones(host: str, port: int, settings: "Settings", rooms: Collection[str]) -> None:
    """Where other devices find the page, and on a terminal the code by which a phone opens it. Nothing where the hub is
    for this machine only, or no token opens a page."""
    from nanobot_transcript.cli.commands.serve.phone import drawn_on_terminal, network_address, with_token
    from nanobot_transcript.settings.hub_address import url_of

    token = settings.hub.page_token
    asks = _holds_questions(settings, rooms) and settings.assistant.tokens
    address = network_address(host)
    if address is None or not (token or asks):
        return
    page = f"{url_of(address, port)}/"
    others = "From other devices in your network: {page} asks for the token. Plain http: use it in a network you trust."
    notice(said(others, page=page))
    code = drawn_on_terminal(with_token(page, token.get_secret_value()) if token else f"{page}#/questions")
    if code is not None:
        notice(
            said("Or scan this with a phone. It holds hub.page_token, so do not show it to others:")
            if token
            else said("Or scan this with a phone:")
        )
        typer.echo(code)


def _holds_questions(settings: "Settings", rooms: Collection[str]) -> bool:
    chosen = settings.hub.servers
    return "assistant" in rooms and (chosen is None or "assistant" in chosen)


def _stop(stopped: "Any", number: int) -> None:
    if not stopped.done():
        stopped.set_result(number)


async def _listen(runner: "web.AppRunner", settings: "LoadedSettings") -> tuple[str, int]:
    """Open the port; returns the address and port of the hub. Raises ConfigError when it cannot listen there."""
    from aiohttp import web

    await runner.setup()
    with _told(settings):
        await web.TCPSite(runner, settings.hub.host.strip("[]"), settings.hub.port).start()
    return runner.addresses[0][:2]


async def _check_port(settings: "LoadedSettings") -> None:
    """Raise ConfigError when another program listens there. Asked before anything is opened: it may be a hub that has
    locked the same stores, and that error would say less.
    """
    import asyncio

    with _told(settings):
        try:
            server = await asyncio.get_running_loop().create_server(
                asyncio.Protocol, settings.hub.host.strip("[]"), settings.hub.port, start_serving=False
            )
            server.close()
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise


@contextmanager
def _told(settings: "LoadedSettings") -> Iterator[None]:
    """Turn the error of a port where nothing can listen into ConfigError."""
    try:
        yield
    except OSError as error:
        where, why = f"{settings.hub.host}:{settings.hub.port}", reason(error)
        sentence = said("The hub cannot listen at {where}: {why}.", where=where, why=why)
        raise ConfigError(
            f"{sentence}{_origins(settings, sentence)}",
            hint=said(
                "A hub may already be running there. Otherwise choose another port with --port, "
                "or stop the program that uses it."
            ),
        ) from error


async def _listen_again(runner: "web.AppRunner", settings: "LoadedSettings") -> None:
    """Open the second port, which programs for the original Agent Assistant expect. Raises ConfigError when it cannot
    listen there.
    """
    from aiohttp import web

    listen = settings.assistant.listen
    if listen is None:
        return
    host, port = second_address(listen, settings.hub.host)
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        raise ConfigError(
            said("The hub cannot listen at {where}: {why}.", where=listen, why=reason(error)),
            hint=said("Choose another assistant.listen, or stop the program that uses it."),
        ) from error


def second_address(listen: str, hub_host: str) -> tuple[str, int]:
    """``assistant.listen`` as host and port. Raises ConfigError, also for an address that more machines can reach than
    the hub's own.
    """
    from transcript_mcp.door.address import is_loopback

    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) <= 65535:
        raise ConfigError(
            said("assistant.listen is {address}, which is not an address.", address=listen),
            hint=said("Write an address and a port, such as 127.0.0.1:22080."),
        )
    if is_loopback(hub_host) and not is_loopback(host):
        raise ConfigError(
            said("assistant.listen is {address}, but the hub is for this machine only.", address=listen),
            hint=said("Write 127.0.0.1 and a port, or set hub.host, too."),
        )
    return host.strip("[]"), int(port)


def _origins(settings: "LoadedSettings", sentence: str) -> str:
    """Which variable the address of an error comes from, if one does: it may stand in somebody else's ``.env``."""
    found = {"hub.host": settings.hub.host, "hub.port": str(settings.hub.port)}
    told = [
        said(" {key} comes from {origin}.", key=key, origin=origin.where)
        for key, value in found.items()
        if value in sentence and (origin := settings.origin_of(key)).kind == "environment"
    ]
    return "".join(told)


def listening_at(name: str, port: int) -> str:
    """Where clients find the MCP servers of a hub that listens at an address, for a person."""
    from nanobot_transcript.settings.hub_address import is_everywhere, url_of

    everywhere = said("port {port} of every address of this machine, path /mcp", port=port)
    return everywhere if is_everywhere(name) else f"{url_of(name, port)}/mcp"


def page_at(name: str, port: int) -> str:
    """Where people open the web UI of a hub that listens at an address."""
    from nanobot_transcript.settings.hub_address import is_everywhere, url_of

    return f"{url_of('127.0.0.1' if is_everywhere(name) else name, port)}/"
