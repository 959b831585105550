"""Every kind of Feishu message has a readable text, and garbage has a safe one."""

import json
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sizes import short_and_full
from support.work import counted_work

from transcript_channels.feishu import text_of

BO = {"key": "@_user_1", "id": {"open_id": "ou_bo", "union_id": "on_bo"}, "name": "Bo"}
CHEN = {"key": "@_user_10", "id": {"open_id": "ou_chen"}, "name": "陈晨"}


def read(kind: str, body: Any, mentions: Any = ()) -> str:
    return text_of(kind, json.dumps(body, ensure_ascii=False), mentions)


def test_a_text_is_its_text() -> None:
    assert read("text", {"text": "  hello\nworld "}) == "hello\nworld"


def test_placeholders_become_names_and_longer_placeholders_are_not_cut() -> None:
    text = read("text", {"text": "@_user_1, ask @_user_10 and @_user_100 (@_user_1)"}, [BO, CHEN])
    assert text == "@Bo, ask @陈晨 and @_user_100 (@Bo)"


def test_a_mention_of_everybody_reads_as_such() -> None:
    assert read("text", {"text": "@_all lunch"}) == "@all lunch"
    assert read("text", {"text": '<at user_id="all"></at> lunch'}) == "@all lunch"


def test_at_elements_take_their_own_name_or_the_one_in_the_mentions() -> None:
    body = {"text": '<at user_id="ou_x">Ada</at> <at id=ou_bo></at> <at user_id="ou_nobody"></at>'}
    assert read("text", body, [BO]) == "@Ada @Bo @someone"


def test_history_gives_mention_ids_as_strings() -> None:
    mention = {"key": "@_user_1", "id": "ou_bo", "id_type": "open_id", "name": "Bo"}
    assert read("text", {"text": "@_user_1 hi"}, [mention]) == "@Bo hi"


@pytest.mark.parametrize("wrap", [lambda p: p, lambda p: {"zh_cn": p}, lambda p: {"post": {"fr_fr": p}}])
def test_a_post_is_read_in_all_three_wrappings(wrap: Any) -> None:
    post = {
        "title": "Plan",
        "content": [
            [{"tag": "text", "text": "see "}, {"tag": "a", "text": "here", "href": "https://x.test/"}],
            [{"tag": "at", "user_id": "@_user_1", "user_name": "Bo"}, {"tag": "text", "text": " agrees"}],
            [{"tag": "img", "image_key": "img_1"}, {"tag": "emotion", "emoji_type": "SMILE"}],
            [{"tag": "code_block", "language": "PYTHON", "text": "print(1)\n"}],
            [{"tag": "md", "text": "**bold**"}],
        ],
    }
    lines = read("post", wrap(post)).splitlines()
    assert lines[:4] == ["Plan", "see [here](https://x.test/)", "@Bo agrees", "[image (img_1)][SMILE]"]
    assert [line for line in lines[4:] if line] == ["```python", "print(1)", "```", "**bold**"]


def test_an_old_card_is_read_from_top_to_bottom() -> None:
    card = {
        "config": {"wide_screen_mode": True},
        "header": {"title": {"tag": "plain_text", "content": "Deploy"}, "template": "blue"},
        "elements": [
            {"tag": "div", "text": {"tag": "lark_md", "content": "**done** <at id=ou_bo></at>"}},
            {"tag": "div", "fields": [{"is_short": True, "text": {"tag": "lark_md", "content": "3 hosts"}}]},
            {"tag": "div", "text": {"tag": "lark_md", "content": ["no", "text"], "text": "a text"}},
            {"tag": "hr"},
            {
                "tag": "column_set",
                "columns": [{"tag": "column", "elements": [{"tag": "markdown", "content": "a"}]}],
            },
            {
                "tag": "action",
                "actions": [
                    {
                        "tag": "button",
                        "text": {"tag": "plain_text", "content": "Open"},
                        "url": "https://x.test",
                    },
                    {"tag": "button", "text": {"tag": "plain_text", "content": "Undo"}, "value": {"k": 1}},
                ],
            },
            {
                "tag": "note",
                "elements": [{"tag": "plain_text", "content": "by CI"}, {"tag": "img", "img_key": "k"}],
            },
        ],
    }
    assert read("interactive", card, [BO]).splitlines() == [
        "Deploy",
        "**done** @Bo",
        "3 hosts",
        "a text",
        "a",
        "[Open](https://x.test)",
        "[button: Undo]",
        "by CI",
        "[image (k)]",
    ]


