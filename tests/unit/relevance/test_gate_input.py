"""Who is in a chat, from the store."""

from collections.abc import Callable

import pytest

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.errors import UnknownNameError
from nanobot_transcript.relevance.gate_input import bot_called, bots, members, up_to

KEY = "feishu:oc_team"
START = 1_763_600_000_000


@pytest.fixture
def store(make_store: Callable[[], GroupTranscriptStore]) -> GroupTranscriptStore:
    """Ada is known by name, Bo only by what he wrote; Alpha is a bot that everybody sees."""
    store = make_store()
    store.members.remember_bot("cli_a", "Alpha", aliases=["小助手"], open_ids={"cli_b": "ou_a"})
    store.members.remember_person("on_ada", "Ada")
    store.members.saw(KEY, "on_ada")
    store.members.saw(KEY, "Alpha")
    store.append(KEY, "user", "hello", "on_ada", "om_1", START)
    store.append(KEY, "user", "hi", "on_bo", "om_2", START + 1, sender_name="Bo")
    store.append(KEY, "assistant", "hi", "Gamma", "om_3", START + 2)
    return store


def test_members_are_the_bots_the_people_seen_and_whoever_wrote(store: GroupTranscriptStore) -> None:
    found = {one.name: one for one in members(store, KEY, store.scan(KEY))}
    assert {name: one.kind for name, one in found.items()} == {
        "Alpha": "bot",
        "Ada": "human",
        "Bo": "human",
        "Gamma": "bot",
    }
    assert found["Alpha"].ids == {"cli_a", "Alpha", "ou_a"}
    assert found["Bo"].ids == {"on_bo"}


def test_two_bots_that_want_one_name_are_told_apart(store: GroupTranscriptStore) -> None:
    store.members.remember_bot("cli_z9", "Alpha")
    assert [bot.name for bot in bots(store.members)] == ["Alpha", "Alpha-i_z9"]


@pytest.mark.parametrize("name", ["alpha", "@Alpha", "小助手", "cli_a", "ou_a", " ALPHA "])
def test_a_bot_is_found_by_name_alias_or_id(store: GroupTranscriptStore, name: str) -> None:
    assert bot_called(bots(store.members), name).name == "Alpha"


def test_a_name_goes_before_somebody_elses_alias(store: GroupTranscriptStore) -> None:
    store.members.remember_bot("cli_0", "Aardvark", aliases=["Alpha"])
    assert bot_called(bots(store.members), "alpha").name == "Alpha"


def test_an_unknown_bot_is_an_error_that_lists_the_bots(store: GroupTranscriptStore) -> None:
    known = members(store, KEY, store.scan(KEY))
    with pytest.raises(UnknownNameError) as error:
        bot_called(known, "Ada")
    assert str(error.value) == "There is no bot called Ada."
    assert error.value.hint == "Bots here: Alpha, Gamma."
    with pytest.raises(UnknownNameError) as error:
        bot_called([], "Ada")
    assert error.value.hint == "Bots here: none."


def test_a_message_comes_with_what_was_said_before_it(store: GroupTranscriptStore) -> None:
    found = up_to(store, KEY, "om_3")
    assert found is not None
    message, history = found
    assert message["sender"] == "Gamma"
    assert [entry["message_id"] for entry in history] == ["om_1", "om_2"]
    assert up_to(store, KEY, "om_x") is None
