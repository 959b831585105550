"""Stable senders and unique agent names."""

import itertools

import pytest

from nanobot_transcript.identity import agent_names, is_own, name_clashes, sender_ids


def test_an_own_line_is_recognised_by_app_id_and_never_by_name() -> None:
    line = {"role": "assistant", "sender": "Alpha", "sender_kind": "bot", "ids": {"app_id": "cli_a"}}
    assert is_own(line, "cli_a")
    assert not is_own(line, "cli_b")
    assert not is_own(line | {"ids": {}}, "cli_a")
    assert not is_own({"role": "assistant", "sender": "Alpha"}, "cli_a")
    assert not is_own(line, "")


@pytest.mark.parametrize("ids", [None, [], "cli_a", 7])
def test_whatever_stands_for_the_ids_of_a_line_makes_it_nobodys(ids: object) -> None:
    line = {"role": "assistant", "sender": "Alpha", "sender_kind": "bot", "ids": ids}
    assert sender_ids(line) == {}
    assert not is_own(line, "cli_a")


def test_a_persons_line_seen_by_an_app_is_not_the_apps_own() -> None:
    assert not is_own({"role": "user", "sender": "on_1", "ids": {"app_id": "cli_a"}}, "cli_a")


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
