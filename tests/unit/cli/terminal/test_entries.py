"""Messages on a terminal: in columns, in colour, and many of them in little time."""

import io
import sys
from types import FrameType
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.cli.terminal.entries import EntryPrinter

TEAM = "feishu:oc_team"


def terminal(width: int = 60, *, colours: bool = False) -> tuple[Console, io.StringIO]:
    """A terminal whose text can be looked at."""
    seen = io.StringIO()
    return Console(file=seen, width=width, force_terminal=True, color_system="standard" if colours else None), seen


def shown(store: GroupTranscriptStore, out: Console, **options: bool) -> None:
    view = EntryPrinter(store, several=False, out=out, **options)
    for entry in store.scan(TEAM):
        view.entry(TEAM, entry)


def test_every_line_fits_and_text_goes_on_in_its_column(store: GroupTranscriptStore) -> None:
    store.append(
        TEAM, "user", "请在周五之前合并，" * 9 + "and a word\n\tand a tab", "on_ada", "om_7", 1_763_600_240_000
    )
    out, seen = terminal()
    shown(store, out)
    lines = seen.getvalue().splitlines()
    assert all(cell_len(line) <= 60 for line in lines)
    assert (lines[0], lines[1][:8]) == ("oc_team", "2025-11-")
    assert lines[2][5:] == "            Ada When is the 发布?"
    start = lines.index(next(line for line in lines if "请在" in line))
    assert all(line.startswith(" " * 21) and line[21] != "，" for line in lines[start + 1 :])
    assert lines[-1].strip() == "and a tab"


def test_a_long_name_keeps_to_its_column(store: GroupTranscriptStore) -> None:
    store.append(TEAM, "user", "x", "on_long", "om_7", 1_763_600_240_000, sender_name="名字" * 9)
    out, seen = terminal()
    shown(store, out)
    last = seen.getvalue().splitlines()[-1]
    assert cell_len(last[:-1].rstrip()) <= 20
    assert last.endswith("… x")


def test_short_ids_have_a_column_and_every_line_still_fits(store: GroupTranscriptStore) -> None:
    store.append(TEAM, "user", "请在周五之前合并，" * 9, "on_ada", "om_x100b5a7c2d13f0e4", 1_763_600_240_000)
    out, seen = terminal()
    shown(store, out, ids=True)
    lines = seen.getvalue().splitlines()
    assert all(cell_len(line) <= 60 for line in lines)
    assert lines[2][5:] == "     om_1            Ada When is the 发布?"
    assert " 2d13f0e4            Ada 请在" in lines[5]
    assert lines[6].startswith(" " * 30 + lines[6][30])


def test_each_chat_has_its_name_above_its_messages_and_a_short_name_that_commands_take(
    store: GroupTranscriptStore,
) -> None:
    keys = [f"feishu:oc_{number}0553eda9014c201e6969b478895c230" for number in "12"]
    store.members.remember_chat(keys[0], "发布群 2.0 " * 9)
    for number, key in enumerate(keys):
        store.append(key, "user", "hello", "on_ada", f"om_{number}", 1_763_600_240_000)
    out, seen = terminal(40)
    view = EntryPrinter(store, several=True, out=out)
    for key in (keys[0], keys[0], keys[1], keys[0]):
        view.entry(key, store.recent(key, 1).entries[0])
    lines = [line for line in seen.getvalue().splitlines() if "hello" not in line and "─" not in line]
    assert [line.split("  ")[-1] for line in lines] == ["oc_10553eda", "oc_20553eda", "oc_10553eda"]
    assert lines[0].startswith("发布群 2.0 发…")
    assert all(cell_len(line) <= 40 for line in lines)
    assert "\x1b" not in seen.getvalue()


def test_an_edit_and_a_recall_show_the_id_of_the_message_they_are_about(store: GroupTranscriptStore) -> None:
    out, seen = terminal()
    (first, *_) = store.scan(TEAM)
    view = EntryPrinter(store, several=False, ids=True, out=out)
    for op in ("edit", "recall"):
        view.entry(TEAM, {**first, "message_id": None, "op": op, "target": "om_x100b5a7c2d13f0e4"})
    assert seen.getvalue().count("2d13f0e4") == 2


def test_a_bot_is_bold_and_what_was_done_to_a_message_dim(store: GroupTranscriptStore) -> None:
    out, seen = terminal(colours=True)
    view = EntryPrinter(store, several=False, out=out)
    page = store.read(TEAM, None, 3)
    view.entry(TEAM, page.entries[1])
    bot = seen.getvalue()
    assert "\x1b[1m" in bot
    view.entry(TEAM, {**page.entries[0], "op": "recall", "target": "om_1"})
    assert "\x1b[2m⌫ took a message back\x1b[0m" in seen.getvalue()
    assert "\x1b[1m" not in seen.getvalue()[len(bot) :]


@pytest.mark.parametrize("odd", [["a"], {"a": 1}, 5])
def test_metadata_that_is_no_text_keeps_nothing_from_being_shown(store: GroupTranscriptStore, odd: Any) -> None:
    fields: Any = dict.fromkeys(("sender_name", "reply_to", "root_id", "thread_id", "agent", "msg_type"), odd)
    store.append(TEAM, "user", "Written by another program", "on_ada", "om_odd", 1.0, **fields)
    store.append(TEAM, "user", "And a person's", "on_bo", "om_plain", 2.0)
    out, seen = terminal()
    shown(store, out)
    assert "Written by another program" in seen.getvalue()
    assert "And a person's" in seen.getvalue()


def test_a_message_costs_little_work(store: GroupTranscriptStore) -> None:
    """Counted in calls of Python functions; laid out by rich it was eight hundred."""
    (first, *_) = store.scan(TEAM)
    texts = [
        f"{number} 方案已经确认，请在周五之前合并 — the parser still drops empty lines, see thread"
        for number in range(300)
    ]
    out, _ = terminal(80)
    view = EntryPrinter(store, several=False, out=out)
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    view.entry(TEAM, first)
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for text in texts:
            view.entry(TEAM, {**first, "content": text})
    finally:
        sys.setprofile(before)
    assert count / len(texts) < 100
