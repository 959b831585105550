"""A nanobot that lacks something, or that nobody tried: what it lacks costs the ability that needs it, and no other."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.waiting import PATIENCE

from transcript_channels.nanobot_host.install import PARTS

pytest.importorskip("nanobot")
pytestmark = pytest.mark.host

from transcript_channels.nanobot_host.seams import check_seams  # noqa: E402

CHANNEL = "nanobot.channels.feishu.runtime:FeishuChannel"
LACKING: dict[str, tuple[str, set[str]]] = {
    "nothing": ("", set()),
    "tool": ("nanobot.agent.tools.context:current_request_context", {"tool"}),
    "result": ("nanobot.agent.tools.base:ToolResult.error", {"tool"}),
    "context": ("nanobot.runtime_context:wrap_runtime_context_lines", {"context"}),
    "forgetting": ("nanobot.session.manager:SessionManager.save", {"forgetting"}),
    "sessions": ("nanobot.session.manager:SessionManager.get_or_create", {"forgetting"}),
    "inbound": (f"{CHANNEL}._on_message_sync", {"inbound", "gate"}),
    "gate": ("nanobot.channels.base:BaseChannel.is_allowed", {"gate"}),
    "judge": ("nanobot.providers.base:LLMProvider.chat_with_retry", {"judge"}),
    "commands": ("nanobot.command.builtin:BUILTIN_COMMAND_SPECS", {"commands"}),
    "names": (f"{CHANNEL}._fetch_bot_open_id", {"names", "beside"}),
    "beside": ("nanobot.bus.queue:MessageBus.publish_inbound", {"beside"}),
    "events": (f"{CHANNEL}._register_optional_event", {"actions", "recalls"}),
    "reconnects": ("_ws_client", {"reconnects"}),
    "outbound": ("_client", {"names", "beside", "outbound", "streams"}),
    "streams": (f"{CHANNEL}._stream_key", {"streams"}),
    "base_url": ("nanobot.channels.feishu.runtime:_load_lark_runtime", {"base_url"}),
    "channel": (CHANNEL, {"inbound", *PARTS}),
    "class of tools": ("nanobot.agent.tools.base:Tool.execute", {"tool"}),
}
"""By name what is gone, and which abilities that costs."""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process can do afterwards, by name; ``unknown`` has all of it in a version that nobody tried."""
    folder = tmp_path_factory.mktemp("without")
    cases = {name: [place] if place else [] for name, (place, _) in LACKING.items()} | {"unknown": None}
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    tests = str(Path(__file__).parents[2])
    given = {"HOME": str(folder), "PYTHONPATH": tests, "NANOBOT_TRANSCRIPT_FEISHU__BASE_URL": "http://127.0.0.1:1"}
    command = [sys.executable, "-m", "support.without_seams", str(folder), json.dumps(cases)]
    done = subprocess.run(
        command, env=kept | given, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    outcomes = {outcome.pop("name"): outcome for outcome in map(json.loads, done.stdout.splitlines())}
    assert outcomes.keys() == cases.keys(), done.stderr
    return outcomes


@pytest.mark.parametrize("name", LACKING)
def test_what_is_missing_costs_the_ability_that_needs_it_and_no_other(loaded: dict[str, Any], name: str) -> None:
    place, lost = LACKING[name]
    outcome, able = loaded[name], {finding.ability for finding in check_seams()} - lost
    assert outcome["tools"] == (["group_transcript"] if "tool" in lost else ["group_file", "group_transcript"])
    does = {ability for ability in ("answers", "context", "forgetting", "judge", "redirected") if outcome[ability]}
    called = {"answers": "tool", "redirected": "base_url"}
    assert {called.get(each, each) for each in does} == able & {"tool", "context", "forgetting", "judge", "base_url"}
    assert set(outcome["parts"]) == able & PARTS.keys()
    assert outcome["recorded"] == ("inbound" in able)
    errors = [line for line in outcome["log"] if line.startswith("ERROR")]
    assert len(errors) == bool(lost), outcome["log"]
    assert all(place.rpartition(".")[2].rpartition(":")[2] in line for line in errors)
    assert errors == [] or errors[0].count("nanobot lacks ") == len(lost)


def test_a_version_nobody_tried_works_and_is_named_once(loaded: dict[str, Any]) -> None:
    outcome = loaded["unknown"]
    assert {**outcome, "log": []} == {**loaded["nothing"], "log": []}
    (notice,) = [line for line in outcome["log"] if "not tried" in line]
    assert notice.startswith("INFO [transcript_channels] nanobot 0.4.2 was not tried with this plugin (0.3.0 and 0.3.5")
    assert notice.endswith("every ability finds what it needs there.")
    assert "not tried" not in str(loaded["nothing"]["log"])
