"""Signals through files: what their times may say and what not."""

import os
import time
from pathlib import Path

from support.waiting import PATIENCE

from nanobot_transcript.coordination.files.signals import FileSignals, Watched


async def test_a_file_from_the_future_does_not_sound_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "members.json"
    path.write_text("{}", encoding="utf-8")
    os.utime(path, (time.time() + 3600, time.time() + 3600))
    signals = FileSignals(tmp_path, {"members": [Watched(tmp_path, "members.json")]}, every=0.01)
    with signals.listen("members") as ear:
        assert await ear.wait(0.2) == frozenset()
        path.write_text("{}{}", encoding="utf-8")
        assert await ear.wait(PATIENCE) == {"members"}


async def test_two_changes_of_one_tick_are_not_taken_for_one(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db-wal"
    path.write_text("one", encoding="utf-8")
    signals = FileSignals(tmp_path, {"posts": [Watched(tmp_path, "outbox.db*")]}, every=0.01)
    with signals.listen("posts") as ear:
        await ear.wait(0.2)
        path.write_text("two", encoding="utf-8")
        found = path.stat()
        assert await ear.wait(PATIENCE) == {"posts"}
        path.write_text("six", encoding="utf-8")
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))  # as a kernel that has not ticked
        assert await ear.wait(PATIENCE) == {"posts"}


async def test_a_link_in_the_place_of_a_signal_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine", encoding="utf-8")
    os.utime(victim, (0, 0))
    signals = FileSignals(tmp_path / "record")
    signals.tell("a")
    (touched,) = (tmp_path / "record" / ".state" / "signals").iterdir()
    touched.unlink()
    touched.symlink_to(victim)
    signals.tell("a")
    assert victim.stat().st_mtime == 0