def test_a_card_of_schema_2_is_read() -> None:
    card = {
        "schema": "2.0",
        "header": {"title": {"tag": "plain_text", "content": "Report"}, "subtitle": {"content": "Monday"}},
        "body": {
            "elements": [
                {"tag": "markdown", "content": "# All *fine*", "element_id": "streaming_md"},
                {
                    "tag": "collapsible_panel",
                    "header": {"title": {"tag": "markdown", "content": "More"}},
                    "elements": [{"tag": "markdown", "content": "inside"}],
                },
                {
                    "tag": "table",
                    "columns": [
                        {"name": "c0", "display_name": "Host"},
                        {"name": "c1", "display_name": "State"},
                    ],
                    "rows": [{"c0": "web", "c1": ["up", "green"]}, {"c0": 7, "c1": None}],
                },
                {"tag": "chart", "chart_spec": {}},
            ]
        },
    }
    assert read("interactive", card).splitlines() == [
        "Report",
        "Monday",
        "# All *fine*",
        "More",
        "inside",
        "Host | State",
        "web | up green",
        "7 |",
        "[chart]",
    ]


def test_a_card_as_events_bring_it_is_read() -> None:
    flat = {
        "title": "Weather",
        "elements": [[{"tag": "text", "text": "Sunny, "}, {"tag": "at", "user_id": "ou_1", "user_name": "Ada"}]],
    }
    assert read("interactive", flat) == "Weather\nSunny, @Ada"


@pytest.mark.parametrize("key", ["user_dsl", "json_card", "card"])
def test_a_card_inside_another_object_or_string_is_found(key: str) -> None:
    card = {"elements": [{"tag": "markdown", "content": "hi"}]}
    assert read("interactive", {key: json.dumps(card)}) == "hi"
    assert read("interactive", {key: card}) == "hi"


def test_a_card_that_is_only_named_is_a_placeholder() -> None:
    assert read("interactive", {"type": "card", "data": {"card_id": "7355"}}) == "[card]"
    kept_back = {"title": None, "elements": [[{"tag": "text", "text": "请升级至最新版本客户端，以查看内容"}]]}
    assert read("interactive", kept_back) == "[card]"


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("image", {"image_key": "img_1"}, "[image (img_1)]"),
        ("image", {"image_key": "img_1/../x"}, "[image]"),
        ("image", {}, "[image]"),
        ("file", {"file_key": "f", "file_name": "plan.pdf"}, "[file: plan.pdf (f)]"),
        ("file", {"file_key": "f" * 129, "file_name": "plan.pdf"}, "[file: plan.pdf]"),
        ("audio", {"file_key": "f", "duration": 3200}, "[audio: 3 s (f)]"),
        ("audio", {"file_key": " f\n"}, "[audio (f)]"),
        ("media", {"file_key": "f", "file_name": "clip.mp4", "duration": 1}, "[video: clip.mp4 (f)]"),
        ("post", {"content": [[{"tag": "media", "file_key": "f", "image_key": "img_cover"}]]}, "[video (f)]"),
        ("sticker", {"file_key": "f"}, "[sticker]"),
        ("share_chat", {"chat_id": "oc_1"}, "[shared group: oc_1]"),
        ("share_user", {"user_id": "ou_1"}, "[shared contact: ou_1]"),
        ("location", {"name": "The Bund", "longitude": "1", "latitude": "2"}, "[location: The Bund]"),
        ("share_calendar_event", {"summary": "Standup"}, "[calendar event: Standup]"),
        ("vote", {"topic": "Lunch?", "options": ["noodles", "rice"]}, "[vote: Lunch? / noodles / rice]"),
        ("todo", {"summary": {"title": "", "content": [[{"tag": "text", "text": "buy"}]]}}, "[task: buy]"),
        ("merge_forward", {"content": "Merged and Forwarded Message"}, "[forwarded messages]"),
        ("hologram", {"x": 1}, "[hologram]"),
        ("hologram", {"title": "From the future"}, "From the future"),
    ],
)
def test_what_has_no_text_has_a_placeholder(kind: str, body: Any, text: str) -> None:
    assert read(kind, body) == text


def test_a_system_line_is_filled_in() -> None:
    body = {
        "template": "{from_user} invited {to_chatters}.",
        "from_user": ["Ada"],
        "to_chatters": ["Bo", "Chen"],
    }
    assert read("system", body) == "Ada invited Bo, Chen."
    divider = {"type": "divider", "params": {"divider_text": {"text": "New session started."}}}
    assert read("system", divider) == "New session started."
    assert read("system", {}) == "[system message]"


