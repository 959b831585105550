"""Does the judge answer, and in time?"""

import time
from typing import TYPE_CHECKING, Final

from nanobot_transcript.cli.output import amount
from nanobot_transcript.finding import Finding

if TYPE_CHECKING:
    from nanobot_transcript.record import Record
    from nanobot_transcript.settings import LoadedSettings

__all__ = ["check"]

_LEAST: Final = 3
"""Questions; fewer may be chance, or a bot that was called meanwhile and waited for the judge no longer."""
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
        message = f"The judge did not answer {made.late:,} of {questions} of the last day in time."
        found.append(Finding("judge", "warning", message, _mend_time(settings)))
    if made.failed >= least:
        message = f"The judge could not be asked {made.failed:,} of {questions} of the last day."
        found.append(Finding("judge", "warning", message, _mend_endpoint()))
    answered = made.asked - made.late - made.failed
    return found or [Finding("judge", "ok", f"The judge answered {answered:,} of {questions} of the last day.")]


def _mend_time(settings: "LoadedSettings") -> str:
    judge = settings.gate.judge
    return (
        f"It is waited for {judge.timeout:g} s. Raise gate.judge.timeout, name a faster gate.judge.model, or set "
        "gate.judge.kind to off; `nanobot-transcript gate eval --judge FILE --record` tells how long it takes."
    )


def _mend_endpoint() -> str:
    return "The log of the bot says why; check gate.judge.base_url, gate.judge.model and gate.judge.api_key."
