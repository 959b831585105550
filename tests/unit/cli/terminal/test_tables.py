"""Tables: aligned, whole where a program reads, never broken in the middle where a person does."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.cli.terminal.tables import shortened

KEYS = [f"feishu:oc_{digit * 32}" for digit in "ab"]
Run = Callable[..., Any]


@pytest.fixture
def real_ids(store: GroupTranscriptStore) -> None:
    for key in KEYS:
        store.append(key, "user", "hello", "on_ada", "om_1", 1_763_600_000_000)


@pytest.mark.usefixtures("real_ids")
def test_a_pipe_gets_whole_keys_and_no_padding(run: Run) -> None:
    for command in (["stats"], ["verify"], ["config", "show", "--origin"]):
        out = run(*command).out
        assert command == ["config", "show", "--origin"] or all(key in out for key in KEYS)
        assert all(line == line.rstrip() for line in out.splitlines())


@pytest.mark.usefixtures("real_ids")
def test_a_narrow_terminal_gets_shorter_keys_and_whole_headers(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    for command in ("stats", "verify"):
        header, *rows = run(command).out.splitlines()
        assert "messages" in header
        assert all(len(row) <= 80 for row in rows)
        shown = [found[0] for row in rows if (found := re.search(r"[\w:]*oc_[\w…]+", row))]
        assert len(set(shown)) == 4
        assert [key for key in KEYS if key in shown] == []
    assert sum("…" in key for key in shown) == 2, "what cannot be named shortly loses its middle"


def test_what_has_no_room_side_by_side_stands_in_blocks(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_GROUPS__MODE", "observe")
    lines = [line.strip() for line in run("config", "show", "--origin").out.splitlines()]
    start = lines.index("groups.mode")
    assert lines[start + 1 : start + 3] == ["value   observe", "origin  environment NANOBOT_TRANSCRIPT_GROUPS__MODE"]


@pytest.mark.parametrize("text", ["feishu:oc_0123456789abcdef", "会话" * 20, "short"])
def test_a_shortened_text_keeps_both_ends(text: str) -> None:
    short = shortened(text, 12)
    assert short == text or (short[:2] == text[:2] and short[-2:] == text[-2:] and "…" in short)
