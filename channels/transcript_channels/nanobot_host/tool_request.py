"""The bot and the group that a call of one of our tools is about; tools answer about no other group."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transcript_channels.nanobot_host.bot import Bot
    from transcript_channels.nanobot_host.host import Host

__all__ = ["NoGroupError", "group_of", "tool_error"]


class NoGroupError(Exception):
    """There is no group whose record the agent may see; the text tells it why."""


def group_of(host: "Host", request: Any) -> "tuple[Bot, str]":
    """The bot that is asked and the chat id, from nanobot's request context. Raises NoGroupError."""
    chat_id = str(getattr(request, "chat_id", "") or "")
    bot = host.bot_on(str(getattr(request, "channel", "") or ""))
    if bot is None or chat_id in host.private:
        raise NoGroupError("this conversation is not a group chat, so there is no record of it.")
    if not host.conversation.policy.shares(chat_id):
        raise NoGroupError("the record of this group chat is not shared with agents.")
    return bot, chat_id


def tool_error(text: str) -> Any:
    """A tool's answer that nanobot treats as an error."""
    from nanobot.agent.tools.base import ToolResult

    return ToolResult.error(f"Error: {text}")
