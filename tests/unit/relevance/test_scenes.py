"""Everyday scenes: how they are read, and how the gate does on those that nothing was fitted to."""

import os
from pathlib import Path

import pytest

from nanobot_transcript.errors import ImportFormatError, NothingFoundError
from nanobot_transcript.relevance import RelevanceGate
from nanobot_transcript.relevance.evaluation.conduct import Conduct, conduct
from nanobot_transcript.relevance.evaluation.scenes import KINDS, Expected, Group, labelled_lines, read_groups

DATA = Path(__file__).resolve().parents[2] / "data" / "scenes"
SCENES = """
group: web
language: en
bots:
  - {name: Alpha, aliases: [al], description: "deployments, servers"}
  - {name: Beta, description: plans releases}
people: [Ada, Bo]
scenes:
  - lines:
      - {from: Ada, text: "@Alpha deploy", expect: [Alpha], kind: address}
      - {from: Alpha, text: "Done.", after: 5}
      - {from: Ada, text: thanks, after: 20, reply: 2, expect: nobody, kind: courtesy}
  - lines:
      - {from: Bo, text: "who plans this?", expect: {one_of: [Beta]}, kind: expert-question}
      - {from: Ada, text: "hm", after: 3, expect: unclear}
"""


def written(folder: Path, text: str = SCENES) -> Path:
    (folder / "web.yaml").write_text(text, encoding="utf-8")
    return folder


def test_a_scene_becomes_messages_with_mentions_replies_and_times(tmp_path: Path) -> None:
    (group,) = read_groups(written(tmp_path))
    first, second, third = group.scenes[0]
    assert [bot.name for bot in group.bots] == ["Alpha", "Beta"]
    assert first.get("mentions") == [{"name": "Alpha", "id": "bot Alpha"}]
    assert (second["role"], second.get("agent"), second["ts"] - first["ts"]) == ("assistant", "Alpha", 5000)
    assert third.get("reply_to") == second["message_id"]
    assert list(group.expected.values()) == [
        Expected(frozenset({"Alpha"})),
        Expected(frozenset()),
        Expected(frozenset({"Beta"}), one=True),
    ]


def test_warm_knows_the_scenes_before_and_cold_does_not(tmp_path: Path) -> None:
    (group,) = read_groups(written(tmp_path))
    assert [len(labelled.history) for labelled in labelled_lines(group, warm=False)] == [0, 2, 0]
    assert [len(labelled.history) for labelled in labelled_lines(group, warm=True)] == [0, 2, 3]


def test_a_scene_that_lasts_a_day_is_over_before_the_next(tmp_path: Path) -> None:
    (group,) = read_groups(written(tmp_path, SCENES.replace("after: 20", "after: 80000")))
    assert group.scenes[1][0]["ts"] - group.scenes[0][-1]["ts"] >= 3 * 3600 * 1000


