"""Whom thanks and consent are for: at most one bot feels thanked by a bare "thanks"."""

from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.relevance.dialogue import NEVER
from nanobot_transcript.relevance.observation import Observation
from nanobot_transcript.turns.courtesy import is_thanks

__all__ = ["is_thanked"]

_LINES: Final = 12
_MINUTES: Final = 10
"""How long a dialogue lasts for the gate."""


def is_thanked(seen: Observation, message: Entry) -> bool:
    """True for thanks and consent that are for the agent: they mention it, name it or reply to it, or the latest line
    of a bot is the agent's and was for the speaker.
    """
    if not is_thanks(seen.text, seen.names):
        return False
    if seen.mentioned:
        return seen.me in seen.mentioned or seen.me in seen.named
    if seen.spelled:
        return seen.me in seen.spelled
    if message.get("reply_to") and seen.reply_author != seen.speaker:
        return seen.reply_author == seen.me
    return not seen.everyone and _spoke_last_of_bots_to(seen)


def _spoke_last_of_bots_to(seen: Observation) -> bool:
    """True when the latest line of a bot is the agent's, recent, and for the speaker, who has been in touch with nobody
    else and was asked nothing since.
    """
    scene, speaker = seen.scene, seen.speaker
    spoke = [at for who, at in scene.last.items() if seen.roster.members[who].kind == "bot"]
    last, partner = max(spoke, default=NEVER), scene.partner.get(speaker)
    if scene.last.get(seen.me) != last or partner is None or partner[0] != seen.me or scene.size - last > _LINES:
        return False
    line = scene.turns[last]
    to = line.to or {scene.partner.get(seen.me, (None, NEVER))[0]}
    asked = any(turn.asks and turn.who != speaker for turn in scene.turns[last + 1 :])
    return speaker in to and not asked and seen.message.turn.minutes_since(line) <= _MINUTES
