"""Do the minds of the bots answer?"""

import time
from typing import TYPE_CHECKING

from nanobot_transcript.cli.again import again
from nanobot_transcript.finding import Finding

if TYPE_CHECKING:
    from nanobot_transcript.record import Record
    from nanobot_transcript.relevance.tally import Tally

__all__ = ["check"]


def check(record: "Record") -> list[Finding]:
    """Of each bot whose answers failed in the last day, how many and why; one finding when none did, none when there
    was no answer.
    """
    from nanobot_transcript.relevance.tally import DAY_MS, tallies_since

    found = [each for each in tallies_since(record.decisions, time.time() * 1000 - DAY_MS) if each.ended]
    failing = [_failing(each) for each in found if each.failed]
    if failing or not found:
        return failing
    total = sum(each.ended for each in found)
    sent = "The answer of the last day was" if total == 1 else f"All {total} answers of the last day were"
    return [Finding("answers", "ok", f"{sent} sent.")]


def _failing(found: "Tally") -> Finding:
    message = f"{found.agent}: {found.failed} of {found.ended} answers of the last day failed; newest: {found.why}"
    explain = again("gate explain", found.chat, found.message_id)
    fix = f"Check the log of {found.agent}; `{explain}` shows that answer."
    return Finding("answers", "warning", message, fix)
