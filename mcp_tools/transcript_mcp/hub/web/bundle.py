"""The page itself: built files beside this module, served so that a browser runs nothing but them."""

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
"""No script, style or connection but those of the hub itself, and nothing inline: agents' words are on the page."""

_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_FOREVER: Final = "public, max-age=31536000, immutable"
_ASK_AGAIN: Final = "no-cache"
"""Of a name without a hash, which stays when the file changes."""

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
    """The ``tag`` is weak, as the body and its packed form have it."""

    body: bytes
    kind: str
    tag: str

    @cached_property
    def packed(self) -> bytes:
        """The body as gzip, packed at the first visit: packing takes half as long as the rest of a hub's start."""
        return gzip.compress(self.body, mtime=0)

    def known_to(self, request: web.Request) -> bool:
        """Whether the caller has it already; If-None-Match compares weakly (RFC 9110, 13.1.2)."""
        return any(tag.value in (self.tag, "*") for tag in request.if_none_match or ())


class Bundle:
    """The files of a folder, read once.

    ``/`` is sent anew at each visit, ``/assets/NAME`` for good, as names have hashes. Beside ``/`` lie the manifest by
    which a browser installs the page, and its icons.
    """

    def __init__(self, folder: Path = DIST) -> None:
        self._index: _File | None = _read(folder / "index.html")
        self._assets: dict[str, _File] = _files(folder / "assets", "*")
        self._installing: dict[str, _File] = _files(folder, "*.webmanifest") | _files(folder, "*.png")

    @property
    def built(self) -> bool:
        """False where the files are missing, as in a source tree somebody took them from."""
        return self._index is not None

    def routes(self) -> list[web.RouteDef]:
        """What is open to everybody: the page asks for a token when it needs one."""
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
        body = await asyncio.to_thread(getattr, file, "packed")  # packing takes 25 ms
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
