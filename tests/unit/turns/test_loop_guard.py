"""How long bots may talk among themselves."""

from typing import Any

import pytest

from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.turns import LoopGuard, LoopLimits, Verdict

ALPHA = AgentProfile("Alpha", ids=frozenset({"cli_alpha"}), account="cli_alpha")
BETA = AgentProfile("Beta", ids=frozenset({"cli_beta"}), account="cli_beta")
GAMMA = AgentProfile("Gamma")


def verdict(talk: Any, agent: AgentProfile, message: Any = None, **limits: Any) -> Verdict:
    return LoopGuard(LoopLimits(**limits)).allows(message or talk.entries[-1], talk.entries, agent)


def converse(talk: Any, limit: int = 50, after: float = 1, **limits: Any) -> int:
    """Two bots that answer each other for as long as the guard lets them; the number of their turns."""
    turns = 0
    talk.person()
    for number in range(limit):
        me, name = (ALPHA, "Alpha") if number % 2 == 0 else (BETA, "Beta")
        found = verdict(talk, me, **limits)
        if not found.allowed:
            break
        talk.bot(name, hop=found.hops + 1, after=after)
        turns += 1
    return turns


def test_a_person_is_always_answered(talk: Any) -> None:
    for _ in range(10):
        talk.bot("Alpha")
    talk.person("thanks")
    assert verdict(talk, BETA) == Verdict(True, "person", 0)


def test_two_bots_stop_at_the_limit(talk: Any) -> None:
    assert converse(talk) == 4
    assert [entry.get("hop") for entry in talk.entries] == [None, 1, 2, 3, 4]
    assert verdict(talk, ALPHA) == Verdict(False, "hop_limit", 4)


@pytest.mark.parametrize("hops", [0, 1, 3, 10])
def test_the_limit_is_a_setting(talk: Any, hops: int) -> None:
    assert converse(talk, hops=hops) == max(hops, 1)  # the person is answered in any case


def test_a_person_lets_them_go_on(talk: Any) -> None:
    converse(talk)
    talk.person("Go on")
    assert verdict(talk, ALPHA).allowed
    talk.bot("Alpha", hop=1)
    assert verdict(talk, BETA) == Verdict(True, "in_limits", 1)


def test_turns_are_counted_where_nobody_recorded_hops(talk: Any) -> None:
    talk.person()
    for name in ("Alpha", "Beta", "Alpha", "Beta"):
        talk.bot(name)
    assert verdict(talk, ALPHA) == Verdict(False, "hop_limit", 4)


def test_a_recorded_hop_counts_where_the_turns_are_not_in_the_record(talk: Any) -> None:
    message = talk.bot("Beta", hop=4)
    assert LoopGuard().allows(message, [], ALPHA) == Verdict(False, "hop_limit", 4)


def test_several_messages_in_a_row_are_one_turn(talk: Any) -> None:
    talk.person()
    for _ in range(6):
        talk.bot("Alpha")
    assert verdict(talk, BETA) == Verdict(True, "in_limits", 1)


def test_bots_that_answered_the_same_message_count_together(talk: Any) -> None:
    talk.person()
    first = talk.bot("Alpha", hop=1)
    for name in ("Beta", "Gamma", "Delta"):
        talk.bot(name, hop=1)
    assert verdict(talk, BETA, first) == Verdict(False, "hop_limit", 4)


def test_every_process_comes_to_the_same_verdict_whenever_it_looks(talk: Any) -> None:
    converse(talk)
    late = talk.entries[-1]
    assert verdict(talk, ALPHA, late) == LoopGuard().allows(dict(late), list(talk.entries), ALPHA)  # type: ignore[arg-type]


def test_ten_quiet_minutes_begin_a_new_count(talk: Any) -> None:
    for name in ("Alpha", "Beta", "Alpha", "Beta"):
        talk.bot(name)
    talk.wait(601)
    talk.bot("Beta", "The nightly build is red.")
    assert verdict(talk, ALPHA) == Verdict(True, "in_limits", 1)


def test_an_answer_that_took_ten_minutes_does_not_begin_a_new_count(talk: Any) -> None:
    assert converse(talk, after=700) == 4


def test_threads_are_counted_apart(talk: Any) -> None:
    talk.person()
    for name in ("Alpha", "Beta", "Alpha", "Beta"):
        talk.bot(name)
    talk.person("In the thread", thread_id="omt_1")
    talk.bot("Beta", thread_id="omt_1")
    assert verdict(talk, ALPHA) == Verdict(True, "in_limits", 1)
    talk.bot("Beta")
    assert verdict(talk, ALPHA) == Verdict(False, "hop_limit", 4)


def test_a_person_in_the_chat_does_not_free_a_thread(talk: Any) -> None:
    for name in ("Alpha", "Beta", "Alpha", "Beta"):
        talk.bot(name, thread_id="omt_1")
    talk.person("Elsewhere")
    assert not verdict(talk, ALPHA, talk.entries[3]).allowed


