"""``gate eval --judge``: a real endpoint is asked, its answers are recorded, and they are replayed without it."""

import asyncio
import json
import os
import re
import signal
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.forking import Forked, preload
from support.waiting import PATIENCE, until

from nanobot_transcript.cli import main
from nanobot_transcript.relevance.evaluation.recorder import AT_ONCE, IN_A_ROW
from nanobot_transcript.relevance.evaluation.scenes import read_groups
from transcript_channels.simulator import ModelRequest, Reply, ScriptedModel

preload("nanobot_transcript.cli.app", "openai", "typer.main", "rich.console", "nanobot_transcript.settings.model")

pytestmark = pytest.mark.usefixtures("logging_as_before")

DATA = Path(__file__).resolve().parents[2] / "data" / "scenes" / "known" / "en-club.yaml"
MODEL = "NANOBOT_TRANSCRIPT_GATE__JUDGE__MODEL"

Run = Callable[..., Awaitable[tuple[int, str, str]]]


@pytest.fixture
def scenes(tmp_path: Path) -> Path:
    folder = tmp_path / "scenes"
    folder.mkdir()
    group = yaml.safe_load(DATA.read_text(encoding="utf-8"))
    group["scenes"] = group["scenes"][3:10]
    (folder / "club.yaml").write_text(yaml.safe_dump(group), encoding="utf-8")
    return folder


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


