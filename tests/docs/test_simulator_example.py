"""The runner works against the simulator as the simulator's chapter prints it."""

import json
import os
import shlex
import subprocess
from pathlib import Path

from support.chapters import blocks_of_section
from support.light_lark import light_python
from support.ports import free_port
from support.waiting import PATIENCE
from support.watched import Watched


def section(language: str) -> list[tuple[str, str]]:
    """The blocks of the section about the runner, with their languages."""
    return blocks_of_section(language, "simulated.yaml")


def test_the_runner_answers_in_the_simulated_group_as_it_is_printed(tmp_path: Path) -> None:
    port = str(free_port())
    (_, platform), (_, config), (_, run), (_, say), (_, tail) = [
        (language, text.replace("9400", port).replace("~", str(tmp_path))) for language, text in section("en")
    ]
    (tmp_path / "simulated.yaml").write_text(config, encoding="utf-8")
    python = light_python(tmp_path / "environment")
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    env = {**kept, "HOME": str(tmp_path), "PYTHONUTF8": "1", "NO_PROXY": "*"}
    simulator = subprocess.Popen(
        arguments(platform, python), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, encoding="utf-8"
    )
    assert simulator.stdin is not None
    assert simulator.stdout is not None
    try:
        assert json.loads(simulator.stdout.readline())["event"] == "ready"
        command = [part.replace("simulated.yaml", str(tmp_path / "simulated.yaml")) for part in arguments(run, python)]
        runner = Watched(command, env, terminal=False)
        try:
            runner.until("Connected: Alpha, Beta.")
            simulator.stdin.write(say)
            simulator.stdin.flush()
            while (event := json.loads(simulator.stdout.readline())).get("from") != "Beta":
                pass
            assert event["text"] == "Beta heard: @Beta are you there?"
        finally:
            runner.close()
        shown = subprocess.run(
            arguments(tail, python), env=env, capture_output=True, check=True, timeout=PATIENCE, encoding="utf-8"
        )
        assert len(shown.stdout.splitlines()) == 2
    finally:
        simulator.kill()
        simulator.communicate()


def arguments(block: str, python: str) -> list[str]:
    """The printed command, run by this interpreter."""
    words = shlex.split(block.removeprefix("$ "))
    if words[0] == "python":
        return [python, *words[1:]]
    return [python, "-m", "nanobot_transcript", *words[1:]]
