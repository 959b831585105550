"""Stores the pictures of a message as WebP, in files beside the mail or inside its text.

A file is named by the SHA-1 of its bytes, so the same picture is stored once. A picture that cannot be stored stays in
the text as it was written, and a ``Problem`` says why; the message is sent in any case.
"""

import base64
import errno
import hashlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import unquote, urlsplit

from nanobot_transcript.errors import InvalidLetterError
from nanobot_transcript.files.descriptors import NOT_PLAIN, enter, root_folder, to_read
from nanobot_transcript.files.os_errors import LINK, store_error
from nanobot_transcript.files.replace import force_folder, write_whole
from transcript_mcp.mail.messages.image_links import ImageLink, image_links
from transcript_mcp.mail.values import ImagePolicy

if TYPE_CHECKING:
    from transcript_mcp.mail.messages.webp import WebP

__all__ = ["MOST_IMAGES", "Converted", "KeptImage", "Problem", "convert"]

KeptImage: TypeAlias = dict[str, str | int]
"""A picture's entry in the frontmatter: ``type`` (``file`` or ``inline``), ``media_type``, ``path`` of a file in the
repository, ``sha1``, ``bytes``, ``width``, ``height``."""

MOST_IMAGES: Final = 20
"""Most pictures of one message that are stored."""

_PIXELS_OF_A_MESSAGE: Final = 120_000_000
_SHOWN: Final = 100
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:")
_DATA: Final = re.compile(r"data:image/[\w.+-]{1,40}(?:;[\w-]{1,40}=[\w.+-]{0,40}){0,4};base64,", re.IGNORECASE)
_KEPT: Final = re.compile(r"attachments/([0-9a-f]{2})/(\1[0-9a-f]{38})\.webp")

_TOO_MANY: Final = f"A message can have at most {MOST_IMAGES} pictures; the others stay as they were written."
_OUTSIDE: Final = "It is outside the project's folder."
_NO_FOLDER: Final = "The project has no folder on this machine, and the picture is a file."
_TOO_WIDE: Final = "The project's folder is the home folder or above it; no pictures are read from so large a folder."
_LINK: Final = "Its path contains a link, or something that is not a folder."
_NO_FILE: Final = "It is not a file."
_ABSENT: Final = "There is no such file."
_NOT_BASE64: Final = "It is not a base64 picture."
_FIRST_FRAME: Final = "It is animated; only the first frame was kept."
_TOO_LARGE_INLINE: Final = "It is too large for the text and was kept as a file."


@dataclass(frozen=True, slots=True)
class Problem:
    """A picture that was not stored, or not as requested. ``target`` is the beginning of its reference in the text."""

    target: str
    reason: str


@dataclass(slots=True)
class Converted:
    """The text with its new references, its attachments, and the pictures that could not be handled as requested."""

    body_md: str
    attachments: list[KeptImage] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def files(self) -> list[str]:
        """Paths of the attachments that are files in the repository; they are already written."""
        return [str(each["path"]) for each in self.attachments if each["type"] == "file"]


class _Refused(Exception):  # noqa: N818 - never leaves this module
    """A picture is not stored; the text says why."""


def convert(
    body_md: str,
    project_root: str | Path | None,
    repo: Path,
    policy: ImagePolicy = "auto",
    inline_max_bytes: int = 65536,
) -> Converted:
    """Store the local pictures and the data URIs of a text. Links to the web and code are left alone.
    Local pictures must be inside ``project_root``, which is neither the home folder nor above it; ``repo`` is the
    mail's repository. Policy ``file`` stores every picture as a file; ``auto`` and ``inline`` put those of at most
    ``inline_max_bytes`` into the text, and ``inline`` reports larger ones. Raises StoreError kinds when a picture
    cannot be written, InvalidLetterError for an unknown policy or a size below 0.
    """
    if policy not in {"auto", "file", "inline"}:
        raise InvalidLetterError(f"There is no image policy {policy!r}.", hint="Use auto, file or inline.")
    if inline_max_bytes < 0:
        raise InvalidLetterError(
            f"inline_max_bytes is {inline_max_bytes}; it must be 0 or more.",
            hint="Give 0 to keep every picture as a file.",
        )
    links = [link for link in image_links(body_md) if _is_ours(link.target)]
    return _Conversion(_root(project_root), repo, policy, inline_max_bytes).of(body_md, links)


