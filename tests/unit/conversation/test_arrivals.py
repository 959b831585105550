"""A message that comes in becomes an entry."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.procs import until
from support.stub_nanobot import group_event

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.conversation.arrivals import Arrivals, Reader, entry_of
from nanobot_transcript.conversation.people import People
from nanobot_transcript.conversation.policy import Policy
from nanobot_transcript.conversation.ports import Arrival, Recalled
from nanobot_transcript.store.member_file import FileMembers
from transcript_channels.feishu import message_from_event
from transcript_channels.feishu.platform import FEISHU

KEY = "feishu:oc_1"
BETA = {"key": "@_user_1", "name": "Beta", "id": {"open_id": "ou_beta"}, "mentioned_type": "bot"}


def arrival(message_id: str = "om_1", **options: Any) -> Arrival:
    found = message_from_event(group_event(message_id, **options))
    assert found is not None
    return found.arrival("cli_a")


@pytest.fixture
def people(tmp_path: Path) -> People:
    members = FileMembers(tmp_path)
    members.remember_bot("cli_a", "Alpha", open_ids={"cli_a": "ou_alpha"})
    members.remember_bot("cli_b", "Beta", aliases=["小贝"])
    return People(members, FEISHU)


@pytest.fixture
def store(tmp_path: Path) -> GroupTranscriptStore:
    return GroupTranscriptStore(tmp_path)


def at_once(work: Any, *args: Any) -> None:
    work(*args)


def test_what_is_learned_says_who_takes_part(people: People, store: GroupTranscriptStore) -> None:
    Reader(people, at_once, store).read(arrival(mentions=[BETA]))
    assert people.members is not None
    assert [member.sender for member in people.members.of_chat(KEY)] == ["on_ada"]
    assert people.members.sender_for("cli_a", "ou_ada@cli_a") == "on_ada"
    assert people.members.sender_for("cli_a", "ou_beta") == "Beta"


def test_of_a_private_message_nothing_is_kept(people: People) -> None:
    message = Reader(people, at_once).read(arrival(), private=True)
    assert message.private
    assert people.members is not None
    assert people.members.of_chat(KEY) == []


def test_an_entry_has_the_senders_and_mentions_that_all_accounts_share(people: People) -> None:
    Reader(people, at_once).read(arrival(mentions=[BETA]))
    entry = entry_of(arrival(mentions=[BETA], create_time=1_700_000_000_000), people.look())
    assert entry["sender"] == "on_ada"
    assert entry.get("mentions") == [{"name": "Beta", "id": "Beta", "account": "cli_b"}]
    assert entry["ts"] == 1_700_000_000_000
    assert (entry["role"], entry.get("sender_kind"), entry.get("source")) == ("user", "human", "event")


def test_a_message_without_a_time_gets_that_of_its_arrival() -> None:
    entry = entry_of(arrival(create_time="soon"), People(None, FEISHU).look())
    assert entry["ts"] > 1_700_000_000_000


def test_an_unknown_bot_is_no_agent(people: People) -> None:
    event = group_event("om_1", sender_type="bot", person="zeta")
    found = message_from_event(event)
    assert found is not None
    entry = entry_of(found.arrival("cli_a"), people.look())
    assert (entry["role"], entry["sender"]) == ("assistant", "on_zeta")
    assert not {"agent", "sender_name"} & entry.keys()


def test_a_bot_that_recorded_what_it_said_is_known_by_what_this_account_calls_it(
    people: People, store: GroupTranscriptStore
) -> None:
    store.append(KEY, "assistant", "I do.", "Beta", "om_1", sender_kind="bot", ids={"app_id": "cli_b"})
    Reader(people, at_once, store).read(arrival(sender_type="bot", person="beta"))
    assert people.members is not None
    assert people.members.sender_for("cli_a", "ou_beta@cli_a") == "Beta"


def test_a_chat_is_heard_of_once_and_the_day_before_is_asked_for_where_nothing_is_on_record(
    people: People, store: GroupTranscriptStore
) -> None:
    heard: list[tuple[str, float | None]] = []
    arrivals = Arrivals(store, first_heard=lambda key, since, _: heard.append((key, since)))
    reader = Reader(people, at_once, store)
    for number in range(2):
        message, failure = arrivals.record(reader.read(arrival(f"om_{number}", create_time=1_700_000_000_000)))
        assert (message.recorded, failure) == (True, None)
    assert heard == [(KEY, 1_700_000_000_000 - 86_400_000)]
    later: list[float | None] = []
    said = time.time()
    until(lambda: time.time() > said + 0.002, "the clock goes on: both times are milliseconds")
    Arrivals(store, first_heard=lambda _, since, heard_ms: later.append(since)).record(reader.read(arrival("om_3")))
    assert later == [None]


def test_what_was_missed_is_asked_for_when_the_first_message_stands_in_the_record(
    people: People, store: GroupTranscriptStore
) -> None:
    found: list[str] = []
    arrivals = Arrivals(store, first_heard=lambda key, *_: found.extend(entry["source"] for entry in store.scan(key)))
    arrivals.record(Reader(people, at_once, store).read(arrival("om_1")))
    assert found == ["event"]


def test_a_recall_hides_what_has_a_record_and_leaves_nothing_elsewhere(
    people: People, store: GroupTranscriptStore
) -> None:
    arrivals = Arrivals(store)
    assert arrivals.apply(Recalled(KEY, "om_1")) is None
    assert store.chats() == []
    arrivals.record(Reader(people, at_once, store).read(arrival()))
    assert arrivals.apply(Recalled(KEY, "om_1")) is None
    assert store.recent(KEY).entries == []


def test_of_a_chat_that_is_not_recorded_nothing_is_learned(people: People) -> None:
    Reader(people, at_once, recorded=lambda session_key: False).read(arrival())
    assert people.look().names_in(KEY) == {}


def test_what_was_recorded_before_a_chat_was_switched_off_can_still_be_taken_back(
    people: People, store: GroupTranscriptStore
) -> None:
    message = Reader(people, at_once, store).read(arrival("om_1"))
    Arrivals(store).record(message)
    off = Arrivals(store, policy=Policy("off"))
    off.apply(Recalled(KEY, "om_2"))
    assert store.get(KEY, "om_1") is not None
    off.apply(Recalled(KEY, "om_1"))
    assert store.get(KEY, "om_1") is None


def test_a_message_with_a_time_that_is_no_number_is_recorded_all_the_same(
    people: People, store: GroupTranscriptStore
) -> None:
    message = Reader(people, at_once, store).read(replace(arrival("om_1"), ts_ms="1700000000000"))  # pyright: ignore
    assert Arrivals(store).record(message)[1] is None
    assert store.get(KEY, "om_1") is not None


def test_what_was_pushed_since_the_first_message_was_heard_is_not_missed(
    people: People, store: GroupTranscriptStore
) -> None:
    heard: list[float] = []
    arrivals = Arrivals(store, first_heard=lambda key, since_ms, heard_ms: heard.append(heard_ms))
    arrivals.record(Reader(people, at_once, store).read(arrival("om_1")))
    written = [entry["rts"] for entry in store.scan(KEY) if "rts" in entry]
    assert heard[0] <= written[0]