def test_forwarded_messages_are_quoted_when_they_are_given() -> None:
    item = {"msg_type": "text", "body": {"content": '{"text": "one\\ntwo"}'}}
    nested = {"msg_type": "merge_forward", "body": {"content": "{}"}}
    assert read("merge_forward", {"items": [item, nested]}).splitlines() == [
        "[forwarded messages]",
        "> one",
        "> two",
        "> [forwarded messages]",
    ]


@pytest.mark.parametrize(
    ("kind", "content", "text"),
    [
        ("text", "not json", "not json"),
        ("text", '{"text": "torn', '{"text": "torn'),
        ("text", '{"text": 7}', "[text]"),
        ("text", "[1]", "[1]"),
        ("text", None, "[text]"),
        ("image", "not json", "[image]"),
        ("interactive", "[" * 200_000, "[card]"),
        (None, None, "[message]"),
        (7, b"bytes", "[message]"),
        ("post", '{"content": "not a list"}', "[post]"),
        ("post", '{"content": [7, [7], [{"tag": "at", "user_id": 3}]]}', "@someone"),
    ],
)
def test_garbage_has_a_safe_text(kind: Any, content: Any, text: str) -> None:
    assert text_of(kind, content) == text


def test_a_card_nested_beyond_reason_ends() -> None:
    card: Any = {"tag": "markdown", "content": "deep"}
    for _ in range(400):
        card = {"tag": "div", "elements": [card]}
    assert text_of("interactive", {"elements": [card]}) == "[card]"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "tag",
                    "text",
                    "content",
                    "elements",
                    "body",
                    "card",
                    "columns",
                    "rows",
                    "name",
                    "title",
                    "post",
                ]
            )
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(
    kind=st.sampled_from(["text", "post", "interactive", "system", "merge_forward", "vote", "todo", "audio", "x"]),
    body=_JSON,
    mentions=_JSON,
)
def test_no_content_raises_and_none_is_empty(kind: str, body: Any, mentions: Any) -> None:
    assert text_of(kind, body, mentions).strip()
    assert text_of(kind, json.dumps(body), mentions).strip()


# --- what is too much


@pytest.mark.parametrize("judged", short_and_full(False, True))
@pytest.mark.parametrize(
    "text",
    ["<at id=" + " " * 100_000, "<at user_id" + " " * 100_000 + "<", "<at id=x>" * 15_000, "@" * 100_000],
    ids=["spaces", "spaces-before", "unclosed", "signs"],
)
def test_hostile_mentions_are_read_in_no_time(text: str, judged: bool) -> None:
    start = time.thread_time()
    assert read("text", {"text": text})
    assert not judged or time.thread_time() - start < 0.25


@pytest.mark.parametrize("kind", ["text", "post", "interactive", "merge_forward"])
def test_content_of_megabytes_is_not_taken_apart(kind: str) -> None:
    content = '{"elements": [' + "[]," * 2_000_000 + "[]]}"
    tracemalloc.start()
    try:
        text = text_of(kind, content)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert text.endswith(": too large to be read]")
    assert most < 100_000  # bytes; the parts would be 100 MB, however fast they are made


def test_a_text_that_is_longer_than_any_the_platform_takes_is_clipped() -> None:
    assert len(read("text", {"text": "好" * 380_000})) < 201_000
    parts = [{"msg_type": "text", "body": {"content": json.dumps({"text": "x" * 150_000})}} for _ in range(100)]
    assert len(text_of("merge_forward", {"items": parts})) < 201_000


def test_a_table_is_read_as_far_as_the_platform_would_show_it() -> None:
    columns = [{"name": "a"}] * 6_000
    table = {"tag": "table", "columns": columns, "rows": [{"a": "x"}] * 6_000}
    with counted_work() as work:
        text = read("interactive", {"elements": [[table], table]})
    assert work.calls < 1_000_000  # the table that is read twice has 36 million cells
    assert "x | x" in text


@pytest.mark.parametrize("depth", [30, 3000, 60_000])
def test_a_card_nested_thousands_deep_is_read_as_far_as_it_makes_sense(depth: int) -> None:
    nested = '{"tag": "div", "elements": [' * depth + '{"tag": "markdown", "content": "deep"}' + "]}" * depth
    card = '{"elements": [{"tag": "markdown", "content": "top"}, ' + nested[:380_000]
    assert text_of("interactive", card + "]}") in ("top", "[card]", "[card: too large to be read]")
