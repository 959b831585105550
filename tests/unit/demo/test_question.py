"""Alpha's question in the demo, while the database goes away: what failed is told once."""

import asyncio
import gc
import io
from typing import Any, cast

import pytest

from nanobot_transcript.demo.errors import DemoError
from nanobot_transcript.demo.free_talk import FreeTalk
from nanobot_transcript.demo.screen import DemoScreen


class Platform:
    """A group in which Alpha's card appears as soon as it is asked for."""

    def __init__(self) -> None:
        self.bot_messages: list[str] = []
        self.name = self.key = "oc_demo"
        self.questions = "http://127.0.0.1:1/#/questions"
        self.feishu = self.page = self.you = self.group = self.alpha = self.mind = cast("Any", self)
        self.phrases: list[Any] = []

    async def wait_for(self, _: object, __: float) -> None:
        self.bot_messages.append("card")

    async def call(self, tool: str, **_: object) -> str:
        if tool == "ask_question":
            return "Nobody has answered yet."
        raise DemoError("The hub did not answer as it should (KeyError).")


async def test_a_question_whose_hub_fails_says_nothing_behind_the_error_that_ends_the_demo(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    unasked: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unasked.append(context))
    platform = Platform()
    talking = FreeTalk(cast("Any", platform), DemoScreen(aside=True))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(io.UnsupportedOperation):  # it is no terminal to read lines from
        await talking.run()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    del talking
    gc.collect()
    await asyncio.sleep(0)
    assert unasked == []
    assert "KeyError" not in capsys.readouterr().err
