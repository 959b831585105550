"""What the hub tells of its work: a line per request in the log, and numbers for Prometheus.

Neither holds anything of what was said: no body, no query, no token.
"""

import logging
import time
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from transcript_mcp.hub.access import Caller

__all__ = ["CALLER", "Metrics", "observer"]

CALLER: Final = web.RequestKey("caller", Caller)
"""Set on each request that was let in."""

logger = logging.getLogger("transcript_mcp.hub.access")

_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600)
_CLIENT_GONE: Final = 499
"""As nginx counts a client that went away before the answer."""


class Metrics:
    """The numbers of one hub, in a registry of their own so that two hubs may live in one process."""

    def __init__(self) -> None:
        self.registry: CollectorRegistry = CollectorRegistry()
        self._requests: Counter = Counter(
            "nanobot_transcript_hub_requests",
            "Requests answered.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self._seconds: Histogram = Histogram(
            "nanobot_transcript_hub_request_seconds",
            "Seconds from a request to the end of its answer.",
            ("route",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._open: Gauge = Gauge(
            "nanobot_transcript_hub_open_requests", "Requests that are being answered.", registry=self.registry
        )

    def began(self) -> None:
        """A request has come."""
        self._open.inc()

    def ended(self, route: str, method: str, status: int, seconds: float) -> None:
        """It was answered, or its client has gone."""
        self._open.dec()
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    async def handle(self, request: web.Request) -> web.Response:
        """The numbers in Prometheus' text form."""
        return web.Response(body=generate_latest(self.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


def observer(metrics: Metrics) -> Middleware:
    """The outermost middleware: counts and logs whatever becomes of a request."""

    @web.middleware
    async def observe(request: web.Request, handler: Handler) -> web.StreamResponse:
        began = time.perf_counter()
        status = _CLIENT_GONE
        metrics.began()
        try:
            response = await handler(request)
            status = response.status
            return response
        except web.HTTPException as answer:
            status = answer.status
            raise
        except Exception:
            status = 500
            raise
        finally:
            seconds = time.perf_counter() - began
            method = request.method if request.method in _METHODS else "other"
            metrics.ended(_route(request), method, status, seconds)
            _log(request, status, seconds)

    return observe


_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})


def _route(request: web.Request) -> str:
    """The pattern that matched, never the path: what clients make up must not become labels."""
    resource = request.match_info.route.resource
    return resource.canonical if resource is not None else "none"


def _log(request: web.Request, status: int, seconds: float) -> None:
    caller = request.get(CALLER)
    name = caller.name if caller is not None and caller.name else "-"
    path = request.path if _route(request) != "none" else "(no such address)"
    logger.info("%s %s %s %d %.1f ms", name, request.method, path, status, seconds * 1000)
