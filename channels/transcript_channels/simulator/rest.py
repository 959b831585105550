"""The REST side: routing, recording, tokens, scopes, quota, faults, and the shape of answers."""

import asyncio
import fnmatch
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from aiohttp import web

from transcript_channels.simulator import ids, wire
from transcript_channels.simulator.errors import MESSAGES, ApiError, error_body
from transcript_channels.simulator.faults import Fault, Faults
from transcript_channels.simulator.tokens import Tokens

if TYPE_CHECKING:
    from transcript_channels.simulator.changes import Changes
    from transcript_channels.simulator.world import App

__all__ = ["ApiCall", "Call", "Raw", "Rest", "Route"]

logger = logging.getLogger(__name__)

JSON = dict[str, Any]


@dataclass(eq=False, slots=True)
class Call:
    """One recorded request. ``route`` is ``METHOD /path/{pattern}``; ``code`` the platform's code of the
    answer (None: the answer was no JSON or none); ``body`` the decoded JSON, or None.
    """

    method: str
    path: str
    route: str
    query: dict[str, str]
    body: Any
    headers: dict[str, str]
    app: "App | None"
    at_ms: int
    status: int | None = None
    code: int | None = None
    answer: Any = None
    fault: Fault | None = None

    def is_to(self, route: str) -> bool:
        """True for calls to ``METHOD /path``; the path may be the pattern, the real path, or hold ``*``."""
        method, _, path = route.rpartition(" ")
        if method not in ("", "*", self.method):
            return False
        return path in (self.path, self.route.partition(" ")[2]) or fnmatch.fnmatchcase(self.path, path)

    def __repr__(self) -> str:
        who = self.app.name if self.app else "-"
        return f"Call({who}: {self.method} {self.path} -> {self.status} code {self.code})"


@dataclass(slots=True)
class ApiCall:
    """What a handler gets: the app whose token came, path parameters, query, JSON body, the raw request."""

    app: "App"
    params: dict[str, str]
    query: dict[str, str]
    body: JSON
    request: web.Request

    def integer(self, name: str, default: int, low: int, high: int) -> int:
        """A number of the query. Raises ApiError 99992402 outside ``low``…``high``."""
        raw = self.query.get(name)
        if raw is None or raw == "":
            return default
        if not raw.isdigit() or not low <= int(raw) <= high:
            raise ApiError(99992402, f"{name} must be {low} to {high}")
        return int(raw)

    def flag(self, name: str) -> bool:
        """A yes/no of the query."""
        return self.query.get(name, "").lower() == "true"


@dataclass(slots=True)
class Raw:
    """An answer that is not wrapped into ``data``: a whole JSON body, or bytes."""

    body: JSON | bytes
    headers: dict[str, str] = field(default_factory=dict)


Handler = Callable[[ApiCall], Awaitable[JSON | Raw] | JSON | Raw]


@dataclass(frozen=True, slots=True)
class Route:
    """One API. ``token``: which token it wants; ``scopes``: any one of them is enough, none = free."""

    method: str
    path: str
    handler: Handler
    scopes: Sequence[str] = ()
    token: Literal["none", "tenant", "any"] = "tenant"


