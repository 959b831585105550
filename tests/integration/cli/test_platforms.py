"""The command where another package brings a chat platform."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.waiting import PATIENCE

from nanobot_transcript import GroupTranscriptStore

PLATFORM = """
import re
from nanobot_transcript.platform import Platform
TALK = Platform("talk", ("uid",), re.compile(r"room-\\d+"), settings="my_talk.settings:SECTION")
"""
SETTINGS = """
from nanobot_transcript.settings.base import Section, setting
class TalkSettings(Section):
    server: str = setting("talk.example", "The server.", "服务器。")
SECTION = (TalkSettings, setting(TalkSettings, "The platform Talk.", "Talk 平台。"))
"""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path, base_dir: Path, env: dict[str, str]) -> Run:
    """``run(SETTINGS, "tail", "room-1")``: a command where the package is installed."""
    site = tmp_path / "site"
    (site / "my_talk").mkdir(parents=True)
    (site / "my_talk" / "__init__.py").touch()
    (site / "my_talk" / "platform.py").write_text(PLATFORM, encoding="utf-8")
    info = site / "my_talk-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-talk\nVersion: 1.0\n", encoding="utf-8")
    offered = "[nanobot_transcript.platforms]\ntalk = my_talk.platform:TALK\n"
    (info / "entry_points.txt").write_text(offered, encoding="utf-8")

    def running(settings: str, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        (site / "my_talk" / "settings.py").write_text(settings, encoding="utf-8")
        places = {"PYTHONPATH": str(site), "NANOBOT_TRANSCRIPT_STORE__DIR": str(base_dir)}
        command = [sys.executable, "-m", "nanobot_transcript.cli", *arguments]
        return subprocess.run(
            command, env=env | places | variables, capture_output=True, encoding="utf-8", timeout=PATIENCE, check=False
        )

    return running


def test_its_groups_are_known_by_the_form_of_their_ids(
    run: Run, tmp_path: Path, make_store: Callable[..., GroupTranscriptStore]
) -> None:
    line = {"role": "user", "content": "hello", "sender": "u1", "message_id": "m1", "ts": 1_763_600_000_000}
    older = tmp_path / "talk_room-7.jsonl"
    older.write_text(json.dumps(line) + "\n", encoding="utf-8")
    for arguments in ((str(older),), (str(older), "--chat", "room-8")):
        done = run(SETTINGS, "import", *arguments)
        assert done.returncode == 0, done.stderr
    assert sorted(chat.session_key for chat in make_store().chats()) == ["talk:room-7", "talk:room-8"]


def test_its_section_of_the_settings_is_read_from_everywhere_and_shown(run: Run) -> None:
    shown = run(SETTINGS, "config", "show", "--json", NANOBOT_TRANSCRIPT_TALK__SERVER="mine.example")
    assert shown.returncode == 0, shown.stderr
    assert '"mine.example"' in shown.stdout
    wrong = run(SETTINGS, "config", "show", NANOBOT_TRANSCRIPT_TALK__SERVERS="mine.example")
    assert "There is no setting talk.servers" in wrong.stderr
    assert "did you mean talk.server?" in wrong.stderr


@pytest.mark.parametrize(
    "settings",
    [
        "raise RuntimeError('broken')",
        "raise SystemExit(0)",
        "SECTION = None",
        "SECTION = (dict, None)",
        "import no_such_module",
        SETTINGS.replace('setting(TalkSettings, "The platform Talk.", "Talk 平台。")', "None"),
        SETTINGS.replace('"talk.example"', "..."),
    ],
)
def test_a_section_that_cannot_be_loaded_is_left_out_with_a_word(run: Run, settings: str) -> None:
    shown = run(settings, "config", "show", "--json")
    assert shown.returncode == 0
    assert "The settings of the platform talk cannot be loaded" in shown.stderr
    assert "feishu.base_url" in shown.stdout


def test_a_setting_of_a_kind_that_we_do_not_use_can_be_misspelt_all_the_same(run: Run) -> None:
    dated = SETTINGS.replace("server: str", "since: date").replace('"talk.example"', "date(2026, 1, 1)")
    shown = run("from datetime import date\n" + dated, "config", "show", NANOBOT_TRANSCRIPT_TALK__SINCEE="x")
    assert (shown.returncode, "did you mean talk.since?" in shown.stderr) == (0, True), shown.stderr
