"""A responder that follows a script: for tests, demonstrations and bots that only ever say a few things."""

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from nanobot_transcript.conversation.prompt import Prompt
from nanobot_transcript.conversation.prompt_lines import name_in

__all__ = ["ScriptLine", "ScriptedResponder"]

_PIECE: Final = 24
_REMEMBERED: Final = 100
_BLANK: Final = re.compile(r"\{(message|sender)\}")


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """What to ``say`` to a message that contains ``when`` (ignoring case; empty: any message).

    ``{message}`` and ``{sender}`` in ``say`` are replaced.
    """

    say: str
    when: str = ""


class ScriptedResponder:
    """Follows a script; ``delay`` (seconds) comes before each answer.

    A script is a list of lines, of which the first that matches is said; or a list of answers, said in turn and then
    again from the beginning; or a function of the prompt.
    """

    def __init__(self, script: Sequence[ScriptLine | str] | Callable[[Prompt], str], *, delay: float = 0.0) -> None:
        self._script: Sequence[ScriptLine | str] | Callable[[Prompt], str] = script
        self._turn: int = 0
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

    def _line(self, prompt: Prompt, script: Sequence[ScriptLine | str]) -> str:
        text = prompt.message["content"]
        answers = [line for line in script if isinstance(line, str)]
        lines = (line for line in script if isinstance(line, ScriptLine))
        said = next((line.say for line in lines if line.when.casefold() in text.casefold()), "")
        if not said and answers:
            said = answers[self._turn % len(answers)]
            self._turn += 1
        filled = {"message": text, "sender": name_in(prompt.message)}
        return _BLANK.sub(lambda blank: filled[blank[1]], said)
