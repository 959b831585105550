"""What is to be known after a restart: small documents by kind and name."""

from pathlib import Path
from typing import Any

import pytest
from contract.coordination.conftest import MakeMarks
from support.procs import until

KINDS = ("session", "relay", "private", "something else")


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_put_is_there_after_a_restart(make_marks: MakeMarks, kind: str) -> None:
    document = {"cursor": "c1", "told": ["om_1", "发布"], "n": 3}
    marks = make_marks()
    assert (marks.get(kind, "a", "b"), marks.has(kind, "a", "b")) == (None, False)
    marks.put(kind, document, "a", "b")
    for known in (marks, make_marks()):
        found = known.get(kind, "a", "b")
        assert found is not None
        assert {key: found[key] for key in document} == document
        assert known.has(kind, "a", "b")


def test_what_is_put_again_takes_its_place(make_marks: MakeMarks) -> None:
    marks = make_marks()
    marks.put("session", {"cursor": "c1", "chat": "oc_1"}, "a")
    marks.put("session", {"cursor": "c2"}, "a")
    found = make_marks().get("session", "a")
    assert found is not None
    assert (found["cursor"], "chat" in found) == ("c2", False)


@pytest.mark.parametrize(
    "other",
    [
        ("relay", "a", "b"),
        ("session", "a"),
        ("session", "b", "a"),
        ("session", "A", "b"),
        ("session", "ab"),
        ("session", "a\0b"),
        ("session", "a", "b", ""),
    ],
)
def test_other_kinds_and_names_are_others(make_marks: MakeMarks, other: tuple[str, ...]) -> None:
    marks = make_marks()
    marks.put("session", {"cursor": "c1"}, "a", "b")
    assert (marks.get(*other), marks.has(*other)) == (None, False)


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b\0c", "\ud800", "x" * 5000, "", "群 聊"])
def test_a_name_is_any_text(make_marks: MakeMarks, name: str) -> None:
    make_marks().put("session", {"name": name}, name)
    found = make_marks().get("session", name)
    assert found is not None
    assert found["name"] == name


@pytest.mark.parametrize("kind", KINDS)
def test_all_of_a_kind_are_found_and_the_oldest_are_pruned(make_marks: MakeMarks, kind: str) -> None:
    marks = make_marks()
    assert (list(marks.each(kind)), marks.prune(kind, 1)) == ([], 0)
    for other in KINDS:
        for number in range(3):
            marks.put(other, {"of": other, "number": number}, str(number))

    def numbers(of: str) -> list[Any]:
        return sorted(each["number"] for each in make_marks().each(of) if each["of"] == of)

    assert numbers(kind) == [0, 1, 2]
    assert marks.prune(kind, 2) == 1
    assert len(numbers(kind)) == 2
    assert [numbers(other) for other in KINDS if other != kind] == [[0, 1, 2]] * (len(KINDS) - 1)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_put_last_outlives_a_pruning(make_marks: MakeMarks, tmp_path: Path, kind: str) -> None:
    """However often it was put before."""
    marks = make_marks()
    for number in (1, 2, 3, 1):
        marks.put(kind, {"number": number}, str(number))
        another_moment(tmp_path)
    assert make_marks().prune(kind, 2) == 1
    assert sorted(each["number"] for each in marks.each(kind)) == [1, 3]
    assert (marks.has(kind, "2"), marks.prune(kind, 2)) == (False, 0)


def another_moment(folder: Path) -> None:
    """Return when the clock of the file system, which goes in steps, has made one."""
    file = folder / "moment"

    def moment() -> int:
        file.touch()
        return file.stat().st_mtime_ns

    now = moment()
    until(lambda: moment() > now, "the clock of the file system goes on")
