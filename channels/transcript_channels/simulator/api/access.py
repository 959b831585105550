"""Checks that several APIs share."""

from typing import TypeVar

from transcript_channels.simulator.errors import ApiError
from transcript_channels.simulator.rest import ApiCall
from transcript_channels.simulator.world import App, Card, Chat, Message, World

__all__ = ["card_of", "chat_of", "message_of", "page"]

_T = TypeVar("_T")


def chat_of(world: World, call: ApiCall, chat_id: str, *, unknown: int, outside: int) -> Chat:
    """The chat, if the calling bot sits in it. Raises ApiError with the code ``unknown`` or ``outside``."""
    chat = world.chats.get(chat_id)
    if chat is None:
        raise ApiError(unknown, "invalid chat_id")
    if call.app not in chat.members:
        raise ApiError(outside)
    return chat


def message_of(world: World, call: ApiCall, *, own: bool = False) -> Message:
    """The message of the path, if the calling bot may see it; with ``own``, if the bot sent it and it still
    stands.
    """
    message = world.messages.get(call.params["message_id"])
    if message is None:
        raise ApiError(230001, "invalid message_id")
    if call.app not in message.chat.members:
        raise ApiError(230002)
    if own and message.sender is not call.app:
        raise ApiError(230071)
    if own and message.recalled:
        raise ApiError(230011)
    return message


def card_of(world: World, app: App, card_id: str) -> Card:
    """The app's card entity. Raises ApiError 99992402 for an unknown one and for that of another app."""
    card = world.cards.get(card_id)
    if card is None or card.app is not app:
        raise ApiError(99992402, "invalid card_id")
    return card


def page(items: list[_T], start: int, size: int) -> tuple[list[_T], int | None]:
    """One page, and where the next one starts (None = there is none)."""
    end = start + size
    return items[start:end], end if end < len(items) else None
