"""The access log, one line per request, and metrics for Prometheus.

Neither contains anything private: no body, no query string, no token.
"""

import logging
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from transcript_mcp.door.delivery import CLIENT_GONE, has_left
from transcript_mcp.door.guard import CALLER, shown_path
from transcript_mcp.sdk import Kind, Server, WorkOutcome

__all__ = ["METHODS", "Metrics", "observer", "pattern_of"]

# No module has this name. It stays: people's logging settings and the docs know the access log by it.
logger = logging.getLogger("transcript_mcp.hub.access")

_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600)
_NONE: Final = "none"


class Metrics:
    """The metrics of one hub, in a registry of its own so that two hubs can run in one process.

    ``servers`` by name: only what they offer becomes a label. Names that clients invent are counted as ``none``, so
    that the number of time series stays bounded.
    """

    def __init__(self, servers: Mapping[str, Server]) -> None:
        self.registry: CollectorRegistry = CollectorRegistry()
        requests = Counter(
            "nanobot_transcript_hub_requests",
            "Requests answered.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        seconds = Histogram(
            "nanobot_transcript_hub_request_seconds",
            "Seconds from a request to the end of its answer.",
            ("route",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        # Cached: looking up a labelled child costs more than counting.
        self._requests: Callable[[str, str, int], Counter] = cache(requests.labels)
        self._seconds: Callable[[str], Histogram] = cache(seconds.labels)
        self._open: Gauge = Gauge(
            "nanobot_transcript_hub_open_requests", "Requests that are being answered.", registry=self.registry
        )

        self._owners: dict[tuple[Kind, str], str] = {
            (kind, name): server
            for server, offering in servers.items()
            for kind, names in _offered(offering).items()
            for name in names
        }
        self._work: dict[Kind, tuple[Counter, Histogram]] = {
            "tool": self._work_of("tool", "calls", "call", "Calls of tools"),
            "resource": self._work_of("resource", "reads", "read", "Readings of resources"),
        }

    def _work_of(self, kind: Kind, many: str, one: str, words: str) -> tuple[Counter, Histogram]:
        labels, name = ("server", kind), f"nanobot_transcript_mcp_{kind}"
        counted = Counter(f"{name}_{many}", f"{words}, by outcome.", (*labels, "outcome"), registry=self.registry)
        timed = Histogram(
            f"{name}_{one}_seconds", f"{words}: seconds.", labels, buckets=_BUCKETS, registry=self.registry
        )
        return counted, timed

    def worked(self, kind: Kind, name: str | None, outcome: WorkOutcome, seconds: float) -> None:
        """A tool was called or a resource read."""
        labels = (self._owners.get((kind, name), _NONE), name) if name is not None else (_NONE, _NONE)
        counted, timed = self._work[kind]
        counted.labels(*labels, outcome).inc()
        timed.labels(*labels).observe(seconds)

    def began(self) -> None:
        """A request has started."""
        self._open.inc()

    def ended(self, route: str, method: str, status: int, seconds: float) -> None:
        """It was answered, or its client has gone."""
        self._open.dec()
        self._requests(route, method, status).inc()
        self._seconds(route).observe(seconds)

    async def handle(self, request: web.Request) -> web.Response:
        """The numbers in Prometheus' text form."""
        return web.Response(body=generate_latest(self.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _offered(server: Server) -> dict[Kind, list[str]]:
    """The names of a server's tools and resources, as ``worked`` receives them."""
    return {
        "tool": list(server.tools),
        "resource": [*(each.uri for each in server.resources.values()), *server.templates],
    }


def observer(metrics: Metrics) -> Middleware:
    """The outermost middleware: counts and logs each request, whatever its outcome."""

    @web.middleware
    async def observe(request: web.Request, handler: Handler) -> web.StreamResponse:
        began = time.perf_counter()
        status = CLIENT_GONE
        metrics.began()
        try:
            response = await handler(request)
            if response.prepared or not has_left(request):
                status = response.status
            return response
        except web.HTTPException as answer:
            status = answer.status
            raise
        except Exception:
            status = 500
            raise
        finally:
            seconds, route = time.perf_counter() - began, pattern_of(request) or _NONE
            method = request.method if request.method in METHODS else "other"
            metrics.ended(route, method, status, seconds)
            if logger.isEnabledFor(logging.INFO):
                _log(request, route, status, seconds)

    return observe


METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})


def pattern_of(request: web.Request) -> str:
    """The route pattern that the path matched, empty for none: a small set, whatever paths clients send."""
    resource = request.match_info.route.resource
    return resource.canonical if resource is not None else ""


def _log(request: web.Request, route: str, status: int, seconds: float) -> None:
    caller = request.get(CALLER)
    name = caller.name if caller is not None and caller.name else "-"
    path = shown_path(request) if route != _NONE else "(no such address)"
    logger.info("%s %s %s %d %.1f ms", name, request.method, path, status, seconds * 1000)
