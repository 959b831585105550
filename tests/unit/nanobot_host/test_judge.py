"""The judge of the plugin: what becomes of it at the end."""

from typing import Any

import pytest
from openai import APIConnectionError

from nanobot_transcript.relevance import Prompt
from transcript_channels.simulator import ScriptedModel

QUESTION = Prompt("You decide.", "{}")


async def test_the_judge_is_closed_with_the_gatekeeper(make_host: Any) -> None:
    async with ScriptedModel(lambda request: "yes") as model:
        host = make_host(gate={"judge": {"kind": "openai", "model": "any", "base_url": model.base_url}})
        judge = host.gatekeeper.gate.judge
        assert judge is not None
        assert await judge(QUESTION) == "yes"
        await host.conversation.aclose()
        with pytest.raises((APIConnectionError, RuntimeError)):
            await judge(QUESTION)
        assert len(model.requests) == 1
