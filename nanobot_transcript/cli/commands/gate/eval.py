"""``gate eval``: how good the gate is on labelled logs and on everyday scenes, and what a judge would change."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nanobot_transcript.cli.commands.gate.judge_trial import JudgeTrial, print_cost
from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.options import ConfigOption, JsonOption, read_settings
from nanobot_transcript.cli.terminal.output import amount, console, emit_json, listed, notice, progress_bar
from nanobot_transcript.cli.terminal.tables import print_table
from nanobot_transcript.errors import NothingFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nanobot_transcript.relevance.evaluation.calibration import Calibration
    from nanobot_transcript.relevance.evaluation.conduct import Conduct
    from nanobot_transcript.relevance.evaluation.log_evaluation import Evaluation
    from nanobot_transcript.relevance.evaluation.scenes import Group
    from nanobot_transcript.relevance.gate import RelevanceGate
    from nanobot_transcript.relevance.options import Style
from typing import TYPE_CHECKING

from nanobot_transcript.cli.terminal.output import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nanobot_transcript.relevance.evaluation.conduct import Conduct, Wrong

__all__ = ["evaluate"]


class _Format(StrEnum):
    IRC = "irc"
    SCENES = "scenes"


class _Style(StrEnum):
    QUIET = "quiet"
    BALANCED = "balanced"
    EAGER = "eager"


def evaluate(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of logs or scenes.", show_default=False)],
    form: Annotated[_Format, typer.Option("--format", metavar="FORMAT", help="irc or scenes.")] = _Format.IRC,
    style: Annotated[
        _Style | None,
        typer.Option("--style", metavar="STYLE", help="quiet, balanced or eager, instead of gate.style."),
    ] = None,
    bots: Annotated[
        int, typer.Option("--bots", metavar="N", min=1, max=100, help="Bots in a group, for the rates of logs.")
    ] = 4,
    judge: Annotated[
        Path | None,
        typer.Option("--judge", metavar="FILE", help="Recorded answers of a judge, for scenes.", readable=False),
    ] = None,
    record: Annotated[
        bool,
        typer.Option("--record", help="Ask the configured judge what FILE does not have yet, and add its answers."),
    ] = False,
    wrong: Annotated[bool, typer.Option("--wrong", help="List the lines of scenes that went wrong.")] = False,
    limit: Annotated[
        int, typer.Option("-n", "--limit", metavar="N", min=1, help="List at most so many; --json has all.")
    ] = 20,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Measure the gate on labelled logs, beside simple rules, or on everyday scenes.

    irc: for each labelled message and each member who spoke lately: is it meant for them? "No nick" counts only where
    the member is not named in the text.
    scenes: for each line of a person: do those bots answer that are expected to? Cold: each scene is the first ever;
    warm: the scenes before it were hours ago.

    --judge: the same scenes also with a judge, by its recorded answers, and what it costs; nothing is asked. With
    --record the endpoint at gate.judge.base_url is asked, whatever gate.judge.kind says: about what is new, and again
    where its answer was unclear. FILE holds no text.

    --wrong: each line that did not go as expected, cold and warm: who was to answer, who did, and how these bots
    scored. With --judge, as it went with the judge.

    Exit code 1: there is nothing to decide about.

    \b
    Example:
      nanobot-transcript gate eval --format irc logs/
      nanobot-transcript gate eval --format scenes scenes/ --style quiet
      nanobot-transcript gate eval --format scenes scenes/ --wrong
      nanobot-transcript gate eval --format scenes scenes/ \\
        --judge answers.jsonl --record
    """
    _require_sense(form, judge, record=record, wrong=wrong)
    settings = read_settings(config, None)
    chosen = settings.gate.style if style is None else style.value
    _tell_style(chosen, said("gate.style of the settings") if style is None else "--style")
    listed = limit if wrong else 0
    if judge is not None:
        _try_judge(folder, JudgeTrial(judge, settings, chosen, asks=record), listed, json=json)
    elif form is _Format.SCENES:
        _evaluate_scenes(folder, chosen, listed, json=json)
    else:
        _evaluate_logs(folder, chosen, bots, json=json)


