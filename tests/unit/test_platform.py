"""What the core knows about chat platforms: forms of ids, and which platforms there are."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from nanobot_transcript.platform import GROUP, Platform, chat_key, group_key, outlasts, platforms
from transcript_channels.feishu.platform import FEISHU

TALK = Platform("talk", ("uid",), re.compile(r"room-\d+"))
"""What another package would offer."""


@dataclass
class Offered:
    """An entry point as an installed package has it: what it loads, or the error on loading."""

    name: str
    found: Any
    dist: Any = None

    @property
    def value(self) -> str:
        return f"some.package:{self.name}"

    def load(self) -> Any:
        if isinstance(self.found, BaseException):
            raise self.found
        return self.found


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """``offer(feishu=FEISHU, talk=TALK)``: these platforms are installed."""

    def offering(**offered: Any) -> None:
        points = {GROUP: [Offered(name, found) for name, found in offered.items()]}
        monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: points[group])
        platforms.cache_clear()

    yield offering
    monkeypatch.undo()
    platforms.cache_clear()


@pytest.mark.parametrize(
    ("ids", "sender"),
    [
        ({"union_id": "on_1", "user_id": "u1", "open_id": "ou_1"}, "on_1"),
        ({"user_id": "u1", "open_id": "ou_1"}, "u1"),
        ({"union_id": "", "user_id": None, "open_id": "ou_1"}, "ou_1"),
        ({"app_id": "cli_a"}, ""),
        ({}, ""),
    ],
)
def test_a_person_is_known_by_the_most_lasting_id(ids: dict[str, str | None], sender: str) -> None:
    assert FEISHU.sender_of(ids) == sender


def test_the_installed_platform_is_found() -> None:
    assert platforms() == (FEISHU,)


@pytest.mark.parametrize("name", ["oc_1", "oc_a\nb"])
def test_a_groups_id_tells_its_platform(name: str) -> None:
    assert group_key(name) == f"feishu:{name}"


@pytest.mark.parametrize("name", ["", "oc_", "ou_1", "xoc_1", "OC_1", "feishu:oc_1", "\ud800"])
def test_what_is_no_groups_id_is_no_group(name: str) -> None:
    assert group_key(name) is None


@pytest.mark.parametrize(
    ("name", "key"),
    [("feishu:oc_1", "feishu:oc_1"), ("feishu.beta:oc_1", "feishu:oc_1"), ("oc_1", "feishu:oc_1"), ("x", "feishu:x")],
)
def test_where_one_platform_is_installed_every_chat_without_another_is_its(name: str, key: str) -> None:
    assert chat_key(name) == key


def test_of_several_platforms_the_form_of_the_id_tells_which(offer: Any) -> None:
    offer(feishu=FEISHU, talk=TALK)
    assert (chat_key("room-7"), chat_key("oc_7"), chat_key("x")) == ("talk:room-7", "feishu:oc_7", None)
    assert chat_key("talk:x") == "talk:x"


def test_an_id_that_two_platforms_take_for_a_groups_tells_nothing(offer: Any) -> None:
    offer(feishu=FEISHU, greedy=Platform("greedy", (), re.compile(".*")))
    assert (group_key("oc_7"), group_key("x")) == (None, "greedy:x")


@pytest.mark.parametrize(
    ("kinds", "others", "more"),
    [
        ({"union_id"}, {"user_id"}, True),
        ({"user_id"}, {"union_id"}, False),
        ({"user_id"}, {"open_id"}, True),
        ({"open_id"}, {"user_id"}, False),
        ({"user_id"}, set(), True),
        ({"open_id"}, set(), False),
        (set(), {"open_id"}, False),
        ({"of no platform"}, set(), False),
        ({"union_id", "open_id"}, {"user_id"}, True),
    ],
)
def test_of_two_ids_the_platform_that_has_both_says_which_lasts(
    offer: Any, kinds: set[str], others: set[str], more: bool
) -> None:
    assert outlasts(kinds, others) is more
    offer(feishu=FEISHU, other=Platform("other", ("user_id", "x", "y"), re.compile("x")))
    assert outlasts(kinds, others) is more


@pytest.mark.parametrize(
    "values",
    [
        {"name": None},
        {"name": 7},
        {"name": ""},
        {"name": "a:b"},
        {"name": "a.b"},
        {"name": "a_b"},
        {"name": "Ev"},
        {"name": "_x"},
        {"person_ids": "user_id"},
        {"person_ids": (1,)},
        {"group_form": "room-.*"},
    ],
)
def test_a_platform_with_values_that_nobody_could_use_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"called|tuple|pattern"):
        Platform(**{"name": "talk", "person_ids": ("uid",), "group_form": re.compile("x")} | values)


@pytest.mark.parametrize(
    "offered", [ImportError("no such module"), ValueError("broken"), SystemExit(0), "a text", None]
)
def test_what_cannot_be_loaded_is_left_out_with_a_word(
    offer: Any, offered: Any, caplog: pytest.LogCaptureFixture
) -> None:
    offer(broken=offered, talk=TALK)
    assert platforms() == (TALK,)
    assert "some.package:broken" in caplog.text


def test_of_two_that_offer_one_platform_the_second_is_left_out_with_a_word(
    offer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    other = Platform("talk", ("other",), re.compile("x"))
    offer(a=TALK, b=other)
    assert platforms() == (TALK,)
    assert "some.package:b" in caplog.text


def test_without_any_no_id_tells_where_it_belongs(offer: Any) -> None:
    offer()
    assert (platforms(), group_key("oc_1"), chat_key("oc_1"), chat_key("feishu:oc_1")) == (
        (),
        None,
        None,
        "feishu:oc_1",
    )
