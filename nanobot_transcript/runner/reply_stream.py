"""From a prompt to a delivered answer: shown while it is being written, taken back if it fails."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, replace
from typing import NamedTuple

from nanobot_transcript.conversation.ports import OutboundMessage, SentMessage
from nanobot_transcript.conversation.prompt import Prompt
from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import ResponderError, ResponderTimeoutError, TranscriptError
from nanobot_transcript.runner.bus import MessageBus
from nanobot_transcript.runner.live_text import LiveText
from nanobot_transcript.runner.responders.contract import Responder

__all__ = ["AnswerLimits", "Replies", "Said"]


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """How long an answer may take (seconds), whatever the responder's own limit, and how many characters it may
    have.
    """

    seconds: float = 600.0
    characters: int = 50_000


class Said(NamedTuple):
    """An answer with its text, and what the platform says about it."""

    message: OutboundMessage
    sent: SentMessage


@dataclass(eq=False, slots=True)
class Replies:
    """Lets a responder answer and gives the answer to the bus."""

    responder: Responder
    bus: MessageBus
    limits: AnswerLimits
    _: KW_ONLY
    stream: bool

    async def reply(self, message: OutboundMessage, prompt: Prompt) -> Said | None:
        """Fill ``message`` with the answer and deliver it. None when there is none.

        Raises WithheldError when it may not be sent, ResponderError, DeliveryError and PlatformError; then nothing is
        left in the chat.
        """
        text = LiveText()
        sending: asyncio.Task[SentMessage] | None = None
        try:
            async with aclosing(_pieces(self.responder, prompt, self.limits)) as said:
                async for piece in said:
                    text.add(piece)
                    if sending is not None and sending.done():  # it failed, so nothing further would be shown
                        break
                    if self.stream and sending is None and text.text.strip():
                        sending = asyncio.get_running_loop().create_task(self.bus.deliver(message, text))
            return await self._finish(message, text, sending)
        except BaseException as error:
            await _take_back(text, sending, error)
            raise

    async def _finish(
        self, message: OutboundMessage, text: LiveText, sending: "asyncio.Task[SentMessage] | None"
    ) -> Said | None:
        whole = text.text.strip()
        message = replace(message, content=whole)
        if sending is not None:
            text.finish(whole)
            return Said(message, await sending)
        if not whole:
            return None
        return Said(message, await self.bus.deliver(message))


async def _take_back(text: LiveText, sending: "asyncio.Task[SentMessage] | None", error: BaseException) -> None:
    """Tell the channel that the text is not an answer, and wait until it is removed."""
    text.fail(error if isinstance(error, TranscriptError) else ResponderError("The answer was interrupted."))
    if sending is not None:
        await asyncio.gather(sending, return_exceptions=True)


async def _pieces(responder: Responder, prompt: Prompt, limits: AnswerLimits) -> AsyncGenerator[str]:
    """The answer as it comes. Raises ResponderError when it is too long, ResponderTimeoutError when it takes
    too long.
    """
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
