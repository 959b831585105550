"""Kinds of lines about earlier messages, and what each does."""

from typing import Any, get_args

from nanobot_transcript.entry import Entry, Op
from nanobot_transcript.store.lines.ops import (
    KINDS,
    erasure_mark,
    hides,
    is_edit,
    is_erasure_mark,
    is_known_op,
    is_op,
    needs_message,
)


def line(op: Any) -> Entry:
    return {"role": "user", "content": "", "sender": "on_ada", "message_id": None, "ts": 1, "op": op, "target": "om_1"}


def test_every_op_of_an_entry_has_a_row() -> None:
    assert set(KINDS) == set(get_args(Op))


def test_what_is_taken_back_is_hidden_and_needs_no_message() -> None:
    for op in ("recall", "redact"):
        assert (hides(line(op)), is_edit(line(op)), needs_message(line(op))) == (True, False, False)


def test_an_edit_changes_the_text_and_needs_its_message() -> None:
    assert (hides(line("edit")), is_edit(line("edit")), needs_message(line("edit"))) == (False, True, True)


def test_an_op_of_a_later_version_is_one_and_does_nothing() -> None:
    for op in ("pin", "", ["edit"]):
        does = (is_known_op, hides, is_edit, needs_message)
        assert is_op(line(op))
        assert not any(question(line(op)) for question in does)


def test_the_mark_of_an_erasure_is_told_from_a_redaction() -> None:
    assert is_erasure_mark(erasure_mark(1))
    assert not is_erasure_mark(line("redact"))
