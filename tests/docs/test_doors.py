"""The doors of the README: each is short, the same in both languages, and what it prints does what it says.

The last one, mail, is gone through in `tests/integration/filebox/test_readme.py`.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.assistant_clients import page
from support.mcp_client import connected
from support.ports import free_port
from support.waiting import PATIENCE

from nanobot_transcript.settings import Settings
from transcript_channels.simulator import FeishuSimulator
from transcript_mcp.door.identity import LOCAL

ROOT = Path(__file__).resolve().parents[2]
READMES = ("README.md", "README.zh-CN.md")
NANOBOT, ANY_AGENT, ASK_ME, MAIL = range(4)
HELPER = '#!/bin/sh\ncat > "$0.heard"\necho "Here I am."\n'


def doors(readme: str) -> list[str]:
    """The sections that show a way in; the first ends with the settings of nanobot's bots, the last with mail."""
    text = (ROOT / readme).read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)
    (first,) = (number for number, section in enumerate(sections) if '".[nanobot]"' in section)
    return sections[first : first + 4]


def block(door: str, language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", door, re.DOTALL | re.MULTILINE)
    return found


def commands(text: str) -> list[str]:
    """What a person types, without the comments beside it."""
    return [line.partition("  #")[0].strip() for line in re.findall(r"^\$ (.*)", text, re.MULTILINE)]


class Newcomer:
    """Somebody with an empty home and the programs that are installed here."""

    def __init__(self, folder: Path) -> None:
        self.home = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("NANOBOT_")},
            "HOME": str(folder),
            "PATH": f"{self.bin}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "NO_PROXY": "*",
        }

    def has_program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text, encoding="utf-8")
        (self.bin / name).chmod(0o755)

    def types(self, command: str) -> str:
        """What a command prints. Raises CalledProcessError where it fails."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            check=True,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return done.stdout

    @asynccontextmanager
    async def leaves_running(self, command: str, until: str) -> AsyncIterator[None]:
        """A command that goes on, from the moment it has printed ``until``."""
        process = await asyncio.create_subprocess_exec(
            *("bash", "-c", f"exec {command}"),
            cwd=self.home,
            env=self.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert process.stdout is not None
        said: list[str] = []
        try:
            async with asyncio.timeout(PATIENCE):
                while until.encode() not in (line := await process.stdout.readline()):
                    said.append(line.decode())
                    assert line, "".join(said)
            yield
        finally:
            process.terminate()
            await process.communicate()


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    return Newcomer(tmp_path)


@pytest.mark.parametrize("readme", READMES)
def test_each_door_has_twelve_lines_at_most_and_the_page_150(readme: str) -> None:
    assert len((ROOT / readme).read_text(encoding="utf-8").splitlines()) <= 150
    for door in doors(readme):
        heading, *lines = [line for line in door.splitlines() if line and not line.startswith("```")]
        assert len(lines) <= 12, heading


def test_both_languages_show_the_same_commands_and_files() -> None:
    english, chinese = (doors(readme) for readme in READMES)
    for number in (NANOBOT, ANY_AGENT, ASK_ME, MAIL):
        assert commands(english[number]) == commands(chinese[number])
    assert block(english[ANY_AGENT], "yaml") == block(chinese[ANY_AGENT], "yaml")
    settings = (yaml.safe_load(block(each[NANOBOT], "yaml")) for each in (english, chinese))
    assert next(settings) == next(settings)


@pytest.mark.parametrize("readme", READMES)
def test_what_is_installed_is_an_extra_of_this_project(readme: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    installed = re.findall(r'install "\.\[(\w+)\]"', (ROOT / readme).read_text(encoding="utf-8"))
    assert installed == ["feishu", "nanobot"]
    assert set(installed) <= extras.keys()


def test_the_settings_for_nanobot_turn_on_what_the_demo_shows(newcomer: Newcomer) -> None:
    door = doors("README.md")[NANOBOT]
    install, doctor = commands(door)
    newcomer.has_program("pip", '#!/bin/sh\necho "$@"\n')
    assert newcomer.types(install) == "install .[nanobot]\n"
    (newcomer.home / ".nanobot").mkdir()
    (newcomer.home / ".nanobot" / "transcript.yaml").write_text(block(door, "yaml"), encoding="utf-8")
    found = json.loads(newcomer.types(f"{doctor} --json"))
    assert found["ok"]
    assert {each["severity"] for each in found["findings"]} == {"ok", "info"}
    shown = json.loads(newcomer.types("nanobot-transcript config show --json"))["values"]
    assert (shown["groups.mode"], shown["relay.mode"]) == ("gate", "mentions")


async def test_the_printed_agent_answers_in_its_group(newcomer: Newcomer) -> None:
    door = doors("README.md")[ANY_AGENT]
    (newcomer.home / "bots.yaml").write_text(block(door, "yaml"), encoding="utf-8")
    newcomer.has_program("claude", HELPER)
    export, run = commands(door)
    async with FeishuSimulator() as feishu:
        app = feishu.add_app("Claude", app_id="cli_0123456789abcdef")
        ada = feishu.add_person("Ada")
        group = feishu.add_group("Team", [ada, app])
        newcomer.environment["NANOBOT_TRANSCRIPT_FEISHU__BASE_URL"] = feishu.base_url
        newcomer.environment["BOT_SECRET"] = app.app_secret
        assert export == "export BOT_SECRET=..."
        async with newcomer.leaves_running(run, "connected"):
            await feishu.say(group, ada, "@Claude are you there?")
            answer = await feishu.wait_for_message(group, app, after=1)
    assert answer.text == "Here I am."
    assert "are you there?" in (newcomer.bin / "claude.heard").read_text(encoding="utf-8")


def entries(folder: Path) -> Mapping[str, Any]:
    return json.loads((folder / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]


async def test_an_agent_asks_and_gets_its_answer(newcomer: Newcomer) -> None:
    door = doors("README.md")[ASK_ME]
    serve, configure = commands(door)
    assert f"http://127.0.0.1:{Settings().hub.port}/#/questions" in door
    hub = f"http://127.0.0.1:{(port := free_port())}"
    newcomer.environment["NANOBOT_TRANSCRIPT_HUB__PORT"] = str(port)
    async with newcomer.leaves_running(serve, hub):
        newcomer.types(f"{configure} --yes")  # at a terminal it asks
        assert "ask_question" in (newcomer.home / "CLAUDE.md").read_text(encoding="utf-8")
        entry = entries(newcomer.home)["agent-assistant"]
        program = [entry["command"], *entry["args"]]
        variables = [f"{name}={newcomer.environment[name]}" for name in ("HOME", "NANOBOT_TRANSCRIPT_HUB__PORT")]
        async with connected(["env", "-C", str(newcomer.home), *variables, *program]) as agent:
            question = {"question": "May I delete it?", "project_directory": str(newcomer.home)}
            asked = asyncio.create_task(agent.text("ask_question", **question))
            async with page(hub, LOCAL) as person:
                shown = (await person.until("AskQuestion")).AskQuestionRequest
                await person.reply(shown.ID, "Yes, do.")
            assert await asyncio.wait_for(asked, PATIENCE) == "Yes, do."
