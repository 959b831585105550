"""Sends the posts for the chats that this process's bot is in."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from nanobot_transcript.coordination.contract import new_holder
from nanobot_transcript.coordination.first_of import first_of
from nanobot_transcript.errors import (
    DeliveryError,
    MessageGoneError,
    NoAnswerError,
    PlatformError,
    RequestRefusedError,
    StoreError,
    TranscriptError,
    UnexpectedAnswerError,
)
from nanobot_transcript.outbox.contract import Postbox
from nanobot_transcript.outbox.values import Job, Receipt, Revision
from nanobot_transcript.sql.outage import level_of

__all__ = ["OutboxServer", "Revise", "Send"]

Send: TypeAlias = Callable[[Job], Awaitable[Receipt | str]]
"""Sends a job under its ``uuid``, records it like any outbound message, and returns what the platform confirmed.
Raises DeliveryError (the job is tried again if ``retryable``, else dropped) or PlatformError kinds (a request that
the platform refuses for good is dropped). Any other error counts as retryable: the message may have arrived.
"""

Revise: TypeAlias = Callable[[Revision], Awaitable[None]]
"""Replaces a card that was sent. Raises as ``Send`` does; doing it twice does no harm."""

_LOOK_EVERY: Final = 0.25
_CLEAN_EVERY: Final = 3600.0
_AFTER_TROUBLE: Final = 5.0
_LONGEST_PAUSE: Final = 300.0

logger = logging.getLogger(__name__)


class OutboxServer:
    """Takes and sends posts one by one. ``sits_in`` tells whether this bot is in a chat (by session key).

    It looks when the outbox has changed, and every ``look_every`` seconds, because failed posts have to be tried again.
    ``agent`` is the bot's name: it sends posts for it and posts for any bot. Without ``revise`` it replaces no cards.
    """

    def __init__(
        self,
        outbox: Postbox,
        send: Send,
        *,
        agent: str,
        sits_in: Callable[[str], bool],
        revise: Revise | None = None,
        look_every: float = _LOOK_EVERY,
    ) -> None:
        self.holder: str = new_holder(agent)
        self._outbox: Postbox = outbox
        self._send: Send = send
        self._revise: Revise | None = revise
        self._agent: str = agent
        self._sits_in: Callable[[str], bool] = sits_in
        self._look_every: float = look_every
        self._stopping: asyncio.Event = asyncio.Event()

    async def serve(self) -> None:
        """Send until ``stop``. Ends after the current send; when cancelled, it leaves that post to the next server,
        which sends it under the same uuid.
        """
        with self._outbox.listen() as ear:
            clean_at = time.monotonic()
            while not self._stopping.is_set():
                try:
                    if time.monotonic() >= clean_at:
                        clean_at = time.monotonic() + _CLEAN_EVERY
                        await asyncio.to_thread(self._outbox.clean)
                    if not (await self.send_next() or await self.revise_next()):
                        await first_of(ear.wait(self._look_every), self._stopping.wait())
                except StoreError as error:
                    logger.log(
                        level_of(error, logging.WARNING),
                        "The outbox is not available, trying again: %s %s",
                        error,
                        error.hint,
                    )
                    await first_of(asyncio.sleep(_AFTER_TROUBLE), self._stopping.wait())
                except Exception:
                    logger.exception("Serving the outbox failed; next attempt in %.0f s", _AFTER_TROUBLE)
                    await first_of(asyncio.sleep(_AFTER_TROUBLE), self._stopping.wait())

    def stop(self) -> None:
        """End ``serve`` as soon as the current send has ended."""
        self._stopping.set()

    async def send_next(self) -> bool:
        """Send one post, if there is one for this bot; True when there was one, sent or not."""
        waiting = await asyncio.to_thread(self._outbox.waiting, self._agent)
        chats = [key for key in waiting if self._sits_in(key)]
        if not chats:
            return False
        job = await asyncio.to_thread(self._outbox.take, self.holder, chats, self._agent)
        if job is None:
            return False
        await self._deliver(job)
        return True

    async def revise_next(self) -> bool:
        """Replace one card that this bot sent, if one is waiting."""
        if self._revise is None:
            return False
        revision = await asyncio.to_thread(self._outbox.take_revision, self.holder, self._agent)
        if revision is None:
            return False
        try:
            async with asyncio.timeout(self._outbox.limits.lease * 0.8):
                await self._revise(revision)
        except (MessageGoneError, RequestRefusedError) as error:
            await self._not_shown(revision, error, None)
        except TranscriptError as error:
            again = getattr(error, "retryable", True)
            pause = getattr(error, "retry_after", None) or _pause(revision)
            await self._not_shown(revision, error, pause if again else None)
        except TimeoutError as error:
            await self._not_shown(revision, error, _pause(revision))
        except Exception as error:
            logger.exception("Replacing a card failed unexpectedly")
            await self._not_shown(revision, error, _pause(revision))
        else:
            await asyncio.to_thread(self._outbox.revised, revision)
        return True

    async def _not_shown(self, revision: Revision, error: Exception, retry_after: float | None) -> None:
        said = str(error) or type(error).__name__
        place = revision.session_key, revision.post_id, revision.attempt
        logger.warning("%s: the card of post %s was not replaced (attempt %d): %s", *place, said)
        await asyncio.to_thread(self._outbox.revision_failed, revision, retry_after)

    async def _deliver(self, job: Job) -> None:
        try:
            # Shorter than the lease, so that no other process starts while this one may still be sending.
            async with asyncio.timeout(self._outbox.limits.lease * 0.8):
                receipt = await self._send(job)
        except DeliveryError as error:
            await self._failed(job, error, (error.retry_after or _pause(job)) if error.retryable else None)
        except (MessageGoneError, RequestRefusedError) as error:
            await self._failed(job, error, None)
        except PlatformError as error:
            unclear = isinstance(error, NoAnswerError | UnexpectedAnswerError)
            await self._failed(job, error, getattr(error, "retry_after", None) or _pause(job), doubtful=unclear)
        except (TranscriptError, TimeoutError) as error:  # for example the record failed after the send
            await self._failed(job, error, _pause(job), doubtful=True)
        except Exception as error:
            logger.exception("Sending a post failed unexpectedly")
            await self._failed(job, error, _pause(job), doubtful=True)
        else:
            await asyncio.to_thread(self._outbox.sent, job, receipt, self._agent)

    async def _failed(self, job: Job, error: Exception, retry_after: float | None, *, doubtful: bool = False) -> None:
        said = str(error) or type(error).__name__
        logger.warning("%s: post %s was not sent (attempt %d): %s", job.session_key, job.id, job.attempt, said)
        await asyncio.to_thread(self._outbox.failed, job, said, retry_after, doubtful=doubtful)


def _pause(tried: Job | Revision) -> float:
    """Seconds until the next attempt."""
    return min(_LONGEST_PAUSE, 2.0 ** (tried.attempt - 1))
