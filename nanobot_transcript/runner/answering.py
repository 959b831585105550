"""Reading an answer from a mind: never without an end, never without a limit."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from nanobot_transcript.conversation.prompt import Prompt
from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import ResponderError, ResponderTimeoutError
from nanobot_transcript.runner.responders.contract import Responder

__all__ = ["AnswerLimits", "pieces"]


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """How long an answer may take (seconds), whatever the responder's own limit, and how many characters it has."""

    seconds: float = 600.0
    characters: int = 50_000


async def pieces(responder: Responder, prompt: Prompt, limits: AnswerLimits) -> AsyncGenerator[str]:
    """The answer as it comes. Raises ResponderError when it is too long, ResponderTimeoutError when it is late."""
    deadline = asyncio.get_running_loop().time() + limits.seconds
    answer, length = responder.respond(prompt), 0
    try:
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    piece = await anext(answer, None)
            except TimeoutError as error:
                raise ResponderTimeoutError(
                    f"The answer was not complete after {limits.seconds:g} s.",
                    hint="Ask less of it, or allow it more time.",
                ) from error
            if piece is None:
                return
            length += len(piece)
            if length > limits.characters:
                raise ResponderError(
                    f"The answer has more than {limits.characters} characters.",
                    hint="Tell the agent to be brief, or allow longer answers (runner.max_answer_chars).",
                )
            yield well_formed(piece)
    finally:
        close = getattr(answer, "aclose", None)
        if close is not None:
            await close()
