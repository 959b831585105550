"""What the runner's chapter prints runs, and its smallest configuration is valid."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support.waiting import PATIENCE

from nanobot_transcript.conversation.prompt import build_messages
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.runner import CommandOptions, CommandResponder, Prompt
from nanobot_transcript.settings import Settings, load_settings

if TYPE_CHECKING:
    from nanobot_transcript.entry import Entry

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["docs/en/runner.md", "docs/zh/runner.md"]


ECHO = CommandOptions(["cat"], "json")


@pytest.fixture
def prompt() -> Prompt:
    """What an agent is told of a message such as the channel records it."""
    message: Entry = {
        "role": "user",
        "content": "@Alpha are you there?",
        "sender": "on_ada",
        "message_id": "om_1",
        "ts": 1_795_331_381_985.0,
        "sender_kind": "human",
        "ids": {"union_id": "on_ada", "user_id": "u1", "open_id": "ou_ada"},
        "msg_type": "text",
        "source": "event",
        "sender_name": "Ada",
        "mentions": [{"name": "Alpha", "id": "Alpha", "account": "cli_a1b2c3d4"}],
    }
    alpha = AgentProfile("Alpha")
    return build_messages(alpha, "feishu:oc_1", message, transcript_history=[message], members=[alpha])


def shape(value: Any) -> Any:
    """Which keys and kinds of values there are."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return [shape(item) for item in value] if isinstance(value, list) else type(value)


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_the_printed_program_answers_and_records(page: str, tmp_path: Path) -> None:
    code = blocks(page, "python")[-1]
    env = os.environ | {"HOME": str(tmp_path), "PYTHONWARNINGS": "error", "PYTHONUTF8": "1"}
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE,
    )
    answer, count = run.stdout.splitlines()
    assert "@Echo" in answer
    assert "2" in count


@pytest.mark.parametrize("page", PAGES)
async def test_the_printed_document_is_what_a_program_gets(page: str, prompt: Prompt) -> None:
    printed = json.loads(blocks(page, "json")[0])
    real = json.loads("".join([piece async for piece in CommandResponder(ECHO).respond(prompt)]))
    assert shape(printed) == shape(real)


@pytest.mark.parametrize("page", PAGES)
async def test_the_printed_reader_of_the_document_answers(page: str, prompt: Prompt) -> None:
    options = CommandOptions([sys.executable, "-c", blocks(page, "python")[0]], "json")
    said = "".join([piece async for piece in CommandResponder(options).respond(prompt)])
    assert said == "You said: @Alpha are you there?\n"


@pytest.mark.parametrize("page", PAGES)
def test_the_printed_configuration_is_valid(page: str) -> None:
    (bot,) = Settings(**yaml.safe_load(blocks(page, "yaml")[0])).agents.values()
    assert (bot.name, bot.responder.command) == ("Parrot", ["cat"])


@pytest.mark.parametrize("page", PAGES)
def test_the_printed_bot_of_another_platform_has_a_number_for_its_account(page: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(blocks(page, "yaml")[1], encoding="utf-8")
    ((account, bot),) = load_settings(path, look_in_cwd=False).agents.items()
    assert (account, bot.platform) == ("2001", "talk")
