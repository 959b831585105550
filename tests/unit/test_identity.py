"""Stable senders and unique agent names."""

import itertools

import pytest

from nanobot_transcript.identity import AgentProfile, agent_names, is_bot, is_person, name_clashes, sender_ids, wrote

ALPHA = AgentProfile("Alpha", ids=frozenset({"Alpha", "cli_a", "ou_alpha"}), account="cli_a")
NAMESAKE = AgentProfile("Alpha", ids=frozenset({"cli_b"}), account="cli_b")
NAMELESS = AgentProfile("Alpha")


def test_between_bots_the_account_decides_and_without_one_the_name() -> None:
    line = {"role": "assistant", "sender": "Alpha", "sender_kind": "bot", "ids": {"app_id": "cli_a"}}
    assert wrote(ALPHA, line)
    assert not wrote(NAMESAKE, line)
    assert wrote(NAMELESS, line)
    assert wrote(ALPHA, line | {"ids": {}})
    assert not wrote(ALPHA, {"role": "assistant", "sender": "Beta", "agent": "Beta"})
    assert wrote(ALPHA, {"role": "assistant", "sender": "ou_alpha"})


def test_a_person_is_never_a_bot_whatever_they_are_called() -> None:
    for sender in ("Alpha", "cli_a", "ou_alpha", "on_1"):
        line = {"role": "user", "sender": sender, "sender_name": "Alpha", "agent": "Alpha", "ids": {"app_id": "cli_a"}}
        assert not wrote(ALPHA, line)
    assert wrote(AgentProfile("Ada", ids=frozenset({"on_1"}), kind="human"), {"role": "user", "sender": "on_1"})


@pytest.mark.parametrize(
    ("role", "kind", "bot", "person"),
    [
        ("assistant", None, True, False),
        ("assistant", "human", True, False),
        ("user", "bot", True, False),
        ("user", "human", False, True),
        ("user", ["bot"], False, True),
        ("system", "bot", False, False),
        ("tool", None, False, False),
        (None, "bot", False, False),
    ],
)
def test_who_is_a_bot(role: object, kind: object, bot: bool, person: bool) -> None:
    line = {"role": role, "sender_kind": kind, "sender": "x"}
    assert (is_bot(line), is_person(line)) == (bot, person)


@pytest.mark.parametrize("ids", [None, [], "cli_a", 7])
def test_whatever_stands_for_the_ids_of_a_line_makes_it_nobodys(ids: object) -> None:
    line = {"role": "assistant", "sender": "Alpha", "sender_kind": "bot", "ids": ids}
    assert sender_ids(line) == {}
    assert not wrote(NAMESAKE, line | {"sender": "Beta"})


def test_different_names_stay_as_they_are() -> None:
    assert agent_names({"cli_b": "Beta", "cli_a": " Alpha "}) == {"cli_a": "Alpha", "cli_b": "Beta"}
    assert name_clashes({"cli_b": "Beta", "cli_a": "Alpha"}) == {}


def test_of_two_apps_with_one_name_the_smaller_app_id_keeps_it_in_every_process() -> None:
    wanted = {"cli_0001": "Alpha", "cli_0002": "alpha", "cli_0003": "Alpha"}
    expected = {"cli_0001": "Alpha", "cli_0002": "alpha-0002", "cli_0003": "Alpha-0003"}
    for order in itertools.permutations(wanted):
        assert agent_names({app: wanted[app] for app in order}) == expected
    assert name_clashes(wanted) == {"Alpha": ["cli_0001", "cli_0002", "cli_0003"]}


def test_a_suffix_never_takes_a_name_that_another_app_wants() -> None:
    names = agent_names({"cli_a1234": "Alpha", "cli_b1234": "Alpha", "cli_c": "Alpha-1234"})
    assert names["cli_c"] == "Alpha-1234"
    assert names["cli_b1234"] == "Alpha-b1234"


def test_an_app_without_a_name_is_called_by_its_id() -> None:
    assert agent_names({"cli_a": "  "}) == {"cli_a": "cli_a"}
