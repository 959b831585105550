"""Whether the installed nanobot has what the plugin takes hold of."""

import json
import subprocess
import sys

import pytest
from support.waiting import PATIENCE

from transcript_channels.nanobot_host.install import PARTS

pytest.importorskip("nanobot")
pytestmark = pytest.mark.host

from nanobot.agent.tools.base import Tool  # noqa: E402
from nanobot.channels.base import BaseChannel  # noqa: E402
from nanobot.channels.feishu import runtime  # noqa: E402

from transcript_channels.nanobot_host.plugin import GroupTranscriptTool  # noqa: E402
from transcript_channels.nanobot_host.seams import _OURS, TRIED, check_seams, describe, untried  # noqa: E402


def test_the_installed_nanobot_has_every_seam() -> None:
    findings = check_seams()
    assert [finding.message for finding in findings if finding.severity != "ok"] == []
    assert [finding.ability for finding in findings] == [
        "tool",
        "context",
        "forgetting",
        "inbound",
        "gate",
        "judge",
        "commands",
        "names",
        "beside",
        "actions",
        "reconnects",
        "recalls",
        "outbound",
        "streams",
        "base_url",
    ]


def test_versions_and_entry_point_are_told() -> None:
    told = describe()
    assert told["nanobot-ai"].startswith("0.3.")
    assert told["nanobot-transcript"]
    assert told["entry point"] == "transcript_channels.nanobot_host.plugin:GroupTranscriptTool"


def test_what_is_missing_costs_only_the_ability_that_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(runtime.FeishuChannel, "_on_message_sync")
    monkeypatch.delattr(runtime.FeishuChannel, "_stream_key")
    lost = {finding.ability: finding for finding in check_seams() if finding.severity != "ok"}
    assert set(lost) == {"inbound", "gate", "streams"}
    assert lost["inbound"].missing == ("FeishuChannel._on_message_sync",)
    assert "messages of people are not recorded" in lost["inbound"].message
    assert "pip install 'nanobot-ai==0.3.5'" in lost["inbound"].fix


def test_streams_cannot_be_recorded_without_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime.FeishuChannel, "__init__", lambda self: None)
    lost = {finding.ability for finding in check_seams() if finding.severity != "ok"}
    assert lost == {"names", "beside", "reconnects", "outbound", "streams"}


def test_a_nanobot_without_the_channel_leaves_tool_and_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(runtime, "FeishuChannel")
    fine = {finding.ability for finding in check_seams() if finding.severity == "ok"}
    assert fine == {"tool", "context", "forgetting", "judge", "commands", "base_url"}


def test_a_channel_that_does_not_say_whose_it_is_gets_none_of_our_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BaseChannel, "__init__", lambda self, config, bus: None)
    monkeypatch.setattr(runtime.FeishuChannel, "__init__", lambda self, config, bus: None)
    lost = {finding.ability: finding.missing for finding in check_seams() if finding.severity != "ok"}
    assert lost.keys() == PARTS.keys()
    assert all("FeishuChannel.config" in missing for missing in lost.values())


def test_an_abstract_method_that_our_tool_does_not_have_costs_tool_and_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tool, "__abstractmethods__", frozenset({*Tool.__abstractmethods__, "label"}))
    lost = {finding.ability: finding for finding in check_seams() if finding.severity != "ok"}
    assert lost.keys() == {"tool", "context"}
    assert lost["tool"].missing == ("a Tool that does without the abstract method label",)
    assert not GroupTranscriptTool.__abstractmethods__
    assert vars(GroupTranscriptTool).keys() >= _OURS


def test_the_installed_version_was_tried_and_another_one_is_named() -> None:
    found, findings = describe()["nanobot-ai"], check_seams()
    assert found in TRIED
    assert untried(found, findings) == ""
    told = untried("0.4.2", findings)
    assert told.startswith("nanobot 0.4.2 was not tried with this plugin (0.3.0 and 0.3.5 were); every ability finds")


def test_asking_imports_neither_nanobot_nor_the_sdk_before_it_must() -> None:
    code = (
        "import sys, json, transcript_channels.nanobot_host.seams as seams;"
        "before = 'nanobot' in sys.modules; seams.check_seams();"
        "print(json.dumps([before, 'nanobot' in sys.modules, 'lark_oapi' in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert json.loads(done.stdout) == [False, True, False]