def _require_sense(form: _Format, judge: Path | None, *, record: bool, wrong: bool) -> None:
    if record and judge is None:
        raise UsageError(said("--record needs a file to keep the answers in."), hint=said("Add --judge FILE."))
    if form is _Format.IRC and (judge is not None or wrong):
        judged = "Members of logs are people, and a judge is asked about bots only."
        listing = "Members of logs are people, and --wrong lists lines of scenes."
        raise UsageError(said(judged if judge is not None else listing), hint=said("Use --format scenes."))


def _tell_style(style: "Style", whence: str) -> None:
    notice(said("Style {style}, by {whence}.", style=style, whence=whence))


def _gate(style: "Style") -> "RelevanceGate":
    from nanobot_transcript.relevance import GateOptions, RelevanceGate

    return RelevanceGate(GateOptions(style=style))


def _evaluate_logs(folder: Path, style: "Style", bots: int, *, json: bool) -> None:
    from nanobot_transcript.relevance.evaluation.irc import read_logs
    from nanobot_transcript.relevance.evaluation.log_evaluation import evaluate as evaluated

    logs = read_logs(folder)
    with progress_bar(said("Deciding")) as advance:
        made = evaluated(logs, _gate(style), advance, bots=bots)
    if not made.decisions:
        messages = amount(made.messages, "labelled message")
        sentence = said("There is nothing to decide in {folder}: {messages}.", folder=folder, messages=messages)
        hint = "A message counts only if somebody else wrote at least two of the 100 lines before it."
        raise NothingFoundError(sentence, hint=said(hint))
    if json:
        emit_json({"style": style, **made.document()})
    else:
        _print_evaluation(made, bots)


def _evaluate_scenes(folder: Path, style: "Style", listed: int, *, json: bool) -> None:
    from nanobot_transcript.relevance.evaluation.conduct import conduct

    made: dict[tuple[str, str], Conduct] = {}
    for language, how, some in _parts(folder):
        with progress_bar(f"Deciding, {how}") as advance:
            made[language, how] = conduct(some, _gate(style), warm=how == _WARM, progress=advance)
    if json:
        told = {key: _with_wrong(one.document(), one, listed) for key, one in made.items()}
        _emit_parts(style, told)
        return
    heads = [f"{language} {how}".strip() for language, how in made]
    _print_conduct(heads, list(made.values()))
    _print_wrong(heads, list(made.values()), listed)


def _try_judge(folder: Path, trial: JudgeTrial, listed: int, *, json: bool) -> None:
    lines = {
        (language, how): trial.decided(some, warm=how == _WARM, label=f"Deciding, {how}")
        for language, how, some in _parts(folder)
    }
    made = trial.tried(lines)
    if json:
        told = {key: _with_wrong(one.document(), one.judged, listed) for key, one in made.items()}
        _emit_parts(trial.options.style, told)
        return
    heads = [f"{language} {how}".strip() for language, how in made]
    pairs = [each for one in made.values() for each in (one.alone, one.judged)]
    _print_conduct([each for head in heads for each in (head, _JUDGED)], pairs)
    print_cost(heads, [one.cost for one in made.values()])
    _print_wrong([f"{head} {_JUDGED}" for head in heads], [one.judged for one in made.values()], listed)


def _with_wrong(document: dict[str, Any], made: "Conduct", listed: int) -> dict[str, Any]:
    """The document of a part, with all its wrong lines where some are to be listed."""
    return {**document, "wrong": [one.document() for one in made.wrong]} if listed else document


def _emit_parts(style: "Style", told: dict[tuple[str, str], dict[str, Any]]) -> None:
    parts = told.items()
    emit_json([{"language": language, "history": how, "style": style, **each} for (language, how), each in parts])


def _print_wrong(heads: "Sequence[str]", made: "Sequence[Conduct]", listed: int) -> None:
    if listed:
        for head, one in zip(heads, made, strict=True):
            print_wrong(head, one, listed)


_COLD, _WARM, _JUDGED = "cold", "warm", "with judge"


def _parts(folder: Path) -> "Iterator[tuple[str, str, list[Group]]]":
    """The groups of each language, cold and warm: (language, cold or warm, groups)."""
    from nanobot_transcript.relevance.evaluation.scenes import read_groups

    groups = read_groups(folder)
    for how in (_COLD, _WARM):
        for language in sorted({group.language for group in groups}):
            yield language, how, [group for group in groups if group.language == language]


