"""A small group in a real store: Ada and Bo are people, Alpha and Beta are bots."""

from collections.abc import Callable
from datetime import timedelta, timezone
from typing import Any

import pytest

from nanobot_transcript import GroupTranscriptStore
from transcript_mcp.transcript.reading import View

KEY = "feishu:oc_team"
START = 1_763_600_000_000  # 2025-11-20T08:53:20+08:00
MINUTE = 60_000
SHANGHAI = timezone(timedelta(hours=8))

MakeStore = Callable[..., GroupTranscriptStore]
Say = Callable[..., str]


@pytest.fixture
def store(make_store: MakeStore) -> GroupTranscriptStore:
    """Known members, and nothing said yet."""
    store = make_store()
    store.members.remember_bot("cli_a", "Alpha", aliases=["小助手"], description="Builds and releases.")
    store.members.remember_bot("cli_b", "Beta")
    store.members.remember_person("on_ada", "Ada")
    for sender in ("on_ada", "Alpha"):
        store.members.saw(KEY, sender)
    return store


@pytest.fixture
def view(store: GroupTranscriptStore) -> View:
    """The store, with times of Shanghai."""
    return View(store, SHANGHAI)


@pytest.fixture
def say(store: GroupTranscriptStore) -> Say:
    """``say("hello")``: one message a minute after the last one; returns its id."""
    said = iter(range(100_000))

    def append(text: str, sender: str = "on_ada", *, key: str = KEY, **fields: Any) -> str:
        number = next(said)
        role = "assistant" if fields.get("sender_kind") == "bot" else "user"
        store.append(key, role, text, sender, f"om_{number}", START + number * MINUTE, **fields)
        return f"om_{number}"

    return append
