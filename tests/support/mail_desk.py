"""Agent Mail as a client without a connection meets it: what tests ask, and the data of what they are told."""

import json
from typing import Any

from support.letterbox import Letterbox

from transcript_mcp.mail.service import Announce, MailService, ServiceOptions
from transcript_mcp.sdk.testing import InMemoryClient

__all__ = ["desk", "resource", "told"]


def desk(box: Letterbox, *, announce: Announce | None = None, **options: Any) -> MailService:
    """The mail as one process serves it, without an archiver."""
    return MailService(box.mail, ServiceOptions(archiving=False, **options), announce=announce)


async def told(client: InMemoryClient, tool: str, arguments: dict[str, Any], **more: Any) -> Any:
    """The data of a call that has to go well."""
    answer = await client.call(tool, arguments, **more)
    assert not answer.is_error, answer.text
    return answer.data


async def resource(client: InMemoryClient, uri: str) -> Any:
    """What a resource holds."""
    (content,) = await client.read(uri)
    assert content["mimeType"] == "application/json"
    return json.loads(content["text"])
