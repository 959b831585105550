"""What a message tells about people and bots, kept in the members file that all processes share."""

import logging

from nanobot_transcript.errors import StoreError
from nanobot_transcript.store.members import MemberDirectory
from transcript_channels.feishu.events import Message
from transcript_channels.feishu.fields import MentionedMember
from transcript_channels.feishu.identities import Identities

__all__ = ["learn"]

logger = logging.getLogger(__name__)


def learn(members: MemberDirectory, identities: Identities, message: Message, session_key: str) -> None:
    """Remember who wrote, who is named, and that they take part. Waits for a file; raises nothing."""
    try:
        sender = identities.sender_of(message)
        if not message.from_bot and sender.sender != "unknown":
            members.remember_person(sender.sender, None, message.sender_ids, identities.app_id)
        members.saw(session_key, sender.sender)
        for mention in message.mentions:
            _learn_mention(members, identities, message, mention)
    except StoreError as error:
        logger.warning("Who is who could not be written down: %s %s", error, error.hint)


def _learn_mention(
    members: MemberDirectory, identities: Identities, message: Message, mention: MentionedMember
) -> None:
    open_id = mention.ids.get("open_id", "")
    stable = next(
        (named.get("id") for named in identities.mentions_of(message) if named.get("name") == mention.name), ""
    )
    bot = next((bot for bot in members.bots() if bot.name == stable), None) if mention.kind != "human" else None
    if bot is None:
        if stable and mention.kind != "bot":
            members.remember_person(stable, mention.name, mention.ids, identities.app_id)
    elif open_id and bot.open_ids.get(identities.app_id) != open_id:
        about = {"aliases": bot.aliases, "description": bot.description}
        members.remember_bot(bot.account, bot.name, **about, open_ids={identities.app_id: open_id}, alive=False)
