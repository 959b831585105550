"""``nanobot-transcript demo --host runner``: the same demo where there is no nanobot."""

import re
import signal
import subprocess
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.demo import Demo
from support.light_lark import BEGIN, light_python
from support.waiting import PATIENCE

import nanobot_transcript
import transcript_channels
import transcript_mcp

Start = Callable[..., Demo]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """``start("--json", terminal=True)``: a demo that leaves nothing running after the test."""
    started: list[Demo] = []

    def starting(*options: str, **named: object) -> Demo:
        started.append(Demo(tmp_path, "--host", "runner", *options, **named))  # pyright: ignore[reportArgumentType]
        return started[-1]

    yield starting
    for demo in started:
        demo.close()


@pytest.fixture
def python_without_nanobot(tmp_path: Path) -> str:
    """An interpreter that has everything that this one has, but no nanobot."""
    place = tmp_path / "environment"
    venv.create(place, symlinks=True)
    (packages,) = place.glob("lib/python*/site-packages")
    for package in Path(pytest.__file__).parents[1].iterdir():
        left_out = package.name.lower().startswith(("nanobot_ai", "_", "pip"))
        if not left_out and package.name != "nanobot" and package.suffix != ".pth":
            (packages / package.name).symlink_to(package)
    for ours in (nanobot_transcript, transcript_channels, transcript_mcp):
        (packages / ours.__name__).symlink_to(Path(str(ours.__file__)).parent)
    (packages / "light_lark.pth").write_text(BEGIN, encoding="utf-8")
    python = str(place / "bin" / "python")
    found = subprocess.run(
        [python, "-c", "import nanobot"], capture_output=True, timeout=PATIENCE, check=False, encoding="utf-8"
    )
    assert "No module named 'nanobot'" in found.stderr
    return python


def test_without_nanobot_all_scenes_play_and_leave_nothing_behind(start: Start, python_without_nanobot: str) -> None:
    demo = start("--json", python=python_without_nanobot)
    assert demo.end() == 0, demo.seen
    demo.expect_all_scenes()


def test_at_a_chinese_terminal_the_gate_decides_about_what_the_person_types(start: Start, tmp_path: Path) -> None:
    demo = start(terminal=True, NO_COLOR="1", LANG="zh_CN.UTF-8", python=light_python(tmp_path / "environment"))
    prompt = "Chen │ "
    at = demo.until(prompt, after=demo.until("@Beta 总结一下", after=demo.until("6  轮到你了")))
    said = "".join(re.findall(r"^ +(?:Ada|Bo|Dana) │ (.*)$", demo.seen, re.MULTILINE))
    assert not re.search(r"[a-z]", said.replace("@Alpha", "").replace("@Beta", "").replace("@Ada", ""))
    demo.post_on_the_page("@Alpha recap", by="Beta")
    at = demo.until("Beta │ Thanks.", after=demo.until("Alpha │ People said", after=at))
    demo.type("The weather is fine.")
    at = demo.until("不回答", after=demo.until("不回答：哪个机器人都可以答", after=at))
    at = demo.until(prompt, after=at)
    demo.type("@beta hi")
    at = demo.until(prompt, after=demo.until("Beta │ I am a script", after=at))
    demo.type("/recall")
    at = demo.until(prompt, after=demo.until("记录里已隐藏「@Beta hi」", after=at))
    for typed, told in (
        ("1", "要回答 Alpha 的提问，请输入 /answer 1"),
        ("/answer", "请说明选哪个：/answer 1 或 /answer 2"),
        ("/answer 7", "没有选项 7"),
        ("/answer 1", "✓ Alpha 收到了你的回答：现在发布"),
    ):
        demo.type(typed)
        at = demo.until(prompt, after=demo.until(told, after=at))
    at = demo.until("收到：「现在发布」。", after=at)
    demo.type("/answer 1")
    at = demo.until("已经有人回答了", after=at)
    demo.type("/who")
    demo.until(prompt, after=demo.until("cli_", after=demo.until("Dana", after=at)))
    assert len(demo.bots) == 3, "two runners and the hub"
    demo.signal(signal.SIGINT)
    assert demo.end() == 130, demo.seen
    demo.expect_nothing_left()
