"""The turns that the page shows are those that the loop guard counts."""

from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.settings import Settings
from nanobot_transcript.turns import GUARD_HISTORY, LoopGuard, LoopLimits
from transcript_mcp.hub.web.site import Site
from transcript_mcp.rooms import open_rooms
from transcript_mcp.transcript.page import GroupsPage, turns_of_bots

START = 1_763_600_000_000


def line(at: float, who: str, **fields: Any) -> Any:
    """What somebody says ``at`` seconds; Alpha and Beta are bots."""
    bot = {"role": "assistant", "agent": who, "hop": 1} if who in ("Alpha", "Beta") else {"role": "user"}
    made = {"content": f"{at}", "sender": who, "message_id": f"om_{at}_{who}", "ts": START + at * 1000, **bot}
    return {name: value for name, value in (made | fields).items() if value is not None}


def post(at: float, who: str, **fields: Any) -> Any:
    return line(at, who, hop=None, **fields)


TALKS: dict[str, tuple[list[Any], list[int | None]]] = {
    "a post begins a run": ([line(0, "ada"), post(1, "Alpha"), line(2, "Beta", hop=2)], [0, 1, 2]),
    "a post among answers": (
        [line(0, "ada"), line(1, "Alpha"), post(2, "Beta"), line(3, "Alpha", hop=3)],
        [0, 1, 2, 3],
    ),
    "a thread that a bot began": (
        [line(0, "ada"), post(1, "Alpha"), line(2, "Beta", thread_id="omt_1", root_id="om_1_Alpha")],
        [0, 1, 2],
    ),
    "beside a thread": ([line(0, "ada"), line(1, "Alpha", thread_id="omt_1"), line(2, "Beta")], [0, 1, 1]),
    "the clock was set back a little": (
        [line(500, "ada"), line(501, "Alpha"), line(2, "Beta"), line(3, "Alpha")],
        [0, 1, 2, 3],
    ),
    "the clock was set back far": (
        [line(5000, "ada"), line(5001, "Alpha"), line(2, "Beta"), line(3, "Alpha")],
        [0, 1, 1, 2],
    ),
    "a long silence": ([line(0, "Alpha"), line(601, "Beta"), line(1202, "ada"), line(1203, "Beta")], [1, 1, 0, 1]),
    "a note of a program": ([line(0, "Alpha"), line(1, "tool", role="tool"), line(2, "Beta")], [1, None, 2]),
}


@pytest.mark.parametrize("case", TALKS)
@pytest.mark.parametrize("idle", [600.0, 60.0])
def test_the_page_counts_what_the_guard_counts(case: str, idle: float) -> None:
    entries, turns = TALKS[case]
    guard, reader = LoopGuard(LoopLimits(idle=idle)), AgentProfile("Gamma")
    counted = turns_of_bots(entries, idle)
    for at, entry in enumerate(entries):
        verdict = guard.allows(entry, entries[: at + 1], reader)
        assert counted[at] == (None if verdict.reason == "no_turn" else verdict.hops)
    if idle == 600.0:
        assert counted == turns


def test_a_count_begins_anew_after_the_silence_of_the_settings() -> None:
    entries = [line(0, "ada"), line(1, "Alpha"), line(32, "Beta")]
    assert turns_of_bots(entries, 30.0) == [0, 1, 1]
    assert turns_of_bots(entries, 31.0) == [0, 1, 2]


def test_the_silence_of_the_settings_reaches_the_page(tmp_path: Path) -> None:
    settings = Settings.model_validate({"store": {"dir": tmp_path}, "turns": {"idle_reset": 30}})
    room = open_rooms(settings, ["transcript"])["transcript"]
    assert room.pages is not None
    page = room.pages(Site(settings, {}))["groups"]
    assert isinstance(page, GroupsPage)
    assert page._idle == 30.0


def test_no_more_is_looked_at_than_the_guard_is_shown() -> None:
    entries = [line(at, "Alpha" if at % 2 else "Beta") for at in range(2 * GUARD_HISTORY)]
    assert turns_of_bots(entries, 600.0)[-1] == GUARD_HISTORY
