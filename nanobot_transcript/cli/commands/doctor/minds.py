"""Do the minds of the bots answer?"""

import time
from typing import TYPE_CHECKING

from nanobot_transcript.cli.terminal.command_hints import again
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nanobot_transcript.record import Record
    from nanobot_transcript.relevance.tally import Tally

__all__ = ["check"]


def check(record: "Record", *, noted: bool = True, untold: str = "") -> list[Finding]:
    """One finding for each bot whose answers failed in the last day; one in all if none failed; none if there was no
    answer. ``noted`` is False if the settings switch the log of outcomes off; ``untold`` names a host that does not
    report when its model fails.
    """
    from nanobot_transcript.relevance.tally import DAY_MS, tallies_since

    found = [each for each in tallies_since(record.decisions, time.time() * 1000 - DAY_MS) if each.ended]
    failing = [_failing(each) for each in found if each.failed]
    if not noted:
        return [*failing, _not_noted()]
    return failing or ([_well(found, untold)] if found else [])


def _not_noted() -> Finding:
    message = said("gate.log is false: nobody can tell whether answers fail.")
    return Finding("answers", "info", message, said("Set gate.log to true."))


def _well(found: "Sequence[Tally]", untold: str) -> Finding:
    total = sum(each.ended for each in found)
    one, several = "The answer of the last day was sent", "All {total} answers of the last day were sent"
    sentence = said(one) if total == 1 else said(several, total=total)
    if not untold:
        return Finding("answers", "ok", said("{sentence}.", sentence=sentence))
    message = said(
        "{sentence}, as far as {host} tells: it does not say when its model fails.", sentence=sentence, host=untold
    )
    return Finding("answers", "info", message, said("Upgrade nanobot-ai: 0.3.5 says it."))


def _failing(found: "Tally") -> Finding:
    message = said(
        "{agent}: {failed} of {ended} answers of the last day failed; newest: {why}",
        agent=found.agent,
        failed=found.failed,
        ended=found.ended,
        why=found.why,
    )
    if not found.message_id:  # in a private chat
        return Finding("answers", "warning", message, said("Check the log of {agent}.", agent=found.agent))
    explain = again("gate explain", found.chat, found.message_id)
    fix = said("Check the log of {agent}; `{explain}` shows that answer.", agent=found.agent, explain=explain)
    return Finding("answers", "warning", message, fix)
