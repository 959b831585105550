"""The hub as one aiohttp application, alone or mounted in another application."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from nanobot_transcript import __version__
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings import Settings
from nanobot_transcript.threads import in_thread
from transcript_mcp.door.address import Addresses, is_loopback
from transcript_mcp.door.bodies import READING
from transcript_mcp.door.guard import Door, Entrances, guard
from transcript_mcp.hub.free_space import Disks
from transcript_mcp.hub.metrics import Metrics, observer
from transcript_mcp.hub.mounts import Mount
from transcript_mcp.hub.sessions import McpSessions
from transcript_mcp.hub.web import Site
from transcript_mcp.room import OpenRoom
from transcript_mcp.rooms import offered, open_rooms
from transcript_mcp.sdk import Server, Watch, merged
from transcript_mcp.tokens import tokens_of

__all__ = ["create_app", "door_of"]


def create_app(
    settings: Settings, rooms: Mapping[str, OpenRoom] | None = None, *, reading: float = READING
) -> web.Application:
    """``/mcp``, ``/mcp/<server>``, ``/healthz``, ``/readyz``, ``/metrics``, the web UI and what rooms offer beside MCP.

    ``rooms`` by name replace those that the settings describe. ``reading``: seconds within which the body of a request
    must arrive. Mounted in another application with ``add_subapp``, it checks its own requests only. Serve it with
    ``auto_decompress=False``; ``transcript_mcp.door.bodies`` says why. Raises ConfigError when the hub would be open to
    other machines without a token, when a program's token would open the pages, and for unknown servers.
    """
    hub, door = settings.hub, door_of(settings)
    rooms = open_rooms(settings) if rooms is None else rooms
    built = {name: room.server for name, room in rooms.items()}
    site = Site(settings, rooms)
    metrics, entrances = Metrics(built), Entrances()
    app = web.Application(
        middlewares=[observer(metrics), guard(door, int(hub.max_body), entrances, reading)],
        client_max_size=int(hub.max_body),
    )
    add = app.router.add_routes
    state = _State(Disks((hub.data_dir, *(folder for room in rooms.values() for folder in room.writes_in))))
    supervised = [web.get("/healthz", state.healthy), web.get("/readyz", state.ready_to_serve)]
    entrances.add("open", add(supervised))
    entrances.add("programs", add([web.get("/metrics", metrics.handle)]))
    for path, mount in _mounts(built, hub.servers, int(hub.max_body), metrics.worked).items():
        spelled = [web.route("*", each, mount.handle) for each in (path, f"{path}/")]
        entrances.add("mcp", add(spelled), mount.names)
        state.mounts.append(mount)
    for room in rooms.values():
        entrances.add(
            "own" if room.own_access is not None else "programs",
            add(room.routes() if room.routes is not None else ()),
        )
        state.running += [room.running] if room.running is not None else []
    entrances.add("open", add(site.open_routes()))
    entrances.add("about" if site.is_for_askers else "pages", add([site.about_route()]))
    entrances.add("pages", add(site.routes()))
    app.cleanup_ctx.append(_shorten_request_errors)
    app.on_response_prepare.append(site.recent.answered)
    app.cleanup_ctx.append(site.run)
    app.on_shutdown.append(site.stop)
    app.cleanup_ctx.append(state.serve)
    state.servers.extend(built.values())
    app.on_shutdown.append(state.stop)
    app.on_cleanup.append(state.release)
    return app


def door_of(settings: Settings) -> Door:
    """The tokens and addresses that the hub accepts. Raises ConfigError as ``create_app`` does."""
    hub, tokens = settings.hub, tokens_of(settings)
    offered(hub.servers)
    if not is_loopback(hub.host) and not tokens.needs_token:
        raise ConfigError(
            f"The hub would be open to every machine that reaches {hub.host}, without a token.",
            hint="Set a token, for example NANOBOT_TRANSCRIPT_HUB__TOKENS__ME=$(openssl rand -hex 16), "
            "or listen on 127.0.0.1.",
        )
    return Door(tokens, Addresses(hub.host, hub.allowed_hosts, hub.allowed_origins))


def _mounts(
    servers: Mapping[str, Server], offered: Sequence[str] | None, max_body: int, watch: Watch
) -> dict[str, Mount]:
    together = [name for name in servers if offered is None or name in offered]
    whole = merged([servers[name] for name in together], name="nanobot-transcript", version=__version__)
    sessions = McpSessions()
    mounts = {f"/mcp/{name}": Mount(server, [name], max_body, watch, sessions) for name, server in servers.items()}
    return {"/mcp": Mount(whole, together, max_body, watch, sessions), **mounts}


class _State:
    """Whether the hub is ready, and what it starts and stops."""

    def __init__(self, disks: Disks) -> None:
        self._disks = disks
        self.mounts: list[Mount] = []
        self.servers: list[Server] = []
        self.running: list[Callable[[], AbstractAsyncContextManager[None]]] = []
        self._ready = False

    async def serve(self, _app: web.Application) -> AsyncIterator[None]:
        """From the application's start to its end."""
        async with AsyncExitStack() as running:
            for begin in (*(mount.running for mount in self.mounts), *self.running):
                await running.enter_async_context(begin())
            self._ready = True
            yield

    async def stop(self, _app: web.Application) -> None:
        """Take no new work, and end open requests."""
        self._ready = False
        await asyncio.gather(*(mount.close() for mount in self.mounts))

    async def release(self, _app: web.Application) -> None:
        """Close the servers. Called after the last request has ended."""
        await asyncio.gather(*(in_thread(server.close) for server in self.servers))

    async def healthy(self, _request: web.Request) -> web.Response:
        """The process is alive."""
        return web.json_response({"status": "ok"})

    async def ready_to_serve(self, _request: web.Request) -> web.Response:
        """Requests are answered, and the disks have room for new data."""
        if not self._ready:
            return _not_ready("The hub is starting or stopping.")
        if not await self._disks.have_room():
            return _not_ready("No space is left for the hub's data.")
        return web.json_response({"status": "ready"})


def _not_ready(reason: str) -> web.Response:
    return web.json_response({"status": "not ready", "reason": reason}, status=503)


class _BrokenRequestFilter(logging.Filter):
    """Turns aiohttp's error for a malformed request into one warning line: no traceback, none of the sender's bytes."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, (HttpProcessingError, web.RequestPayloadError)):
            record.levelno, record.levelname = logging.WARNING, "WARNING"
            record.msg, record.args = "A request cannot be read: %s", (type(error).__name__,)
            record.exc_info = record.exc_text = None
        return True


async def _shorten_request_errors(_app: web.Application) -> AsyncIterator[None]:
    """From the application's start to its end."""
    # aiohttp logs an ERROR with a traceback for each request that it cannot parse, and any port scan sends those.
    server, short = logging.getLogger("aiohttp.server"), _BrokenRequestFilter()
    server.addFilter(short)
    yield
    server.removeFilter(short)
