"""What is said of a setting in documents and messages, read off its field."""

from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, SecretStr, create_model

from nanobot_transcript.settings.base import Section, Traits, setting
from nanobot_transcript.settings.schema import Description, describe, place_of


def described(annotation: Any, **limits: Any) -> Description:
    """The description of a setting of this type in a section of another package."""
    fields: dict[str, Any] = {"x": (annotation, setting(None, "What.", "什么。", **limits))}
    (only,) = describe(create_model("Elsewhere", __base__=Section, **fields))
    return only


@pytest.mark.parametrize(
    ("annotation", "limits", "en", "zh", "must"),
    [
        (int, {"ge": 1, "le": 9}, "whole number", "整数", "a whole number from 1 to 9"),
        (float | None, {"gt": 0}, "number or null", "数字 或 null", "a number greater than 0, or null"),
        (Literal["a", "b"], {}, "`a`, `b`", "`a`、`b`", "'a' or 'b'"),
        (list[str], {}, "list of text", "列表：文本", "a list of text"),
        (
            dict[str, Annotated[SecretStr, Field(min_length=1)]],
            {},
            "mapping to secret text",
            "映射：密文",
            "a section with text that is not empty for each name",
        ),
        (date, {}, "date", "date", "date"),
    ],
)
def test_a_kind_of_value_is_told_in_both_languages_and_in_messages(
    annotation: Any, limits: dict[str, Any], en: str, zh: str, must: str
) -> None:
    kind = described(annotation, **limits).kind
    assert (kind.en, kind.zh, kind.must) == (en, zh, must)


def test_what_messages_have_to_know_stands_at_the_field() -> None:
    marked = described(Annotated[str | None, Traits(needed=True, waits=True)])
    assert (marked.needed, marked.may_wait) == (True, True)
    plain = described(str | None)
    assert (plain.needed, plain.may_wait) == (False, False)


def test_a_secret_that_need_not_be_set_may_wait() -> None:
    assert described(SecretStr | None).may_wait
    assert not described(SecretStr).may_wait


def test_what_lies_in_a_section_that_waits_waits_and_the_section_does_not() -> None:
    assert place_of(["agents", "cli_a", "responder", "timeout"]).may_wait
    assert not place_of(["agents", "cli_a", "responder"]).may_wait


def test_free_names_are_told_by_what_stands_for_them() -> None:
    keys = {item.key for item in describe()}
    assert {"agents.<app_id>.name", "groups.chats.<chat_id>.mode"} <= keys
    assert place_of(["agents", "cli_a", "name"]).key == "agents.cli_a.name"
