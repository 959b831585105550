"""The program in the transcript server's chapter runs as it is printed, and the chapter names all there is."""

import json
import re
from pathlib import Path

import pytest
from support.chapters import output_of_programs

from nanobot_transcript import GroupTranscriptStore
from transcript_mcp.transcript import build_server

ROOT = Path(__file__).resolve().parents[3]
PAGES = ["en/transcript-server.md", "zh/transcript-server.md"]


@pytest.mark.parametrize("page", PAGES)
def test_the_printed_program_runs_in_a_fresh_home(page: str, tmp_path: Path) -> None:
    first, tools = output_of_programs(page, tmp_path)
    assert json.loads(first)["from"] == "Ada"
    assert tools.startswith("transcript_chats, transcript_recent")


@pytest.mark.parametrize("page", PAGES)
def test_every_tool_and_parameter_is_in_the_chapter(page: str, base_dir: Path) -> None:
    rows = re.findall(
        r"^\| `(transcript_[a-z]+)` \|.*\| (.*) \|$", (ROOT / "docs" / page).read_text("utf-8"), re.MULTILINE
    )
    documented = {name: set(re.findall(r"`([a-z_]+)`", parameters)) for name, parameters in rows}
    tools = build_server(GroupTranscriptStore(base_dir)).tools
    assert documented == {name: set(tool.signature.wire_names) for name, tool in tools.items()}
