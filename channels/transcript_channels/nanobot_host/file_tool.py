"""The second entry point: ``GroupFileTool`` downloads pictures and files that were sent in the turn's group."""

import json
import logging
from pathlib import Path
from typing import Any, Final

from nanobot.agent.tools.base import Tool

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import HostError, TranscriptError, UnknownNameError
from transcript_channels.feishu.platform import FEISHU
from transcript_channels.nanobot_host.feishu_clients import load
from transcript_channels.nanobot_host.host import Host
from transcript_channels.nanobot_host.install import installation
from transcript_channels.nanobot_host.tool_request import NoGroupError, group_of, tool_error

__all__ = ["GroupFileTool"]

logger = logging.getLogger(__name__)

_FOLDER: Final = "group_files"
_PARAMETERS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "message_id": {"type": "string", "description": "The id of the message that has the file, such as om_…"},
        "key": {
            "type": "string",
            "description": "Which file, if the message has several: the key in parentheses, such as img_v3_…",
        },
    },
    "required": ["message_id"],
    "additionalProperties": False,
}


class GroupFileTool(Tool):
    """Downloads a picture or file of the turn's group into nanobot's workspace."""

    def __init__(self, host: Host, ctx: Any) -> None:
        self._host: Host = host
        self._workspace: Any = getattr(ctx, "workspace", None)

    @classmethod
    def enabled(cls, ctx: Any) -> bool:
        """nanobot calls this before ``create``. False hides the tool from the agent."""
        installed = installation()
        host = installed.host
        return host is not None and "tool" in installed.abilities and host.conversation.policy.shares_somewhere

    @classmethod
    def create(cls, ctx: Any) -> "GroupFileTool":
        """nanobot's tool, for one of its agent loops."""
        host = installation().host
        if host is None:
            raise HostError("The group transcript is off.", hint="The startup log says why.")
        return cls(host, ctx)

    @property
    def name(self) -> str:
        return "group_file"

    @property
    def description(self) -> str:
        return (
            "Download a picture, file, video or audio that somebody sent in this group chat, and get its path in the "
            "workspace. Such messages appear as [image (img_v3_…)] or [file: plan.pdf (file_v3_…)], each with its "
            "message id. Then look at it with read_file. Works in group chats only."
        )

    @property
    def parameters(self) -> dict[str, Any]:
        return _PARAMETERS

    async def execute(self, **kwargs: Any) -> Any:
        """Path, size and type of the file, as one JSON object."""
        from nanobot.agent.tools.context import current_request_context

        request = current_request_context()
        try:
            return await self._fetched(request, str(kwargs.get("message_id") or "").strip(), kwargs.get("key") or None)
        except NoGroupError as error:
            return tool_error(str(error))
        except TranscriptError as error:
            return tool_error(f"{error} {error.hint}".rstrip())
        except Exception as error:
            logger.exception("A file of a group could not be fetched")
            return tool_error(f"the file cannot be fetched now ({error}).")

    async def _fetched(self, request: Any, message_id: str, key: str | None) -> str:
        bot, chat_id = group_of(self._host, request)
        entry = await self._message(chat_id, message_id)
        await load()
        from transcript_channels.feishu.resources import chosen, fetch

        wanted = chosen(entry, key)
        client = self._host.clients.of(bot.app_id)
        folder = self._folder(request)
        found = await fetch([client] if client is not None else [], chat_id, message_id, wanted, folder)
        told: dict[str, Any] = {"path": str(found.path), "bytes": found.size, "type": found.media_type}
        return json.dumps(told | ({"name": wanted.name} if wanted.name else {}), ensure_ascii=False)

    async def _message(self, chat_id: str, message_id: str) -> Entry:
        entry = await self._host.conversation.store.get(FEISHU.key(chat_id), message_id)
        if entry is None:
            raise UnknownNameError(
                f"There is no message {message_id} in the record of this group chat.",
                hint="It may have been taken back; group_transcript shows the ids of what there is.",
            )
        return entry

    def _folder(self, request: Any) -> Path:
        workspace = getattr(request, "workspace", None) or self._workspace
        if not workspace:
            raise HostError("nanobot has no workspace to put the file in.")
        return Path(workspace).expanduser().resolve() / _FOLDER
