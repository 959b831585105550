"""A text that is still being written: its reader always gets the newest state, however fast it grows."""

import asyncio
from collections.abc import AsyncGenerator

__all__ = ["LiveText"]


class LiveText:
    """One writer, one reader. States that the reader is too slow for are skipped, but never the last one.

    The writer calls ``add`` for each piece, then ``finish`` or ``fail``.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._ended: bool = False
        self._error: BaseException | None = None
        self._changed: asyncio.Event = asyncio.Event()

    @property
    def text(self) -> str:
        """The text so far."""
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def add(self, piece: str) -> None:
        """Add the next piece."""
        self._pieces.append(piece)
        self._changed.set()

    def finish(self, text: str | None = None) -> None:
        """Nothing follows; ``text`` replaces the pieces."""
        if text is not None:
            self._pieces = [text]
        self._ended = True
        self._changed.set()

    def fail(self, error: BaseException) -> None:
        """Nothing follows, and what was shown is not an answer: readers get ``error``."""
        self._ended, self._error = True, error
        self._changed.set()

    async def states(self) -> AsyncGenerator[str]:
        """The text as it grows, the finished one last. Raises what ``fail`` was given."""
        while True:
            if not self._ended:
                await self._changed.wait()
            self._changed.clear()
            if self._error is not None:
                raise self._error
            ended = self._ended
            yield self.text
            if ended:
                return

    async def whole(self) -> str:
        """The finished text. Raises what ``fail`` was given."""
        async for _ in self.states():
            pass
        return self.text
