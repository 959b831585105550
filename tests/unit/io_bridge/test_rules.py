"""What is taken for a session id, an input, and a reader's wishes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot_transcript.errors import InvalidItemError
from transcript_mcp.io_bridge.rules import checked_key, checked_session, checked_text, flag, input_text, seconds

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize("session", ["some-uuid", "会话-7", "a b", "🙂", "x" * 200, "team:alpha@2", "...", "%2e"])
def test_ids_of_any_script_are_taken(session: str) -> None:
    assert checked_session(session) == session


def test_an_id_is_the_same_however_its_letters_are_composed() -> None:
    assert checked_session("e\u0301") == checked_session("\u00e9")


@pytest.mark.parametrize(
    "session",
    [
        "",
        " ",
        ".",
        "..",
        "../x",
        "a/b",
        "a\\b",
        " a",
        "a ",
        "a\x00",
        "a\nb",
        "\u202ea",
        "a\u200b",
        "\ud800",
        "x" * 201,
        "x" * 10**6,
    ],
)
def test_ids_that_are_paths_empty_long_or_hidden_are_refused(session: str) -> None:
    with pytest.raises(InvalidItemError) as caught:
        checked_session(session)
    assert caught.value.hint
    assert len(str(caught.value)) < 200


@given(st.text())
def test_any_text_is_an_id_or_is_refused(session: str) -> None:
    try:
        assert checked_session(checked_session(session)) == checked_session(session)
    except InvalidItemError:
        return


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ('{"data": "hello"}', JSON, "hello"),
        ('{"data": "hello", "user": "ada"}', JSON, "hello"),
        ('{"data": {"a": ["字"]}}', JSON, '{"a": ["字"]}'),
        ('{"data": 0}', JSON, "0"),
        ('{"data": false}', JSON, "false"),
        ('{"a": 1,  "b": 2}', JSON, '{"a": 1,  "b": 2}'),
        ("[1, 2]", JSON, "[1, 2]"),
        ('"hello"', JSON, "hello"),
        ("5", JSON, "5"),
        ('{"data": "hello"}', FORM, "hello"),
        ('{"data": "hello"}', "application/octet-stream", "hello"),
        ("hello & goodbye", FORM, "hello & goodbye"),
        ('{"data": "hello"}', "text/plain", '{"data": "hello"}'),
        ("\ufeffhello", "text/plain", "hello"),
        (" indented\n", "text/plain", " indented\n"),
        ('{"data": "x"}', "application/vnd.api+json", "x"),
        ('{"data": ""}', JSON, ""),
        ('{"data": ""}', FORM, ""),
        ('{"data": "  "}', JSON, "  "),
        ('""', JSON, ""),
    ],
)
def test_a_body_says_its_data_its_json_or_its_text(body: str, kind: str, text: str) -> None:
    assert input_text(body.encode(), kind) == text


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", JSON),
        (b"", "text/plain"),
        (b" \n", FORM),
        (b" ", JSON),
        (b'{"data": null}', JSON),
        (b"null", JSON),
        (b"{", JSON),
        (b"hello", JSON),
        (b"\xff\xfe", "text/plain"),
        (b'{"data": "\\ud800"}', JSON),
        (b"[" * 200_000, JSON),
    ],
)
def test_a_body_that_says_nothing_or_cannot_be_read_is_refused(body: bytes, kind: str) -> None:
    with pytest.raises(InvalidItemError) as caught:
        input_text(body, kind)
    assert caught.value.hint


@given(st.binary(), st.sampled_from([JSON, FORM, "text/plain", "", "application/+json"]))
def test_any_body_is_a_text_or_is_refused(body: bytes, kind: str) -> None:
    try:
        text = input_text(body, kind)
    except InvalidItemError:
        return
    assert text.encode() or body


@given(st.text())
def test_the_data_of_an_object_arrives_as_it_is(text: str) -> None:
    try:
        assert input_text(json.dumps({"data": text}).encode(), JSON) == text
    except InvalidItemError:
        with pytest.raises(UnicodeEncodeError):
            text.encode()


@pytest.mark.parametrize(("value", "expected"), [(None, 0.0), ("0", 0.0), ("2.5", 2.5), ("60", 60.0)])
def test_a_wait_is_a_number_of_seconds_up_to_sixty(value: str | None, expected: float) -> None:
    assert seconds(value) == expected


@pytest.mark.parametrize("value", ["", "61", "-1", "nan", "inf", "1e1", "９", "soon", "0x1", "1" * 400])
def test_any_other_wait_is_refused(value: str) -> None:
    with pytest.raises(InvalidItemError):
        seconds(value)


def test_a_switch_is_on_off_or_refused() -> None:
    assert [flag(value, "peek") for value in (None, "0", "false", "1", "true", "")] == [False] * 3 + [True] * 3
    with pytest.raises(InvalidItemError, match="peek"):
        flag("maybe", "peek")


@pytest.mark.parametrize("key", ["", " ", "k" * 201, "\ud800"])
def test_a_key_that_is_no_text_is_refused(key: str) -> None:
    with pytest.raises(InvalidItemError):
        checked_key(key)
    assert (checked_key(None), checked_key("k")) == (None, "k")


def test_half_a_character_is_no_output() -> None:
    assert checked_text("", "output") == ""
    with pytest.raises(InvalidItemError, match="output"):
        checked_text("\ud83d", "output")
