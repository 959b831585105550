"""Agents whose record is in another process, 20 ms away: nobody needs a folder, and nobody keeps a loop waiting."""

import sys
from pathlib import Path
from typing import Any

import pytest
from support.far_away import Far, nobody_was_blocked

MIND = [sys.executable, "-c", "import sys; print('I read: ' + sys.stdin.read()[-400:])"]


@pytest.mark.parametrize("spooled", [False, True], ids=["told", "accepted"])
async def test_agents_talk_over_a_record_that_is_far_away(site: Any, far: Far, tmp_path: Path, spooled: bool) -> None:
    site.variables = far(spooled=spooled)
    alpha, beta = site.app("Alpha"), site.app("Beta")
    mind = {"kind": "command", "command": MIND}
    config = site.config({alpha: mind, beta: mind}, relay={"mode": "mentions"})
    for name in ("Alpha", "Beta"):
        await site.run(config, name)
    assert "what is the number?" in await site.ask("@Alpha what is the number?", alpha)
    assert "what is the number?" in await site.ask("@Beta and what did Alpha say?", beta)
    await site.ask("does anybody know the secret?", alpha if site.group.messages[-1].sender is beta else beta)
    await site.until(lambda: len(site.record()) >= 6)
    assert not (tmp_path / ".nanobot").exists()
    nobody_was_blocked(tmp_path)
