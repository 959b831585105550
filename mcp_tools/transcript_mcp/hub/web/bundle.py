"""Serves the built files of the web UI with headers that keep a browser from running anything else."""

import asyncio
import gzip
import mimetypes
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Final

from aiohttp import web

from transcript_mcp.door.delivery import takes_gzip

__all__ = ["DIST", "Bundle"]

DIST: Final = Path(__file__).parent / "dist"
"""What ``make web`` writes."""

_POLICY: Final = (
    "default-src 'self'; img-src 'self' data: blob:; media-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""Only the hub's own scripts, styles and connections, and nothing inline: the page shows text that agents wrote."""

_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_FOREVER: Final = "public, max-age=31536000, immutable"
_ASK_AGAIN: Final = "no-cache"
"""For files whose name has no hash: the name stays when the content changes."""

_TYPES: Final = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}


@dataclass(frozen=True)
class _File:
    """``tag`` is the ETag: weak, because the plain and the compressed body share it."""

    body: bytes
    kind: str
    tag: str

    @cached_property
    def packed(self) -> bytes:
        """The body as gzip, compressed on first use: at start it would take half as long as everything else."""
        return gzip.compress(self.body, mtime=0)

    def known_to(self, request: web.Request) -> bool:
        """Whether the caller has it already; If-None-Match compares weakly (RFC 9110, 13.1.2)."""
        return any(tag.value in (self.tag, "*") for tag in request.if_none_match or ())


class Bundle:
    """The files of a folder, read once.

    ``/`` is never cached, ``/assets/NAME`` forever, since the names contain hashes. The web app manifest and its icons
    are beside ``/``.
    """

    def __init__(self, folder: Path = DIST) -> None:
        self._index: _File | None = _read(folder / "index.html")
        self._assets: dict[str, _File] = _files(folder / "assets", "*")
        self._installing: dict[str, _File] = _files(folder, "*.webmanifest") | _files(folder, "*.png")

    @property
    def built(self) -> bool:
        """False where the files are missing, as in a source tree in which ``make web`` has not run."""
        return self._index is not None

    def routes(self) -> list[web.RouteDef]:
        """Routes that need no token: the page asks for one when it needs it."""
        return [
            web.get("/", self.page),
            web.get("/assets/{name}", self.asset),
            web.get(r"/{name:[a-z0-9-]+\.(?:png|webmanifest)}", self.installing),
        ]

    async def page(self, request: web.Request) -> web.Response:
        """The one document."""
        if self._index is None:
            raise web.HTTPNotFound
        return await _answer(request, self._index, "no-store")

    async def asset(self, request: web.Request) -> web.Response:
        """A file that the document names."""
        file = self._assets.get(request.match_info["name"])
        if file is None:
            raise web.HTTPNotFound
        return await _answer(request, file, _FOREVER)

    async def installing(self, request: web.Request) -> web.Response:
        """What a browser needs to install the page."""
        file = self._installing.get(request.match_info["name"])
        if file is None:
            raise web.HTTPNotFound
        return await _answer(request, file, _ASK_AGAIN)


async def _answer(request: web.Request, file: _File, cache: str) -> web.Response:
    headers = {**_HEADERS, "Cache-Control": cache, "ETag": f'W/"{file.tag}"', "Vary": "Accept-Encoding"}
    if file.known_to(request):
        return web.Response(status=304, headers=headers)
    body = file.body
    if takes_gzip(request):
        body = await asyncio.to_thread(getattr, file, "packed")  # 25 ms, the first time
        headers["Content-Encoding"] = "gzip"
    answer = web.Response(body=body, content_type=file.kind, headers=headers)
    if file.kind.startswith("text/"):
        answer.charset = "utf-8"
    return answer


def _files(folder: Path, pattern: str) -> dict[str, _File]:
    """By name; none where there is no such folder."""
    return {path.name: file for path in sorted(folder.glob(pattern)) if (file := _read(path)) is not None}


def _read(path: Path) -> _File | None:
    try:
        body = path.read_bytes()
    except OSError:
        return None
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return _File(body, kind, sha256(body).hexdigest()[:16])
