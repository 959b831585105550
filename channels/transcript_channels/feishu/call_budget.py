"""The hourly budget of calls that ask for messages nobody has heard, shared by all bots."""

import logging

from nanobot_transcript.coordination.async_fronts import AsyncBudget
from nanobot_transcript.coordination.contract import HOUR, Budget
from nanobot_transcript.errors import StoreError
from nanobot_transcript.sql.outage import level_of
from nanobot_transcript.store.gaps import HISTORY

__all__ = ["HourlyCalls"]

logger = logging.getLogger(__name__)


class HourlyCalls:
    """At most ``limit`` calls an hour; give ``pay`` to ``FeishuClient.budgeted``. All processes share ``budget``."""

    def __init__(self, budget: Budget, limit: int) -> None:
        self._budget: AsyncBudget = AsyncBudget(budget)
        self._limit: int = limit

    async def pay(self) -> bool:
        """Take one call; False when there is none left, or nobody can tell."""
        try:
            return await self._budget.take(HISTORY, limit=self._limit, window=HOUR)
        except StoreError as error:
            logger.log(
                level_of(error, logging.WARNING),
                "The budget of calls cannot be read, so none is made: %s %s",
                error,
                error.hint,
            )
            return False