def test_the_first_message_of_a_thread_counts_as_its_own(talk: Any) -> None:
    for name in ("Alpha", "Beta", "Alpha"):
        talk.bot(name)
    root = talk.person("What about this?")
    talk.bot("Beta", thread_id="omt_1", root_id=root["message_id"])
    assert verdict(talk, ALPHA) == Verdict(True, "in_limits", 1)


@pytest.mark.parametrize("text", ["ok", "谢谢 @Alpha", "👍", "好的，收到", ""])
def test_a_courtesy_of_a_bot_earns_no_answer(talk: Any, text: str) -> None:
    talk.person()
    talk.bot("Beta", text)
    assert verdict(talk, ALPHA).reason == "courtesy"


@pytest.mark.parametrize("again", ["bot", "person"])
def test_the_same_words_again_earn_no_answer(talk: Any, again: str) -> None:
    text = "The build is red."
    talk.bot("Alpha", text) if again == "bot" else talk.person(text)
    talk.bot("Beta", "the build is RED!")
    assert verdict(talk, ALPHA).reason == "echo"


def test_the_same_words_next_day_are_no_echo(talk: Any) -> None:
    talk.bot("Beta", "The build is red.")
    talk.wait(86_400)
    talk.bot("Beta", "The build is red.")
    assert verdict(talk, ALPHA).allowed


def test_a_message_is_no_echo_of_itself(talk: Any) -> None:
    talk.bot("Beta", "The build is red.")
    assert LoopGuard().allows(dict(talk.entries[0]), talk.entries, ALPHA).allowed  # type: ignore[arg-type]


def test_nobody_answers_itself(talk: Any) -> None:
    talk.bot("Somebody", ids={"app_id": "cli_alpha"})
    assert verdict(talk, ALPHA).reason == "own"


def test_what_is_no_message_is_not_answered(talk: Any) -> None:
    message = talk.person(role="system")
    message["role"] = "system"
    assert verdict(talk, ALPHA) == Verdict(False, "no_turn", 0)


def test_a_pair_has_twenty_exchanges_a_minute(talk: Any) -> None:
    # Chatter of a person keeps the hops low, and does not help against a pair that runs hot.
    last, number = None, 0
    for number in range(30):
        if number % 3 == 0:
            talk.person(f"Aha {number}", after=0.1)
        me, other = (ALPHA, "Beta") if number % 2 else (BETA, "Alpha")
        message = talk.bot(other, after=0.5)
        last = verdict(talk, me, message)
        if not last.allowed:
            break
    assert last == Verdict(False, "pair_budget", last.hops if last else 0)
    assert number == 20  # one message and twenty exchanges


def test_a_hot_pair_rests_for_a_minute_and_others_do_not(talk: Any) -> None:
    for number in range(21):
        talk.bot("Alpha" if number % 2 else "Beta", after=0.5)
    third = talk.bot("Gamma")
    assert verdict(talk, ALPHA, third, hops=100).reason == "in_limits"
    talk.wait(50)
    assert verdict(talk, ALPHA, talk.bot("Beta"), hops=100).reason == "pair_budget"
    talk.wait(61)
    assert verdict(talk, ALPHA, talk.bot("Beta"), hops=100).reason == "in_limits"


def test_a_slow_pair_is_never_hot(talk: Any) -> None:
    for number in range(60):
        talk.bot("Alpha" if number % 2 else "Beta", after=4)
    assert verdict(talk, BETA, hops=100).reason == "in_limits"


def test_odd_entries_of_others_disturb_nobody(talk: Any) -> None:
    talk.person(mentions="garbage", message_ids=7, hop="x", ids=[])
    talk.bot("Beta", hop=-5, ids="x", mentions=[None])
    talk.bot("Beta", "x", hop=2**70)
    assert verdict(talk, ALPHA).reason == "hop_limit"


@pytest.mark.parametrize("odd", [5, True, {"a": 1}, [5], [["b"]]])
def test_mentions_that_are_no_list_of_them_keep_no_bot_from_deciding(talk: Any, odd: Any) -> None:
    talk.person()
    assert verdict(talk, ALPHA, talk.bot("Beta", "Thanks!", mentions=odd)).reason == "courtesy"
    assert verdict(talk, ALPHA, talk.bot("Beta", "Which port is it?", mentions=odd)).reason == "in_limits"


def test_processes_that_race_at_the_limit_end_what_they_began(talk: Any) -> None:
    """Five bots decide at the same moment about the same message: each sees three turns, none sees the other four."""
    talk.person()
    for hop, name in enumerate(("B0", "B1", "B0"), 1):
        talk.bot(name, hop=hop)
    seen, message = list(talk.entries), talk.entries[-1]
    bots = [AgentProfile(f"B{number}") for number in range(1, 6)]
    found = [LoopGuard().allows(message, seen, bot) for bot in bots]
    assert all(one == Verdict(True, "in_limits", 3) for one in found)
    for bot in bots:
        talk.bot(bot.name, hop=4)
    for entry in talk.entries[-5:]:
        assert not any(verdict(talk, bot, entry).allowed for bot in [*bots, AgentProfile("B0")])
