"""Does the gate's judge answer, and in time?"""

import time
from typing import TYPE_CHECKING, Final

from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.output import amount, number
from nanobot_transcript.findings import Finding

if TYPE_CHECKING:
    from nanobot_transcript.record import Record
    from nanobot_transcript.settings import LoadedSettings

__all__ = ["check"]

_LEAST: Final = 3
"""Questions; fewer may be chance, or come from a bot that was mentioned meanwhile and stopped waiting."""
_SHARE: Final = 0.1


def check(settings: "LoadedSettings", record: "Record") -> list[Finding]:
    """A warning for questions of the last day that the judge answered too late, and one for those that failed, where
    there are many; none where nobody was asked.
    """
    from nanobot_transcript.relevance.tally import DAY_MS, judge_since

    made = judge_since(record.decisions, time.time() * 1000 - DAY_MS)
    if not made.asked:
        return []
    least, questions = max(_LEAST, _SHARE * made.asked), amount(made.asked, "question")
    found: list[Finding] = []
    if made.late >= least:
        message = said(
            "The judge did not answer {late} of {questions} of the last day in time.",
            late=number(made.late),
            questions=questions,
        )
        found.append(Finding("judge", "warning", message, _mend_time(settings)))
    if made.failed >= least:
        message = said(
            "The judge could not be asked {failed} of {questions} of the last day.",
            failed=number(made.failed),
            questions=questions,
        )
        found.append(Finding("judge", "warning", message, _mend_endpoint()))
    answered = number(made.asked - made.late - made.failed)
    well = said("The judge answered {answered} of {questions} of the last day.", answered=answered, questions=questions)
    return found or [Finding("judge", "ok", well)]


def _mend_time(settings: "LoadedSettings") -> str:
    judge = settings.gate.judge
    return said(
        "It is waited for {seconds} s. Raise gate.judge.timeout, name a faster gate.judge.model, or set "
        "gate.judge.kind to off; `nanobot-transcript gate eval --judge FILE --record` tells how long it takes.",
        seconds=f"{judge.timeout:g}",
    )


def _mend_endpoint() -> str:
    return said("The log of the bot says why; check gate.judge.base_url, gate.judge.model and gate.judge.api_key.")
