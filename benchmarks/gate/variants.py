"""Quieter and terser channels, made from the labelled ones, so that what is learned holds elsewhere, too.

Thinning drops all lines of some speakers: fewer conversations at a time. Stripping takes the names out of some lines:
people who seldom say to whom they speak.
"""

import random
import re

from nanobot_transcript.relevance.evaluation.irc import IrcLine, Log

__all__ = ["VARIANTS", "varied"]

VARIANTS = {"as it is": (1.0, 0.0), "thinned": (0.4, 0.0), "stripped": (1.0, 0.6), "both": (0.4, 0.6)}
"""By name: the share of speakers that stay, and of lines that lose the names in them."""

_WORD = re.compile(r"[\w\-\[\]\\`^{}|]+[:,]?")


def varied(log: Log, keep: float, strip: float) -> Log:
    """A variant of a log, the same at each call. Messages whose addressee is gone are no longer labelled."""
    if keep == 1.0 and strip == 0.0:
        return log
    dice = random.Random(f"{log.name} {keep} {strip}")
    nicks = {line.nick for line in log.lines if line is not None}
    kept = nicks if keep == 1.0 else {nick for nick in sorted(nicks) if dice.random() < keep}
    folded = {nick.casefold() for nick in nicks}
    moved: dict[int, int] = {}
    lines: list[IrcLine | None] = []
    for at, line in enumerate(log.lines):
        if line is None and keep == 1.0:
            lines.append(None)
        if line is None or line.nick not in kept:
            continue
        moved[at] = len(lines)
        lines.append(_stripped(line, folded) if dice.random() < strip else line)
    links = {
        moved[at]: [moved[earlier] for earlier in earlier_lines if earlier in moved]
        for at, earlier_lines in log.links.items()
        if at in moved and log.addressees(at) <= kept
    }
    return Log(log.name, lines, links)


def _stripped(line: IrcLine, nicks: set[str]) -> IrcLine:
    def without(match: re.Match[str]) -> str:
        return "" if match[0].rstrip(":,").casefold() in nicks else match[0]

    return line._replace(text=_WORD.sub(without, line.text).strip())
