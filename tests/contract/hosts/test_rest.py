"""The sequences wait until a host is at rest; what is between two tasks of nanobot's is no rest."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support.in_process import PluginInProcess
from support.play import Play
from support.stage import Stage

pytest.importorskip("nanobot")


async def test_what_nanobot_took_off_its_queue_and_has_made_no_task_of_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nanobot.agent import loop

    looks_at = loop.agent_context.handle_runtime_control

    async def looks_long_at(*given: Any) -> bool:
        for _ in range(30):  # longer than it takes to find a host at rest
            await asyncio.sleep(0.02)
        return await looks_at(*given)

    async def both_answers_are_there(play: Play) -> None:
        play.meet_beta()
        await play.say(play.ada, "Good morning.")
        await play.beta_says("@Alpha one?")
        assert play.newest.sender is play.alpha
        await play.say(play.ada, "@Alpha go on")
        assert play.newest.sender is play.alpha

    stage = Stage(tmp_path, PluginInProcess)
    await stage.start()
    try:
        monkeypatch.setattr(loop.agent_context, "handle_runtime_control", looks_long_at)
        await stage.live_through(both_answers_are_there)
    finally:
        await stage.stop()
