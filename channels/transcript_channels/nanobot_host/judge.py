"""The gate's judge inside nanobot: nanobot's own model, or another endpoint; and nobody waits for it in vain."""

import asyncio
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from nanobot_transcript.errors import HostError
from nanobot_transcript.relevance import Judge, Prompt
from nanobot_transcript.settings.sections.gate import JudgeSettings

__all__ = ["HURRY", "HostModel", "judge_of"]

HURRY: Final[ContextVar["asyncio.Event | None"]] = ContextVar("transcript_hurry", default=None)
"""Set in the decision that asks: the event says that something came behind it which must not wait."""

_KEPT: Final = 60.0
_TOKENS: Final = 1024  # a model that thinks needs some before it says yes or no


class HostModel:
    """The model that nanobot uses. ``attend`` is told where nanobot's tools find it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._load: Callable[[], Any] | None = None
        self._snapshot: Any = None
        self._fresh_until: float = 0.0
        self._clock: Callable[[], float] = clock

    def attend(self, load: Callable[[], Any] | None) -> None:
        """Use nanobot's ``provider_snapshot_loader``."""
        self._load = load or self._load

    async def __call__(self, prompt: Prompt, /) -> str:
        """The model's answer. Raises HostError when there is no model or it failed."""
        snapshot = await self._current()
        answer = await snapshot.provider.chat_with_retry(
            messages=prompt.messages(), model=snapshot.model, max_tokens=_TOKENS
        )
        if getattr(answer, "finish_reason", "") == "error":  # nanobot puts the error's text where the answer would be
            raise HostError(f"nanobot's model did not answer: {answer.content}", hint="See nanobot's log.")
        return answer.content or ""

    async def _current(self) -> Any:
        """What nanobot is set to now; reading that and making a client takes a moment."""
        if self._load is None:
            raise HostError("nanobot gave the plugin no model.", hint="Set gate.judge.kind to openai or off.")
        if self._snapshot is None or self._clock() >= self._fresh_until:
            self._snapshot = await asyncio.to_thread(self._load)
            self._fresh_until = self._clock() + _KEPT
        return self._snapshot


def judge_of(settings: JudgeSettings, model: HostModel) -> Judge | None:
    """The judge that is wanted, None for none. Raises ConfigError."""
    if settings.kind == "off":
        return None
    return _Interruptible(model if settings.kind == "host" else settings.asking(settings))


class _Interruptible:
    """A judge that is given up when somebody behind the question must not wait."""

    def __init__(self, judge: Judge) -> None:
        self._judge: Judge = judge

    async def aclose(self) -> None:
        """Close the judge's connections, where it has any."""
        close = getattr(self._judge, "aclose", None)
        if close is not None:
            await close()

    async def __call__(self, prompt: Prompt, /) -> str | bool:
        hurry = HURRY.get()
        if hurry is None:
            return await self._judge(prompt)
        asking = asyncio.ensure_future(_asked(self._judge, prompt))
        hurrying = asyncio.ensure_future(hurry.wait())
        try:
            await asyncio.wait({asking, hurrying}, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                return asking.result()
            raise TimeoutError("a message that mentions the bot came behind this one")
        finally:
            asking.cancel()
            hurrying.cancel()


async def _asked(judge: Judge, prompt: Prompt) -> str | bool:
    return await judge(prompt)
