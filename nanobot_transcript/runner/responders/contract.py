"""What an agent's mind must do, whatever it is."""

from collections.abc import AsyncIterator
from typing import Protocol

from nanobot_transcript.conversation.prompt import Prompt

__all__ = ["Responder"]


class Responder(Protocol):
    """Answers prompts. Several calls may be under way at once, one for each chat."""

    def respond(self, prompt: Prompt) -> AsyncIterator[str]:
        """The answer in pieces, as they come; no piece, or only white space, is no answer.

        Raises ResponderError, also after some pieces: then there is no answer. Whoever stops reading closes the
        iterator, which ends the work behind it.
        """
        ...

    async def close(self) -> None:
        """Release what is held between answers."""
        ...
