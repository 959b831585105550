"""Groups and their members."""

from collections.abc import Sequence
from typing import Any

from transcript_channels.simulator import scopes
from transcript_channels.simulator.api.access import chat_of, page
from transcript_channels.simulator.errors import ApiError
from transcript_channels.simulator.platform import Platform
from transcript_channels.simulator.rest import ApiCall, Route
from transcript_channels.simulator.world import TENANT_KEY, App, Chat, Person

__all__ = ["routes"]

JSON = dict[str, Any]

_CHAT = ("im:chat", scopes.CHAT_READ)
_MEMBERS = ("im:chat", scopes.CHAT_READ, scopes.MEMBERS_READ)


def routes(platform: Platform) -> Sequence[Route]:
    """``im/v1/chats``, ``…/{chat_id}``, ``…/members``, ``…/members/is_in_chat``."""
    api = _Chats(platform)
    base = "/open-apis/im/v1/chats"
    return [
        Route("GET", base, api.pages, _CHAT),
        Route("GET", base + "/{chat_id}", api.get, _CHAT),
        Route("GET", base + "/{chat_id}/members", api.members, _MEMBERS),
        Route("GET", base + "/{chat_id}/members/is_in_chat", api.is_in_chat, _MEMBERS),
    ]


class _Chats:
    def __init__(self, platform: Platform) -> None:
        self._world = platform.world

    def pages(self, call: ApiCall) -> JSON:
        """The groups the bot sits in."""
        groups = [chat for chat in self._world.chats.values() if chat.kind == "group" and call.app in chat.members]
        start, size = _start(call), call.integer("page_size", 20, 1, 100)
        items, following = page(groups, start, size)
        summary = [
            {"chat_id": chat.chat_id, "name": chat.name, "tenant_key": TENANT_KEY, "chat_status": "normal"}
            for chat in items
        ]
        return {"items": summary, "has_more": following is not None, "page_token": str(following or "")}

    def get(self, call: ApiCall) -> JSON:
        """What a chat is. Known to outsiders too on the platform, with fewer fields; here only to members."""
        chat = chat_of(self._world, call, call.params["chat_id"], unknown=232006, outside=232011)
        return {
            "name": chat.name,
            "description": "",
            "avatar": "",
            "chat_mode": chat.kind,
            "chat_type": "private",
            "chat_status": "normal",
            "owner_id": chat.people[0].open_id(call.app) if chat.people else "",
            "owner_id_type": "open_id",
            "user_count": str(len(chat.people)),
            "bot_count": str(len(chat.apps)),
            "external": False,
            "tenant_key": TENANT_KEY,
        }

    def members(self, call: ApiCall) -> JSON:
        """The people of a chat, page by page. Bots are not listed."""
        chat = chat_of(self._world, call, call.params["chat_id"], unknown=232006, outside=232011)
        id_type = call.query.get("member_id_type") or "open_id"
        if id_type not in ("open_id", "union_id", "user_id"):
            raise ApiError(99992402, "member_id_type is invalid")
        items, following = page(chat.people, _start(call), call.integer("page_size", 20, 1, 100))
        return {
            "items": [_member(person, id_type, call.app) for person in items],
            "has_more": following is not None,
            "page_token": str(following or ""),
            "member_total": len(chat.people),
        }

    def is_in_chat(self, call: ApiCall) -> JSON:
        """Whether the calling bot sits in a chat."""
        chat: Chat | None = self._world.chats.get(call.params["chat_id"])
        if chat is None:
            raise ApiError(232006)
        return {"is_in_chat": call.app in chat.members}


def _member(person: Person, id_type: str, observer: App) -> JSON:
    member_id = person.open_id(observer) if id_type == "open_id" else getattr(person, id_type)
    return {"member_id_type": id_type, "member_id": member_id, "name": person.name, "tenant_key": TENANT_KEY}


def _start(call: ApiCall) -> int:
    token = call.query.get("page_token", "")
    if token and not token.isdigit():
        raise ApiError(99992402, "page_token is invalid")
    return int(token or 0)
