"""What people say about a bot's decisions: "not you", another bot asked at once, the question once more by name."""

from typing import Any

import pytest

from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.relevance import Decision, GateOptions, Reason, RelevanceGate, Stage
from nanobot_transcript.relevance.decision_log_file import FileDecisionLog
from nanobot_transcript.relevance.tally import Tally, tallies_since

ALPHA = AgentProfile("Alpha", ids=frozenset({"b1"}), description="Plans releases.")
BETA = AgentProfile("Beta", ids=frozenset({"b2"}), description="Runs the servers.")
ADA, BO = (AgentProfile(name, ids=frozenset({of}), kind="human") for name, of in (("Ada", "p1"), ("Bo", "p2")))
MEMBERS = (ALPHA, BETA, ADA, BO)
QUESTION = "does the staging server restart at noon?"


def said(number: int, who: AgentProfile, text: str, after: float = 0, **more: Any) -> Any:
    """A line that stands ``after`` seconds after the beginning."""
    at = 1_700_000_000_000 + 1000 * after
    called = [member for member in MEMBERS if f"@{member.name}" in text]
    entry = {
        "message_id": f"om_{number}",
        "role": "assistant" if who.kind == "bot" else "user",
        "sender": who.name if who.kind == "bot" else min(who.ids),
        "sender_name": who.name,
        "content": text,
        "ts": at,
        "mentions": [{"name": member.name, "id": min(member.ids)} for member in called],
    }
    return entry | ({"agent": who.name} if who.kind == "bot" else {}) | more


def corrects(*lines: Any, agent: AgentProfile = ALPHA) -> tuple[str, str] | None:
    """What the last line says about the agent: its mistake, and the message."""
    found = RelevanceGate().decide(lines[-1], lines[:-1], agent, MEMBERS).corrects
    return (found.mistake, found.message["message_id"]) if found else None


ANSWERED = (said(1, ADA, QUESTION), said(2, ALPHA, "It does.", 6))


@pytest.mark.parametrize(
    "text",
    [
        "不是问你",
        "没问你哈",
        "不是在跟你说",
        "not you",
        "I wasn't asking you",
        "sorry, not talking to you",
        "@Alpha 不是问你的",
    ],
)
def test_who_is_told_not_you_has_intruded(text: str) -> None:
    assert corrects(*ANSWERED, said(3, ADA, text, 15)) == ("intruded", "om_1")


@pytest.mark.parametrize("text", ["@Beta 你来说", "@Beta?", f"@Beta {QUESTION}"])
def test_who_answers_what_is_then_asked_of_another_bot_has_intruded(text: str) -> None:
    assert corrects(*ANSWERED, said(3, ADA, text, 15)) == ("intruded", "om_1")


@pytest.mark.parametrize(
    "lines",
    [
        [said(3, BO, "not you", 15)],
        [said(3, ADA, "not you", 500)],
        [said(3, ADA, "Bo, not you", 15)],
        [said(3, ADA, "thanks", 15)],
        [said(3, ADA, "@Beta please send the figures of last week to the whole team, as a table", 15)],
        [said(3, BO, "nice", 10), said(4, ADA, "@Beta?", 20)],
        [said(3, BETA, "not you", 15)],
        [said(3, ADA, "不是问你了吗", 15)],
        [said(3, ADA, "不是跟你说过要按月列", 15)],
        [said(3, ADA, "why not you?", 15)],
        [said(3, ADA, "@Beta and you?", 15)],
        [said(3, ADA, "@Beta 你呢", 15)],
    ],
    ids=[
        "another person",
        "later",
        "to a person",
        "thanks",
        "another request",
        "not at once",
        "a bot",
        "asked before",
        "said before",
        "why not",
        "a second opinion",
        "a second opinion in Chinese",
    ],
)
def test_what_is_no_correction_of_an_answer(lines: list[Any]) -> None:
    assert corrects(*ANSWERED, *lines) is None


def test_who_was_asked_by_name_has_not_intruded() -> None:
    asked = said(1, ADA, f"@Alpha {QUESTION}")
    assert corrects(asked, ANSWERED[1], said(3, ADA, "not you", 15)) is None
    assert corrects(asked, ANSWERED[1], said(3, ADA, "@Beta?", 15)) is None


