"""Who said it, and to whom."""

from typing import Any

import pytest

from nanobot_transcript.identity import AgentProfile, is_bot, is_person, speaker, wrote
from nanobot_transcript.turns.addressees import addresses, hop_of, id_at, ids_of, same_talk, talk_of

BETA = AgentProfile("Beta", aliases=("小贝",), ids=frozenset({"cli_beta", "ou_beta"}), account="cli_beta")


def entry(content: str = "text", role: str = "user", sender: str = "on_ada", **fields: Any) -> Any:
    return {"role": role, "content": content, "sender": sender, "message_id": "om_1", "ts": 1.0, **fields}


@pytest.mark.parametrize(
    ("made", "bot", "person"),
    [
        (entry(), False, True),
        (entry(role="assistant"), True, False),
        (entry(sender_kind="bot"), True, False),
        (entry(role="system"), False, False),
        (entry(role="tool"), False, False),
    ],
)
def test_people_and_bots_are_told_apart(made: Any, bot: bool, person: bool) -> None:
    assert (is_bot(made), is_person(made)) == (bot, person)


def test_an_app_id_says_whose_words_they_are() -> None:
    assert wrote(BETA, entry(role="assistant", sender="Beta-2", ids={"app_id": "cli_beta"}))


def test_a_namesake_with_another_app_id_is_somebody_else() -> None:
    assert not wrote(BETA, entry(role="assistant", sender="Beta", agent="Beta", ids={"app_id": "cli_other"}))


def test_an_agent_whose_app_id_is_not_known_is_known_by_its_name() -> None:
    plain = AgentProfile("Beta", ids=frozenset({"Beta"}))
    assert wrote(plain, entry(role="assistant", sender="Beta", agent="Beta", ids={"app_id": "cli_beta"}))


def test_a_name_says_whose_words_they_are_when_there_is_no_id() -> None:
    assert wrote(BETA, entry(role="assistant", sender="Beta"))
    assert not wrote(BETA, entry(role="assistant", sender="Alpha"))


def test_a_person_with_the_name_of_a_bot_is_not_the_bot() -> None:
    assert not wrote(BETA, entry(sender="Beta"))


@pytest.mark.parametrize(
    "made",
    [
        entry("hello", mentions=[{"name": "Beta", "id": "x"}]),
        entry("hello", mentions=[{"name": "x", "id": "ou_beta"}]),
        entry("hello", mentions=[{"id": "Beta"}]),
        entry("@beta what now?"),
        entry("问一下@小贝这个怎么办"),
        entry("@Beta"),
    ],
)
def test_a_mention_addresses_by_id_by_name_and_in_the_text(made: Any) -> None:
    assert addresses(made, BETA)


@pytest.mark.parametrize(
    "made",
    [
        entry("Beta is a bot"),
        entry("@Betamax"),
        entry("@Alpha"),
        entry("hello", mentions="garbage"),
        entry("hello", mentions=[None, 7, {}, {"name": 7, "id": []}]),
    ],
)
def test_other_words_address_nobody(made: Any) -> None:
    assert not addresses(made, BETA)


@pytest.mark.parametrize(
    ("shorter", "longer"),
    [
        ("Bot", "Bot-2"),
        ("GPT", "GPT-4"),
        ("C", "C++"),
        ("Jos", "José"),
        ("Jos", "Jose\u0301"),
        ("Алекс", "Алексей"),
        ("Al", "Al.pha"),
        ("علي", "عليا"),
        ("Al", "Al_x"),
        ("Al", "Alpha"),
    ],
)
def test_a_name_that_goes_on_is_another_name(shorter: str, longer: str) -> None:
    said = entry(f"please @{longer} look")
    assert not addresses(said, AgentProfile(shorter))
    assert addresses(said, AgentProfile(longer))
    assert addresses(entry(f"@{longer}, @{shorter}: look"), AgentProfile(shorter))


@pytest.mark.parametrize(("shorter", "longer"), [("小阿", "小阿姨"), ("阿", "阿姨"), ("Alpha", "Alpha Bot")])
def test_a_longer_name_of_somebody_known_uses_up_its_place(shorter: str, longer: str) -> None:
    agent, other = AgentProfile(shorter), AgentProfile("cli_x", aliases=(longer,))
    assert not addresses(entry(f"@{longer} look"), agent, [agent, other])
    assert addresses(entry(f"@{longer} look"), other, [agent, other])
    assert addresses(entry(f"@{longer} @{shorter} look"), agent, [agent, other])
    mentioned = entry(f"@{longer} look", mentions=[{"name": longer, "id": "ou_x"}, None, {"name": 7}])
    assert not addresses(mentioned, agent)
    assert addresses(mentioned, other)


@pytest.mark.parametrize("text", ["@José look", "@Jose\u0301 look", "＠JOSÉ", "@José's turn", "@José. Hi", "@José看"])
def test_a_name_is_known_however_its_characters_were_composed(text: str) -> None:
    assert addresses(entry(text), AgentProfile("José"))
    assert addresses(entry(text), AgentProfile("Jose\u0301"))
    assert addresses(entry("look", mentions=[{"name": "jose\u0301"}]), AgentProfile("José"))


def test_a_thread_holds_its_entries_and_its_first_message() -> None:
    assert same_talk(entry(thread_id="omt_1"), "omt_1")
    assert same_talk(entry(), "omt_1", "om_1")
    assert not same_talk(entry(), "omt_1", "om_2")
    assert not same_talk(entry(thread_id="omt_1"), None)
    assert same_talk(entry(root_id="om_0"), None)


@pytest.mark.parametrize("odd", [["a"], {"a": 1}, 5, True, ""])
def test_what_is_no_text_names_neither_a_thread_nor_a_message_nor_a_speaker(odd: Any) -> None:
    written = entry(thread_id=odd, root_id=odd, reply_to=odd, agent=odd, ids={"app_id": odd})
    assert id_at(written, "thread_id") is id_at(written, "reply_to") is None
    assert talk_of(written, [entry(), written, entry(thread_id="omt_1")]) == [entry(), written]
    assert talk_of(entry(thread_id="omt_1", root_id=odd), [written]) == []
    assert speaker(written) == "on_ada"
    assert not wrote(BETA, {**written, "role": "assistant"})


@pytest.mark.parametrize(("hop", "counted"), [(3, 3), (0, 0), (-1, 0), ("3", 0), (True, 0), (None, 0), (10**30, 10**6)])
def test_only_a_sensible_hop_counts(hop: Any, counted: int) -> None:
    assert hop_of(entry(hop=hop)) == counted


def test_a_message_in_parts_is_known_by_all_its_ids() -> None:
    assert ids_of(entry(message_ids=["om_1", "om_2", 7, ""])) == {"om_1", "om_2"}
    assert ids_of(entry(message_ids="garbage")) == {"om_1"}
