"""What Feishu tells a bot about groups: which ones it sits in, their names and people. Bots are not listed.

https://open.feishu.cn/document/server-docs/group/chat/list and …/group/chat-member/get
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from nanobot_transcript.session_key import split
from transcript_channels.feishu.client import FeishuClient
from transcript_channels.feishu.fields import string
from transcript_channels.feishu.platform import FEISHU

__all__ = ["FeishuGroups"]

_CHATS: Final = "/open-apis/im/v1/chats"
_NEEDS: Final = ("im:chat:readonly", "im:chat")
_PEOPLE_NEEDS: Final = ("im:chat.members:read", *_NEEDS)
_PAGES: Final = 20


@dataclass(slots=True, eq=False)
class FeishuGroups:
    """See ``Groups``. Each question costs a call for every 100 answers. Raises PlatformError kinds."""

    client: FeishuClient

    async def mine(self) -> dict[str, str]:
        """See ``Groups``."""
        listed = [chat async for chat in self._listed(_CHATS, {}, _NEEDS)]
        return {FEISHU.key(chat_id): string(chat, "name") for chat in listed if (chat_id := string(chat, "chat_id"))}

    async def people(self, session_key: str, kind: str) -> dict[str, str]:
        """See ``Groups``."""
        listed = self._listed(f"{_path(session_key)}/members", {"member_id_type": kind}, _PEOPLE_NEEDS)
        people = [(string(person, "member_id"), string(person, "name").strip()) async for person in listed]
        return {member_id: name for member_id, name in people if member_id and name}

    async def title(self, session_key: str) -> str:
        """See ``Groups``."""
        return string(await self.client.call("GET", _path(session_key), needs=_NEEDS), "name")

    async def _listed(
        self, path: str, query: Mapping[str, Any], needs: tuple[str, ...]
    ) -> AsyncIterator[Mapping[str, Any]]:
        """The items of a listing, page by page."""
        token = ""
        for _ in range(_PAGES):
            page = {**query, "page_size": 100, **({"page_token": token} if token else {})}
            answer = await self.client.call("GET", path, query=page, needs=needs)
            items = answer.get("items")
            for item in items if isinstance(items, list) else ():
                if isinstance(item, Mapping):
                    yield item
            token = string(answer, "page_token")
            if answer.get("has_more") is not True or not token:
                return


def _path(session_key: str) -> str:
    return f"{_CHATS}/{quote(split(session_key)[1], safe='')}"
