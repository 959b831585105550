"""``gate explain`` and ``gate eval`` as a person or a program runs them."""

import json
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.cli import main
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.relevance import RelevanceGate
from nanobot_transcript.relevance.decision import later
from nanobot_transcript.relevance.decision_log_file import FileDecisionLog
from nanobot_transcript.relevance.options import STYLES

KEY = "feishu:oc_team"
START = int(time.time() * 1000) - 10 * 60_000
DATA = Path(__file__).resolve().parents[2] / "data" / "relevance"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_COLOR", "1")

    def command(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@pytest.fixture
def store(tmp_path: Path) -> GroupTranscriptStore:
    """Ada asks Alpha, Alpha answers, Ada goes on."""
    store = GroupTranscriptStore(tmp_path / "store")
    store.members.remember_person("on_ada", "Ada", {"union_id": "on_ada"})
    for app_id, name in (("cli_a", "Alpha"), ("cli_b", "Beta")):
        store.members.remember_bot(app_id, name)
    bot: Any = {"sender_kind": "bot", "ids": {"app_id": "cli_a"}, "reply_to": "om_1"}
    store.append(KEY, "user", "Alpha，什么时候发布？", "on_ada", "om_1", START)
    store.append(KEY, "assistant", "周五。", "Alpha", "om_2", START + 60_000, **bot)
    store.append(KEY, "user", "为什么是周五", "on_ada", "om_3", START + 120_000)
    store.append(KEY, "user", "谢谢", "on_ada", "om_4", START + 180_000)
    return store


def test_explain_replays_the_decision_for_each_bot(run: Run, store: GroupTranscriptStore) -> None:
    code, out, _ = run("gate", "explain", "oc_team", "om_3", "--store", str(store.base_dir), "--json")
    alpha, beta = json.loads(out)["decisions"]
    assert code == 0
    assert (alpha["agent"], alpha["respond"], alpha["reason"]) == ("Alpha", True, "partner")
    assert (beta["agent"], beta["respond"]) == ("Beta", False)
    assert alpha["features"]["partner"] == 1.0
    assert alpha["reasons"]
    _, out, _ = run("gate", "explain", "oc_team", "om_3", "--store", str(store.base_dir))
    assert f"(answers from {alpha['threshold']:.2f})" in out


def test_explain_says_of_a_guess_whether_the_message_is_open(run: Run, tmp_path: Path) -> None:
    store = GroupTranscriptStore(tmp_path / "open")
    for sender, name in (("on_ada", "Ada"), ("on_bo", "Bo")):
        store.members.remember_person(sender, name, {"union_id": sender})
    store.members.remember_bot("cli_a", "Alpha")
    said = {
        "om_1": ("on_bo", "Good morning."),
        "om_2": ("on_ada", "When is the release?"),
        "om_3": ("on_ada", "Can you take a look, Bo?"),
        "om_4": ("on_ada", "Bo, can you take a look?"),
        "om_5": ("on_ada", "Alpha, can you take a look?"),
    }
    for at, (message_id, (sender, text)) in enumerate(said.items()):
        store.append(KEY, "user", text, sender, message_id, START + at * 1000)
    seen = {}
    for message_id in said:
        arguments = ("gate", "explain", message_id, "--store", str(store.base_dir))
        _, out, _ = run(*arguments, "--json")
        (one,) = json.loads(out)["decisions"]
        _, out, _ = run(*arguments)
        lines = [line.split(":")[0].strip() for line in out.splitlines() if "open: " in line]
        seen[message_id] = (one["reason"], one["open"], lines)
    assert seen["om_2"] == ("open_question", True, [])
    assert seen["om_3"] == ("score_low", False, ["not open"])
    assert seen["om_4"] == ("other_named", False, [])
    assert seen["om_5"] == ("named", False, [])


def test_explain_says_who_answers_only_if_no_better_bot_does(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = GroupTranscriptStore(tmp_path / "open")
    store.members.remember_bot("cli_a", "Alpha", description="deployments, monitoring, servers")
    store.members.remember_bot("cli_b", "Beta", description="plans releases")
    store.append(KEY, "user", "Who knows why the server is down?", "on_ada", "om_1", START)
    arguments = ("gate", "explain", "om_1", "--store", str(store.base_dir))
    _, out, _ = run(*arguments)
    told = [line.split(":")[0] for line in out.splitlines() if line.startswith(("Alpha ", "Beta "))]
    assert told == ["Alpha answers", "Beta answers if no better bot does"]
    _, out, _ = run(*arguments, "--json")
    assert [(one["respond"], one["first"]) for one in json.loads(out)["decisions"]] == [(True, True), (True, False)]
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_TURNS__CLAIM__ANSWER", "off")
    _, out, _ = run(*arguments)
    assert "Beta stays silent" in out


def test_explain_leaves_open_who_claims_what_is_no_question(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_TURNS__CLAIM__ANSWER", "all")
    store = GroupTranscriptStore(tmp_path / "open")
    store.members.remember_bot("cli_a", "Alpha", description="deployments, monitoring, servers")
    store.append(KEY, "user", "What a lovely day.", "on_ada", "om_1", START)
    _, out, _ = run("gate", "explain", "om_1", "--store", str(store.base_dir))
    assert "Alpha stays silent" in out
    assert "one of the bots may claim it" in out


def test_explain_goes_by_the_settings_and_by_whose_thread_it_is(
    run: Run, store: GroupTranscriptStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_GATE__STYLE", "quiet")
    thread: Any = {"thread_id": "omt_1"}
    bot: Any = {"sender_kind": "bot", "ids": {"app_id": "cli_b"}}
    store.append(KEY, "assistant", "Noted.", "Beta", "om_5", START + 240_000, **bot, **thread)
    store.append(KEY, "user", "继续", "on_ada", "om_6", START + 300_000, **thread)
    _, out, _ = run("gate", "explain", "oc_team", "om_6", "--store", str(store.base_dir), "--json")
    decisions = json.loads(out)["decisions"]
    assert [one["reason"] for one in decisions] == ["others_thread", "own_thread"]
    assert {one["threshold"] for one in decisions} == {STYLES["quiet"].bots}


def test_explain_takes_an_imported_message_for_one_that_came_in_time(run: Run, store: GroupTranscriptStore) -> None:
    said = ("Alpha，怎么样？", "on_ada")
    store.append(KEY, "user", *said, "om_5", START - 86_400_000, source="import")
    store.append(KEY, "user", *said, "om_6", START - 86_400_000, source="event")
    reasons = {}
    for message_id in ("om_5", "om_6"):
        _, out, _ = run("gate", "explain", "oc_team", message_id, "--store", str(store.base_dir), "--json")
        reasons[message_id] = json.loads(out)["decisions"][0]["reason"]
    assert reasons == {"om_5": "named", "om_6": "stale"}


async def test_explain_shows_what_was_noted_when_the_message_came(run: Run, store: GroupTranscriptStore) -> None:
    agent = AgentProfile("Alpha", ids=frozenset({"cli_a"}), account="cli_a")
    gate = RelevanceGate(log=FileDecisionLog(store.base_dir))
    *history, message = store.recent(KEY, 3).entries
    await gate.resolve(gate.decide(message, history, agent, [agent], session_key=KEY))
    arguments = ("gate", "explain", "oc_team", "om_4", "--agent", "alpha", "--store", str(store.base_dir))
    _, out, _ = run(*arguments, "--json")
    ((noted,),) = [decision["noted"] for decision in json.loads(out)["decisions"]]
    assert noted["message_id"] == "om_4"
    _, out, _ = run(*arguments)
    assert "Alpha" in out
    assert "logged 20" in out


def test_explain_names_no_bar_that_did_not_count(run: Run, store: GroupTranscriptStore) -> None:
    store.append(KEY, "user", "Hello all, does anybody know a good dentist?", "on_bo", "om_5", START + 580_000)
    place = ("--store", str(store.base_dir))
    _, out, _ = run("gate", "explain", "oc_team", "om_5", *place)
    assert "reason open_question" in out
    assert "answers from" not in out


def test_explain_says_in_words_who_claimed_the_message(run: Run, store: GroupTranscriptStore) -> None:
    message = store.get(KEY, "om_3")
    assert message is not None
    log = FileDecisionLog(store.base_dir)
    log.write(KEY, later("claim_seen", KEY, message, "Alpha"))
    _, out, _ = run("gate", "explain", "oc_team", "om_3", "--agent", "Alpha", "--store", str(store.base_dir))
    assert re.search(r"logged \S+ \S+: Another bot has claimed the message\.\n", out)


def test_explain_without_a_message_takes_the_newest_of_a_person_and_says_which(
    run: Run, store: GroupTranscriptStore
) -> None:
    place = ("--store", str(store.base_dir))
    store.append(KEY, "assistant", "不客气。", "Alpha", "om_5", START + 240_000)
    for arguments in ((), ("oc_team",)):
        code, out, _ = run("gate", "explain", *arguments, *place)
        assert code == 0
        assert f"om_4 in {KEY}, the newest message of a person:" in out
        assert "Ada: 谢谢" in out


def test_explain_finds_what_a_person_said_before_a_bots_quote_of_it(run: Run, store: GroupTranscriptStore) -> None:
    store.append(KEY, "assistant", "你问：为什么是周五", "Alpha", "om_5", START + 240_000, agent="Alpha")
    _, out, _ = run("gate", "explain", "为什么", "--store", str(store.base_dir))
    assert f"om_3 in {KEY}, the newest message of a person with 为什么:" in out


@pytest.mark.parametrize(("name", "found"), [("om_3", "om_3"), ("为什么", "om_3"), ("周五", "om_3"), ("发布", "om_1")])
def test_explain_finds_the_message_by_id_or_text_in_the_only_chat(
    run: Run, store: GroupTranscriptStore, name: str, found: str
) -> None:
    for arguments in ((name,), ("oc_team", name)):
        _, out, _ = run("gate", "explain", *arguments, "--store", str(store.base_dir), "--json")
        assert json.loads(out)["message"]["message_id"] == found


def test_explain_of_a_record_with_several_chats_wants_to_know_which(run: Run, store: GroupTranscriptStore) -> None:
    store.append("feishu:oc_other", "user", "hello", "on_ada", "om_9", START)
    for arguments in ((), ("om_3",)):
        code, out, error = run("gate", "explain", *arguments, "--store", str(store.base_dir))
        assert (code, out) == (2, "")
        assert "feishu:oc_other, feishu:oc_team" in error


@pytest.mark.parametrize(
    ("mode", "nanobot", "under_run", "sentence"),
    [
        ("gate", "gate", "gate", None),
        ("listen", "group_policy", "gate", "under `nanobot-transcript run` the gate decides."),
        ("observe", "group_policy", "nobody", "under `nanobot-transcript run` nobody answers."),
        ("off", "group_policy", "nobody", "messages are not recorded any more."),
    ],
)
def test_explain_says_first_who_decides_where_the_mode_is_not_gate(
    run: Run, store: GroupTranscriptStore, tmp_path: Path, mode: str, nanobot: str, under_run: str, sentence: str | None
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"groups: {{mode: gate, chats: {{oc_team: {{mode: {mode}}}}}}}", encoding="utf-8")
    arguments = ("gate", "explain", "oc_team", "om_3", "--config", str(config), "--store", str(store.base_dir))
    _, out, _ = run(*arguments, "--json")
    document = json.loads(out)
    assert (document["mode"], document["decided_by"]) == (mode, {"nanobot": nanobot, "run": under_run})
    _, out, _ = run(*arguments)
    first, *rest = out.splitlines()
    if sentence is None:
        assert first == f"om_3 in {KEY}:"
    else:
        assert sentence in first
        assert first.endswith("What the gate would say:")
        assert "Alpha answers: Its sender was just talking with the agent." in rest


def test_explain_says_what_is_missing(run: Run, store: GroupTranscriptStore) -> None:
    place = ("--store", str(store.base_dir))
    assert run("gate", "explain", "oc_team", "om_x", *place)[0] == 2
    assert run("gate", "explain", "oc_x", "om_1", *place)[0] == 2
    code, _, error = run("gate", "explain", "oc_team", "om_1", "--agent", "Zoe", *place)
    assert code == 2
    assert "Alpha, Beta" in error


def test_eval_prints_one_document(run: Run) -> None:
    code, out, _ = run("gate", "eval", "--format", "irc", str(DATA), "--json")
    document = json.loads(out)
    assert code == 0
    measured = {"style", "all", "no_nick", "decisions", "ms_per_decision"}
    assert set(document) == measured | {"intrusions_per_100", "misses_per_100", "brier", "reliability"}
    assert set(document["all"]) == {"gate", "everything", "mention", "mention_or_last", "partner"}


def test_eval_tells_how_scenes_go_by_kind_cold_and_warm(run: Run, tmp_path: Path) -> None:
    scenes = DATA.parent / "scenes" / "known"
    shutil.copy(scenes / "en-club.yaml", tmp_path)
    code, out, _ = run("gate", "eval", "--format", "scenes", str(tmp_path))
    assert code == 0
    assert all(word in out for word in ("en cold", "en warm", "talk-about", "intrusions per 100", "unanswered per 100"))
    figures = {}
    for style in ("quiet", "eager"):
        _, out, _ = run("gate", "eval", "--format", "scenes", str(tmp_path), "--style", style, "--json")
        cold, warm = json.loads(out)
        assert (cold["history"], warm["history"], cold["language"]) == ("cold", "warm", "en")
        figures[style] = cold["intrusions_per_100"]
    assert figures["quiet"] < figures["eager"]


def test_eval_lists_the_lines_that_went_wrong(run: Run, tmp_path: Path) -> None:
    shutil.copy(DATA.parent / "scenes" / "known" / "en-club.yaml", tmp_path)
    asked = ("gate", "eval", "--format", "scenes", str(tmp_path), "--wrong")
    _, out, _ = run(*asked, "--json")
    cold = json.loads(out)[0]
    wrong, first = cold["wrong"], cold["wrong"][0]
    assert len(wrong) == round(cold["lines"] * (1 - cold["as_expected"])) > 3
    assert all(set(one["scores"]) == {*one["expected"], *one["answered"]} for one in wrong)
    assert first["answered"] != first["expected"]
    _, out, error = run(*asked, "--limit", "3")
    _, table, _ = out.split("\n\n")
    assert [line.split("  ")[0] for line in table.splitlines()] == [
        "wrong, en cold",
        *(one["line"] for one in wrong[:3]),
    ]
    assert f"{first['from']}: {first['text']}" in table
    assert f"{len(wrong) - 3} more of {len(wrong)} wrong lines (en cold)" in error
    assert run("gate", "eval", str(DATA), "--wrong")[0] == 2


def test_eval_goes_by_the_style_of_the_settings_and_says_so(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(DATA.parent / "scenes" / "known" / "en-club.yaml", tmp_path)
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_GATE__STYLE", "quiet")
    asked = ("gate", "eval", "--format", "scenes", str(tmp_path), "--json")
    _, of_settings, error = run(*asked)
    assert "Style quiet, by gate.style of the settings." in error
    _, given, error = run(*asked, "--style", "eager")
    assert "Style eager, by --style." in error
    assert [json.loads(out)[0]["style"] for out in (of_settings, given)] == ["quiet", "eager"]
    assert json.loads(of_settings)[0]["intrusions_per_100"] < json.loads(given)[0]["intrusions_per_100"]


def test_eval_prints_a_table(run: Run, tmp_path: Path) -> None:
    shutil.copytree(DATA, tmp_path / "logs")
    code, out, error = run("gate", "eval", str(tmp_path / "logs"))
    assert code == 0
    assert "no nick" in out
    assert "rightly named" in error


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (None, "There is no labelled log in"),
        ("10:00 ann: q?\n10:01 bob: yes\n", "was understood."),
        ("[10:00] <ann> q?\n[10:01] <bob> yes\n", "There is nothing to decide"),
    ],
)
def test_eval_of_a_folder_with_nothing_to_decide_is_a_sentence_and_no_zeros(
    run: Run, tmp_path: Path, lines: str | None, sentence: str
) -> None:
    if lines is not None:
        (tmp_path / "x.ascii.txt").write_text(lines, encoding="utf-8")
        (tmp_path / "x.annotation.txt").write_text("0 1 -\n", encoding="utf-8")
    code, out, error = run("gate", "eval", str(tmp_path))
    assert (code, out) == (1, "")
    assert sentence in error
    assert "Hint: " in error
    code, out, _ = run("gate", "eval", str(tmp_path), "--json")
    document = json.loads(out)["error"]
    assert (code, document["code"]) == (1, "nothing_found")
    assert sentence in document["message"]


def test_eval_of_a_folder_that_is_not_there_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    code, out, error = run("gate", "eval", str(tmp_path / "missing"))
    assert (code, out) == (2, "")
    assert "cannot be read" in error
