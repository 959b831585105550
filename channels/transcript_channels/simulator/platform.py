"""Actions on the platform: each changes the world and pushes events to the apps concerned."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transcript_channels.simulator import ids, views
from transcript_channels.simulator.changes import Changes
from transcript_channels.simulator.delivery import Delivery, is_told_of
from transcript_channels.simulator.world import (
    App,
    Card,
    Chat,
    Member,
    Mention,
    Message,
    Person,
    Push,
    Reaction,
    World,
)

__all__ = ["Draft", "Platform"]


@dataclass(slots=True)
class Draft:
    """A message before it is in a chat. ``in_thread`` opens a thread on ``parent`` unless it is in one
    already.
    """

    sender: Member
    msg_type: str
    content: dict[str, Any]
    mentions: Sequence[Mention] = ()
    parent: Message | None = None
    in_thread: bool = False
    card: Card | None = None
    at_ms: int | None = None
    forwarded: Sequence[Message] = ()


@dataclass(eq=False, slots=True)
class Platform:
    """The actions, the same whether a person acts in a test or an app over REST."""

    world: World
    changes: Changes
    delivery: Delivery

    def post(self, chat: Chat, draft: Draft) -> Message:
        """Put a message into a chat and push it to the bots that are told of it."""
        message = Message(
            message_id=ids.new_message_id(),
            chat=chat,
            sender=draft.sender,
            msg_type=draft.msg_type,
            content=draft.content,
            mentions=list(draft.mentions),
            created_ms=draft.at_ms if draft.at_ms is not None else ids.now_ms(),
            position=len(chat.messages) + 1,
            parent=draft.parent,
            card=draft.card,
            forwarded=draft.forwarded,
        )
        if draft.parent is not None:
            self._place(message, draft.parent, draft.in_thread)
        if draft.card is not None:
            draft.card.message = message
        chat.messages.append(message)
        self.world.messages[message.message_id] = message
        for app in chat.apps:
            if is_told_of(app, message):
                body = views.message_received(message, app)
                self.delivery.push(app, "im.message.receive_v1", body, message=message)
        self.changes.tell("message", message)
        return message

    def _place(self, message: Message, parent: Message, in_thread: bool) -> None:
        message.root = parent.root or parent
        if parent.thread_id is None and not in_thread:
            return
        if parent.thread_id is None:
            parent.thread_id, parent.thread_position = ids.new_thread_id(), 0
        lengths = message.chat.thread_lengths
        message.thread_id = parent.thread_id
        message.thread_position = lengths[parent.thread_id] = lengths.get(parent.thread_id, 0) + 1

    def push_again(self, message: Message, apps: Sequence[App]) -> list[Push]:
        """Push a message's event once more under a new event id, as the platform sometimes does."""
        again = [
            self.delivery.push(app, "im.message.receive_v1", views.message_received(message, app), message=message)
            for app in apps
        ]
        return [push for push in again if push is not None]

    def edit(self, message: Message, content: dict[str, Any], mentions: Sequence[Mention]) -> None:
        """Replace a message's content. No app is told: the platform has no event for it."""
        message.content, message.mentions = content, list(mentions)
        message.edits += 1
        message.updated_ms = ids.now_ms()
        self.changes.tell("edit", message)

    def recall(self, message: Message) -> list[Push]:
        """Recall a message and tell the bots that may know of it."""
        message.recalled = True
        message.updated_ms = ids.now_ms()
        told = [app for app in message.chat.apps if is_told_of(app, message)]
        body = views.message_recalled(message)
        pushes = [self.delivery.push(app, "im.message.recalled_v1", body, message=message) for app in told]
        self.changes.tell("recall", message)
        return [push for push in pushes if push is not None]

    def react(self, message: Message, member: Member, emoji: str) -> Reaction:
        """Put an emoji on a message."""
        reaction = Reaction(ids.new_event_id(), emoji, member, ids.now_ms())
        message.reactions.append(reaction)
        self._tell_of_reaction(message, reaction, "created")
        return reaction

    def unreact(self, message: Message, reaction: Reaction) -> None:
        """Take an emoji off a message."""
        message.reactions.remove(reaction)
        self._tell_of_reaction(message, reaction, "deleted")

    def _tell_of_reaction(self, message: Message, reaction: Reaction, what: str) -> None:
        for app in message.chat.apps:
            body = views.reaction_event(message, reaction.member, reaction.emoji, app)
            self.delivery.push(app, f"im.message.reaction.{what}_v1", body, message=message)
        self.changes.tell("reaction", message, by=reaction.member.name, emoji=reaction.emoji, what=what)

    def join(self, chat: Chat, member: Member, operator: Person | None = None) -> None:
        """Add a member to a group."""
        if member not in chat.members:
            chat.members.append(member)
            self._tell_of_member(chat, member, operator, "added")

    def leave(self, chat: Chat, member: Member, operator: Person | None = None) -> None:
        """Remove a member from a group."""
        self._tell_of_member(chat, member, operator, "deleted")
        chat.members.remove(member)

    def _tell_of_member(self, chat: Chat, member: Member, operator: Person | None, what: str) -> None:
        kind = "bot" if isinstance(member, App) else "user"
        concerned = [member] if isinstance(member, App) else chat.apps
        for app in concerned:
            body = views.member_event(chat.chat_id, chat.name, member, operator, app)
            self.delivery.push(app, f"im.chat.member.{kind}.{what}_v1", body)

    def press(self, message: Message, person: Person, action: dict[str, Any]) -> Push | None:
        """Press something on a card: the app that sent it is called back. Not repeated when it fails."""
        if not isinstance(message.sender, App):
            raise ValueError(f"{message!r} was not sent by an app")
        body = views.card_action(message, person, action, message.sender)
        return self.delivery.push(message.sender, "card.action.trigger", body, message=message, retried=False)

    def show_answer(self, message: Message, push: Push) -> None:
        """Show the card that an app put into its answer to a callback."""
        card = (push.response or {}).get("card")
        if push.acked and isinstance(card, dict) and card.get("type") == "raw":
            self.replace_card(message, card["data"])

    def replace_card(self, message: Message, card: dict[str, Any]) -> None:
        """Replace a message's card."""
        if message.card is not None:
            message.card.body = card
        else:
            message.content = card
        message.updated_ms = ids.now_ms()
        self.changes.tell("card", message)
