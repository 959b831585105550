"""Messages that are edited often, as a card is that shows how far something got."""

import random
import sys
from collections.abc import Callable
from types import FrameType

import pytest

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.entry import Entry
from nanobot_transcript.store.jsonl.cursor import SegmentPosition
from nanobot_transcript.store.lines.fold import Ops, apply_edit

KEY = "feishu:oc_a"
MakeStore = Callable[..., GroupTranscriptStore]


def calls(work: Callable[[], object]) -> int:
    """How much work it is, whatever else the machine does: calls of Python functions."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def edit_often(store: GroupTranscriptStore, key: str, times: int) -> None:
    """Each edit is read at once, as by somebody who watches."""
    store.append(key, "assistant", "0 %", "Alpha", "om_1")
    for number in range(times):
        store.edit(key, "om_1", f"{number} %")
        assert store.get_recent(key) == [{"role": "assistant", "content": f"{number} %", "sender": "Alpha"}]
        assert (store.get(key, "om_1") or {}).get("content") == f"{number} %"


def look_for_it(store: GroupTranscriptStore, key: str, times: int) -> None:
    """All its texts match, the message is one hit."""
    assert [hit.entry["content"] for hit in store.search(" %", key)] == [f"{times - 1} %"]
    assert store.search("nothing like it", key) == []


@pytest.mark.parametrize("work", [edit_often, look_for_it])
def test_twice_as_many_edits_are_twice_the_work(make_store: MakeStore, work: Callable[..., None]) -> None:
    store = make_store()
    counts: list[int] = []
    for times in (50, 400, 800):  # both large ones reach beyond the first block that is read
        key = f"feishu:oc_{times}"
        if work is look_for_it:
            edit_often(store, key, times)
        counts.append(calls(lambda key=key, times=times: work(store, key, times)))
    assert counts[2] < counts[1] * 2.5


def edit(number: int, target: str, *, sent: bool) -> Entry:
    entry: Entry = {"role": "user", "content": f"text {number}", "sender": f"on_{number}", "message_id": None, "ts": 1}
    entry.update({"op": "edit", "target": target})
    if sent:
        entry.update({"source": "send", "agent": f"agent {number}"})
    if number % 3 == 0:
        entry["mentions"] = [{"name": f"name {number}", "id": "on_x"}]
    return entry


@pytest.mark.parametrize("seed", range(20))
def test_edits_come_to_the_same_in_whatever_order_they_are_learned(seed: int) -> None:
    dice = random.Random(seed)
    message: Entry = {"role": "assistant", "content": "first", "sender": "x", "message_id": "om_1", "ts": 1}
    message["message_ids"] = ["om_1", "om_2"]
    lines = [
        (SegmentPosition(1, number), edit(number, dice.choice(["om_1", "om_1", "om_2"]), sent=dice.random() < 0.3))
        for number in range(8)
    ]
    expected = message
    for _, line in lines:
        expected = apply_edit(expected, line)
    ops, learned = Ops(), dice.sample(lines, len(lines))
    for place, line in [*learned, *lines[:3]]:
        ops.note(place, line)
        ops.folded(message)
    assert ops.folded(message) == expected
