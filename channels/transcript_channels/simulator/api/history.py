"""Reading: one message, and the history of a chat or a thread."""

import base64
import json
from collections.abc import Sequence
from typing import Any

from transcript_channels.simulator import scopes, views
from transcript_channels.simulator.api.access import chat_of, message_of, page
from transcript_channels.simulator.errors import ApiError
from transcript_channels.simulator.platform import Platform
from transcript_channels.simulator.rest import ApiCall, Route
from transcript_channels.simulator.world import Message

__all__ = ["routes"]

JSON = dict[str, Any]

_READ = (scopes.MESSAGE, scopes.MESSAGE_READ, "im:message.history:readonly")
_SORTS = ("ByCreateTimeAsc", "ByCreateTimeDesc")


def routes(platform: Platform) -> Sequence[Route]:
    """``GET im/v1/messages`` and ``GET im/v1/messages/{message_id}``."""
    api = _History(platform)
    base = "/open-apis/im/v1/messages"
    return [
        Route("GET", base, api.pages, _READ),
        Route("GET", base + "/{message_id}", api.get, _READ),
    ]


class _History:
    def __init__(self, platform: Platform) -> None:
        self._world = platform.world

    def get(self, call: ApiCall) -> JSON:
        """One message as the only element of ``items``."""
        message = message_of(self._world, call)
        if message.recalled:
            raise ApiError(230110)
        return {"items": [_item(message, call), *_bundled(message, call)]}

    def pages(self, call: ApiCall) -> JSON:
        """A page of a container, the OLDEST first unless ``sort_type`` says otherwise."""
        sort = call.query.get("sort_type") or _SORTS[0]
        if sort not in _SORTS:
            raise ApiError(99992402, "sort_type is invalid")
        found = self._container(call)
        found.sort(key=lambda message: (message.created_ms, message.position), reverse=sort == _SORTS[1])
        size = call.integer("page_size", 20, 1, 50)
        start = _offset(call.query.get("page_token", ""), sort, call.query.get("container_id", ""))
        items, following = page(found, start, size)
        answer: JSON = {"has_more": following is not None, "items": [_item(one, call) for one in items]}
        if following is not None:
            answer["page_token"] = _token(following, sort, call.query.get("container_id", ""))
        return answer

    def _container(self, call: ApiCall) -> list[Message]:
        kind, container = call.query.get("container_id_type", ""), call.query.get("container_id", "")
        since, until = _second(call, "start_time"), _second(call, "end_time")
        if kind == "thread":
            if since is not None or until is not None:
                raise ApiError(230001, "start_time and end_time are not supported for thread")
            return self._thread(call, container)
        if kind != "chat":
            raise ApiError(230001, "container_id_type is invalid")
        chat = chat_of(self._world, call, container, unknown=230001, outside=230002)
        if chat.kind == "group" and not call.app.scopes & {scopes.GROUP_MSG, scopes.GROUP_MSG_INCLUDE_BOT}:
            raise ApiError(230027)
        if since is not None and until is not None and since > until:
            raise ApiError(230001, "start_time is later than end_time")
        roots_only = call.flag("only_thread_root_messages")
        return [
            message
            for message in chat.messages
            if not message.thread_position
            and (not roots_only or message.thread_id is not None)
            and (since is None or message.created_ms // 1000 >= since)
            and (until is None or message.created_ms // 1000 <= until)
        ]

    def _thread(self, call: ApiCall, thread_id: str) -> list[Message]:
        found = self._world.thread(thread_id)
        if not found:
            raise ApiError(230001, "invalid container_id")
        if call.app not in found[0].chat.members:
            raise ApiError(230073)
        return found


def _bundled(bundle: Message, call: ApiCall) -> list[JSON]:
    """The messages inside a bundle of forwarded ones, those of a bundle inside it as well, each with its bundle."""
    parts: list[JSON] = []
    for message in bundle.forwarded:
        parts.append({**_item(message, call), "upper_message_id": bundle.message_id})
        parts += _bundled(message, call)
    return parts


def _item(message: Message, call: ApiCall) -> JSON:
    return views.history_item(
        message,
        call.app,
        full_card=call.query.get("card_msg_content_type") == "user_card_content",
        sender_name=call.flag("with_sender_name"),
    )


def _second(call: ApiCall, name: str) -> int | None:
    raw = call.query.get(name)
    if raw is None or raw == "":
        return None
    if not raw.isdigit():
        raise ApiError(230001, f"{name} is invalid")
    return int(raw)


def _token(offset: int, sort: str, container: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([offset, sort, container]).encode()).decode()


def _offset(token: str, sort: str, container: str) -> int:
    """Where a page starts; a token belongs to one container and one order."""
    if not token:
        return 0
    try:
        offset, token_sort, token_container = json.loads(base64.urlsafe_b64decode(token))
    except (ValueError, TypeError) as error:
        raise ApiError(230001, "page_token is invalid") from error
    if (token_sort, token_container) != (sort, container):
        raise ApiError(230001, "page_token does not belong to this query")
    return int(offset)
