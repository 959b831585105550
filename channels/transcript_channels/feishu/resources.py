"""Pictures and files in messages: finds the one that is meant, and downloads it into a folder.

The API: https://open.feishu.cn/document/server-docs/im-v1/message/get-2
"""

import logging
import mimetypes
import os
import re
import secrets
from asyncio import to_thread
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import quote

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import (
    CredentialsRefusedError,
    MessageGoneError,
    NothingFoundError,
    NotPermittedError,
    PlatformError,
    UnknownNameError,
)
from nanobot_transcript.files.descriptors import enter_made, root_folder, to_create, to_read
from nanobot_transcript.files.os_errors import store_error
from nanobot_transcript.files.replace import sweep
from transcript_channels.feishu.addresses import message_path
from transcript_channels.feishu.attachments import Attachment, attachments_in
from transcript_channels.feishu.client import FeishuClient
from transcript_channels.feishu.retries import Patience

__all__ = ["MOST", "Resource", "chosen", "fetch"]

logger = logging.getLogger(__name__)

MOST: Final = 100 * 1024 * 1024
"""Bytes; Feishu gives out no larger file."""

_NEEDS: Final = ("im:message", "im:message:readonly", "im:message.history:readonly")
_PATIENCE: Final = Patience(timeout=300.0, attempts=3)
_OUTSIDE: Final = 234004  # the bot is not in the chat, which says less than any other refusal
_TEXT: Final = "text"
_SAFE: Final = re.compile(r"[^A-Za-z0-9_-]+")
_SUFFIX: Final = re.compile(r"[^.](\.[A-Za-z0-9]{1,10})$")
_TOLD: Final = re.compile(r'filename\*?=[^;]*(\.[A-Za-z0-9]{1,10})"?\s*(?:;|$)', re.IGNORECASE)
_UNFINISHED: Final = ".new"


@dataclass(frozen=True, slots=True)
class Resource:
    """A file on the disk. ``size`` in bytes, ``media_type`` such as ``image/png``, by its name.

    ``kept``: it had been fetched before.
    """

    path: Path
    size: int
    media_type: str
    kept: bool = False


def chosen(entry: Entry, key: str | None = None) -> Attachment:
    """What to fetch of a message: the one of this key, or without a key the only one.

    Raises NothingFoundError when the message carries nothing, UnknownNameError when it does not carry the key, or
    several and no key is given; the hint lists the keys.
    """
    message_id = entry["message_id"]
    found = attachments_in(entry["content"]) if entry.get("msg_type") != _TEXT else []
    if not found:
        raise NothingFoundError(
            f"The message {message_id} has no picture or file.",
            hint="What can be fetched appears in a message's text with its key, such as [image (img_v3_…)].",
        )
    fitting = [one for one in found if key in (None, one.key)]
    if len(fitting) == 1:
        return fitting[0]
    listed = ", ".join(f"{one.key} ({one.name or one.kind})" for one in found)
    sentence = f"has no file {key}" if key is not None else f"has {len(found)} files"
    raise UnknownNameError(f"The message {message_id} {sentence}.", hint=f"Choose one of the keys: {listed}.")


async def fetch(
    clients: Sequence[FeishuClient], chat_id: str, message_id: str, wanted: Attachment, folder: Path, most: int = MOST
) -> Resource:
    """Download what a message carries into ``folder``, which is made if its parent exists, as the first bot that is
    allowed to. What was fetched before is not fetched again. Files have mode 0600, and no link is followed.

    Raises PlatformError kinds, among them TooLargeError beyond ``most`` bytes, and StoreError kinds when the file
    cannot be written.
    """
    stem = f"{_safe(message_id)}-{wanted.key}"
    try:
        kept = await to_thread(_kept, folder, stem)
        if kept is not None:
            return kept
        with _fresh(folder, stem) as fresh:
            headers = await _downloaded(clients, chat_id, message_id, wanted, fresh.file, most)
            return await to_thread(fresh.settle, stem + _suffix(wanted, headers))
    except OSError as error:
        store_error(error, str(folder))


async def _downloaded(
    clients: Sequence[FeishuClient], chat_id: str, message_id: str, wanted: Attachment, file: BinaryIO, most: int
) -> Mapping[str, str]:
    path = f"{message_path(message_id)}/resources/{quote(wanted.key, safe='')}"
    query = {"type": "image" if wanted.kind == "image" else "file"}
    refusal: PlatformError = NotPermittedError("None of your bots can be asked.", hint="Add one to the chat.")
    for client in clients:
        try:
            asked = client.patient(_PATIENCE)
            return await asked.download(path, file, most, query=query, chat=chat_id, needs=_NEEDS)
        except (NotPermittedError, CredentialsRefusedError, MessageGoneError) as error:
            logger.info("The app %s may not download %s of %s: %s", client.app_id, wanted.key, message_id, error)
            if refusal.platform_code in (None, _OUTSIDE):
                refusal = error
    raise refusal


class _Fresh:
    """A file that is being written, under a name of its own in the folder ``parent``."""

    def __init__(self, folder: Path, parent: int, name: str) -> None:
        self._folder: Path = folder
        self._parent: int = parent
        self._name: str = name
        self.file: BinaryIO = os.fdopen(to_create(name, parent), "wb")

    def settle(self, name: str) -> Resource:
        self.file.flush()
        size = os.fstat(self.file.fileno()).st_size
        os.rename(self._name, name, src_dir_fd=self._parent, dst_dir_fd=self._parent)
        return Resource(self._folder / name, size, _media_type(name))

    def end(self) -> None:
        self.file.close()
        with suppress(OSError):
            os.unlink(self._name, dir_fd=self._parent)  # gone already when it has settled


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    above = root_folder(folder.parent)
    try:
        parent = enter_made(above, folder.name)
    finally:
        os.close(above)
    try:
        yield parent
    finally:
        os.close(parent)


@contextmanager
def _fresh(folder: Path, stem: str) -> Iterator[_Fresh]:
    with _opened(folder) as parent:
        fresh = _Fresh(folder, parent, f"{stem}.{os.getpid()}-{secrets.randbits(32)}{_UNFINISHED}")
        try:
            yield fresh
        finally:
            fresh.end()


def _kept(folder: Path, stem: str) -> Resource | None:
    """The file that an earlier call downloaded, None if there is none. Removes what killed processes left behind."""
    with _opened(folder) as parent:
        sweep(folder)
        with os.scandir(parent) as found:
            names = [file.name for file in found if file.name.partition(".")[0] == stem]
        for name in names:
            if name.endswith(_UNFINISHED):
                continue
            descriptor = to_read(name, parent)
            try:
                return Resource(folder / name, os.fstat(descriptor).st_size, _media_type(name), kept=True)
            finally:
                os.close(descriptor)
    return None


def _safe(message_id: str) -> str:
    return _SAFE.sub("_", message_id)[:64]


def _suffix(wanted: Attachment, headers: Mapping[str, str]) -> str:
    """The file's suffix: from the name people see, from the one the platform gives, or from the type of the content."""
    given = _SUFFIX.search(wanted.name) or _TOLD.search(headers.get("content-disposition", ""))
    if given is not None:
        return given[1].lower()
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return mimetypes.guess_extension(kind) or ""


def _media_type(name: str) -> str:
    return mimetypes.guess_type(name)[0] or "application/octet-stream"
