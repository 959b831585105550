"""Recorded answers of a judge: their file, and what the gate makes of them when they are replayed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.readonly import read_only

from nanobot_transcript.errors import ImportFormatError, StoreBusyError, StoreUnavailableError
from nanobot_transcript.relevance import GateOptions, Prompt, RelevanceGate
from nanobot_transcript.relevance.decision import Reason
from nanobot_transcript.relevance.evaluation.recorded_answers import RecordedAnswer, RecordedJudge, Recording, key_of

PROMPT = Prompt("You decide.", '{"new_message": "so?"}')
KEY = key_of(PROMPT, "m")
ANSWER = RecordedAnswer(KEY, "m", True, 0.5, 100, 7)
OTHER = RecordedAnswer(key_of(PROMPT, "n"), "n", None, 1.5)

Keep = Callable[[RecordedAnswer], None]


def recorded(path: Path, *answers: RecordedAnswer) -> Recording:
    made = Recording(path, may_begin=True)
    with made.recording() as keep:
        for answer in answers:
            keep(answer)
    return made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


def test_what_was_recorded_is_read_again(path: Path) -> None:
    made = recorded(path, ANSWER, OTHER)
    for answers in (made, Recording(path)):
        assert (len(answers), answers.models, answers.unread, answers.foreign) == (2, ["m", "n"], 0, 0)
        assert [answers.get(one.key) for one in (ANSWER, OTHER)] == [ANSWER, OTHER]
        assert answers.get("0" * 64) is None
    first, second = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert first == {
        "v": 1,
        "key": KEY,
        "model": "m",
        "respond": True,
        "seconds": 0.5,
        "prompt_tokens": 100,
        "completion_tokens": 7,
    }
    assert set(second) == {"v", "key", "model", "respond", "seconds"}


def test_an_answer_is_in_the_file_as_soon_as_it_is_kept(path: Path) -> None:
    with Recording(path, may_begin=True).recording() as keep:
        keep(ANSWER)
        assert Recording(path).get(KEY) == ANSWER


def test_the_key_says_which_prompt_and_which_model() -> None:
    others = [
        key_of(PROMPT, "n"),
        key_of(Prompt("You decide.{", '"new_message": "so?"}'), "m"),
        key_of(PROMPT._replace(user="\ud83d"), "m"),
    ]
    assert len({KEY, *others}) == 4


@pytest.mark.parametrize("cut", [1, 40, -1])
def test_a_last_line_that_was_cut_costs_only_itself(path: Path, cut: int) -> None:
    recorded(path, ANSWER)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:cut])
    assert Recording(path).get(KEY) == ANSWER
    recorded(path, OTHER)
    assert len(Recording(path)) == 2
    path.write_bytes(whole[:cut])
    recorded(path, ANSWER, OTHER)
    assert len(Recording(path)) == 2


def test_lines_that_cannot_be_used_are_counted(path: Path) -> None:
    recorded(path, ANSWER)
    line = path.read_text(encoding="utf-8")
    wrong = [
        "rubbish",
        "[1]",
        "{}",
        '{"v": 1}',
        line.replace("0.5", "-1").strip(),
        line.replace("true", '"yes"').strip(),
        line.replace(KEY, "short").strip(),
        "x" * 9_000,
    ]
    newer = ['{"v": 2, "key": 7}', '{"v": 0}']
    path.write_text("\n".join([*wrong, "", *newer]) + "\n\xff\n" + line, encoding="latin-1")
    answers = Recording(path)
    assert (len(answers), answers.unread, answers.foreign) == (1, len(wrong) + 1, 2)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ada: hello\nbo: hi\n", "holds no recorded answers"),
        ("no end", "holds no recorded answers"),
        ('{"v": 2, "key": 7}\n', "is of another version"),
    ],
)
def test_a_file_of_something_else_is_refused_and_left_as_it_is(path: Path, text: str, told: str) -> None:
    path.write_text(text, encoding="utf-8")
    for may_begin in (False, True):
        with pytest.raises(ImportFormatError, match=told) as caught:
            Recording(path, may_begin=may_begin)
        assert "--record" in caught.value.hint
    assert path.read_text(encoding="utf-8") == text


def test_a_missing_file_may_be_begun_but_not_replayed(path: Path) -> None:
    with pytest.raises(ImportFormatError, match=r"There is no file .*answers\.jsonl") as caught:
        Recording(path)
    assert "--record" in caught.value.hint
    assert len(Recording(path, may_begin=True)) == 0
    assert not path.exists()


def test_a_folder_in_the_place_of_the_file_is_refused(path: Path) -> None:
    path.mkdir()
    for may_begin in (False, True):
        with pytest.raises(ImportFormatError, match="cannot be read"):
            Recording(path, may_begin=may_begin)


def test_a_file_that_cannot_be_written_says_so(tmp_path: Path, path: Path) -> None:
    with (
        pytest.raises(StoreUnavailableError, match="cannot be written"),
        Recording(tmp_path / "not" / "there", may_begin=True).recording(),
    ):
        pass
    with read_only(tmp_path), pytest.raises(StoreUnavailableError), Recording(path, may_begin=True).recording():
        pass


def test_two_do_not_record_into_one_file_at_once(path: Path) -> None:
    with Recording(path, may_begin=True).recording():
        other = Recording(path, may_begin=True)
        with pytest.raises(StoreBusyError, match=r"answers\.jsonl"), other.recording():
            pass
    recorded(path, ANSWER)
    assert len(Recording(path)) == 1


@pytest.mark.parametrize(
    ("respond", "seconds", "reason"),
    [
        (True, 1.0, Reason.JUDGE_YES),
        (False, 0.0, Reason.JUDGE_NO),
        (None, 0.1, Reason.JUDGE_UNCLEAR),
        (True, 1.001, Reason.JUDGE_TIMEOUT),
        (None, 9.0, Reason.JUDGE_TIMEOUT),
    ],
)
async def test_the_gate_takes_a_recorded_answer_as_it_would_have_taken_the_judges(
    group: Any, path: Path, respond: bool | None, seconds: float, reason: Reason
) -> None:
    options = GateOptions(judge_from=0.0, judge_below=1.0, judge_timeout=1.0, on_judge_failure="closed")
    answers = Recording(path, may_begin=True)
    judge = RecordedJudge(answers, "m", options.judge_timeout)
    gate, before = RelevanceGate(options, judge), [group.says("alpha", "好的")]
    decision = gate.decide(group.says("ada", "hm, and now?"), before, group.alpha, group.members)
    assert (await gate.resolve(decision)).reason is Reason.JUDGE_TIMEOUT
    ((key, asked),) = judge.missing.items()
    assert key == key_of(asked, "m")
    with answers.recording() as keep:
        keep(RecordedAnswer(key, "m", respond, seconds))
    judge.told.clear()
    for _ in range(4):  # a judge that is late twice in a row is left alone; a recorded one is not
        resolved = await gate.resolve(decision)
        assert (resolved.reason, resolved.respond) == (reason, reason is Reason.JUDGE_YES)
    assert [one is not None for one in judge.told] == [True] * 4
    assert (judge.missing, judge.questions) == ({}, {key})
