"""What a responder must do."""

from collections.abc import AsyncIterator
from typing import Protocol

from nanobot_transcript.conversation.prompt import Prompt

__all__ = ["Responder"]


class Responder(Protocol):
    """Answers prompts. Several calls may run at once, one for each chat."""

    def respond(self, prompt: Prompt) -> AsyncIterator[str]:
        """The answer in pieces, as they come; no piece, or only white space, is no answer.

        Raises ResponderError, possibly after some pieces: then there is no answer. A caller that stops reading closes
        the iterator, which ends the work behind it.
        """
        ...

    async def close(self) -> None:
        """Release what is held between answers."""
        ...
