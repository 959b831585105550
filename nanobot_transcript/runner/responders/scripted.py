"""A mind that follows a script: for tests, demonstrations and bots that only ever say a few things."""

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from nanobot_transcript.runner.prompting import Prompt
from nanobot_transcript.runner.wording import name_of

__all__ = ["Line", "ScriptedResponder"]

_PIECE: Final = 24
_REMEMBERED: Final = 100
_BLANK: Final = re.compile(r"\{(message|sender)\}")


@dataclass(frozen=True, slots=True)
class Line:
    """What to ``say`` to a message in which ``when`` occurs (upper and lower case alike; empty: to any message).

    ``{message}`` and ``{sender}`` in ``say`` are replaced.
    """

    say: str
    when: str = ""


class ScriptedResponder:
    """Says the first line that fits, or what a function makes of the prompt. ``delay`` (seconds) comes before."""

    def __init__(self, script: Sequence[Line] | Callable[[Prompt], str], *, delay: float = 0.0) -> None:
        self._script: Sequence[Line] | Callable[[Prompt], str] = script
        self._delay: float = delay
        self.prompts: deque[Prompt] = deque(maxlen=_REMEMBERED)
        """The newest prompts."""

    async def respond(self, prompt: Prompt) -> AsyncIterator[str]:
        """See ``Responder``."""
        self.prompts.append(prompt)
        await asyncio.sleep(self._delay)
        answer = self._script(prompt) if callable(self._script) else self._line(prompt, self._script)
        for start in range(0, len(answer), _PIECE):
            yield answer[start : start + _PIECE]

    async def close(self) -> None:
        """See ``Responder``."""

    def _line(self, prompt: Prompt, script: Sequence[Line]) -> str:
        text = prompt.message["content"]
        line = next((line for line in script if line.when.casefold() in text.casefold()), None)
        if line is None:
            return ""
        filled = {"message": text, "sender": name_of(prompt.message)}
        return _BLANK.sub(lambda blank: filled[blank[1]], line.say)
