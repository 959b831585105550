"""Names of the permissions the simulator knows, and what a new app has been granted."""

from typing import Final

__all__ = [
    "CARDKIT",
    "CHAT_READ",
    "CONTACT",
    "DEFAULT_SCOPES",
    "EMPLOYEE_ID",
    "GROUP_AT_MSG",
    "GROUP_AT_MSG_INCLUDE_BOT",
    "GROUP_MSG",
    "GROUP_MSG_INCLUDE_BOT",
    "MEMBERS_READ",
    "MESSAGE",
    "MESSAGE_READ",
    "P2P_MSG",
    "RESOURCE",
    "SEND_AS_BOT",
]

MESSAGE: Final = "im:message"
"""Send, read and edit messages."""
MESSAGE_READ: Final = "im:message:readonly"
SEND_AS_BOT: Final = "im:message:send_as_bot"
GROUP_MSG: Final = "im:message.group_msg"
"""Be told of every person's message in the groups the bot sits in, and read their history."""
GROUP_AT_MSG: Final = "im:message.group_at_msg"
"""Be told of persons' messages that mention the bot."""
GROUP_MSG_INCLUDE_BOT: Final = "im:message.group_msg.include_bot:read"
"""Be told of every message of a group, other bots' messages included."""
GROUP_AT_MSG_INCLUDE_BOT: Final = "im:message.group_at_msg.include_bot:readonly"
"""Be told of messages, also of other bots, that mention the bot."""
P2P_MSG: Final = "im:message.p2p_msg"
"""Be told of messages in private chats with the bot."""
CHAT_READ: Final = "im:chat:readonly"
MEMBERS_READ: Final = "im:chat.members:read"
CARDKIT: Final = "cardkit:card:write"
RESOURCE: Final = "im:resource"
EMPLOYEE_ID: Final = "contact:user.employee_id:readonly"
"""See ``user_id`` of persons; without it the field is missing."""
CONTACT: Final = "contact:user.base:readonly"

DEFAULT_SCOPES: Final = frozenset(
    {
        MESSAGE,
        SEND_AS_BOT,
        GROUP_MSG,
        GROUP_AT_MSG,
        P2P_MSG,
        CHAT_READ,
        MEMBERS_READ,
        CARDKIT,
        RESOURCE,
        EMPLOYEE_ID,
        CONTACT,
    }
)
"""What ``add_app`` grants: everything but the two include-bot scopes, which are off on the platform too."""
