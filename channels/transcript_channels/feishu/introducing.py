"""Who the bot of an app is, for the members file that all processes share."""

import asyncio
import logging
from typing import Final

from nanobot_transcript.errors import NoAnswerError, RateLimitedError
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.store.members import MemberDirectory
from transcript_channels.feishu.client import BotInfo, FeishuClient

__all__ = ["introduce"]

logger = logging.getLogger(__name__)

_PAUSES: Final = (1.0, 2.0, 5.0, 10.0, 30.0)


async def introduce(agent: AgentProfile, client: FeishuClient, members: MemberDirectory | None) -> None:
    """Ask who the bot is and remember it under the agent's name; what the platform calls it becomes an alias.

    Waits for a platform that cannot be reached. Raises PlatformError kinds that waiting will not mend, and StoreError.
    """
    info = await _asked_until_answered(agent, client)
    if members is None:
        return
    also = [info.name] if info.name and info.name != agent.name else []
    await asyncio.to_thread(
        members.remember_bot,
        client.app_id,
        agent.name,
        aliases=list(dict.fromkeys([*agent.aliases, *also])),
        description=agent.description,
        open_ids={client.app_id: info.open_id},
    )


async def _asked_until_answered(agent: AgentProfile, client: FeishuClient) -> BotInfo:
    attempt = 0
    while True:
        try:
            return await client.bot_info()
        except (NoAnswerError, RateLimitedError) as error:
            pause = _PAUSES[min(attempt, len(_PAUSES) - 1)]
            logger.warning("%s tries again in %g s: %s %s", agent.name, pause, error, error.hint)
        attempt += 1
        await asyncio.sleep(pause)