class Rest:
    """Runs the APIs behind one middleware-like ``handle``."""

    def __init__(self, changes: "Changes", tokens: Tokens) -> None:
        self.calls: list[Call] = []
        self.faults = Faults()
        self.tokens = tokens
        self.quota: int | None = None
        self._changes = changes

    def install(self, application: web.Application, routes: Sequence[Route]) -> None:
        """Put the APIs onto the web application."""
        for route in routes:
            application.router.add_route(route.method, route.path, self._handler(route))
        application.router.add_route("*", "/{rest:.*}", self._unknown)

    def _handler(self, route: Route) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            return await self._handle(route, request)

        return handle

    async def _unknown(self, request: web.Request) -> web.StreamResponse:
        call = await self._record(request, "?")
        call.status = 404
        self._changes.tell("call", call)
        return web.Response(status=404, text="404 page not found")

    async def _record(self, request: web.Request, pattern: str) -> Call:
        body: Any = None
        if request.can_read_body and not request.content_type.startswith("multipart/"):
            raw = await request.read()
            try:
                body = json.loads(raw) if raw else None
            except ValueError:
                body = raw.decode(errors="replace")
        token = self.tokens.find(request.headers.get("Authorization"))
        call = Call(
            method=request.method,
            path=request.path,
            route=f"{request.method} {pattern}",
            query=dict(request.query),
            body=body,
            headers=dict(request.headers),
            app=token.app if token else self.tokens.app_named_in(body),
            at_ms=ids.now_ms(),
        )
        self.calls.append(call)
        return call

    async def _handle(self, route: Route, request: web.Request) -> web.StreamResponse:
        call = await self._record(request, route.path)
        fault = self.faults.strike(call.method, (call.path, route.path), call.app)
        call.fault = fault
        try:
            if fault is None:
                return self._answer(call, await self._run(route, call, request))
            return await self._faulty(fault, route, call, request)
        finally:
            self._changes.tell("call", call)

    async def _faulty(self, fault: Fault, route: Route, call: Call, request: web.Request) -> web.StreamResponse:
        if fault.delay:
            await asyncio.sleep(fault.delay)
        normal = fault.after or (fault.code is None and fault.status is None and not fault.drop)
        result = await self._run(route, call, request) if normal else None
        if fault.drop:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=499)
        if fault.code is not None:
            usual = 200 if route.token == "none" else None
            error = ApiError(fault.code, status=fault.status or usual)
            error.msg = fault.msg or MESSAGES.get(fault.code, "internal error")
            return self._answer(call, error, fault.headers)
        if fault.status is not None:
            call.status = fault.status
            title = fault.msg or "Bad Gateway"
            page = f"<html><head><title>{fault.status} {title}</title></head><body>{title}</body></html>"
            return web.Response(status=fault.status, text=page, content_type="text/html", headers=fault.headers)
        return self._answer(call, result if result is not None else {}, fault.headers)

    async def _run(self, route: Route, call: Call, request: web.Request) -> "JSON | Raw | ApiError":
        try:
            app = self._admit(route, request)
            body = call.body if isinstance(call.body, dict) else {}
            api_call = ApiCall(app, dict(request.match_info), call.query, body, request)  # pyright: ignore[reportArgumentType]
            result = route.handler(api_call)
            return await result if isinstance(result, Awaitable) else result
        except ApiError as error:
            return error

    def _admit(self, route: Route, request: web.Request) -> "App | None":
        if route.token == "none":
            return None
        app = self.tokens.check(request.headers.get("Authorization"), tenant_only=route.token == "tenant")
        if self.quota is not None:
            if self.quota <= 0:
                raise ApiError(99991403)
            self.quota -= 1
        if route.scopes and not app.scopes.intersection(route.scopes):
            raise ApiError.scope_missing(app.app_id, list(route.scopes))
        return app

    def _answer(
        self, call: Call, result: "JSON | Raw | ApiError", headers: dict[str, str] | None = None
    ) -> web.Response:
        log_id = ids.new_log_id()
        sent = {"X-Tt-Logid": log_id, "X-Request-Id": log_id, **(headers or {})}
        call.status, call.code = 200, 0
        if isinstance(result, Raw):
            sent.update(result.headers)
            if isinstance(result.body, bytes):
                call.code = None
                return web.Response(body=result.body, headers=sent)
            body = result.body
        elif isinstance(result, ApiError):
            call.status = result.status
            body = error_body(result.code, result.msg, log_id, result.extra)
        else:
            body = {"code": 0, "msg": "success", "data": result}
        call.code, call.answer = body.get("code"), body
        sent["Content-Type"] = "application/json; charset=utf-8"
        return web.Response(status=call.status, body=wire.encode(body), headers=sent)
