"""How one app sees the world: events and history items, with that app's open ids."""

import json
from typing import Any

from transcript_channels.simulator import content, ids, scopes
from transcript_channels.simulator.world import TENANT_KEY, App, Member, Mention, Message, Person

__all__ = [
    "card_action",
    "event",
    "history_item",
    "member_event",
    "message_recalled",
    "message_received",
    "reaction_event",
    "user_ids",
]

JSON = dict[str, Any]


def event(app: App, event_type: str, body: JSON, event_id: str) -> JSON:
    """An event in the envelope of schema 2.0."""
    header = {
        "event_id": event_id,
        "event_type": event_type,
        "create_time": str(ids.now_ms()),
        "token": app.webhook.verification_token if app.webhook else "",
        "app_id": app.app_id,
        "tenant_key": TENANT_KEY,
    }
    return {"schema": "2.0", "header": header, "event": body}


def user_ids(member: Member, observer: App) -> JSON:
    """The ids under which ``observer`` knows a member; ``user_id`` only of persons, only with the scope."""
    known: JSON = {"open_id": member.open_id(observer), "union_id": member.union_id}
    if isinstance(member, Person) and scopes.EMPLOYEE_ID in observer.scopes:
        known["user_id"] = member.user_id
    return known


def message_received(message: Message, observer: App) -> JSON:
    """The body of ``im.message.receive_v1``."""
    sender = message.sender
    return {
        "sender": {
            "sender_id": user_ids(sender, observer),
            "sender_type": "bot" if isinstance(sender, App) else "user",
            "tenant_key": TENANT_KEY,
        },
        "message": _present(
            message_id=message.message_id,
            root_id=message.root.message_id if message.root else None,
            parent_id=message.parent.message_id if message.parent else None,
            thread_id=message.thread_id,
            create_time=str(message.created_ms),
            update_time=str(message.updated_ms or message.created_ms),
            chat_id=message.chat.chat_id,
            chat_type=message.chat.kind,
            message_type=message.msg_type,
            content=_content(message, full_card=False),
            mentions=[_event_mention(mention, observer) for mention in message.mentions] or None,
        ),
    }


def _event_mention(mention: Mention, observer: App) -> JSON:
    return {
        "key": mention.key,
        "id": user_ids(mention.member, observer),
        "mentioned_type": "bot" if isinstance(mention.member, App) else "user",
        "name": mention.member.name,
        "tenant_key": TENANT_KEY,
    }


def message_recalled(message: Message) -> JSON:
    """The body of ``im.message.recalled_v1``."""
    return {
        "message_id": message.message_id,
        "chat_id": message.chat.chat_id,
        "recall_time": str(message.updated_ms),
        "recall_type": "message_owner",
    }


def reaction_event(message: Message, member: Member, emoji: str, observer: App) -> JSON:
    """The body of ``im.message.reaction.created_v1`` and ``…deleted_v1``."""
    operator: JSON = {"operator_type": "app" if isinstance(member, App) else "user"}
    if isinstance(member, App):
        operator["app_id"] = member.app_id
    else:
        operator["user_id"] = user_ids(member, observer)
    return {
        "message_id": message.message_id,
        "reaction_type": {"emoji_type": emoji},
        "action_time": str(ids.now_ms()),
        **operator,
    }


def member_event(chat_id: str, chat_name: str, member: Member, operator: Person | None, observer: App) -> JSON:
    """The body of ``im.chat.member.bot.added_v1`` and its relatives."""
    body: JSON = {
        "chat_id": chat_id,
        "name": chat_name,
        "external": False,
        "operator_tenant_key": TENANT_KEY,
    }
    if operator is not None:
        body["operator_id"] = user_ids(operator, observer)
    if isinstance(member, Person):
        body["users"] = [{"name": member.name, "tenant_key": TENANT_KEY, "user_id": user_ids(member, observer)}]
    return body


def card_action(message: Message, person: Person, action: JSON, observer: App) -> JSON:
    """The body of ``card.action.trigger``."""
    return {
        "operator": {"tenant_key": TENANT_KEY, **user_ids(person, observer)},
        "token": "c-" + ids.new_event_id(),
        "action": action,
        "host": "im_message",
        "context": {"open_message_id": message.message_id, "open_chat_id": message.chat.chat_id},
    }


def history_item(message: Message, observer: App, *, full_card: bool = False, sender_name: bool = False) -> JSON:
    """A message as ``GET /im/v1/messages`` lists it and the sending calls return it."""
    return _present(
        message_id=message.message_id,
        root_id=message.root.message_id if message.root else None,
        parent_id=message.parent.message_id if message.parent else None,
        thread_id=message.thread_id,
        msg_type=message.msg_type,
        create_time=str(message.created_ms),
        update_time=str(message.updated_ms or message.created_ms),
        deleted=message.recalled,
        updated=message.updated,
        chat_id=message.chat.chat_id,
        sender=_sender(message.sender, observer, sender_name),
        body={"content": _content(message, full_card=full_card)},
        mentions=[_item_mention(mention, observer) for mention in message.mentions] or None,
        message_position=str(message.position),
        thread_message_position=None if message.thread_position is None else str(message.thread_position),
    )


def _sender(member: Member, observer: App, with_name: bool) -> JSON:
    name = member.name if with_name else None
    if isinstance(member, App):
        return _present(
            id=member.app_id,
            id_type="app_id",
            sender_type="app",
            tenant_key=TENANT_KEY,
            sender_name=name,
            open_bot_id=member.open_id(observer),
        )
    return _present(
        id=member.open_id(observer),
        id_type="open_id",
        sender_type="user",
        tenant_key=TENANT_KEY,
        sender_name=name,
    )


def _item_mention(mention: Mention, observer: App) -> JSON:
    return {
        "key": mention.key,
        "id": mention.member.open_id(observer),
        "id_type": "open_id",
        "name": mention.member.name,
        "tenant_key": TENANT_KEY,
    }


def _content(message: Message, *, full_card: bool) -> str:
    if message.recalled:
        return "This message was recalled"
    if message.msg_type == "merge_forward":
        return "Merged and Forwarded Message"
    if message.msg_type != "interactive":
        return json.dumps(message.content, ensure_ascii=False)
    card = message.card.body if message.card else message.content
    shown = content.degraded_card(card)
    if full_card:
        shown = {**shown, "user_dsl": json.dumps(card, ensure_ascii=False)} if card.get("schema") == "2.0" else card
    return json.dumps(shown, ensure_ascii=False)


def _present(**fields: Any) -> JSON:
    return {key: value for key, value in fields.items() if value is not None}
