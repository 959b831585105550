"""How many turns bots had in a row, message by message: what the loop guard counts when each is the newest."""

from collections.abc import Sequence

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import is_bot, is_person
from nanobot_transcript.turns import GUARD_HISTORY, bot_turns
from nanobot_transcript.turns.speakers import talk_of

__all__ = ["turns_of_bots"]


def turns_of_bots(entries: Sequence[Entry], idle: float) -> list[int | None]:
    """For each entry, oldest first: the turns of bots in a row up to it, in its chat or thread; 0 for a person's.

    None for what nobody said, such as a note of a program. After ``idle`` seconds of silence a count begins anew.
    """
    return [_turns(entry, entries[max(0, at + 1 - GUARD_HISTORY) : at], idle) for at, entry in enumerate(entries)]


def _turns(entry: Entry, before: Sequence[Entry], idle: float) -> int | None:
    if not is_bot(entry):
        return 0 if is_person(entry) else None
    return bot_turns(entry, talk_of(entry, before), idle=idle)
