"""What a judge would change on scenes: the same lines without it and with it, and what it costs."""

import asyncio
from pathlib import Path

import pytest

from nanobot_transcript.relevance import GateOptions, RelevanceGate
from nanobot_transcript.relevance.decision import Decision, Reason, Stage
from nanobot_transcript.relevance.evaluation.conduct import conduct
from nanobot_transcript.relevance.evaluation.judge_trial import Cost, Trial, decided, tried
from nanobot_transcript.relevance.evaluation.recorded_answers import RecordedAnswer, RecordedJudge, Recording
from nanobot_transcript.relevance.evaluation.scenes import Group, read_groups

SCENES = Path(__file__).resolve().parents[2] / "data" / "scenes" / "known"


@pytest.fixture(scope="module")
def groups() -> list[Group]:
    return [group for group in read_groups(SCENES) if group.language == "en"][:1]


def trial(groups: list[Group], options: GateOptions, judge: RecordedJudge) -> Trial:
    lines = decided(groups, options, judge, warm=True)
    return asyncio.run(tried({"": lines}, options, judge))[""]


def everything_answered(groups: list[Group], options: GateOptions, path: Path, respond: bool) -> RecordedJudge:
    answers = Recording(path, may_begin=True)
    judge = RecordedJudge(answers, "m", options.judge_timeout)
    trial(groups, options, judge)
    with answers.recording() as keep:
        for key in judge.missing:
            keep(RecordedAnswer(key, "m", respond, 0.5, 200, 4))
    return judge


def test_without_the_judge_the_figures_are_those_of_a_gate_without_one(groups: list[Group], tmp_path: Path) -> None:
    options = GateOptions(style="eager")
    judge = RecordedJudge(Recording(tmp_path / "a", may_begin=True), "m", options.judge_timeout)
    made = trial(groups, options, judge)
    assert made.alone.document() == conduct(groups, RelevanceGate(options), warm=True).document()
    assert made.cost.questions == made.cost.missing >= made.cost.asked_about > 0


@pytest.mark.parametrize("respond", [True, False])
def test_the_judge_decides_what_the_score_leaves_open(groups: list[Group], tmp_path: Path, respond: bool) -> None:
    options = GateOptions()
    made = trial(groups, options, everything_answered(groups, options, tmp_path / "a", respond))
    assert made.cost.missing == made.cost.late == made.cost.unclear == 0
    assert made.judged.lines == made.alone.lines == made.cost.lines
    if respond:
        assert made.judged.intrusions > made.alone.intrusions
    else:
        assert made.judged.misses > made.alone.misses
    document = made.document()
    assert set(document["with_judge"]) < set(document)
    assert "brier" not in document["with_judge"]  # a judge changes no score


def test_the_cost_is_told_per_100_messages() -> None:
    cost = Cost("m", patience=2.0)
    undecided = Decision(None, Reason.UNDECIDED, 0.5, Stage.SCORE)
    unclear = Decision(False, Reason.JUDGE_UNCLEAR, 0.5, Stage.JUDGE)
    told = [RecordedAnswer("k", "m", True, seconds, 100, None) for seconds in (1.0, 2.0, 3.0)]
    cost.count(told, [undecided] * 4)
    cost.count([None, RecordedAnswer("k", "m", None, 0.5, 300, None)], [unclear, undecided, undecided, undecided])
    for _ in range(6):
        cost.count([], [undecided] * 4)
    assert (cost.asked_about_per_100, cost.questions_per_100) == (25.0, 62.5)
    assert cost.questions_per_bot_per_100 == 62.5 / 4
    assert (cost.late, cost.unclear, cost.missing) == (1, 1, 1)
    assert (cost.median_seconds, cost.most_seconds) == (1.5, 3.0)
    assert cost.tokens_per_100(cost.prompt_tokens) == 150 * 62.5
    assert cost.document()["completion_tokens_per_100"] is None


def test_what_was_never_asked_costs_nothing() -> None:
    document = Cost("m", patience=2.0).document()
    assert document["questions_per_100"] == document["asked_about_per_100"] == document["late"] == 0
    assert document["median_seconds"] is document["p95_seconds"] is document["prompt_tokens_per_100"] is None
