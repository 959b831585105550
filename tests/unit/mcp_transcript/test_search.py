"""Search in one chat and in all."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from nanobot_transcript.errors import StoreError
from transcript_mcp.transcript.reading import View
from transcript_mcp.transcript.search import Search

KEY = "feishu:oc_team"
START = 1_763_600_000_000

Say = Callable[..., str]


def found(view: View, query: str, key: str | None = None, limit: int = 20, max_chars: int = 8000) -> list[str]:
    search = Search(view, query, key, limit)
    assert search.go_on(60)
    return search.text(max_chars).splitlines()


def hits(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines if line.startswith("{")]


def test_hits_come_newest_first_with_their_chat_and_id(view: View, say: Say) -> None:
    say("报警 one")
    say("nothing")
    say("报警 two", key="feishu:oc_other")
    head, *lines, foot = found(view, "报警")
    assert head.startswith('Messages that contain "报警", newest first.')
    assert [(hit["chat"], hit["id"], hit["from"]) for hit in hits(lines)] == [
        ("feishu:oc_other", "om_2", "Ada"),
        (KEY, "om_0", "Ada"),
    ]
    assert foot.startswith("To read what was said around one")


def test_in_one_chat_only_its_messages_are_found(view: View, say: Say) -> None:
    say("报警 one")
    say("报警 two", key="feishu:oc_other")
    lines = found(view, "报警", KEY)
    assert [hit["id"] for hit in hits(lines)] == ["om_0"]
    assert "chat" not in hits(lines)[0]
    assert "in feishu:oc_team" in lines[0]


@pytest.mark.parametrize("query", ["missing", "HELLO", "", '"\n'])
def test_nothing_found_is_said_with_the_reason_it_may_have(view: View, say: Say, query: str) -> None:
    say("hello")
    (line,) = found(view, query)
    assert line.startswith("Nothing found that contains ")
    assert line.endswith("upper and lower case too.")


def test_of_a_long_message_the_piece_with_the_match_is_shown(view: View, say: Say) -> None:
    say("x" * 100_000 + "needle" + "y" * 100_000)
    (hit,) = hits(found(view, "needle", max_chars=2000))
    assert "needle" in hit["text"]
    assert hit["offset"] == 100_000 - 60
    assert "more characters" in hit["more"]


def test_as_many_are_shown_as_asked_for_and_as_fit(view: View, say: Say) -> None:
    for _ in range(30):
        say("needle " + "x" * 150)
    assert len(hits(found(view, "needle", limit=7))) == 7
    lines = found(view, "needle", limit=30, max_chars=2000)
    assert 1 < len(hits(lines)) < 30
    assert f"{30 - len(hits(lines))} more did not fit" in lines[-1]
    assert sum(map(len, lines[1:-2])) < 2000


def test_a_chat_that_cannot_be_read_is_named_and_the_others_are_searched(view: View, say: Say) -> None:
    say("needle")
    say("needle", key="feishu:oc_broken")
    view.store.close()
    (path,) = view.store.base_dir.glob("feishu_oc_broken*.jsonl")
    path.unlink()
    path.mkdir()
    lines = found(view, "needle")
    assert [hit["chat"] for hit in hits(lines)] == [KEY]
    assert lines[-1] == "1 chat could not be read, among them feishu:oc_broken."
    with pytest.raises(StoreError):
        found(view, "needle", "feishu:oc_broken")


def test_a_search_goes_on_where_its_time_was_over_and_says_how_far_it_came(view: View, say: Say) -> None:
    for number in range(5):
        say("needle", key=f"feishu:oc_{number}")
    ticks = iter(range(1000))
    search = Search(view, "needle", None, 20, clock=lambda: next(ticks))
    assert not search.go_on(1)
    assert search.text(8000).splitlines()[-1].startswith("Searched 1 of 5 chats so far;")
    rounds = 1
    while not search.go_on(1):
        rounds += 1
    assert (rounds, search.looked, search.total) == (5, 5, 5)
    assert len(hits(search.text(8000).splitlines())) == 5


def test_chats_in_which_nothing_newer_can_stand_are_not_looked_into(view: View, say: Say) -> None:
    import os

    for number in range(6):
        say("needle", key=f"feishu:oc_{number}")
    for at, path in enumerate(sorted(view.store.base_dir.glob("*.jsonl"))):
        os.utime(path, (START / 1000 + 60 * at, START / 1000 + 60 * at))
    search = Search(view, "needle", None, 2)
    assert search.go_on(60)
    assert [hit["chat"] for hit in hits(search.text(8000).splitlines())] == ["feishu:oc_5", "feishu:oc_4"]
    assert search.looked == 2


def test_an_empty_store_has_no_hits(make_store: Callable[..., Any]) -> None:
    view = View(make_store(), None)
    assert found(view, "needle")[0].startswith("Nothing found")
    assert not view.store.base_dir.exists()
