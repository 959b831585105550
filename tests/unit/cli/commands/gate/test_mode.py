"""Who decides in a chat: what ``gate explain`` says is what the plugin and ``run`` do."""

from typing import Any, get_args

import pytest

from nanobot_transcript.cli.commands.gate.mode import decided_by, who_decides
from nanobot_transcript.conversation.policy import Mode, Policy
from nanobot_transcript.runner import InboundMessage
from nanobot_transcript.runner.bus import MessageBus
from nanobot_transcript.runner.intake import Intake

ENTRY: Any = {"role": "user", "content": "x", "sender": "on_ada", "message_id": "om_1", "ts": 1.0}
MODES = get_args(Mode)


@pytest.mark.parametrize("mode", MODES)
def test_in_nanobot_the_gate_decides_where_the_plugin_asks_it(mode: Mode) -> None:
    asks = Policy(mode).gates("oc_team")
    assert decided_by(mode)["nanobot"] == ("gate" if asks else "group_policy")


@pytest.mark.parametrize("mode", MODES)
async def test_under_run_the_gate_decides_where_messages_reach_the_agent(mode: Mode) -> None:
    bus = MessageBus()
    await Intake(bus, policy=Policy(mode)).publish(InboundMessage("feishu:oc_team", ENTRY))
    assert decided_by(mode)["run"] == ("gate" if bus.waiting else "nobody")


@pytest.mark.parametrize("mode", MODES)
def test_a_sentence_stands_where_the_gate_does_not_decide_everywhere(mode: Mode) -> None:
    assert (who_decides(mode) is None) == (set(decided_by(mode).values()) == {"gate"})
    assert f"mode {mode} here" in (who_decides(mode) or f"mode {mode} here")
