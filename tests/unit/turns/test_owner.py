"""Whom a thread belongs to."""

from typing import Any

from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.turns import owner_of

BOTS = [AgentProfile("Alpha", ids=frozenset({"ou_alpha"})), AgentProfile("Beta", aliases=("小贝",))]


def test_nobody_owns_an_empty_talk(talk: Any) -> None:
    assert owner_of([], bots=BOTS) is None
    talk.person()
    assert owner_of(talk.entries, bots=BOTS) is None


def test_the_last_mentioned_bot_owns_the_talk(talk: Any) -> None:
    talk.person("@Alpha what is it?")
    talk.bot("Alpha")
    talk.person("小贝?", mentions=[{"name": "小贝", "id": "x"}])
    assert owner_of(talk.entries, bots=BOTS) == "Beta"


def test_a_mention_goes_before_an_answer(talk: Any) -> None:
    talk.person("hello", mentions=[{"name": "x", "id": "ou_alpha"}])
    talk.bot("Beta")
    assert owner_of(talk.entries, bots=BOTS) == "Alpha"


def test_without_a_mention_the_last_to_speak_owns_the_talk(talk: Any) -> None:
    talk.bot("Alpha")
    talk.bot("Beta")
    talk.person("continue")
    assert owner_of(talk.entries, bots=BOTS) == "Beta"


def test_a_bot_can_hand_over_and_not_to_itself(talk: Any) -> None:
    talk.person("@Alpha start")
    talk.bot("Alpha", "I am @Alpha, and @Beta goes on")
    assert owner_of(talk.entries, bots=BOTS) == "Beta"
    talk.bot("Beta", "I am @Beta")
    assert owner_of(talk.entries, bots=BOTS) == "Beta"


def test_of_several_mentioned_the_last_one_owns_it(talk: Any) -> None:
    talk.person("hello", mentions=[{"name": "Beta"}, {"name": "Alpha"}])
    assert owner_of(talk.entries, bots=BOTS) == "Alpha"


def test_a_longer_name_does_not_hand_over_to_a_shorter_one(talk: Any) -> None:
    bots = [AgentProfile("小助手"), AgentProfile("小助手二号")]
    talk.person("@小助手二号 看看这个")
    assert owner_of(talk.entries, bots=bots) == "小助手二号"
    talk.person("@小助手 你呢")
    assert owner_of(talk.entries, bots=bots) == "小助手"
    human = AgentProfile("小助手三号", kind="human")
    talk.bot("小助手二号", "在")
    talk.person("@小助手三号 吃饭吗")
    assert owner_of(talk.entries[-2:], bots=[*bots, human]) == "小助手二号"


def test_a_mentioned_person_owns_nothing(talk: Any) -> None:
    talk.bot("Alpha")
    talk.person("hello", mentions=[{"name": "Bo", "id": "on_bo"}])
    assert owner_of(talk.entries, bots=[*BOTS, AgentProfile("Bo", kind="human")]) == "Alpha"


def test_a_thread_has_an_owner_of_its_own_however_old(talk: Any) -> None:
    root = talk.person("@Alpha")
    talk.bot("Alpha", thread_id="omt_1", root_id=root["message_id"])
    talk.wait(90_000)
    talk.bot("Beta")
    assert owner_of(talk.entries, "omt_1", bots=BOTS) == "Alpha"
    assert owner_of(talk.entries, "omt_2", root_id=root["message_id"], bots=BOTS) == "Alpha"
    assert owner_of(talk.entries, bots=BOTS) == "Beta"


def test_ten_quiet_minutes_end_the_ownership_of_a_chat(talk: Any) -> None:
    talk.person("@Alpha hello")
    talk.wait(601)
    talk.person("anybody?")
    assert owner_of(talk.entries, bots=BOTS) is None
    talk.bot("Beta")
    assert owner_of(talk.entries, bots=BOTS, now_ms=talk.now) == "Beta"
    assert owner_of(talk.entries, bots=BOTS, now_ms=talk.now + 601_000) is None


def test_a_bot_nobody_listed_is_known_by_what_it_said(talk: Any) -> None:
    talk.bot("Gamma")
    talk.person("@Gamma again")
    talk.bot("Beta")
    assert owner_of(talk.entries) == "Gamma"
