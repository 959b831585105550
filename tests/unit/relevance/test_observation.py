"""What was read once of a chat is not read again, as long as there is room."""

from typing import Any

from nanobot_transcript.relevance.model import shipped_model
from nanobot_transcript.relevance.names import Roster
from nanobot_transcript.relevance.observation import Observer


def read(observer: Observer, group: Any, chat: str) -> Roster:
    """Who is in a chat: the same object as long as the chat is remembered."""
    return observer.observe(group.says("ada", "hello"), [], group.alpha, group.members, chat).roster


def test_more_than_a_hundred_chats_are_remembered(group: Any) -> None:
    observer, chats = Observer(shipped_model().links), [f"feishu:oc_{number}" for number in range(120)]
    first, again = ([read(observer, group, chat) for chat in chats] for _ in range(2))
    assert all(one is other for one, other in zip(first, again, strict=True))


def test_a_chat_that_is_asked_about_stays_and_one_that_is_not_is_forgotten(group: Any) -> None:
    observer = Observer(shipped_model().links)
    busy, quiet = (read(observer, group, chat) for chat in ("feishu:oc_busy", "feishu:oc_quiet"))
    for number in range(1000):
        read(observer, group, f"feishu:oc_{number}")
        assert read(observer, group, "feishu:oc_busy") is busy
    assert read(observer, group, "feishu:oc_quiet") is not quiet


def test_a_long_talk_is_decided_as_if_nothing_of_it_were_remembered(group: Any) -> None:
    observer = Observer(shipped_model().links)
    talk = [group.says("ada", f"what of {number}?") for number in range(1000)]
    for at in range(100, 1000):
        seen = observer.observe(talk[at], talk[at - 100 : at], group.alpha, group.members, "feishu:oc_1")
        assert seen.scene.size == 100
    fresh = Observer(shipped_model().links).observe(talk[-1], talk[-101:-1], group.alpha, group.members, "feishu:oc_1")
    assert seen.message == fresh.message
