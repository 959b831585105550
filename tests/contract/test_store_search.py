"""Search: literal, newest first, in any script, over what readers see and nothing else."""

import time
from collections.abc import Callable

import pytest

from nanobot_transcript import GroupTranscriptStore

KEY = "feishu:oc_a"
NOW = int(time.time() * 1000)

MakeStore = Callable[..., GroupTranscriptStore]


def say(store: GroupTranscriptStore, *texts: str, key: str = KEY, start: int = 0) -> None:
    for number, text in enumerate(texts, start):
        store.append(key, "user", text, "on_ada", f"om_{number}", NOW + number)


def found(store: GroupTranscriptStore, query: str, key: str | None = KEY, limit: int = 20) -> list[str]:
    return [hit.entry["content"] for hit in store.search(query, key, limit)]


def test_the_newest_hit_comes_first_and_no_more_than_asked_for(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=700)
    say(store, *(f"plan {number:03}" for number in range(60)))
    assert found(store, "plan", limit=3) == ["plan 059", "plan 058", "plan 057"]
    assert found(store, "plan", limit=1000) == [f"plan {number:03}" for number in reversed(range(60))]
    assert found(store, "plan 00") == [f"plan {number:03}" for number in reversed(range(10))]


@pytest.mark.parametrize("limit", [0, -3])
def test_no_hits_are_asked_for_none_come(store: GroupTranscriptStore, limit: int) -> None:
    say(store, "plan")
    assert found(store, "plan", limit=limit) == []


def test_an_empty_query_finds_nothing(store: GroupTranscriptStore) -> None:
    say(store, "plan")
    assert found(store, "") == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我们明天开会讨论预算", "开会"),
        ("我们明天开会讨论预算", "预算"),
        ("会", "会"),
        ('she said "go"', 'said "go"'),
        (r"C:\temp\new", r"\temp\n"),
        ("line one\nline two", "one\nline"),
        ("tab\there", "b\th"),
        ("well 👍🏽 done", "👍🏽"),
        ("family 👨‍👩‍👧", "👨‍👩‍👧"),
        ("100% of a_b* [x] (y) ^$ .", "% of a_b* [x] (y) ^$ ."),
        ("<b>&amp;</b>", "<b>&amp;"),
        ("a/b/c", "/b/"),
        ("nul \0 inside", "l \0 i"),
        ("sep \u2028 and \u0085", "\u2028 and \u0085"),
        ("del \x7f esc \x1b[0m", "\x7f esc \x1b["),
        ("é composed", "é c"),
        ("ends with backslash \\", "backslash \\"),
        ("ß Straße", "Straße"),
    ],
)
def test_text_is_found_letter_by_letter(make_store: MakeStore, text: str, query: str) -> None:
    store = make_store()
    say(store, "before", text, "after")
    assert found(store, query) == [text]
    assert found(make_store(), query, None) == [text]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Plan", "plan"),
        ("plan", "pl.n"),
        ("plan", "p%"),
        (r"a\nb", "a\nb"),
        ("a\nb", r"a\nb"),
        ("会议", "开会"),
    ],
)
def test_what_is_not_there_letter_by_letter_is_not_found(store: GroupTranscriptStore, text: str, query: str) -> None:
    say(store, text)
    assert found(store, query) == []


@pytest.mark.parametrize(
    "query",
    ["role", "user", "on_ada", "om_1", "message_id", '":"', '{"', "ts", "Ada", '"content"', "rts", "oc_a"],
)
def test_only_the_text_is_searched_not_what_stands_around_it(store: GroupTranscriptStore, query: str) -> None:
    store.append(KEY, "user", "hello", "on_ada", "om_1", NOW, sender_name="Ada", source="event")
    assert found(store, query) == []


def test_a_word_that_stands_elsewhere_in_many_lines_does_not_use_up_the_limit(
    store: GroupTranscriptStore,
) -> None:
    say(store, "about alpha")
    for number in range(1, 50):
        store.append(KEY, "assistant", "something", "alpha", f"om_{number}", NOW + number, agent="alpha")
    assert found(store, "alpha", limit=1) == ["about alpha"]


def test_a_recalled_text_is_not_found(make_store: MakeStore) -> None:
    store = make_store()
    say(store, "plan a", "plan b", "plan c")
    store.recall(KEY, "om_1")
    store.redact(KEY, "om_2")
    assert found(store, "plan") == ["plan a"]
    assert found(make_store(), "plan") == ["plan a"]


def test_an_edited_text_is_found_and_the_old_one_is_not(make_store: MakeStore) -> None:
    store = make_store()
    say(store, "plan one", "talk")
    store.edit(KEY, "om_0", "scheme two", "on_ada")
    for reader in (store, make_store()):
        assert found(reader, "scheme") == ["scheme two"]
        assert found(reader, "plan one") == []
    store.edit(KEY, "om_0", "idea three", "on_ada")
    assert found(store, "scheme") == []
    (hit,) = store.search("idea", KEY)
    assert (hit.entry["message_id"], hit.entry["ts"]) == ("om_0", NOW)


def test_an_edited_message_is_found_once_by_a_word_in_both_texts(store: GroupTranscriptStore) -> None:
    say(store, "the plan", "other")
    store.edit(KEY, "om_0", "the new plan")
    store.edit(KEY, "om_0", "the newest plan")
    assert found(store, "plan") == ["the newest plan"]


def test_a_doubled_message_is_found_once(make_store: MakeStore) -> None:
    store = make_store()
    say(store, "plan")
    say(store, "plan")
    assert found(store, "plan") == ["plan"]


def test_one_chat_or_all_chats_are_searched(make_store: MakeStore) -> None:
    store = make_store()
    keys = ["feishu:oc_a", "feishu:oc_b", "群:一"]
    for number, key in enumerate(keys):
        say(store, f"plan {number}", key=key, start=number)
    assert found(store, "plan", "feishu:oc_b") == ["plan 1"]
    assert [(hit.session_key, hit.entry["content"]) for hit in make_store().search("plan")] == [
        ("群:一", "plan 2"),
        ("feishu:oc_b", "plan 1"),
        ("feishu:oc_a", "plan 0"),
    ]
    assert found(store, "plan", None, 2) == ["plan 2", "plan 1"]


def test_a_query_with_a_lone_surrogate_never_raises(store: GroupTranscriptStore) -> None:
    say(store, "plan \ud800")
    assert found(store, "plan \ud800") == ["plan \ufffd"]


@pytest.mark.parametrize("position", [0, 65_530, 1 << 20, (1 << 20) + 1, 3_000_000])
def test_a_word_anywhere_in_a_long_transcript_is_found(make_store: MakeStore, position: int) -> None:
    """Block borders of the reader must not hide a hit: the word stands at any byte of one long text."""
    store = make_store()
    text = "." * position + "needle" + "." * (3_000_100 - position)
    say(store, "needle before", text, "needle after")
    assert found(store, "needle") == ["needle after", text, "needle before"]


def test_hits_at_every_offset_of_a_block_are_found(make_store: MakeStore) -> None:
    store = make_store()
    texts = [("字" * (number % 97)) + f"针{number}号" for number in range(3000)]
    say(store, *texts)
    assert found(make_store(), "针", limit=5000) == texts[::-1]
    assert found(store, "针2999号") == texts[-1:]
    assert found(store, "针0号") == texts[:1]
