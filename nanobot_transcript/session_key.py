"""Session keys: ``channel:chat_id``, the same in every part of the product, whatever the instance or topic."""

from typing import Final

__all__ = ["FEISHU", "is_group_chat_id", "session_key", "split"]

FEISHU: Final = "feishu"


def session_key(channel: str, chat_id: str) -> str:
    """The key of a chat. Instances (``feishu.beta``) of one platform share the platform's name.

    >>> session_key("feishu.beta", "oc_1")
    'feishu:oc_1'
    """
    return f"{channel.partition('.')[0]}:{chat_id}"


def split(key: str) -> tuple[str, str]:
    """Channel and chat id of a key; a key without a colon is all chat id.

    >>> split("feishu:oc_1")
    ('feishu', 'oc_1')
    """
    channel, colon, chat_id = key.partition(":")
    return (channel, chat_id) if colon else ("", key)


def is_group_chat_id(chat_id: str) -> bool:
    """True for Feishu's chat ids (``oc_…``); people are addressed by open id (``ou_…``).

    A private chat's *event* carries an ``oc_`` id too: there, its ``chat_type`` decides.
    """
    return chat_id.startswith("oc_")