@pytest.mark.parametrize(
    ("expected", "answered", "met"),
    [
        (Expected(frozenset()), frozenset[str](), True),
        (Expected(frozenset()), frozenset({"A"}), False),
        (Expected(frozenset("AB")), frozenset("A"), False),
        (Expected(frozenset("AB")), frozenset("AB"), True),
        (Expected(frozenset("AB"), one=True), frozenset("A"), True),
        (Expected(frozenset("AB"), one=True), frozenset("AB"), False),
        (Expected(frozenset("AB"), one=True), frozenset("C"), False),
    ],
)
def test_exactly_those_who_are_expected_have_to_answer(expected: Expected, answered: frozenset[str], met: bool) -> None:
    assert expected.is_met(answered) is met


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("from: Bo,", "from: Carol,", "is by Carol, who is not a member"),
        ("reply: 2", "reply: 3", "replies to line 3, which is not before it"),
        ("one_of: [Beta]", "one_of: [Gamma]", "expects Gamma, which is not a bot"),
        ("kind: courtesy", "kind: nice", "is of the kind nice; kinds are address,"),
        ("people: [Ada, Bo]", "people: [Ada, Ada]", "two members have the same name"),
        ("after: 5", "later: 5", "contains unknown field `later`"),
        ("group: web", "group: [", "is not a group with scenes"),
        ("group: web", "[" * 5000, "is not a group with scenes"),
        ("one_of: [Beta]", "one_of: []", "has a one_of without bots; write nobody"),
        ("expect: nobody", "expect: Alpha", "expects 'Alpha'; write nobody, unclear, a list such as [Alpha]"),
        ("expect: nobody", "expect: 7", "got `int` - at `$.scenes[0].lines[2].expect`"),
        (", kind: courtesy", "", "has no kind; kinds are address,"),
        ("after: 5", "after: -5", "Expected `float` >= 0.0"),
        ("after: 5", "after: .nan", "Expected `float` >= 0.0"),
        ("after: 5", "after: .inf", "Expected `float` <= 86400.0"),
        ("after: 5", "after: 2020-13-45", "is not a group with scenes: month must be in 1..12"),
        ("after: 5", "after: !!bool perhaps", "is not a group with scenes"),
        ("after: 5", "after: !!timestamp soon", "is not a group with scenes"),
        ("people: [Ada, Bo]", 'people: [Ada, Bo, ""]', "length >= 1 - at `$.people[2]`"),
    ],
)
def test_a_file_that_cannot_be_used_says_where_and_why(tmp_path: Path, old: str, new: str, told: str) -> None:
    with pytest.raises(ImportFormatError, match=r"web\.yaml") as caught:
        read_groups(written(tmp_path, SCENES.replace(old, new)))
    assert told in str(caught.value)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "web.yaml")
    with pytest.raises(ImportFormatError, match=r"web\.yaml is not a file"):
        read_groups(tmp_path)
    (tmp_path / "web.yaml").unlink()
    (tmp_path / "web.yaml").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ImportFormatError, match=r"web\.yaml cannot be read: No such file"):
        read_groups(tmp_path)


def test_a_folder_without_scenes_says_so(tmp_path: Path) -> None:
    with pytest.raises(NothingFoundError, match="no group"):
        read_groups(tmp_path)
    with pytest.raises(NothingFoundError, match="No line says"):
        read_groups(written(tmp_path, "group: x\nbots: [{name: Alpha}]\npeople: []\nscenes: []\n"))
    with pytest.raises(ImportFormatError, match=r"length >= 1 - at `\$.bots`"):
        read_groups(written(tmp_path, "group: x\nbots: []\npeople: []\nscenes: []\n"))
    with pytest.raises(ImportFormatError, match="cannot be read"):
        read_groups(tmp_path / "missing")


def test_intrusions_and_misses_are_told_per_100_messages(tmp_path: Path) -> None:
    made = conduct(read_groups(written(tmp_path)), RelevanceGate(), warm=False)
    assert (made.lines, made.meant) == (3, 2)
    assert made.kinds["address"].share == 1.0
    assert made.kinds["courtesy"].share == 1.0
    assert made.document()["lines"] == 3


@pytest.fixture(scope="module")
def held_back() -> list[Group]:
    return read_groups(DATA / "held_back")


@pytest.mark.parametrize(("language", "floor"), [("zh", 0.88), ("en", 0.85)])
def test_scenes_that_nothing_was_fitted_to_go_as_expected(held_back: list[Group], language: str, floor: float) -> None:
    some = [group for group in held_back if group.language == language]
    cold, warm = (conduct(some, RelevanceGate(), warm=warm) for warm in (False, True))
    assert (cold.met / cold.lines > floor, warm.met / warm.lines > floor) == (True, True), shares(cold, warm)
    for made in (cold, warm):
        assert min(made.kinds[kind].share for kind in ("address", "follow-up", "courtesy", "people")) > 0.8
        assert made.kinds["open-question"].share > 0.7
        assert made.kinds["expert-question"].share > 0.5
        assert made.calibration.brier < 0.06


def shares(*made: Conduct) -> str:
    """By kind, and no lines: nobody is to read them."""
    return "; ".join(" ".join(f"{kind} {one.kinds[kind].share:.2f}" for kind in KINDS) for one in made)


@pytest.mark.parametrize("name", ["support + incidents war room", "后端值班群"])
def test_it_makes_no_difference_in_which_order_members_are_listed(name: str) -> None:
    group = next(group for group in read_groups(DATA / "known") if group.name == name)
    one, other = RelevanceGate(), RelevanceGate()
    for labelled in labelled_lines(group, warm=False):
        told = labelled.message, labelled.history
        for bot in group.bots:
            assert one.decide(*told, bot, group.members) == other.decide(*told, bot, group.members[::-1])
