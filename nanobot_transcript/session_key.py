"""Session keys, ``channel:chat_id``: the same in every part of the product, whatever the instance or topic."""

__all__ = ["session_key", "split"]


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