class _Conversion:
    """The conversion of one message. A picture that it shows twice is stored once."""

    def __init__(self, root: Path | None, repo: Path, policy: ImagePolicy, inline_max_bytes: int) -> None:
        self._root: Path | None = root
        self._repo: Path = repo
        self._policy: ImagePolicy = policy
        self._inline: int = 0 if policy == "file" else inline_max_bytes
        self._taken: dict[str, str | None] = {}
        self._attachments: dict[str, KeptImage] = {}
        self._problems: dict[Problem, None] = {}
        self._pixels: int = _PIXELS_OF_A_MESSAGE

    def of(self, body_md: str, links: list[ImageLink]) -> Converted:
        pieces, at = [], 0
        for link in links:
            new = self._new_target(link.target)
            if new is not None:
                pieces += [body_md[at : link.start], f'"{new}"' if link.is_bare else new]
                at = link.end
        pieces.append(body_md[at:])
        return Converted("".join(pieces), list(self._attachments.values()), list(self._problems))

    def _new_target(self, target: str) -> str | None:
        if target not in self._taken:
            if len(self._taken) >= MOST_IMAGES:
                self._problems[Problem("", _TOO_MANY)] = None
                return None
            self._taken[target] = self._take(target)
        return self._taken[target]

    def _take(self, target: str) -> str | None:
        from transcript_mcp.mail.messages.webp import MOST_PIXELS, ImageRefusedError, to_webp

        shown = target[:_SHOWN] + ("…" if len(target) > _SHOWN else "")
        try:
            picture = to_webp(self._data(target), min(MOST_PIXELS, self._pixels))
        except (_Refused, ImageRefusedError) as refused:
            self._problems[Problem(shown, str(refused))] = None
            return None
        self._pixels -= picture.width * picture.height
        if picture.animated:
            self._problems[Problem(shown, _FIRST_FRAME)] = None
        if self._policy == "inline" and len(picture.data) > self._inline:
            self._problems[Problem(shown, _TOO_LARGE_INLINE)] = None
        return self._put(picture)

    def _put(self, picture: "WebP") -> str:
        digest = hashlib.sha1(picture.data, usedforsecurity=False).hexdigest()
        about: KeptImage = {
            "sha1": digest,
            "bytes": len(picture.data),
            "width": picture.width,
            "height": picture.height,
        }
        if len(picture.data) <= self._inline:
            self._attachments[digest] = {"type": "inline", "media_type": "image/webp", **about}
            return f"data:image/webp;base64,{base64.b64encode(picture.data).decode()}"
        path = f"attachments/{digest[:2]}/{digest}.webp"
        _write(self._repo / path, picture.data)
        self._attachments[digest] = {"type": "file", "media_type": "image/webp", "path": path, **about}
        return path

    def _data(self, target: str) -> bytes:
        if target[:5].lower() == "data:":
            return _decoded(target)
        path = _path(target)
        if _KEPT.fullmatch(path) and (self._repo / path).is_file():
            return _read(self._repo, path)  # a picture of an earlier message, quoted
        if self._root is None:
            raise _Refused(_NO_FOLDER)
        if _is_too_wide(self._root):
            raise _Refused(_TOO_WIDE)
        return _read(self._root, _inside(self._root, path))


def _is_ours(target: str) -> bool:
    """True for a data URI or a path, not for a web address or an anchor."""
    scheme = _SCHEME.match(target)
    if scheme:
        return scheme[0].lower() in {"data:", "file:"}
    return bool(target) and not target.startswith(("#", "?", "//"))


def _root(project_root: str | Path | None) -> Path | None:
    if project_root is None or "\0" in str(project_root) or not Path(project_root).is_absolute():
        return None
    return Path(project_root)


def _is_too_wide(root: Path) -> bool:
    """True for the home folder or one above it: since any text can name a project, it must not open up everything."""
    real = os.path.realpath(root)
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 - without a home it stays as it is
    return os.path.commonpath([real, home]) == real


def _decoded(target: str) -> bytes:
    from transcript_mcp.mail.messages.webp import MOST_BYTES

    head = _DATA.match(target)
    if head is None:
        raise _Refused(_NOT_BASE64)
    if len(target) > 2 * MOST_BYTES:
        raise _Refused(f"It has more than {MOST_BYTES // 2**20} MB.")
    try:
        return base64.b64decode(unquote(target[head.end() :]), validate=True)
    except ValueError:
        raise _Refused(_NOT_BASE64) from None


def _path(target: str) -> str:
    """The path that a reference means. Raises for a file URL of another machine."""
    if target[:5].lower() != "file:":
        return unquote(target)
    try:
        parts = urlsplit(target)
    except ValueError:
        raise _Refused(_ABSENT) from None
    if parts.netloc not in {"", "localhost"}:
        raise _Refused(_OUTSIDE)
    return unquote(parts.path)


def _inside(root: Path, path: str) -> str:
    """The normalised path relative to the root. Raises for one that leads outside."""
    clean = os.path.normpath(path)
    if clean.startswith("/"):
        for base in dict.fromkeys([os.path.normpath(root), os.path.realpath(root)]):
            if clean.startswith(base.rstrip("/") + "/"):
                return clean[len(base.rstrip("/")) + 1 :]
        raise _Refused(_OUTSIDE)
    if clean.split("/", 1)[0] == "..":
        raise _Refused(_OUTSIDE)
    return clean


def _read(root: Path, path: str) -> bytes:
    """The file's bytes (one beyond the limit if too large), opened folder by folder without following links."""
    from transcript_mcp.mail.messages.webp import MOST_BYTES

    *folders, name = path.split("/")
    try:
        at = root_folder(root)
    except OSError:
        raise _Refused(_NO_FOLDER) from None
    try:
        for folder in folders:
            inner = enter(at, folder)
            os.close(at)
            at = inner
        with os.fdopen(to_read(name, at), "rb") as file:
            return file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _Refused(_why(error)) from None
    finally:
        os.close(at)


def _why(error: OSError | ValueError) -> str:
    code = error.errno if isinstance(error, OSError) else errno.ENOENT
    if code in LINK:
        return _LINK
    if code in NOT_PLAIN:
        return _NO_FILE
    if code == errno.ENOENT:
        return _ABSENT
    return f"It cannot be read: {os.strerror(code or 0)}."


def _write(path: Path, data: bytes) -> None:
    try:
        if path.is_file() and path.stat().st_size == len(data):
            return
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(str(path), data, sync=True)
        force_folder(path.parent)  # a message that will be acknowledged must not lose its picture in a crash
    except OSError as error:
        store_error(error, str(path))
