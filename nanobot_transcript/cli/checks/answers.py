"""Do the minds of the bots answer?"""

import time
from typing import TYPE_CHECKING, Final

from nanobot_transcript.cli.again import again
from nanobot_transcript.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nanobot_transcript.record import Record
    from nanobot_transcript.relevance.tally import Tally

__all__ = ["check"]


def check(record: "Record", *, noted: bool = True, untold: str = "") -> list[Finding]:
    """Of each bot whose answers failed in the last day, how many and why; one finding when none did, none when there
    was no answer. ``noted`` is False where the settings keep outcomes from being noted; ``untold`` names a host here
    that does not say when its model fails.
    """
    from nanobot_transcript.relevance.tally import DAY_MS, tallies_since

    found = [each for each in tallies_since(record.decisions, time.time() * 1000 - DAY_MS) if each.ended]
    failing = [_failing(each) for each in found if each.failed]
    if not noted:
        return [*failing, _NOT_NOTED]
    return failing or ([_well(found, untold)] if found else [])


_NOT_NOTED: Final = Finding(
    "answers",
    "info",
    "gate.log is false: nobody can tell whether answers fail.",
    "Set gate.log to true.",
)


def _well(found: "Sequence[Tally]", untold: str) -> Finding:
    total = sum(each.ended for each in found)
    sentence = "The answer of the last day was sent" if total == 1 else f"All {total} answers of the last day were sent"
    if not untold:
        return Finding("answers", "ok", f"{sentence}.")
    message = f"{sentence}, as far as {untold} tells: it does not say when its model fails."
    return Finding("answers", "info", message, "Upgrade nanobot-ai: 0.3.5 says it.")


def _failing(found: "Tally") -> Finding:
    message = f"{found.agent}: {found.failed} of {found.ended} answers of the last day failed; newest: {found.why}"
    fix = f"Check the log of {found.agent}"
    if not found.message_id:  # in a private chat
        return Finding("answers", "warning", message, f"{fix}.")
    explain = again("gate explain", found.chat, found.message_id)
    return Finding("answers", "warning", message, f"{fix}; `{explain}` shows that answer.")
