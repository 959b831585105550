"""``nanobot-transcript demo``, run as a person runs it: with real gateways and an empty home folder."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.demo import Demo
from support.light_lark import light_python
from support.procs import until

sees_processes = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")

Start = Callable[..., Demo]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """``start("--json", terminal=True)``: a demo that leaves nothing running after the test."""
    pytest.importorskip("nanobot")
    started: list[Demo] = []

    def starting(*options: str, **named: object) -> Demo:
        started.append(Demo(tmp_path, *options, **named))  # pyright: ignore[reportArgumentType]
        return started[-1]

    yield starting
    for demo in started:
        demo.close()


@pytest.mark.soak  # `make demo` plays it in CI, and the other host is asked all this in make test
def test_without_a_terminal_the_scene_plays_and_leaves_nothing_behind(start: Start) -> None:
    demo = start("--json")
    assert demo.end() == 0, demo.seen
    demo.expect_all_scenes()
    assert " tail " not in demo.seen
    assert "make demo ARGS=--keep" in demo.seen
    assert "and in ~/.nanobot/transcript.yaml:\n  groups: {mode: gate}\n  relay: {mode: mentions}" in demo.seen


def test_at_a_terminal_the_person_goes_on_typing(start: Start, tmp_path: Path) -> None:
    python = light_python(tmp_path / "environment")
    demo = start("--keep", terminal=True, NO_COLOR="1", python=python)
    prompt = "Chen │ "
    demo.until("the group, live)")
    at = demo.until("The transcript is a plain file")
    demo.until(f"  {python} -m nanobot_transcript.cli tail -f --store {demo.temporary}", after=at)
    at = demo.until(prompt, after=demo.until("what did the other bot say", after=demo.until("Your turn")))
    assert f"Answer on the page, {demo.page}/#/questions, or here" in " ".join(demo.seen.split())
    demo.post_on_the_page("@Beta recap", by="Alpha")
    at = demo.until("Alpha │ Thanks.", after=demo.until("Beta │ People said", after=at))
    demo.type("between us: T-minus")
    at = demo.until("does not answer", after=demo.until("does not answer: open to any bot", after=at))
    at = demo.until(prompt, after=at)
    demo.type("/recall")
    at = demo.until(prompt, after=demo.until("The record hides “between us: T-minus”", after=at))
    demo.type("@alpha hi")
    at = demo.until(prompt, after=demo.until("Alpha │ I am a script", after=at))
    demo.type("/who")
    at = demo.until(prompt, after=demo.until("cli_", after=demo.until("Beta", after=at)))
    demo.type("/answer 2")
    at = demo.until("✓ Alpha has your answer: Wait", after=at)
    demo.until("Alpha │ Noted: “Wait”.", after=at)
    demo.type("/quit")
    assert demo.end() == 0, demo.seen
    assert "22 in the group, 1 taken back, 22 entries in the file" in demo.seen.replace("\n", " ")
    assert demo.bots == set()
    (folder,) = demo.temporary.iterdir()
    assert "between us" not in "".join(path.read_text(encoding="utf-8") for path in folder.glob("*/config.json"))
    assert (folder / "alpha" / "gateway.log").exists()


@sees_processes
def test_a_gateway_that_dies_fails_the_demo_with_its_log(start: Start) -> None:
    demo = start("--json")
    demo.until("Starting Alpha and Beta")
    until(lambda: len(demo.bots) == 2, "two gateways")
    os.kill(min(demo.bots), signal.SIGKILL)
    assert demo.end() == 1, demo.seen
    assert "The demo failed: Alpha stopped while starting." in demo.seen
    assert "gateway.log:" in demo.seen
    assert demo.document["ok"] is False
    assert demo.bots == set()


@sees_processes
def test_an_interrupt_while_it_starts_ends_every_process(start: Start) -> None:
    demo = start()
    demo.until("Starting Alpha and Beta")
    until(lambda: len(demo.bots) == 2, "two gateways")
    demo.signal(signal.SIGINT)
    assert demo.end() == 130, demo.seen
    demo.expect_nothing_left()
