"""nanobot's own tool loader, in a process of its own: what it finds, and what is changed afterwards."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.waiting import PATIENCE

pytest.importorskip("nanobot")
pytestmark = pytest.mark.host

_LOAD = """
import json, sys
from loguru import logger
logger.remove(); logger.add(sys.stderr, format="{level} {message}")
PREPARE
from nanobot.agent.tools.context import ToolContext
from nanobot.agent.tools.loader import ToolLoader
from nanobot.agent.tools.registry import ToolRegistry
from nanobot.channels.feishu import runtime
original, load = runtime.FeishuChannel, runtime._load_lark_runtime
registry, config = ToolRegistry(), type("Config", (), {})()
loader = ToolLoader(test_classes=[])
for _ in range(2):
    names = loader.load(ToolContext(config=config, workspace="."), registry)
tool = registry.get("group_transcript")
print(json.dumps({
    "tools": sorted(names),
    "replaced": runtime.FeishuChannel is not original,
    "subclass": issubclass(runtime.FeishuChannel, original) and runtime.FeishuChannel.name == original.name,
    "depth": len(runtime.FeishuChannel.__mro__) - len(original.__mro__),
    "redirected": runtime._load_lark_runtime is not load,
    "provider": tool is not None and tool.runtime_context_provider() is not None,
    "schema": tool.to_schema()["function"]["name"] if tool else None,
    "sdk": "lark_oapi" in sys.modules,
}))
"""


@pytest.fixture
def load(tmp_path: Path) -> Any:
    """``load({"GROUPS__MODE": "off"})``: the outcome, and what was logged."""

    def run(settings: dict[str, str] | None = None, prepare: str = "") -> tuple[dict[str, Any], str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        given = {f"NANOBOT_TRANSCRIPT_{name}": value for name, value in (settings or {}).items()}
        done = subprocess.run(
            [sys.executable, "-c", _LOAD.replace("PREPARE", prepare)],
            env={**kept, "HOME": str(tmp_path), **given},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1]), done.stderr

    return run


def test_the_entry_point_replaces_the_channel_once_and_gives_the_tool(load: Any, tmp_path: Path) -> None:
    found, log = load()
    assert found == {
        "tools": ["group_file", "group_transcript"],
        "replaced": True,
        "subclass": True,
        "depth": 12,  # the class itself, its nine parts, and the two that they share
        "redirected": False,
        "provider": True,
        "schema": "group_transcript",
        "sdk": False,
    }
    assert "INFO [transcript_channels] Group transcript" in log
    assert "ERROR" not in log
    assert not (tmp_path / ".nanobot" / "transcripts").exists()


def test_what_was_learned_last_is_written_down_when_nanobot_ends(load: Any, tmp_path: Path) -> None:
    learn = """
import atexit
from functools import partial
from threading import Event
from transcript_channels.nanobot_host.install import installation

def learn():
    conversation = installation().host.conversation
    ending = Event()
    atexit.register(ending.set)  # before what the plugin does then: the last that is registered comes first
    conversation.background.submit(partial(ending.wait, 60))
    conversation.background.submit(conversation.record.members.remember_person, "on_ada", "Ada")

learn()
"""
    load(prepare=learn)
    written = (tmp_path / ".nanobot" / "transcripts" / ".state" / "members.json").read_text(encoding="utf-8")
    assert "Ada" in written


def test_switched_off_it_leaves_nanobot_as_it_was(load: Any) -> None:
    found, log = load({"GROUPS__MODE": "off"})
    assert (found["tools"], found["replaced"], found["redirected"]) == ([], False, False)
    assert "transcript" not in log


def test_switched_off_the_private_deployment_is_still_the_one_that_is_talked_to(load: Any) -> None:
    found, _ = load({"GROUPS__MODE": "off", "FEISHU__BASE_URL": "http://127.0.0.1:1"})
    assert (found["redirected"], found["replaced"]) == (True, False)


def test_where_it_only_records_the_agent_has_no_tool(load: Any) -> None:
    found, _ = load({"GROUPS__MODE": "observe"})
    assert found["tools"] == []
    assert found["replaced"]


def test_a_wrong_setting_switches_it_off_and_says_so_in_one_line(load: Any) -> None:
    found, log = load({"GROUPS__MODE": "loud"})
    assert (found["tools"], found["replaced"]) == ([], False)
    assert log.count("ERROR") == 1
    assert "The group transcript is off: groups.mode" in log


def test_what_nanobot_lacks_is_said_in_one_line_and_the_rest_works(load: Any) -> None:
    prepare = "from nanobot.channels.feishu.runtime import FeishuChannel; del FeishuChannel._fetch_bot_open_id"
    found, log = load(prepare=prepare)
    assert (found["tools"], found["replaced"]) == (["group_file", "group_transcript"], True)
    assert log.count("ERROR") == 1
    assert "works in part" in log
    assert "nanobot lacks FeishuChannel._fetch_bot_open_id: bots are called by their app id." in log


def test_the_configuration_in_the_working_directory_is_not_read(load: Any, tmp_path: Path) -> None:
    (tmp_path / "nanobot-transcript.yaml").write_text("groups: {mode: off}\n", encoding="utf-8")
    found, _ = load()
    assert found["replaced"]


def test_the_configuration_in_the_home_folder_is_read(load: Any, tmp_path: Path) -> None:
    (tmp_path / ".nanobot").mkdir()
    (tmp_path / ".nanobot" / "transcript.yaml").write_text("groups: {mode: off}\n", encoding="utf-8")
    found, _ = load()
    assert not found["replaced"]
