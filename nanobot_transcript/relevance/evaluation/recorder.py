"""Asks a judge whatever is not recorded yet, a few questions at a time, and saves each answer immediately."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from nanobot_transcript.errors import ResponderError
from nanobot_transcript.relevance.evaluation.recorded_answers import RecordedAnswer
from nanobot_transcript.relevance.judge import Prompt, verdict
from nanobot_transcript.relevance.openai_judge import Reply

__all__ = ["AT_ONCE", "IN_A_ROW", "Recorded", "Respondent", "record"]

AT_ONCE: Final = 4
"""Questions at a time: about as many as the bots of a group ask about one message."""
IN_A_ROW: Final = 5
"""So many failures in a row end the recording."""
_SHOWN: Final = 300
_HINT: Final = (
    "What was recorded is kept, and the same command continues where it stopped. "
    "Check gate.judge.base_url (it usually ends in /v1), gate.judge.model and gate.judge.api_key."
)


class Respondent(Protocol):
    """Answers the questions."""

    model: str

    async def reply(self, prompt: Prompt, /) -> Reply:
        """The answer to one question. May raise anything; then that question has failed."""
        ...


@dataclass(slots=True)
class Recorded:
    """How many questions were ``answered``, how many answers were ``unclear``, and how many questions ``failed``.
    ``example`` is the beginning of the first unclear answer, ``why`` the last failure.
    """

    answered: int = 0
    unclear: int = 0
    failed: int = 0
    example: str = ""
    why: str = ""

    def answer(self, key: str, model: str, reply: Reply, seconds: float) -> RecordedAnswer:
        """Count a reply, and return it in the form that is saved."""
        respond = verdict(reply.text)
        self.answered += 1
        if respond is None:
            self.unclear += 1
            self.example = self.example or _one_line(reply.text)
        return RecordedAnswer(key, model, respond, round(seconds, 3), reply.prompt_tokens, reply.completion_tokens)

    def fail(self, error: BaseException) -> None:
        """Count a question that failed."""
        self.failed += 1
        self.why = _one_line(str(error) or type(error).__name__)


_Asking: TypeAlias = dict[asyncio.Task[tuple[Reply, float]], str]
"""Running questions, with the keys of their answers."""


async def record(
    questions: Mapping[str, Prompt],
    endpoint: Respondent,
    keep: Callable[[RecordedAnswer], None],
    progress: Callable[[int, int | None], None] | None = None,
) -> Recorded:
    """Ask ``questions``, given by the keys of their answers, and ``keep`` each answer.

    ``progress`` gets questions done and in total. Raises ResponderError when several questions in a row failed, and
    whatever ``keep`` raises; then, as when this is cancelled, running questions are abandoned.
    """
    made, waiting, in_a_row = Recorded(), iter(questions.items()), 0
    asking: _Asking = {}
    try:
        _begin(asking, waiting, endpoint)
        while asking:
            done, _ = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                key, error = asking.pop(task), task.exception()
                if error is None:
                    in_a_row = 0
                    keep(made.answer(key, endpoint.model, *task.result()))
                else:
                    in_a_row += 1
                    made.fail(error)
            if in_a_row >= IN_A_ROW:
                raise ResponderError(f"The judge failed {in_a_row} times in a row: {made.why}", hint=_HINT)
            if progress is not None:
                progress(made.answered + made.failed, len(questions))
            _begin(asking, waiting, endpoint)
    finally:
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    return made


def _begin(asking: _Asking, waiting: Iterator[tuple[str, Prompt]], endpoint: Respondent) -> None:
    """Ask as many more as may be asked at a time."""
    while len(asking) < AT_ONCE and (question := next(waiting, None)) is not None:
        key, prompt = question
        asking[asyncio.create_task(_timed(endpoint, prompt))] = key


async def _timed(endpoint: Respondent, prompt: Prompt) -> tuple[Reply, float]:
    """The endpoint's answer, and how many seconds it took."""
    clock = asyncio.get_running_loop().time
    began = clock()
    reply = await endpoint.reply(prompt)
    return reply, clock() - began


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
