"""Waiting for what becomes of a post: asking again whenever something has changed."""

import asyncio
from contextlib import AbstractContextManager
from typing import Final, Protocol

from nanobot_transcript.coordination.contract import Ear
from nanobot_transcript.outbox.values import Answer, PostStatus

__all__ = ["wait_answer", "wait_sent"]

_SURE: Final = 5.0
"""Seconds after which to ask again anyway: no signal tells that a post has expired."""


class _Looked(Protocol):
    def status(self, post_id: str) -> PostStatus: ...

    def answers(self, post_id: str, after: int = 0) -> list[Answer]: ...

    def listen(self) -> AbstractContextManager[Ear]: ...


async def wait_sent(outbox: _Looked, post_id: str, timeout: float) -> PostStatus:  # noqa: ASYNC109 - its end is no error
    """The status once the post is no longer queued, after at most ``timeout`` seconds."""
    end = asyncio.get_running_loop().time() + timeout
    with outbox.listen() as ear:
        while True:
            status = await asyncio.to_thread(outbox.status, post_id)
            if status.state != "queued" or await _is_over(ear, end):
                return status


async def wait_answer(outbox: _Looked, post_id: str, timeout: float, after: int) -> Answer | None:  # noqa: ASYNC109 - no error
    """The first answer behind ``after``; None when there is none within ``timeout`` seconds."""
    end = asyncio.get_running_loop().time() + timeout
    with outbox.listen() as ear:
        while True:
            found = await asyncio.to_thread(outbox.answers, post_id, after)
            if found or await _is_over(ear, end):
                return found[0] if found else None


async def _is_over(ear: Ear, end: float) -> bool:
    """Wait until something has changed; True when the time is up before that."""
    left = end - asyncio.get_running_loop().time()
    if left > 0:
        await ear.wait(min(left, _SURE))
    return left <= 0
