"""The real nanobot gateway against the simulator."""

from pathlib import Path

from support.gateways import running_gateway
from support.needs import needs

from transcript_channels.simulator import FeishuSimulator, Reply, ScriptedModel

pytestmark = needs("nanobot")

QUIET_PLUGIN = {"NANOBOT_TRANSCRIPT_GROUPS__MODE": "off"}


async def test_the_real_gateway_answers_a_mention_with_a_streamed_card(tmp_path: Path) -> None:
    async with (
        FeishuSimulator() as feishu,
        ScriptedModel(lambda request: Reply("The answer is forty-two.", chunk_delay=0.05)) as model,
    ):
        alpha, ada = feishu.add_app("Alpha"), feishu.add_person("Ada")
        group = feishu.add_group("Team", [ada, alpha])
        async with running_gateway(tmp_path, alpha, feishu, model, redirect=True, env=QUIET_PLUGIN):
            asked = await feishu.say(group, ada, "@Alpha what is the answer?")
            answer = await feishu.wait_for_message(group, alpha)
            assert asked.acks == {"Alpha": 200}
            assert answer.text == "The answer is forty-two."
            assert answer.msg_type == "interactive"
            assert answer.card is not None
            assert answer.card.sequence > 1
            assert "what is the answer?" in model.requests[0].last_user_text
            assert model.requests[0].api_key == "Alpha"
            assert model.requests[0]["stream"] is True
