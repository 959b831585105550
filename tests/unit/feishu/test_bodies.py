"""Bodies of messages: contents, long texts in parts, and whom a text mentions, as ids that its own app may use."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nanobot_transcript.conversation.people import People
from nanobot_transcript.conversation.ports import Arrival
from nanobot_transcript.store.member_file import FileMembers
from nanobot_transcript.store.members import MemberDirectory
from transcript_channels.feishu.bodies import (
    CARD_BYTES,
    TEXT_BYTES,
    At,
    Mentionable,
    encoded_size,
    post_contents,
    split_markdown,
    split_text,
    text_contents,
)
from transcript_channels.feishu.events import message_from_event
from transcript_channels.feishu.platform import FEISHU

FAMILY = "👩‍👩‍👧‍👦"
FLAG = "🇨🇳"
THUMB = "👍🏽"
APP = "cli_alpha"


# --- contents


def test_a_mention_inside_a_block_of_code_is_code() -> None:
    (content,) = post_contents("@Ada see\n```\n@Ada\n```", [At("ou_ada", "Ada")])
    rows = json.loads(content)["zh_cn"]["content"]
    assert rows[0][0]["tag"] == "at"
    assert rows[1] == [{"tag": "md", "text": "```\n@Ada\n```"}]


@given(st.text(max_size=300), st.integers(1, 400))
def test_every_content_is_within_the_platforms_limits(piece: str, times: int) -> None:
    mentions = [At("ou_" + "a" * 32, "a"), At("ou_b", "Ada")]
    for limit, contents in (
        (TEXT_BYTES, text_contents(piece * times + "@a ", mentions)),
        (CARD_BYTES, post_contents(piece * times + "@a\n" * times, mentions, title="t" * 500)),
    ):
        assert all(len(json.dumps({"content": content}, ensure_ascii=False).encode()) <= limit for content in contents)


@pytest.mark.parametrize("piece", ["<at>", "<at ", "</at>", "@Ada", "```\n", "a" * 30 + " ", "\u0301", "👍🏽"])
def test_hostile_texts_are_taken_apart_in_time(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    mentions = [At("ou_a", "Ada"), At("ou_b", "Ad")]
    assert all(len(content.encode()) <= TEXT_BYTES for content in text_contents(text, mentions))
    assert all(len(content.encode()) <= CARD_BYTES for content in post_contents(text, mentions))


# --- long texts in parts


def test_a_text_that_fits_stays_whole() -> None:
    assert split_text("short  ", 100) == ["short  "]
    assert split_markdown("```\ncode\n```", 100) == ["```\ncode\n```"]


@pytest.mark.parametrize(
    ("text", "limit", "parts"),
    [
        ("first paragraph\n\nsecond one\nhas lines", 30, ["first paragraph", "second one\nhas lines"]),
        ("one line\nanother line", 20, ["one line", "another line"]),
        ("第一句话。第二句话。第三句话。", 33, ["第一句话。第二句话。", "第三句话。"]),
        ("One thing. Another thing.", 18, ["One thing.", "Another thing."]),
        ("word word word", 11, ["word word", "word"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
    ],
)
def test_a_text_is_cut_where_a_reader_would_pause(text: str, limit: int, parts: list[str]) -> None:
    assert split_text(text, limit) == parts


@pytest.mark.parametrize("character", [FAMILY, FLAG, THUMB, "é", "한", "𠮷"])
def test_no_character_is_torn_apart(character: str) -> None:
    size = encoded_size(character)
    for limit in range(size, 3 * size):
        parts = split_text(character * 9, limit)
        assert "".join(parts) == character * 9
        assert all(part == character * (len(part) // len(character)) for part in parts), (limit, parts)


def test_a_block_of_code_that_is_cut_is_closed_and_opened_again() -> None:
    lines = "\n".join(f"    line {number}" for number in range(40))
    parts = split_markdown(f"before\n```python\n{lines}\n```\nafter", 300)
    assert len(parts) > 2
    assert all(part.count("```") % 2 == 0 for part in parts)
    assert parts[1].startswith("```python\n    line")
    assert parts[-1].endswith("after")
    shown = [line for part in parts for line in part.splitlines() if not line.startswith("```")]
    assert shown == ["before", *lines.splitlines(), "after"]


@example("好" * 60, 40)
@example("a" * 3000 + '"' * 3000, 2000)
@given(st.text(alphabet=st.sampled_from('ab .\n"\\好。,🇨👍🏽\u200d`\x00'), max_size=400), st.integers(40, 200))
def test_every_part_fits_and_only_white_space_is_lost(text: str, limit: int) -> None:
    parts = split_text(text, limit)
    assert all(encoded_size(part) <= limit for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


@given(st.text(alphabet=st.sampled_from("ab .\n`~好"), max_size=600))
def test_every_part_of_markdown_fits(text: str) -> None:
    assert all(encoded_size(part) <= 200 for part in split_markdown(text, 200))


@given(st.text(), st.text())
def test_the_size_of_a_text_is_that_of_its_pieces(one: str, two: str) -> None:
    assert encoded_size(one + two) == encoded_size(one) + encoded_size(two)


# --- who is mentioned


def message(text: str = "hello @_user_1", *, sender_type: str = "user", **changes: Any) -> Arrival:
    mention = {"key": "@_user_1", "name": "Beta", "id": {"open_id": "ou_beta"}, "mentioned_type": "bot"}
    body = {
        "message_id": "om_1",
        "chat_id": "oc_1",
        "chat_type": "group",
        "message_type": "text",
        "content": json.dumps({"text": text}),
        "create_time": "1700000000000",
        "mentions": [mention],
        **changes,
    }
    sender = {"sender_type": sender_type, "sender_id": {"open_id": "ou_ada", "union_id": "on_ada"}}
    found = message_from_event({"header": {"app_id": APP}, "event": {"message": body, "sender": sender}})
    assert found is not None
    return found.arrival(APP)


def directory(tmp_path: Path) -> MemberDirectory:
    members = FileMembers(tmp_path)
    members.remember_bot(APP, "Alpha", open_ids={APP: "ou_alpha"})
    members.remember_bot("cli_beta", "Beta", aliases=["小贝"])
    return members


def test_a_bot_can_be_mentioned_once_somebody_has_mentioned_it(tmp_path: Path) -> None:
    members = directory(tmp_path)
    mentionable = Mentionable(APP, members)
    assert mentionable.named_in("@Beta go on") == []
    People(members, FEISHU).learn(message())
    assert [(at.open_id, at.name) for at in mentionable.named_in("@Beta go on")] == [("ou_beta", "Beta")]
    assert [at.name for at in mentionable.named_in("请@小贝继续")] == ["小贝"]


def test_a_longer_name_and_the_bot_itself_are_not_mentioned(tmp_path: Path) -> None:
    members = directory(tmp_path)
    People(members, FEISHU).learn(message())
    mentionable = Mentionable(APP, members)
    assert mentionable.named_in("@Beta2 and @Alpha, Beta") == []


def test_the_longest_name_counts_and_uses_up_its_place(tmp_path: Path) -> None:
    mentionable = Mentionable(APP, directory(tmp_path))
    for number, name in enumerate(["小阿", "小阿姨", "GPT", "GPT-4", "Алекс", "Алексей", "José"]):
        mention = {"key": "@_user_1", "name": name, "id": {"open_id": f"ou_{number}"}, "mentioned_type": "user"}
        mentionable.saw(message(mentions=[mention]), None)
    assert [at.name for at in mentionable.named_in("@小阿姨 看一下, @GPT-4 and @Алексей.")] == [
        "小阿姨",
        "GPT-4",
        "Алексей",
    ]
    assert [at.name for at in mentionable.named_in("@小阿看一下 @GPT你好 @GPT @Алекс")] == ["小阿", "GPT", "Алекс"]
    assert mentionable.named_in("@GPT-5 @GPTs @Алексия @Josée @ @@") == []


def test_people_can_be_mentioned_by_what_they_were_called(tmp_path: Path) -> None:
    members = directory(tmp_path)
    mention = {"key": "@_user_1", "name": "Bo", "id": {"open_id": "ou_bo"}, "mentioned_type": "user"}
    mentionable = Mentionable(APP, members)
    mentionable.saw(message(mentions=[mention]), None)
    assert [(at.open_id, at.name) for at in mentionable.named_in("ask @Bo")] == [("ou_bo", "Bo")]
