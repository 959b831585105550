"""The hub as one aiohttp application, by itself or mounted in another one."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from aiohttp import web
from pydantic import SecretStr

from nanobot_transcript import __version__
from nanobot_transcript.settings import Settings
from transcript_mcp.door.bodies import READING
from transcript_mcp.door.guard import guard
from transcript_mcp.door.identity import Access, check_page_token
from transcript_mcp.hub.disks import Disks
from transcript_mcp.hub.mounting import Mount
from transcript_mcp.hub.observing import Metrics, observer
from transcript_mcp.hub.rooms import Room, build_rooms
from transcript_mcp.hub.sessions import Sessions
from transcript_mcp.hub.unreadable import told_in_a_line
from transcript_mcp.hub.web import Site
from transcript_mcp.sdk import Server, Watch, merged
from transcript_mcp.sdk.threads import in_thread

__all__ = ["access_of", "create_app"]


def create_app(
    settings: Settings, rooms: Mapping[str, Room] | None = None, *, reading: float = READING
) -> web.Application:
    """``/mcp``, ``/mcp/<server>``, ``/healthz``, ``/readyz``, ``/metrics``, the web UI and what rooms offer beside MCP.

    ``rooms`` by name, instead of those that the settings describe; ``reading`` is in how many seconds the body of a
    request has to be there. Mounted below another application with ``add_subapp``, it checks its own requests and
    leaves the others alone. Serve it with ``auto_decompress=False``; ``transcript_mcp.door.bodies`` says why. Raises
    ConfigError when the hub would be open to other machines without a token, or its pages to a program's token.
    """
    hub = settings.hub
    rooms = build_rooms(settings) if rooms is None else rooms
    built = {name: room.server for name, room in rooms.items()}
    site = Site(settings, rooms)
    access = access_of(settings, asks=site.asks)
    metrics, on_their_own, of_pages = Metrics(built), set[web.AbstractRoute](), set[web.AbstractRoute]()
    app = web.Application(
        middlewares=[observer(metrics), guard(access, int(hub.max_body), on_their_own, of_pages, reading)],
        client_max_size=int(hub.max_body),
    )
    state = _State(Disks((hub.data_dir, settings.mail.store, settings.store.dir)))
    app.router.add_get("/healthz", state.healthy, name="healthz")
    app.router.add_get("/readyz", state.ready_to_serve, name="readyz")
    app.router.add_get("/metrics", metrics.handle, name="metrics")
    for path, mount in _mounts(built, hub.servers, int(hub.max_body), metrics.worked).items():
        for spelled in (path, f"{path}/"):
            app.router.add_route("*", spelled, mount.handle)
        state.mounts.append(mount)
    for room in rooms.values():
        routes = _with_heads(app.router.add_routes(room.routes() if room.routes is not None else ()))
        on_their_own.update(routes if room.own_access else ())
        state.running += [room.running] if room.running is not None else []
    on_their_own.update(_with_heads(app.router.add_routes(site.open_routes())))
    of_pages.update(_with_heads(app.router.add_routes(site.routes())))
    app.cleanup_ctx.append(told_in_a_line)
    app.on_response_prepare.append(site.recent.answered)
    app.cleanup_ctx.append(site.run)
    app.on_shutdown.append(site.stop)
    app.cleanup_ctx.append(state.serve)
    state.servers.extend(built.values())
    app.on_shutdown.append(state.stop)
    app.on_cleanup.append(state.release)
    return app


def access_of(settings: Settings, *, asks: bool = True) -> Access:
    """Who may come into the hub of these settings; with ``asks`` it holds questions. Raises as ``create_app`` does."""
    settings.require("hub.page_token")  # without its variable everybody would be let in
    hub = settings.hub
    tokens, agents, askers = (_plain(each.tokens) for each in (hub, settings.filebox, settings.assistant))
    page_token = hub.page_token.get_secret_value() if hub.page_token is not None else None
    check_page_token(page_token, {"hub.tokens": tokens, "filebox.tokens": agents, "assistant.tokens": askers})
    return Access(
        hub.host,
        tokens,
        agents,
        hub.allowed_hosts,
        hub.allowed_origins,
        askers if asks else None,
        page_token,
    )


def _plain(tokens: Mapping[str, SecretStr]) -> dict[str, str]:
    return {name: token.get_secret_value() for name, token in tokens.items()}


def _with_heads(routes: Iterable[web.AbstractRoute]) -> list[web.AbstractRoute]:
    """Those routes, and the ones for HEAD that aiohttp puts beside GET without handing them out."""
    return [each for route in routes for each in route.resource or ()]


def _mounts(
    servers: Mapping[str, Server], offered: Sequence[str] | None, max_body: int, watch: Watch
) -> dict[str, Mount]:
    together = [name for name in servers if offered is None or name in offered]
    whole = merged([servers[name] for name in together], name="nanobot-transcript", version=__version__)
    sessions = Sessions()
    mounts = {f"/mcp/{name}": Mount(server, [name], max_body, watch, sessions) for name, server in servers.items()}
    return {"/mcp": Mount(whole, together, max_body, watch, sessions), **mounts}


class _State:
    """Whether the hub serves, and what it has to start and stop."""

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
        """No new work; what is open ends."""
        self._ready = False
        await asyncio.gather(*(mount.close() for mount in self.mounts))

    async def release(self, _app: web.Application) -> None:
        """Nothing is asked any more: end what belongs to the servers."""
        await asyncio.gather(*(in_thread(server.close) for server in self.servers))

    async def healthy(self, _request: web.Request) -> web.Response:
        """The process lives."""
        return web.json_response({"status": "ok"})

    async def ready_to_serve(self, _request: web.Request) -> web.Response:
        """Requests are answered, and there is room for what they bring."""
        if not self._ready:
            return _not_ready("The hub is starting or stopping.")
        if not await self._disks.have_room():
            return _not_ready("No space is left for the hub's data.")
        return web.json_response({"status": "ready"})


def _not_ready(reason: str) -> web.Response:
    return web.json_response({"status": "not ready", "reason": reason}, status=503)
