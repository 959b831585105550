"""Messages as files."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot_transcript.errors import ArchiveError
from transcript_mcp.mail.messages.frontmatter import MessageFile, parse, render
from transcript_mcp.mail.values import Letter

LETTER = Letter(
    id="msg_20251023_7b3dc3a7",
    project="/abs/path/backend",
    thread_id="TKT-123",
    subject="Plan",
    body="# Build plan\n",
    sender="GreenCastle",
    to=("BlueLake",),
    cc=(),
    created_ts=1_761_232_934.5,
    importance="high",
    ack_required=True,
    attachments=({"type": "file", "media_type": "image/webp", "path": "attachments/2a/2a6f.webp"},),
    reply_to=None,
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def test_the_file_is_json_between_two_fences_and_then_the_body() -> None:
    opening, header, body = render(LETTER).split("---", 2)
    assert opening == ""
    assert body == "\n# Build plan\n"
    assert json.loads(header.removeprefix("json\n")) == {
        "id": "msg_20251023_7b3dc3a7",
        "thread_id": "TKT-123",
        "project": "/abs/path/backend",
        "from": "GreenCastle",
        "to": ["BlueLake"],
        "cc": [],
        "created": "2025-10-23T15:22:14Z",
        "importance": "high",
        "ack_required": True,
        "attachments": [{"type": "file", "media_type": "image/webp", "path": "attachments/2a/2a6f.webp"}],
        "subject": "Plan",
        "reply_to": None,
        "created_ts": 1_761_232_934.5,
    }


def test_people_can_read_chinese_in_the_file() -> None:
    assert '"subject": "发布窗口"' in render(replace(LETTER, subject="发布窗口"))


@pytest.mark.parametrize(
    "body", ["", "no end", "\n---\n", "---json\n{}\n---\n", "a\r\nb\rc", "\ufeffbom", "tail\n\n\n", "\u2028"]
)
def test_the_body_comes_back_to_the_last_character(body: str) -> None:
    text = render(replace(LETTER, body=body))
    assert parse(text.encode().decode()).letter.body == body


@given(body=TEXTS, subject=TEXTS, thread=st.none() | TEXTS, names=st.lists(TEXTS), ms=st.integers(0, 4_000_000_000_000))
def test_whatever_is_written_is_read_back(
    body: str, subject: str, thread: str | None, names: list[str], ms: int
) -> None:
    letter = replace(
        LETTER, body=body, subject=subject, thread_id=thread, to=tuple(names), created_ts=round(ms / 1000, 3)
    )
    text = render(letter)
    assert parse(text) == MessageFile(letter)
    assert render(parse(text).letter) == text


def test_a_copy_for_bcc_and_a_key_are_read_back() -> None:
    text = render(LETTER, bcc=["RedStone"], idempotency_key="k 1")
    assert parse(text) == MessageFile(LETTER, ("RedStone",), "k 1")


def test_unknown_keys_are_skipped_and_missing_ones_that_may_be_have_defaults() -> None:
    header = {"id": "m", "project": "p", "from": "A", "to": [], "created_ts": 1.0, "subject": "s", "later": {"x": 1}}
    letter = parse(f"---json\n{json.dumps(header)}\n---\nbody").letter
    assert (letter.importance, letter.cc, letter.thread_id, letter.body) == ("normal", (), None, "body")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "body",
        "---json\n{}",
        "---json\n{\n---\n",
        "---json\n[]\n---\n",
        "---json\n{}\n---\n",
        "---yaml\na: 1\n---\n",
    ],
)
def test_what_is_no_message_says_so(text: str) -> None:
    with pytest.raises(ArchiveError) as caught:
        parse(text)
    assert caught.value.hint
