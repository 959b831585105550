"""The gate's judge inside nanobot: nanobot's own model or another endpoint, interrupted when a mention waits for it."""

import asyncio
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from nanobot_transcript.errors import HostError
from nanobot_transcript.relevance import Judge, Prompt
from nanobot_transcript.settings.sections.gate import JudgeSettings

__all__ = ["HURRY", "HostModel", "judge_of"]

HURRY: Final[ContextVar["asyncio.Event | None"]] = ContextVar("transcript_hurry", default=None)
"""The event of the chat that is being decided about: set when a message that must not wait has queued up behind."""

_KEPT: Final = 60.0
_TOKENS: Final = 1024  # a model that thinks needs some before it says yes or no


@dataclass(slots=True, eq=False)
class HostModel:
    """The model that nanobot uses; ``attend`` is told how to find it. ``clock`` counts seconds."""

    clock: Callable[[], float] = time.monotonic
    _load: Callable[[], Any] | None = field(default=None, init=False)
    _snapshot: Any = field(default=None, init=False)
    _fresh_until: float = field(default=0.0, init=False)

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
        """nanobot's present provider and model, kept for a minute: loading them makes a new client."""
        if self._load is None:
            raise HostError("nanobot gave the plugin no model.", hint="Set gate.judge.kind to openai or off.")
        if self._snapshot is None or self.clock() >= self._fresh_until:
            self._snapshot = await asyncio.to_thread(self._load)
            self._fresh_until = self.clock() + _KEPT
        return self._snapshot


def judge_of(settings: JudgeSettings, model: HostModel) -> Judge | None:
    """The judge that is wanted, None for none. Raises ConfigError."""
    if settings.kind == "off":
        return None
    return _Interruptible(model if settings.kind == "host" else settings.asking(settings))


@dataclass(slots=True, eq=False)
class _Interruptible:
    """A judge that is given up, with TimeoutError, when a message behind this one must not wait."""

    judge: Judge

    async def aclose(self) -> None:
        """Close the judge's connections, where it has any."""
        close = getattr(self.judge, "aclose", None)
        if close is not None:
            await close()

    async def __call__(self, prompt: Prompt, /) -> str | bool:
        hurry = HURRY.get()
        if hurry is None:
            return await self.judge(prompt)
        asking = asyncio.ensure_future(_asked(self.judge, prompt))
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