@pytest.mark.parametrize(
    "text", ["@Alpha", "@Alpha ?", "Alpha, does the staging server restart at noon", "@Alpha 看一下"]
)
def test_who_is_asked_again_by_name_has_missed_the_question(text: str) -> None:
    assert corrects(said(1, ADA, QUESTION), said(2, ADA, text, 40)) == ("missed", "om_1")
    assert corrects(said(1, ADA, QUESTION), said(2, ADA, text, 40), agent=BETA) is None


@pytest.mark.parametrize(
    "lines",
    [
        [said(1, ADA, QUESTION), said(2, ADA, "@Alpha", 4)],
        [said(1, ADA, QUESTION), said(2, ADA, "@Alpha", 2000)],
        [said(1, ADA, QUESTION), said(2, BETA, "Yes.", 9), said(3, ADA, "@Alpha", 40)],
        [said(1, ADA, f"@Beta {QUESTION}"), said(2, ADA, "@Alpha", 40)],
        [said(1, ADA, "the office is closed tomorrow"), said(2, ADA, "@Alpha", 40)],
        [said(1, BO, QUESTION), said(2, ADA, "@Alpha", 40)],
        [said(1, ADA, QUESTION), said(2, ADA, "@Alpha what is the plan for the release of next week?", 40)],
    ],
    ids=["still writing", "later", "answered", "for another", "no question", "somebody else's", "another question"],
)
def test_what_is_no_question_once_more(lines: list[Any]) -> None:
    assert corrects(*lines) is None


async def test_a_correction_is_noted_once_by_who_had_decided_so(tmp_path: Any) -> None:
    log = FileDecisionLog(tmp_path)
    gate = RelevanceGate(GateOptions(style="eager"), log=log)
    lines = [said(1, ADA, QUESTION), said(2, ADA, "@Alpha ?", 40)]

    async def come(number: int) -> None:
        await gate.resolve(gate.decide(lines[number], lines[:number], ALPHA, MEMBERS, session_key="feishu:oc_1"))

    await come(1)
    assert [each["reason"] for each in log.read("feishu:oc_1", "om_1")] == []  # it has not seen the question
    for number in (0, 1, 1):
        await come(number)
    noted = log.read("feishu:oc_1", "om_1")
    assert [(each["stage"], each["reason"], each["respond"]) for each in noted[1:]] == [("correction", "missed", True)]
    assert noted[0]["respond"] is False
    assert not any("content" in each or QUESTION in str(each) for each in noted)
    assert tallies_since(log, 0) == [Tally("Alpha", 0, missed=1)]


@pytest.mark.parametrize(("decided", "noted"), [(True, ["intruded"]), (False, [])])
async def test_only_who_had_decided_to_answer_has_intruded(tmp_path: Any, decided: bool, noted: list[str]) -> None:
    log = FileDecisionLog(tmp_path)
    gate = RelevanceGate(log=log)
    key, lines = "feishu:oc_1", [*ANSWERED, said(3, ADA, "不是问你", 15)]
    gate.note(Decision(decided, Reason.SCORE_HIGH, 0.5, Stage.SCORE, "Alpha", "om_1", session_key=key))
    for _ in range(2):
        await gate.resolve(gate.decide(lines[2], lines[:2], ALPHA, MEMBERS, session_key=key))
    assert [each["reason"] for each in log.read(key, "om_1")[1:]] == noted


async def test_a_log_with_odd_lines_raises_nothing(tmp_path: Any) -> None:
    log = FileDecisionLog(tmp_path)
    gate = RelevanceGate(log=log)
    key, lines = "feishu:oc_1", [*ANSWERED, said(3, ADA, "不是问你", 15)]
    gate.note(Decision(True, Reason.SCORE_HIGH, 0.5, Stage.SCORE, "Alpha", "om_1", session_key=key))
    with log.path_of(key).open("a", encoding="utf-8") as file:
        file.write(
            f'{{"v": 1, "chat": "{key}", "message_id": "om_1", "agent": "Alpha", "stage": [], "respond": true}}\n'
        )
    await gate.resolve(gate.decide(lines[2], lines[:2], ALPHA, MEMBERS, session_key=key))
    assert log.read(key, "om_1")[-1]["reason"] == "intruded"


@pytest.mark.parametrize("garbage", [{"reply_to": 7}, {"reply_to": "om_none"}, {"message_id": None}, {"content": ""}])
def test_odd_lines_correct_nothing_and_raise_nothing(garbage: dict[str, Any]) -> None:
    lines = [ANSWERED[0], ANSWERED[1] | garbage, said(3, ADA, "not you", 15)]
    assert corrects(*lines) in (None, ("intruded", "om_1"))
