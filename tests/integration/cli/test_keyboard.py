"""The line that a person types in the demo, on a real terminal."""

import re
import sys

import pytest
from support.watched import Watched

pytest.importorskip("readline")

TALK = """
import asyncio, readline
from nanobot_transcript.demo.keyboard import Keyboard
from nanobot_transcript.demo.screen import DemoScreen

async def main():
    screen = DemoScreen()
    async with Keyboard("Chen │ ") as keyboard:
        screen.above = keyboard.above
        typing = asyncio.ensure_future(keyboard.line())
        while readline.get_line_buffer() != "你好, Al":
            await asyncio.sleep(0.01)
        screen.show({"kind": "said", "from": "Alpha", "bot": True, "text": "late words"})
        print("\\ntyped:", await typing)

asyncio.run(main())
"""


def test_what_is_said_meanwhile_stands_above_and_what_is_typed_stays(env: dict[str, str]) -> None:
    terminal = Watched([sys.executable, "-c", TALK], env | {"NO_COLOR": "1"}, terminal=True)
    try:
        at = terminal.until("Chen │ ")
        terminal.type("你好, Al", end="")
        at = terminal.until("late words", after=at)
        terminal.until("Chen │ 你好, Al", after=at)
        terminal.type("pha")
        assert terminal.end() == 0, terminal.seen
    finally:
        terminal.close()
    assert re.search(r"\r\x1b\[J\s*Alpha │ late words\r\nChen │ 你好, Al", terminal.seen), terminal.seen
    assert "typed: 你好, Alpha" in terminal.seen
