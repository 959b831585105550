"""Passing on lines as they are written, by whichever process.

NOTIFY is only a hint that something was written. What is passed on is whatever stands behind the follower's own
position, so a hint that was lost with a connection loses no line.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import StoreError
from nanobot_transcript.record.postgres.cursors import parse_cursor
from nanobot_transcript.record.postgres.rows import ChatRows, Head, Row
from nanobot_transcript.record.postgres.schema import RECORD
from nanobot_transcript.sql.postgres.engine import Engine
from nanobot_transcript.store.lines.codec import decode
from nanobot_transcript.store.lines.ops import is_erasure_mark

__all__ = ["follow"]

logger = logging.getLogger(__name__)

_PAGE: Final = 500
_LOOKS: Final = 5.0
"""Seconds between two queries without a hint."""
_SOON, _LATEST = 0.2, 5.0
"""Seconds between two attempts while the database is away: at first, and at most."""


async def follow(engine: Engine, rows: ChatRows, after: str | None) -> AsyncGenerator[Entry, None]:
    """See ``StoreBackend.follow``. While the database is away nothing comes; after that, everything that was
    missed.
    """
    place = parse_cursor(rows.tag, after) if after is not None else None
    loop, news = asyncio.get_running_loop(), asyncio.Event()

    def heard(_: str | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody is waiting
            loop.call_soon_threadsafe(news.set)

    with engine.listener.listening(rows.channels[0], heard):
        if place is None:
            head = await asyncio.to_thread(engine.read, RECORD, rows.head, None)
            place = head.seq if head is not None else 0
        pause = _SOON
        while True:
            news.clear()
            try:
                told = await asyncio.to_thread(_behind, engine, rows, place)
                pause = _SOON
            except StoreError as error:
                logger.log(
                    logging.INFO if pause == _SOON else logging.DEBUG, "Cannot follow a chat, trying again: %s", error
                )
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LATEST)
                continue
            head, found = told or (None, [])
            if told is not None and not found:  # a failover may have lost lines: begin at what the new server has
                place = min(place, head.seq if head is not None else 0)
            for seq, line in found:
                place = seq
                entry = decode(line)
                if entry is not None and not is_erasure_mark(entry):
                    yield entry
            if len(found) < _PAGE:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOKS):
                        await news.wait()


def _behind(engine: Engine, rows: ChatRows, place: int) -> tuple[Head | None, list[Row]] | None:
    """None while there are no tables, as while a backup is being restored."""
    return engine.read(RECORD, lambda connection: rows.all_forward(connection, place, _PAGE), None)
