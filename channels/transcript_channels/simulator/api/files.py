"""Images and files: upload, and download out of a message."""

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from transcript_channels.simulator import ids, scopes
from transcript_channels.simulator.api.access import message_of
from transcript_channels.simulator.content import card_strings
from transcript_channels.simulator.errors import ApiError
from transcript_channels.simulator.platform import Platform
from transcript_channels.simulator.rest import ApiCall, Raw, Route

__all__ = ["routes"]

_WRITE = (scopes.RESOURCE, "im:resource:upload")
_READ = (scopes.MESSAGE, scopes.MESSAGE_READ)


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
        message = message_of(world, call)
        key = call.params["file_key"]
        if key not in world.files or key not in set(card_strings(message.content)):
            raise ApiError(230001, "file_key does not belong to the message")
        name, data = world.files[key]
        return Raw(data, {"Content-Disposition": f'attachment; filename="{name}"'})

    base = "/open-apis/im/v1"
    return [
        Route("POST", f"{base}/images", image, _WRITE),
        Route("POST", f"{base}/files", file, _WRITE),
        Route("GET", base + "/messages/{message_id}/resources/{file_key}", resource, _READ),
    ]
