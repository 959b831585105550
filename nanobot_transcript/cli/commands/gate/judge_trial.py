"""``gate eval --judge``: what a judge would change on everyday scenes, and what it costs, from its recorded answers."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from nanobot_transcript.cli.terminal.output import amount, console, notice, printable, progress_bar
from nanobot_transcript.cli.terminal.tables import print_table
from nanobot_transcript.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nanobot_transcript.relevance import OpenAIJudge
    from nanobot_transcript.relevance.evaluation.judge_trial import Cost, DecidedLine, Trial
    from nanobot_transcript.relevance.evaluation.recorded_answers import Recording
    from nanobot_transcript.relevance.evaluation.recorder import Recorded
    from nanobot_transcript.relevance.evaluation.scenes import Group
    from nanobot_transcript.relevance.options import GateOptions, Style
    from nanobot_transcript.settings import LoadedSettings

__all__ = ["JudgeTrial", "print_cost"]

_Key = TypeVar("_Key")

_PATIENCE: Final = 60.0
"""Seconds for which a recording waits at least for an answer: longer than bots wait, so that late answers are known."""


class JudgeTrial:
    """What was recorded of the settings' judge in the file ``recorded``, tried on scenes; with ``asks`` it is asked for
    the rest. Raises ImportFormatError for another file, ConfigError where nothing says which model is meant.
    """

    def __init__(self, recorded: Path, settings: "LoadedSettings", style: "Style", *, asks: bool) -> None:
        from nanobot_transcript.relevance.evaluation.recorded_answers import RecordedJudge, Recording

        self.options: GateOptions = replace(settings.gate.options(), style=style)
        self._answers: Recording = Recording(recorded, may_begin=asks)
        self._endpoint: OpenAIJudge | None = _endpoint(settings) if asks else None
        if asks:
            with self._answers.recording():  # a file that cannot be written is reported before the work begins
                pass
        model = settings.gate.judge.model or _only_model(self._answers)
        self.judge: RecordedJudge = RecordedJudge(self._answers, model, self.options.judge_timeout)
        _tell_unread(self._answers)

    def decided(self, groups: "list[Group]", *, warm: bool, label: str) -> "list[DecidedLine]":
        """What all bots decide before the judge is asked."""
        from nanobot_transcript.relevance.evaluation.judge_trial import decided

        with progress_bar(label) as advance:
            return decided(groups, self.options, self.judge, warm=warm, progress=advance)

    def tried(self, lines: "dict[_Key, list[DecidedLine]]") -> "dict[_Key, Trial]":
        """What the judge makes of them, by the same keys. Raises what recording raises."""
        from nanobot_transcript.relevance.evaluation.judge_trial import tried

        made = asyncio.run(tried(lines, self.options, self.judge))
        if self._endpoint is not None and (self.judge.missing or self.judge.unclear):
            self._record(self._endpoint)
            made = asyncio.run(tried(lines, self.options, self.judge))
        if self.judge.missing:
            self._tell_missing()
        return made

    def _record(self, endpoint: "OpenAIJudge") -> None:
        unclear = len(self.judge.unclear)
        questions = {**self.judge.missing, **self.judge.unclear}
        known = len(self.judge.questions) - len(questions)
        again = f", {unclear:,} of them again, as the answer was unclear" if unclear else ""
        asked = f"{amount(len(questions), 'question')}{again}"
        notice(f"Asking {endpoint.model} {asked}; {known:,} are answered already.")
        try:
            made = asyncio.run(_recorded(endpoint, self._answers, questions))
        finally:
            notice(f"{amount(self._answers.kept, 'answer')} recorded in {self._answers.path}.")
        _tell_recorded(made)

    def _tell_missing(self) -> None:
        missing, questions = len(self.judge.missing), amount(len(self.judge.questions), "question")
        models, fallback = self._answers.models, self.options.on_judge_failure
        of_whom = f" of {self.judge.model}" if models and self.judge.model not in models else ""
        notice(
            f"{missing:,} of {questions} {'has' if missing == 1 else 'have'} no recorded answer{of_whom}; "
            f"record them with --record. They count as failed (gate.judge.on_failure: {fallback})."
        )


async def _recorded(endpoint: "OpenAIJudge", answers: "Recording", questions: dict[str, Any]) -> "Recorded":
    from nanobot_transcript.relevance.evaluation.recorder import record

    try:
        with answers.recording() as keep, progress_bar("Asking") as advance:
            return await record(questions, endpoint, keep, advance)
    finally:
        await endpoint.aclose()


def _endpoint(settings: "LoadedSettings") -> "OpenAIJudge":
    """The settings' judge, whether it is switched on or not."""
    judge = settings.gate.judge
    if judge.model is None:
        host = " The model that nanobot or an agent uses cannot be asked from here." if judge.kind == "host" else ""
        raise ConfigError(
            f"gate.judge.model is missing.{host}",
            hint="Name the model, and its gate.judge.base_url; gate.judge.kind may stay as it is.",
        )
    settings.require("gate.judge")
    return judge.asking(judge, patience=max(_PATIENCE, 2 * judge.timeout))


def _only_model(answers: "Recording") -> str:
    if len(answers.models) == 1:
        return answers.models[0]
    if not answers.models:
        raise ConfigError(f"{answers.path} has no answers yet.", hint="Add --record to record some.")
    named = f"{answers.path} has answers of {', '.join(answers.models)}."
    raise ConfigError(named, hint="Set gate.judge.model to one of them.")


def _tell_unread(answers: "Recording") -> None:
    if answers.unread:
        notice(f"Left out of {answers.path}: {amount(answers.unread, 'line')} that cannot be read.")
    if answers.foreign:
        notice(f"Left out of {answers.path}: {amount(answers.foreign, 'line')} of another version.")


def _tell_recorded(made: "Recorded") -> None:
    if made.failed:
        notice(f"{amount(made.failed, 'question')} failed; the last one: {made.why}")
    if made.unclear:
        notice(f"{amount(made.unclear, 'answer')} said neither yes nor no; the first one: {made.example}")


def print_cost(heads: "Sequence[str]", costs: "Sequence[Cost]") -> None:
    """The table of what a judge costs, with a column for each of ``costs``."""
    rows = [
        ["asked about per 100", *(f"{one.asked_about_per_100:.1f}" for one in costs)],
        ["questions per bot per 100", *(f"{one.questions_per_bot_per_100:.1f}" for one in costs)],
        ["questions per 100", *(f"{one.questions_per_100:.1f}" for one in costs)],
        ["prompt tokens per 100", *(_whole(one.tokens_per_100(one.prompt_tokens)) for one in costs)],
        ["completion tokens per 100", *(_whole(one.tokens_per_100(one.completion_tokens)) for one in costs)],
        ["seconds, median", *(_seconds(one.median_seconds) for one in costs)],
        ["seconds, 95 of 100", *(_seconds(one.most_seconds) for one in costs)],
        ["questions", *(f"{one.questions:,}" for one in costs)],
        ["late", *(f"{one.late:,}" for one in costs)],
        ["unclear", *(f"{one.unclear:,}" for one in costs)],
        ["no recorded answer", *(f"{one.missing:,}" for one in costs)],
    ]
    title = printable(f"judge {costs[0].model}")
    console().print()
    print_table([title, *heads], rows, right=heads, shorten=title)
    notice("asked about: of 100 messages from people, how many at least one bot asks the judge about.")
    notice(f"late: answers after more than {costs[0].patience:g} s (gate.judge.timeout).")


def _whole(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
