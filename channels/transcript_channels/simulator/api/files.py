"""Images and files: upload, and download out of a message."""

from collections.abc import Sequence
from mimetypes import guess_type
from typing import Any
from urllib.parse import quote

from aiohttp import web

from transcript_channels.simulator import ids, scopes
from transcript_channels.simulator.content import card_strings
from transcript_channels.simulator.errors import ApiError
from transcript_channels.simulator.platform import Platform
from transcript_channels.simulator.rest import ApiCall, Raw, Route
from transcript_channels.simulator.world import Message

__all__ = ["routes"]

_WRITE = (scopes.RESOURCE, "im:resource:upload")
_READ = (scopes.MESSAGE, scopes.MESSAGE_READ, "im:message.history:readonly")


def routes(platform: Platform) -> Sequence[Route]:
    """``im/v1/images``, ``im/v1/files``, ``im/v1/messages/{message_id}/resources/{file_key}``."""
    world = platform.world

    async def image(call: ApiCall) -> dict[str, Any]:
        return {"image_key": await _store(call, "image", "img")}

    async def file(call: ApiCall) -> dict[str, Any]:
        return {"file_key": await _store(call, "file", "file")}

    async def _store(call: ApiCall, part: str, prefix: str) -> str:
        form = await call.request.post()
        upload = form.get(part)
        if not isinstance(upload, web.FileField):
            raise ApiError(99992402, f"{part} is required")
        key = ids.new_file_key(prefix)
        world.files[key] = (str(form.get("file_name") or upload.filename), upload.file.read())
        return key

    def resource(call: ApiCall) -> Raw:
        key = call.params["file_key"]
        _check(world.messages.get(call.params["message_id"]), key, call)
        if key not in world.files:
            raise ApiError(234003)
        name, data = world.files[key]
        kind = guess_type(name)[0] or "application/octet-stream"
        return Raw(data, {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}", "Content-Type": kind})

    base = "/open-apis/im/v1"
    return [
        Route("POST", f"{base}/images", image, _WRITE),
        Route("POST", f"{base}/files", file, _WRITE),
        Route("GET", base + "/messages/{message_id}/resources/{file_key}", resource, _READ),
    ]


def _check(message: Message | None, key: str, call: ApiCall) -> None:
    """Raise ApiError unless the message carries the key, the bot sits in its chat, and the type is the key's."""
    kind = call.query.get("type", "")
    if message is None or kind not in ("image", "file") or (kind == "image") != key.startswith("img_"):
        raise ApiError(234001)
    if call.app not in message.chat.members:
        raise ApiError(234004)
    if message.msg_type == "sticker":
        raise ApiError(234043)
    if message.recalled or key not in _strings(message):
        raise ApiError(234003)


def _strings(message: Message) -> set[str]:
    """All strings of a message; what a bundle forwards belongs to the bundle."""
    found = set(card_strings(message.content))
    for part in message.forwarded:
        found |= _strings(part)
    return found
