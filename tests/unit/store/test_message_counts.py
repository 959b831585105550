"""How much was said, and by whom."""

from typing import Any

import pytest

from nanobot_transcript.store.message_counts import Spoken


def entry(sender: str, content: str, ts: float, **fields: Any) -> Any:
    return {"role": "user", "content": content, "sender": sender, "message_id": None, "ts": ts, **fields}


def test_messages_are_counted_by_who_said_them_the_most_frequent_first() -> None:
    spoken = Spoken()
    spoken.add(entry("on_ada", "Hello", 5, source="event"), "Ada")
    spoken.add(entry("Alpha", "Hi", 3, sender_kind="bot", source="send"), "Alpha")
    spoken.add(entry("on_ada", "there", 9, source="event"), "Ada")
    found = [(one.name, one.kind, one.messages, one.characters, one.last_ms) for one in spoken.by_messages()]
    assert found == [("Ada", "human", 2, 10, 9), ("Alpha", "bot", 1, 2, 3)]
    assert (spoken.messages, spoken.first_ms, spoken.last_ms) == (3, 3, 9)
    assert spoken.sources == {"event": 2, "send": 1}


@pytest.mark.parametrize("odd", [["a"], {"a": 1}, 5, ""])
def test_a_source_that_is_none_keeps_nothing_from_being_counted(odd: Any) -> None:
    spoken = Spoken()
    spoken.add(entry("on_ada", "Hello", 5, source=odd), "Ada")
    assert spoken.sources == {"unknown": 1}
