"""The features of a score in words, for people who ask why."""

from math import expm1
from typing import Final

__all__ = ["WORDS", "in_words"]

WORDS: Final[dict[str, str]] = {
    "gap": "lines since the agent spoke: {lines}",
    "gap_before": "lines since the agent's line before that: {lines}",
    "spoke_last": "the agent spoke last: {truth}",
    "between": "others who spoke since: {lines}",
    "own_gap": "lines since the sender spoke: {lines}",
    "said_gap": "lines since the sender named the agent: {lines}",
    "heard_gap": "lines since the agent named the sender: {lines}",
    "meant_gap": "lines since the sender last spoke to the agent, as far as known: {lines}",
    "felt_gap": "lines since the agent last spoke to the sender, as far as known: {lines}",
    "partner": "the agent is the sender's last partner: {truth}",
    "partner_gap": "lines since the sender was in touch with anybody: {lines}",
    "partner_of": "the sender is the agent's last partner: {truth}",
    "busy": "the agent's last partner is somebody else: {truth}",
    "exchanged": "lines in which one named the other: {lines}",
    "pending": "the agent's lines to the sender since the sender spoke: {lines}",
    "pending_others": "others who have spoken to the sender since: {number}",
    "own_target": "the sender's last line was for the agent: {truth}",
    "own_target_other": "the sender's last line was for somebody else: {truth}",
    "last_to_other": "the agent's last line was for somebody else: {truth}",
    "last_free": "the agent's last line was for nobody in particular: {truth}",
    "last_asks": "the agent's last line asks something: {truth}",
    "asked_gap": "lines since the agent asked something: {lines}",
    "newcomer": "lines since the agent's first: {lines}",
    "count": "lines of the agent: {lines}",
    "own_count": "lines of the sender: {lines}",
    "share": "the agent's share of the lines: {share}",
    "minutes": "minutes since the agent spoke: {lines}",
    "named": "the agent is named: {truth}",
    "named_first": "it begins with the agent's name: {truth}",
    "names_other": "only others are named: {truth}",
    "other_first": "it begins with another name: {truth}",
    "hinted": "it begins like the agent's name: {truth}",
    "hints_other": "it begins like another name: {truth}",
    "stranger": "it begins by addressing an unknown name: {truth}",
    "asks": "it asks something: {truth}",
    "length": "its length: {lines}",
    "last_length": "length of the agent's last line: {lines}",
    "overlap_last": "terms in common with the agent's last line: {number}",
    "overlap": "terms in common with the agent's lines: {number}",
    "overlap_own": "terms in common with the sender's last line: {number}",
    "closer_partners": "others who were in touch with the sender more lately: {number}",
    "later_partners": "partners of the sender who spoke after the agent: {number}",
    "members": "members who speak: {lines}",
    "answered": "the agent's free lines since the sender spoke: {number}",
    "order": "the agent's place among those who spoke since: {place}",
    "address_rate": "share of lines that name somebody: {share}",
    "own_rate": "that share for the sender: {share}",
    "their_rate": "that share for the agent: {share}",
}
"""By feature; ``benchmarks`` and tests hold it complete."""

_FAR: Final = 119.5
_LAST_PLACE: Final = 9


def in_words(name: str, value: float) -> str:
    """One feature and its value in words."""
    count = expm1(value) if value < 700 else _FAR
    return WORDS[name].format(
        lines="none" if name.endswith(("gap", "gap_before")) and count > _FAR else f"{count:.0f}",
        truth="yes" if value else "no",
        number=f"{value:.0f}",
        share="unknown" if value < 0 else f"{value:.0%}",
        place="none" if value >= _LAST_PLACE else f"{value + 1:.0f}",
    )
