"""Messages named by an id, a piece of one, or what they say."""

from typing import Any

import pytest

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.cli.terminal.message_names import chat_and_message, message_named, newest_of_a_person, short_id

TEAM = "feishu:oc_team"
OTHER = "feishu:oc_other"
LONG = "om_x100b5a7c2d13f0e4"


@pytest.fixture
def alone(store: GroupTranscriptStore) -> GroupTranscriptStore:
    """The store with its one chat that has more than a single message."""
    store.purge(OTHER)
    assert [chat.session_key for chat in store.chats()] == [TEAM]
    return store


def test_a_whole_id_goes_before_a_piece_and_a_piece_before_text(store: GroupTranscriptStore) -> None:
    store.append(TEAM, "user", "one", "on_ada", "abcd")
    store.append(TEAM, "user", "two", "on_ada", "abcd_efgh")
    store.append(TEAM, "user", "abcd and efgh, and bcd", "on_ada", "om_9")
    assert message_named(store, TEAM, "abcd").message["content"] == "one"
    assert message_named(store, TEAM, "efgh").message["content"] == "two"
    said = message_named(store, TEAM, "bcd")  # a piece of an id has four characters
    assert said.message["message_id"] == "om_9"
    assert said.how == "the newest message with bcd"


def test_the_newest_message_with_a_text_is_meant(store: GroupTranscriptStore) -> None:
    for number in (6, 7):
        store.append(TEAM, "user", f"twice, {number}", "on_ada", f"om_{number}")
    assert message_named(store, TEAM, "twice").message["message_id"] == "om_7"


def test_a_person_goes_before_a_bot_that_quotes_them_where_that_is_wanted(store: GroupTranscriptStore) -> None:
    store.append(TEAM, "user", "when is the release?", "on_ada", "om_6")
    store.append(TEAM, "assistant", 'You asked "when is the release?"', "Alpha", "om_7", agent="Alpha")
    assert message_named(store, TEAM, "release").message["message_id"] == "om_7"
    found = message_named(store, TEAM, "release", people_first=True)
    assert (found.message["message_id"], found.how) == ("om_6", "the newest message of a person with release")
    assert message_named(store, TEAM, "asked", people_first=True).message["message_id"] == "om_7"


@pytest.mark.parametrize("name", [LONG, LONG[:9], LONG[-4:], short_id(LONG)])
def test_a_message_is_found_by_its_id_and_by_both_ends_of_it(store: GroupTranscriptStore, name: str) -> None:
    store.append(TEAM, "user", "long id", "on_ada", LONG)
    assert message_named(store, TEAM, name).message["content"] == "long id"


def test_a_message_in_parts_is_found_once_by_what_its_ids_have_in_common(store: GroupTranscriptStore) -> None:
    parts: Any = {"message_ids": ["part_0001", "part_0002"]}
    store.append(TEAM, "assistant", "long answer", "Alpha", "part_0001", **parts)
    for name in ("part_", "0002", "part_0002"):
        assert message_named(store, TEAM, name).message["content"] == "long answer"


def test_several_ids_with_one_piece_are_listed(store: GroupTranscriptStore) -> None:
    for number in range(12):
        store.append(TEAM, "user", "x", "on_ada", f"many_{number:02}")
    with pytest.raises(UsageError, match="Several messages have an id") as error:
        message_named(store, TEAM, "many")
    assert (
        error.value.hint == f"Give more of one of: {', '.join(f'many_{n:02}' for n in range(2, 12))} and 2 older ones."
    )


@pytest.mark.parametrize("name", ["nowhere", "", "om_4"])
def test_what_is_no_message_or_was_recalled_says_where_ids_are_shown(store: GroupTranscriptStore, name: str) -> None:
    with pytest.raises(UsageError, match="There is no message") as error:
        message_named(store, TEAM, name)
    assert "tail --ids" in error.value.hint


@pytest.mark.parametrize(("name", "told"), [("zzz", True), ("zzzz", False)])
def test_a_piece_that_is_too_short_for_an_id_is_told_so(store: GroupTranscriptStore, name: str, told: bool) -> None:
    with pytest.raises(UsageError, match="There is no message") as error:
        message_named(store, TEAM, name)
    assert ("at least 4 characters" in error.value.hint) == told


def test_a_message_without_an_id_cannot_be_meant(store: GroupTranscriptStore) -> None:
    store.append(TEAM, "user", "no id at all", "on_ada", None)
    assert newest_of_a_person(store, TEAM).message["message_id"] == "om_1"
    with pytest.raises(UsageError):
        message_named(store, TEAM, "no id at all")


def test_the_newest_message_of_a_person_may_be_far_back(store: GroupTranscriptStore) -> None:
    for number in range(250):
        store.append(TEAM, "assistant", "x", "Alpha", f"om_b{number}")
    named = newest_of_a_person(store, TEAM)
    assert (named.message["message_id"], named.how) == ("om_1", "the newest message of a person")


def test_where_only_bots_wrote_the_error_says_so(store: GroupTranscriptStore) -> None:
    store.append("feishu:oc_bots", "assistant", "x", "Alpha", "om_1")
    with pytest.raises(UsageError, match="No person has written"):
        newest_of_a_person(store, "feishu:oc_bots")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ((None, None), (TEAM, None)),
        (("oc_t", None), (TEAM, None)),
        (("Friday", None), (TEAM, "Friday")),
        (("oc_t", "Friday"), (TEAM, "Friday")),
    ],
)
def test_one_argument_is_a_chat_or_else_a_message_of_the_only_chat(
    alone: GroupTranscriptStore, arguments: tuple[str | None, str | None], meant: tuple[str, str | None]
) -> None:
    assert chat_and_message(alone, *arguments) == meant


@pytest.mark.parametrize("arguments", [(None, None), ("Friday", None), ("oc_", None), ("oc_", "Friday")])
def test_of_several_chats_one_has_to_be_named(
    store: GroupTranscriptStore, arguments: tuple[str | None, str | None]
) -> None:
    with pytest.raises(UsageError) as error:
        chat_and_message(store, *arguments)
    assert "feishu:oc_other, feishu:oc_team" in error.value.hint
