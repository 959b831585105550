"""``mcp-config`` as processes: several at once, and one that asks its person."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.forking import HUB, Forked, preload

preload(*HUB)

SEVERAL = 8


@pytest.mark.parametrize(("client", "name"), [("claude-code", ".mcp.json"), ("opencode", "opencode.json")])
def test_processes_that_write_at_the_same_time_lose_nothing(
    client: str, name: str, env: dict[str, str], tmp_path: Path
) -> None:
    known = {"theirs": True, "mcp": {"other": {"type": "remote", "url": "https://example.org"}}}
    (tmp_path / name).write_text(json.dumps(known))
    writing = ("nanobot_transcript", "mcp-config", client, "--write", "--name")
    quiet = {"env": env, "cwd": tmp_path, "stderr": subprocess.DEVNULL}
    processes = [Forked(*writing, f"server-{number}", **quiet) for number in range(SEVERAL)]
    assert [process.wait() for process in processes] == [0] * SEVERAL
    document = json.loads((tmp_path / name).read_text())
    place = document["mcp" if client == "opencode" else "mcpServers"]
    assert {f"server-{number}" for number in range(SEVERAL)} <= place.keys()
    assert (document["theirs"], document["mcp"]["other"]) == (True, known["mcp"]["other"])
    assert not list(tmp_path.glob("*.new"))


def test_rules_are_shown_and_written_only_to_who_agrees(
    on_terminal: Callable[..., Any], env: dict[str, str], tmp_path: Path
) -> None:
    home = Path(env["HOME"])
    asking = ("mcp-config", "codex", "--scope", "user", "--servers", "assistant", "--write", "--rules")
    refused = on_terminal(*asking)
    refused.until("[y/N]")
    assert "call `task_finish`" in refused.seen
    refused.type("n")
    assert refused.end() == 1
    assert not (home / ".codex").exists(), "neither the rules nor the server"
    agreed = on_terminal(*asking)
    agreed.until("[y/N]")
    agreed.type("y")
    assert agreed.end() == 0
    assert "task_finish" in (home / ".codex" / "AGENTS.md").read_text()
    removed = on_terminal("mcp-config", "codex", "--scope", "user", "--rules", "--remove")
    removed.until("[y/N]")
    removed.type("y")
    assert removed.end() == 0
    assert [each.name for each in (home / ".codex").iterdir()] == ["config.toml"]