@pytest.fixture
def run(
    scenes: Path, answers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Run:
    """``await run(model, "--record")`` runs the command beside an endpoint; None: nothing says where one is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_COLOR", "1")

    async def command(
        model: ScriptedModel | None, *options: str, form: str = "scenes", patience: str = "60"
    ) -> tuple[int, str, str]:
        for name, value in settings(model, patience).items():
            monkeypatch.setenv(name, value)
        words = ["gate", "eval", str(scenes), "--format", form, "--judge", str(answers), *options]
        code = await asyncio.to_thread(main, words)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


def settings(model: ScriptedModel | None, patience: str = "60") -> dict[str, str]:
    if model is None:
        return {}
    return {
        MODEL: "scripted",
        "NANOBOT_TRANSCRIPT_GATE__JUDGE__BASE_URL": model.base_url,
        "NANOBOT_TRANSCRIPT_GATE__JUDGE__TIMEOUT": patience,
    }


def by_the_words(request: ModelRequest) -> str:
    """The same answer to the same question, whatever the order."""
    kind = sum(request.text.encode()) % 7
    return "I can't respond to that." if kind == 0 else json.dumps({"respond": kind < 6})


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def test_what_was_recorded_is_replayed_without_the_endpoint(run: Run, answers: Path) -> None:
    async with ScriptedModel(by_the_words) as model:
        code, _, error = await run(model, "--record", "--json")
        assert code == 0, error
        asked = len(model.requests)
        assert asked == len(lines(answers)) > 0
        unclear = sum(line["respond"] is None for line in lines(answers))
        again = await run(model, "--record", "--json")
        assert len(model.requests) == asked + unclear == len(lines(answers)) > asked
    told = f"Asking scripted {unclear} questions, {unclear} of them again, as the answer was unclear;"
    assert f"{told} {asked - unclear} are answered already." in again[2]
    assert f"Asking scripted {asked} questions; 0 are answered already." in error
    assert f"{asked} answers recorded in {answers}." in error
    assert "said neither yes nor no; the first one: I can't respond to that." in error
    assert (await run(None, "--json"))[1] == again[1]
    cold, warm = json.loads(again[1])
    assert (cold["history"], warm["history"]) == ("cold", "warm")
    for one in (cold, warm):
        judge = one["judge"]
        assert (judge["model"], judge["timeout"], judge["missing"], judge["late"]) == ("scripted", 60.0, 0, 0)
        assert judge["questions_per_100"] >= judge["asked_about_per_100"] > judge["questions_per_bot_per_100"] > 0
        assert judge["prompt_tokens_per_100"] > judge["completion_tokens_per_100"] > 0
        assert judge["p95_seconds"] >= judge["median_seconds"] > 0
        assert set(one["with_judge"]["kinds"]) == set(one["kinds"])
    assert any(one["with_judge"]["kinds"] != one["kinds"] for one in (cold, warm))
    assert cold["judge"]["unclear"] + warm["judge"]["unclear"] > 0


async def test_the_tables_show_both_beside_each_other_and_the_cost_below(run: Run) -> None:
    async with ScriptedModel(by_the_words) as model:
        await run(model, "--record")
    code, out, error = await run(None)
    assert code == 0
    expected, cost = out.split("\n\n")
    assert re.split("  +", expected.splitlines()[0]) == [
        "as expected",
        "en cold",
        "with judge",
        "en warm",
        "with judge",
    ]
    assert [re.split("  +", row)[0] for row in cost.splitlines()] == [
        "judge scripted",
        "asked about per 100",
        "questions per bot per 100",
        "questions per 100",
        "prompt tokens per 100",
        "completion tokens per 100",
        "seconds, median",
        "seconds, 95 of 100",
        "questions",
        "late",
        "unclear",
        "no recorded answer",
    ]
    assert "late: answers after more than 60 s (gate.judge.timeout)." in error
    assert "no recorded answer" not in error


async def test_without_record_nothing_is_asked_and_what_is_missing_is_told(run: Run, answers: Path) -> None:
    async with ScriptedModel(by_the_words) as model:
        await run(model, "--record")
        asked = len(model.requests)
        kept = answers.read_text(encoding="utf-8").splitlines(keepends=True)[:-3]
        answers.write_text("".join(kept), encoding="utf-8")
        code, out, error = await run(model, "--json")
        assert (code, len(model.requests)) == (0, asked)
    assert f"3 of {asked} questions have no recorded answer; record them with --record." in error
    assert sum(one["judge"]["missing"] for one in json.loads(out)) >= 3
    assert len(lines(answers)) == asked - 3


async def test_the_file_holds_no_word_of_the_conversations_or_of_the_answers(
    run: Run, scenes: Path, answers: Path
) -> None:
    async with ScriptedModel(lambda request: f'I read: {request.text} {{"respond": true}}') as model:
        await run(model, "--record")
    text = answers.read_text(encoding="utf-8")
    (group,) = read_groups(scenes)
    said = [entry["content"] for scene in group.scenes for entry in scene]
    assert not [words for words in (*said, *(member.name for member in group.members), "I read") if words in text]
    known = {"v", "key", "model", "respond", "seconds", "prompt_tokens", "completion_tokens"}
    assert {name for line in lines(answers) for name in line} == known
    assert answers.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
async def test_a_recording_that_is_interrupted_goes_on_where_it_was(
    run: Run, scenes: Path, answers: Path, tmp_path: Path, how: signal.Signals
) -> None:
    def the_first_ten(request: ModelRequest) -> str | Reply:
        return by_the_words(request) if len(model.requests) <= 10 else Reply("yes", delay=PATIENCE)

    async with ScriptedModel(the_first_ten) as model:
        words = ("gate", "eval", str(scenes), "--format", "scenes", "--judge", str(answers), "--record")
        env = {**os.environ, **settings(model), "HOME": str(tmp_path)}
        process = Forked("nanobot_transcript", *words, env=env, stderr=subprocess.PIPE, text=True)
        await until(lambda: answers.exists() and len(answers.read_bytes().splitlines()) == 10)
        process.send_signal(how)
        _, error = await asyncio.to_thread(process.communicate, timeout=PATIENCE)
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert f"10 answers recorded in {answers}." in error
    unclear = sum(line["respond"] is None for line in lines(answers))
    answers.write_bytes(answers.read_bytes() + b'{"v":1,"key":"0')  # as a machine that lost its power leaves it
    async with ScriptedModel(by_the_words) as model:
        code, _, error = await run(model, "--record")
        asked = len(model.requests)
    assert (code, len(answers.read_bytes().splitlines())) == (0, 10 + 1 + asked)
    assert f"Asking scripted {asked} questions" in error
    assert f"; {10 - unclear} are answered already." in error
    assert "Left out of" in error
    assert "no recorded answer" not in error


async def test_an_endpoint_that_fails_now_and_then_leaves_questions_for_the_next_time(run: Run, answers: Path) -> None:
    def every_third(request: ModelRequest) -> str | Reply:
        return Reply(status=503, error="busy") if len(model.requests) % 3 == 0 else by_the_words(request)

    async with ScriptedModel(every_third) as model:
        code, out, error = await run(model, "--record", "--json")
        failed = len(model.requests) - len(lines(answers))
        assert (code, failed) == (0, len(model.requests) // 3)
    assert f"{failed} questions failed; the last one: Error code: 503" in error
    assert f"{failed} of {len(model.requests)} questions have no recorded answer" in error
    assert sum(one["judge"]["missing"] for one in json.loads(out)) >= failed


async def test_an_endpoint_that_is_out_of_order_ends_the_recording_and_keeps_what_there_is(
    run: Run, answers: Path
) -> None:
    async with ScriptedModel(["yes"] * 12) as model:  # then HTTP 500
        code, out, error = await run(model, "--record", "--json")
        assert len(model.requests) <= 12 + IN_A_ROW + 2 * AT_ONCE
    assert (code, len(lines(answers))) == (4, 12)
    assert "12 answers recorded" in error
    document = json.loads(out)["error"]
    assert document["code"] == "responder"
    assert "times in a row: Error code: 500" in document["message"]
    assert "the same command continues where it stopped" in document["hint"]
    async with ScriptedModel(by_the_words) as model:
        code, _, error = await run(model, "--record")
    assert code == 0
    assert "12 are answered already" in error


async def test_an_endpoint_that_is_not_there_is_a_remote_failure(run: Run, answers: Path) -> None:
    async with ScriptedModel() as model:
        pass
    code, _, error = await run(model, "--record")
    assert (code, answers.read_bytes()) == (4, b"")
    assert re.search(r"The judge failed \d times in a row: Connection error", error)
    assert "Check gate.judge.base_url" in error


async def test_answers_that_came_too_late_count_as_late_and_the_setting_decides(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ScriptedModel(lambda _: "yes") as model:
        _, in_time, _ = await run(model, "--record", "--json")
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_GATE__JUDGE__TIMEOUT", "0.000001")
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_GATE__JUDGE__ON_FAILURE", "closed")
    _, late, _ = await run(None, "--json")
    for before, after in zip(json.loads(in_time), json.loads(late), strict=True):
        assert (before["judge"]["late"], after["judge"]["late"]) == (0, after["judge"]["questions"])
        assert before["judge"]["median_seconds"] == after["judge"]["median_seconds"]
        assert after["with_judge"]["intrusions_per_100"] < before["with_judge"]["intrusions_per_100"]


async def test_a_recording_waits_longer_than_the_gate_would(run: Run) -> None:
    async with ScriptedModel(by_the_words) as model:
        code, out, _ = await run(model, "--record", "--json", patience="0.000001")
    assert code == 0
    assert all(one["judge"]["late"] == one["judge"]["questions"] > 0 for one in json.loads(out))


async def test_the_file_says_which_model_is_meant_if_there_is_one_only(
    run: Run, answers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ScriptedModel(by_the_words) as model:
        await run(model, "--record")
    monkeypatch.delenv(MODEL)
    assert (await run(None))[0] == 0
    line = lines(answers)[0] | {"model": "other", "key": "0" * 64}
    answers.write_text(f"{answers.read_text(encoding='utf-8')}{json.dumps(line)}\n", encoding="utf-8")
    code, _, error = await run(None)
    assert code == 2
    assert "has answers of other, scripted." in error
    assert "gate.judge.model" in error
    monkeypatch.setenv(MODEL, "third")
    code, out, error = await run(None, "--json")
    assert code == 0
    assert "have no recorded answer of third;" in error
    assert all(one["judge"]["missing"] == one["judge"]["questions"] for one in json.loads(out))


@pytest.mark.parametrize(
    ("options", "form", "told"),
    [
        (("--record",), "irc", "a judge is asked about bots only"),
        ((), "irc", "a judge is asked about bots only"),
        (("--record",), "scenes", "gate.judge.model is missing"),
        ((), "scenes", "There is no file"),
    ],
)
async def test_what_makes_no_sense_is_told_and_writes_nothing(
    run: Run, answers: Path, options: tuple[str, ...], form: str, told: str
) -> None:
    code, out, error = await run(None, *options, form=form)
    assert (code, out, answers.exists()) == (2, "", False)
    assert told in error
    assert "Hint: " in error


async def test_a_model_that_the_host_uses_cannot_be_asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_GATE__JUDGE__KIND", "host")
    code, _, error = await run(None, "--record")
    assert code == 2
    assert "cannot be asked from here" in error


def test_record_needs_a_file(scenes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", "eval", str(scenes), "--format", "scenes", "--record"]) == 2
    assert "Add --judge FILE." in capsys.readouterr().err


async def test_a_file_of_something_else_is_refused_before_anything_is_asked(run: Run, answers: Path) -> None:
    answers.write_text("ada: hello\n", encoding="utf-8")
    async with ScriptedModel(by_the_words) as model:
        code, _, error = await run(model, "--record")
        assert (code, model.requests) == (2, [])
    assert "holds no recorded answers" in error
    assert answers.read_text(encoding="utf-8") == "ada: hello\n"
