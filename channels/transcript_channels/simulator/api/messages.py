"""Sending, replying, editing, recalling, patching cards, reactions."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transcript_channels.simulator import ids, scopes, views
from transcript_channels.simulator.api.access import chat_of, message_of
from transcript_channels.simulator.compose import sent_content
from transcript_channels.simulator.errors import ApiError
from transcript_channels.simulator.platform import Draft, Platform
from transcript_channels.simulator.rest import ApiCall, Route
from transcript_channels.simulator.world import App, Card, Chat, Member, Message, Person, World

__all__ = ["CARD_BYTES", "MAX_EDITS", "TEXT_BYTES", "routes"]

JSON = dict[str, Any]

TEXT_BYTES = 150 * 1024
CARD_BYTES = 30 * 1024
"""Limit of posts and cards."""
MAX_EDITS = 20
_UUID_SECONDS = 3600
_CARD_DAYS = 14
_SEND = (scopes.MESSAGE, scopes.SEND_AS_BOT)
_READ = (scopes.MESSAGE, scopes.MESSAGE_READ)


def routes(platform: Platform) -> Sequence[Route]:
    """``im/v1/messages`` except reading, and ``…/reactions``."""
    api = _Messages(platform)
    base = "/open-apis/im/v1/messages"
    one = base + "/{message_id}"
    return [
        Route("POST", base, api.create, _SEND),
        Route("POST", one + "/reply", api.reply, _SEND),
        Route("PUT", one, api.update, _SEND),
        Route("PATCH", one, api.patch, _SEND),
        Route("DELETE", one, api.delete, _SEND),
        Route("POST", one + "/reactions", api.react, _READ),
        Route("GET", one + "/reactions", api.reactions, _READ),
        Route("DELETE", one + "/reactions/{reaction_id}", api.unreact, _READ),
    ]


@dataclass(frozen=True, slots=True)
class _Sent:
    message: Message
    at: float


class _Messages:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._world: World = platform.world
        self._by_uuid: dict[tuple[App, str], _Sent] = {}

    def create(self, call: ApiCall) -> JSON:
        """Send to a chat, or to a person's private chat."""
        id_type = call.query.get("receive_id_type", "")
        receive_id = str(call.body.get("receive_id", ""))
        chat = self._receiver(call, id_type, receive_id)
        return self._send(call, chat, None)

    def reply(self, call: ApiCall) -> JSON:
        """Answer a message: in its thread, in a new one, or beside it."""
        parent = message_of(self._world, call)
        if parent.recalled:
            raise ApiError(230011)
        return self._send(call, parent.chat, parent)

    def _send(self, call: ApiCall, chat: Chat, parent: Message | None) -> JSON:
        earlier = self._sent_before(call)
        if earlier is not None:
            return views.history_item(earlier, call.app)
        msg_type = str(call.body.get("msg_type", ""))
        raw = call.body.get("content")
        _check_size(msg_type, raw)
        content, mentions = sent_content(call.app, msg_type, raw, self._world)
        card = self._card_entity(call.app, content) if msg_type == "interactive" else None
        draft = Draft(
            sender=call.app,
            msg_type=msg_type,
            content=content,
            mentions=mentions,
            parent=parent,
            in_thread=call.body.get("reply_in_thread") is True,
            card=card,
        )
        message = self._platform.post(chat, draft)
        uuid = call.body.get("uuid")
        if uuid:
            self._by_uuid[call.app, str(uuid)] = _Sent(message, time.monotonic())
        return views.history_item(message, call.app)

    def _sent_before(self, call: ApiCall) -> Message | None:
        """The message an hour's same ``uuid`` sent: it is delivered once."""
        uuid = call.body.get("uuid")
        if uuid is None or uuid == "":
            return None
        if not isinstance(uuid, str) or len(uuid) > 50:
            raise ApiError(99992402, "uuid must have at most 50 characters")
        sent = self._by_uuid.get((call.app, uuid))
        return sent.message if sent and time.monotonic() - sent.at < _UUID_SECONDS else None

    def _receiver(self, call: ApiCall, id_type: str, receive_id: str) -> Chat:
        if id_type == "chat_id":
            return chat_of(self._world, call, receive_id, unknown=230001, outside=230002)
        if id_type not in ("open_id", "union_id", "user_id"):
            raise ApiError(99992402, "receive_id_type is invalid")
        person = self._person(call.app, id_type, receive_id)
        if not isinstance(person, Person):
            raise ApiError(230001, "invalid receive_id")
        return self._world.private_chat(person, call.app)

    def _person(self, app: App, id_type: str, receive_id: str) -> Member | None:
        if id_type == "open_id":
            found = self._world.by_open_id(receive_id)
            if found is not None and found[0] is not app:
                raise ApiError(99992361)
            return found[1] if found else None
        return next((one for one in self._world.people.values() if getattr(one, id_type) == receive_id), None)

    def _card_entity(self, app: App, content: JSON) -> Card | None:
        """The card entity a message shows; an entity can be sent once."""
        if content.get("type") != "card":
            return None
        card = self._world.cards.get(str((content.get("data") or {}).get("card_id", "")))
        if card is None or card.app is not app:
            raise ApiError(230099, "ErrCode: 11310; ErrMsg: card id invalid")
        if card.message is not None:
            raise ApiError(230099, "ErrCode: 11310; ErrMsg: card entity has been sent already")
        return card

    def update(self, call: ApiCall) -> JSON:
        """Edit the bot's own text or post."""
        message = message_of(self._world, call, own=True)
        msg_type = str(call.body.get("msg_type", ""))
        if message.msg_type not in ("text", "post") or msg_type != message.msg_type:
            raise ApiError(230054)
        if message.edits >= MAX_EDITS:
            raise ApiError(230072)
        raw = call.body.get("content")
        _check_size(msg_type, raw)
        self._platform.edit(message, *sent_content(call.app, msg_type, raw, self._world))
        return views.history_item(message, call.app)

    def patch(self, call: ApiCall) -> JSON:
        """Replace the bot's own card. Mentions in the new card tell nobody."""
        message = message_of(self._world, call, own=True)
        if message.msg_type != "interactive":
            raise ApiError(230054)
        if ids.now_ms() - message.created_ms > _CARD_DAYS * 24 * 3600 * 1000:
            raise ApiError(230031)
        raw = call.body.get("content")
        _check_size("interactive", raw)
        content, _ = sent_content(call.app, "interactive", raw, self._world)
        self._platform.replace_card(message, content)
        return {}

    def delete(self, call: ApiCall) -> JSON:
        """Recall one of the bot's own messages."""
        message = message_of(self._world, call)
        if message.recalled:
            raise ApiError(230011)
        if message.sender is not call.app:
            raise ApiError(230026)
        self._platform.recall(message)
        return {}

    def react(self, call: ApiCall) -> JSON:
        """Put the bot's emoji on a message; the same one twice is one reaction."""
        message = message_of(self._world, call)
        emoji = str((call.body.get("reaction_type") or {}).get("emoji_type") or "")
        if not emoji:
            raise ApiError(99992402, "reaction_type.emoji_type is required")
        if message.recalled:
            raise ApiError(230011)
        for reaction in message.reactions:
            if reaction.member is call.app and reaction.emoji == emoji:
                return _reaction(reaction, call.app)
        return _reaction(self._platform.react(message, call.app, emoji), call.app)

    def reactions(self, call: ApiCall) -> JSON:
        """All reactions on a message."""
        message = message_of(self._world, call)
        return {"items": [_reaction(one, call.app) for one in message.reactions], "has_more": False}

    def unreact(self, call: ApiCall) -> JSON:
        """Take the bot's own emoji off."""
        message = message_of(self._world, call)
        for reaction in message.reactions:
            if reaction.reaction_id == call.params["reaction_id"]:
                if reaction.member is not call.app:
                    raise ApiError(231007)
                self._platform.unreact(message, reaction)
                return _reaction(reaction, call.app)
        raise ApiError(231003)


def _check_size(msg_type: str, raw: Any) -> None:
    limit = CARD_BYTES if msg_type in ("post", "interactive") else TEXT_BYTES
    size = len(raw.encode(errors="surrogatepass")) if isinstance(raw, str) else len(json.dumps(raw))
    if size > limit:
        raise ApiError(230025)


def _reaction(reaction: Any, observer: App) -> JSON:
    is_app = isinstance(reaction.member, App)
    operator = reaction.member.app_id if is_app else reaction.member.open_id(observer)
    return {
        "reaction_id": reaction.reaction_id,
        "operator": {"operator_id": operator, "operator_type": "app" if is_app else "user"},
        "action_time": str(reaction.created_ms),
        "reaction_type": {"emoji_type": reaction.emoji},
    }
