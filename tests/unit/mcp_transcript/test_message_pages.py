"""Walking through a chat in both directions."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.errors import InvalidCursorError
from nanobot_transcript.store.contract import Page
from transcript_mcp.transcript import message_pages

KEY = "feishu:oc_team"
START = 1_763_600_000_000

Say = Callable[..., str]


def ids(stretch: message_pages.Stretch) -> list[str | None]:
    return [entry["message_id"] for entry in stretch.entries]


def numbered(*numbers: int) -> list[str]:
    return [f"om_{number}" for number in numbers]


def walk_back(store: GroupTranscriptStore, limit: int) -> list[str | None]:
    stretch = message_pages.newest(store, KEY, limit)
    walked = ids(stretch)
    while stretch.older is not None:
        stretch = message_pages.before(store, KEY, stretch.older, limit, None)
        assert stretch.entries
        walked = ids(stretch) + walked
    return walked


def walk_on(store: GroupTranscriptStore, after: str, limit: int) -> list[str | None]:
    walked: list[str | None] = []
    while True:
        stretch = message_pages.after(store, KEY, after, limit, None)
        walked += ids(stretch)
        after = stretch.newer
        if not stretch.more:
            return walked


@pytest.mark.parametrize(("count", "limit"), [(0, 5), (1, 5), (5, 5), (6, 5), (23, 1), (700, 50)])
def test_walking_back_shows_every_message_once(store: GroupTranscriptStore, say: Say, count: int, limit: int) -> None:
    everything = [say(f"message {number}") for number in range(count)]
    assert walk_back(store, limit) == everything


@pytest.mark.parametrize(("count", "limit"), [(1, 5), (6, 5), (23, 1), (700, 50)])
def test_walking_on_from_a_message_shows_every_later_one_once(
    store: GroupTranscriptStore, say: Say, count: int, limit: int
) -> None:
    everything = [say(f"message {number}") for number in range(count)]
    assert walk_on(store, "om_0", limit) == everything[1:]
    assert walk_on(store, "2025-11-20T00:00Z", limit) == everything


def test_walking_on_from_the_stores_cursor_shows_what_came_since(store: GroupTranscriptStore, say: Say) -> None:
    say("before")
    cursor = store.end(KEY)
    later = [say(f"message {number}") for number in range(12)]
    assert walk_on(store, cursor, 5) == later
    assert message_pages.after(store, KEY, store.end(KEY), 5, None).entries == []


def test_pages_stay_where_they_are_while_messages_come_and_go(store: GroupTranscriptStore, say: Say) -> None:
    for number in range(30):
        say(f"message {number}")
    first = message_pages.newest(store, KEY, 10)
    assert first.older is not None
    for number in range(30, 40):
        say(f"message {number}")
    store.recall(KEY, "om_25")
    store.edit(KEY, "om_20", "another text")
    second = message_pages.before(store, KEY, first.older, 10, None)
    assert ids(second) == numbered(*range(10, 20))
    assert second.more


def test_the_message_at_which_a_page_ended_may_be_gone(store: GroupTranscriptStore, say: Say) -> None:
    for number in range(300):
        say(f"message {number}")
    first = message_pages.newest(store, KEY, 100)
    assert first.older is not None
    store.recall(KEY, "om_200")
    second = message_pages.before(store, KEY, first.older, 100, None)
    assert ids(second) == numbered(*range(100, 200))


def test_the_first_page_knows_whether_there_is_an_older_one(store: GroupTranscriptStore, say: Say) -> None:
    for number in range(5):
        say(f"message {number}")
    assert message_pages.newest(store, KEY, 5).older is None
    assert message_pages.newest(store, KEY, 4).older is not None


def test_a_page_can_be_cut_at_either_end_and_read_on_from_there(store: GroupTranscriptStore, say: Say) -> None:
    for number in range(20):
        say(f"message {number}")
    newest = message_pages.newest(store, KEY, 10).newest(3)
    assert ids(newest) == numbered(17, 18, 19)
    assert newest.older is not None
    assert ids(message_pages.before(store, KEY, newest.older, 2, None)) == numbered(15, 16)
    for place in ("om_4", _cursor_behind(store, "om_4")):
        oldest = message_pages.after(store, KEY, place, 10, None).oldest(3, store)
        assert ids(oldest) == numbered(5, 6, 7)
        assert oldest.more
        assert ids(message_pages.after(store, KEY, oldest.newer, 2, None)) == numbered(8, 9)


def test_what_the_history_fills_in_late_is_new_behind_a_cursor_and_old_in_the_order_of_pages(
    store: GroupTranscriptStore, say: Say
) -> None:
    for number in range(10):
        say(f"message {number}")
    cursor = store.end(KEY)
    store.append(KEY, "user", "late", "on_bo", "om_late", START + 30_000, source="history")
    assert ids(message_pages.after(store, KEY, cursor, 5, None)) == ["om_late"]
    assert ids(message_pages.after(store, KEY, "om_0", 2, None)) == ["om_late", "om_1"]
    assert walk_back(store, 4) == ["om_0", "om_late", *numbered(*range(1, 10))]


def test_a_place_can_be_a_message_or_a_time(store: GroupTranscriptStore, say: Say) -> None:
    for number in range(10):
        say(f"message {number}")
    assert ids(message_pages.before(store, KEY, " om_5 ", 2, None)) == numbered(3, 4)
    assert ids(message_pages.before(store, KEY, "2025-11-20T00:58:20Z", 2, None)) == numbered(3, 4)
    assert ids(message_pages.after(store, KEY, "2025-11-20T00:58:20Z", 2, None)) == numbered(5, 6)
    assert ids(message_pages.after(store, KEY, "2h", 2, None)) == []


@pytest.mark.parametrize("place", ["om_x", "nonsense", "c1.ffffff.1.0", "x" * 10_000, "a\nb"])
def test_what_is_no_place_is_an_error_that_says_what_is(store: GroupTranscriptStore, say: Say, place: str) -> None:
    say("hello")
    for page in (message_pages.before, message_pages.after):
        with pytest.raises(InvalidCursorError, match=r"is not a place to read") as error:
            page(store, KEY, place, 5, None)
        assert "the id of a message in this chat" in error.value.hint
        assert len(str(error.value)) < 300
        assert "\n" not in str(error.value)


def test_a_cursor_that_leads_on_does_not_lead_back(store: GroupTranscriptStore, say: Say) -> None:
    say("hello")
    with pytest.raises(InvalidCursorError, match="backwards"):
        message_pages.before(store, KEY, store.end(KEY), 5, None)


class Counting(GroupTranscriptStore):
    """Counts the entries that are read."""

    read_entries = 0

    def recent(self, session_key: str, limit: int = 20) -> Page:
        page = super().recent(session_key, limit)
        self.read_entries += len(page.entries)
        return page

    def read_back(self, session_key: str, before: str | None = None, limit: int = 100) -> Page:
        page = super().read_back(session_key, before, limit)
        self.read_entries += len(page.entries)
        return page


@pytest.mark.parametrize("shown", [20, 3])
def test_a_page_far_back_costs_no_more_than_one_of_the_first(base_dir: Path, shown: int) -> None:
    with Counting(base_dir) as store:
        for number in range(1500):
            store.append(KEY, "user", f"message {number}", "on_ada", f"om_{number}", START + number)
        stretch, walked, costs = message_pages.newest(store, KEY, 20).newest(shown), 0, []
        while stretch.older is not None and walked < 1200:
            store.read_entries = 0
            stretch = message_pages.before(store, KEY, stretch.older, 20, None).newest(shown)
            walked += len(stretch.entries)
            costs.append(store.read_entries)
        assert ids(stretch) == numbered(*range(1500 - shown - walked, 1500 - walked))
    assert max(costs[-10:]) <= max(costs[:10])


def test_a_message_of_the_history_is_shown_in_its_place_though_it_came_behind_the_cursor(
    store: GroupTranscriptStore, say: Say
) -> None:
    for number in range(600):
        say(f"message {number}")
    first = message_pages.newest(store, KEY, 50)
    assert first.older is not None
    second = message_pages.before(store, KEY, first.older, 50, None)
    assert ids(second) == numbered(*range(500, 550))
    store.append(KEY, "user", "late", "on_bo", "om_late", START + 400 * 60_000 + 1, source="history")
    assert "om_late" in walk_back(store, 50)
    assert len(walk_back(store, 50)) == 601


def test_old_messages_in_closed_segments_are_reached(make_store: Callable[..., GroupTranscriptStore]) -> None:
    store = make_store(segment_bytes=4000)
    for number in range(400):
        store.append(KEY, "user", f"message {number}", "on_ada", f"om_{number}", START + number)
    assert walk_back(store, 90) == numbered(*range(400))


def _cursor_behind(store: GroupTranscriptStore, message_id: str) -> str:
    cursor = None
    while True:
        page = store.read(KEY, cursor, 1)
        cursor = page.cursor
        if page.entries[0]["message_id"] == message_id:
            return cursor
