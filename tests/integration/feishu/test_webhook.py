"""The simulated platform pushes to our webhook: with and without encryption, again after a failure, and buttons."""

import asyncio
import gzip
import io
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
from support.bombs import bomb
from support.needs import needs
from support.waiting import PATIENCE
from support.webhooks import served

from transcript_channels.feishu import message_from_event
from transcript_channels.feishu.webhook import FeishuWebhook, WebhookServer
from transcript_channels.simulator import App, Chat, FeishuSimulator, Person, Webhook

SECRETS = [
    {"encrypt_key": "the key", "verification_token": "the token"},
    {"encrypt_key": "the key"},
    {"verification_token": "the token"},
]


@dataclass
class Stage:
    """A group with Ada and Alpha, whose events come to a webhook; ``answers`` are used up one by one."""

    feishu: FeishuSimulator
    ada: Person
    alpha: App
    group: Chat
    events: list[Any] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)

    def hear(self, event: dict[str, Any]) -> Any:
        self.events.append(event)
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with FeishuSimulator(ack_timeout=PATIENCE, repush_delays=(0.02, 0.04, 0.08)) as feishu:
        ada, alpha = feishu.add_person("Ada"), feishu.add_app("Alpha")
        yield Stage(feishu, ada, alpha, feishu.add_group("Team", [ada, alpha]))


@pytest.mark.parametrize("secrets", SECRETS, ids="+".join)
async def test_events_arrive_as_over_a_long_connection(stage, secrets: dict[str, str]) -> None:
    async with served(FeishuWebhook(stage.hear, **secrets)) as url:
        await stage.feishu.subscribe(stage.alpha, url, **secrets)
        said = await stage.feishu.say(stage.group, stage.ada, "@Alpha hello 你好")
    assert said.acks == {"Alpha": 200}
    message = message_from_event(stage.events[0])
    assert message is not None
    assert (message.message_id, message.text) == (said.message_id, "@Alpha hello 你好")


async def test_an_address_with_other_secrets_does_not_pass_the_check(stage) -> None:
    async with served(FeishuWebhook(stage.hear, **SECRETS[0])) as url:
        for secrets in ({"encrypt_key": "other"}, {"encrypt_key": "the key", "verification_token": "other"}, {}):
            with pytest.raises(ValueError, match="challenge"):
                await stage.feishu.subscribe(stage.alpha, url, **secrets)


async def test_an_event_that_is_not_taken_is_pushed_again(stage) -> None:
    stage.answers = [OSError("disk full"), OSError("disk full")]
    async with served(FeishuWebhook(stage.hear, **SECRETS[0])) as url:
        await stage.feishu.subscribe(stage.alpha, url, **SECRETS[0])
        said = await stage.feishu.say(stage.group, stage.ada, "hello")
    assert [attempt.code for attempt in said.pushes[0].attempts] == [500, 500, 200]
    assert [event["event"]["message"]["message_id"] for event in stage.events] == [said.message_id] * 3


async def test_a_duplicate_under_another_event_id_is_handed_over(stage) -> None:
    async with served(FeishuWebhook(stage.hear, **SECRETS[0])) as url:
        await stage.feishu.subscribe(stage.alpha, url, **SECRETS[0])
        said = await stage.feishu.say(stage.group, stage.ada, "hello")
        await stage.feishu.push_again(said)
    assert len(stage.events) == 2


async def test_a_pressed_button_is_answered(stage) -> None:
    card = {"elements": [{"tag": "markdown", "content": "pressed"}]}
    stage.answers = [{"toast": {"type": "info", "content": "好"}, "card": {"type": "raw", "data": card}}]
    async with served(FeishuWebhook(stage.hear, **SECRETS[0])) as url:
        await stage.feishu.subscribe(stage.alpha, url, **SECRETS[0])
        sent = await stage.feishu.say(stage.group, stage.alpha, msg_type="interactive", content={"elements": []})
        push = await stage.feishu.press(sent, stage.ada, {"choice": 1})
    assert push.acked
    assert sent.text == "pressed"
    assert stage.events[0]["event"]["action"]["value"] == {"choice": 1}


async def test_many_events_at_once_all_arrive(stage) -> None:
    async with served(FeishuWebhook(stage.hear, **SECRETS[0])) as url:
        await stage.feishu.subscribe(stage.alpha, url, **SECRETS[0])
        saying = (stage.feishu.say(stage.group, stage.ada, f"m{number}") for number in range(100))
        said = await asyncio.gather(*saying)
    assert {message.acks["Alpha"] for message in said} == {200}
    assert len({event["header"]["event_id"] for event in stage.events}) == 100


@needs("lark_oapi")
@pytest.mark.parametrize("secrets", SECRETS, ids="+".join)
def test_the_platforms_own_sdk_takes_what_the_simulator_pushes(secrets: dict[str, str]) -> None:
    import lark_oapi as lark
    from lark_oapi.core.model import RawRequest

    taken: list[Any] = []
    builder = lark.EventDispatcherHandler.builder(secrets.get("encrypt_key", ""), secrets.get("verification_token", ""))
    handler = builder.register_p2_im_message_recalled_v1(taken.append).build()
    header = {"event_id": "e1", "event_type": "im.message.recalled_v1", "token": secrets.get("verification_token", "")}
    pushed = {"schema": "2.0", "header": header, "event": {"message_id": "om_1"}}
    request = RawRequest()
    request.uri = "/"
    request.body, request.headers = Webhook("http://x", **secrets).envelope(json.dumps(pushed).encode())
    assert handler.do(request).status_code == 200
    assert [event.event.message_id for event in taken] == ["om_1"]


async def test_a_packed_body_is_refused_and_never_unpacked() -> None:
    server = WebhookServer()
    seat = server.seat("/", FeishuWebhook(lambda _event: None, verification_token="v"), lambda _state: None)
    await server.take(seat)
    try:
        async with aiohttp.ClientSession() as http:
            check = {"type": "url_verification", "token": "v", "challenge": "c"}
            async with http.post(server.url, json=check) as answer:
                assert answer.status == 200
            for packed in (gzip.compress(json.dumps(check).encode()), bomb(31, 768)):
                with io.BytesIO(packed) as body:
                    async with http.post(server.url, data=body, headers={"Content-Encoding": "gzip"}) as answer:
                        assert answer.status == 400  # unpacked, the one would be answered and the other be too large
    finally:
        await server.leave(seat)