def _print_conduct(heads: "Sequence[str]", made: "Sequence[Conduct]") -> None:
    from nanobot_transcript.relevance.evaluation.scenes import KINDS

    rows = [[said("all"), *(f"{one.met / one.lines:.3f}" if one.lines else "" for one in made)]]
    for kind in KINDS:
        shares = [one.kinds[kind].share if kind in one.kinds else None for one in made]
        if any(share is not None for share in shares):
            rows.append([kind, *("" if share is None else f"{share:.3f}" for share in shares)])
    rows.append([said("lines"), *(f"{one.lines:,}" for one in made)])
    rows.append([said("intrusions per 100"), *(f"{one.intrusions_per_100:.1f}" for one in made)])
    rows.append([said("unanswered per 100"), *(f"{one.misses_per_100:.1f}" for one in made)])
    briers = [one.calibration.brier for one in made]
    rows.append(["Brier", *("" if head == _JUDGED else f"{one:.3f}" for head, one in zip(heads, briers, strict=True))])
    print_table(["as expected", *heads], rows, right=heads, shorten="as expected")
    notice(said("intrusions: of 100 messages from people, how many a bot answers that is not meant."))
    notice(said("unanswered: of 100 messages for a bot, how many it does not answer."))


def _print_evaluation(made: "Evaluation", bots: int) -> None:
    counts = listed([amount(made.messages, "message"), amount(made.decisions, "decision")])
    console().print(said("{counts}, {ms} ms each", counts=counts, ms=f"{made.ms_per_decision:.3f}"), soft_wrap=True)
    heads = ("precision", "recall", "F1", "95 %")
    for title, scores in (("all decisions", made.all), ("no nick", made.no_nick)):
        rows = [
            [name.replace("_", " "), f"{one.p:.3f}", f"{one.r:.3f}", f"{one.f1:.3f}", f"{one.low:.3f}-{one.high:.3f}"]
            for name, one in scores.items()
        ]
        print_table([title, *heads], rows, right=heads, shorten=title)
    _print_calibration(made.calibration)
    rates = said(
        "With {bots} of them bots: of 100 messages, a bot butts in at {intrusions}; "
        "of 100 messages for a bot, {misses} go unanswered.",
        bots=bots,
        intrusions=f"{made.intrusions_per_100:.1f}",
        misses=f"{made.misses_per_100:.1f}",
    )
    console().print(rates, soft_wrap=True)
    if made.mentions:
        named = "Of {count} members rightly named, the gate answers for {answered}."
        notice(said(named, count=made.mentions, answered=made.mentions_answered))


def _print_calibration(made: "Calibration") -> None:
    heads = ("was meant", "decisions")
    rows = [[f"{score:.2f}", f"{share:.2f}", f"{count:,}"] for score, share, count in made.bins]
    print_table(["score", *heads], rows, right=heads, shorten="score")
    console().print(f"Brier {made.brier:.4f}", soft_wrap=True)


def print_wrong(head: str, made: "Conduct", limit: int) -> None:
    """A table of at most ``limit`` lines that went wrong, below what is left out; ``head`` says in which part."""
    if not made.wrong:
        return
    title = f"wrong, {head}"
    console().print()
    print_table(
        [title, "kind", "expected", "answered", "score", "text"],
        [_row(one) for one in made.wrong[:limit]],
        shorten="text",
    )
    if len(made.wrong) > limit:
        notice(f"{len(made.wrong) - limit:,} more of {len(made.wrong):,} wrong lines ({head}); see them with --limit.")


def _row(wrong: "Wrong") -> list[str]:
    message, expected = wrong.labelled.message, wrong.labelled.expected
    scores = (f"{bot} {score:.2f}" for bot, score in sorted(wrong.scores.items()))
    row = (
        message["message_id"] or "",
        wrong.labelled.kind,
        ("one of " if expected.one and len(expected.bots) > 1 else "") + _named(expected.bots),
        _named(wrong.answered),
        ", ".join(scores),
        f"{message.get('sender_name')}: {' '.join(message['content'].split())}",
    )
    return [printable(cell) for cell in row]


def _named(bots: "Iterable[str]") -> str:
    return ", ".join(sorted(bots)) or "nobody"
