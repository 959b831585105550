"""The runner in Feishu: the real long connection and the open API, against the simulated platform."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from support.waiting import PATIENCE, until

from nanobot_transcript import AsyncGroupTranscriptStore
from nanobot_transcript.conversation.arrivals import Reader
from nanobot_transcript.conversation.decision import Decider
from nanobot_transcript.conversation.people import People
from nanobot_transcript.conversation.posts import Posts
from nanobot_transcript.conversation.prompt import Prompt
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import ConfigError, CredentialsRefusedError, ResponderError
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.outbox import Outbox
from nanobot_transcript.runner.agent_loop import LoopOptions
from nanobot_transcript.runner.hosted_agent import Agent
from nanobot_transcript.runner.responders.command import CommandOptions, CommandResponder
from nanobot_transcript.runner.responders.openai_compatible import OpenAIOptions, OpenAIResponder
from nanobot_transcript.runner.responders.scripted import ScriptedResponder, ScriptLine
from nanobot_transcript.runner.runner import Runner
from transcript_channels.feishu.channel import FeishuChannel
from transcript_channels.feishu.client import FeishuClient
from transcript_channels.feishu.long_connection import LongConnection
from transcript_channels.feishu.platform import FEISHU
from transcript_channels.feishu.webhook import FeishuWebhook, WebhookSeat, WebhookServer
from transcript_channels.simulator import App, Chat, FeishuSimulator, Person, Reply, ScriptedModel


class Office:
    """A group on the simulated platform, and runners that work in it."""

    def __init__(self, feishu: FeishuSimulator, folder: Path) -> None:
        self.feishu = feishu
        self.store = AsyncGroupTranscriptStore(folder / "transcripts")
        self.ada: Person = feishu.add_person("Ada")
        self.bo: Person = feishu.add_person("Bo")
        self.group: Chat = feishu.add_group("Team", [self.ada, self.bo])
        self.runners: list[tuple[Runner, asyncio.Task[None]]] = []

    @property
    def key(self) -> str:
        return f"feishu:{self.group.chat_id}"

    def app(self, name: str) -> App:
        app = self.feishu.add_app(name)
        self.feishu.join(self.group, app)
        return app

    def agent(
        self, app: App, responder: Any, *, secret: str | None = None, stream: bool = False, **parts: Any
    ) -> Agent:
        profile = AgentProfile(app.name, ids=frozenset({app.name, app.app_id}), account=app.app_id)
        client = FeishuClient(app.app_id, secret or app.app_secret, self.feishu.base_url)

        def listen(on_event: Any, on_state: Any) -> LongConnection:
            return LongConnection(app.app_id, app.app_secret, on_event, self.feishu.base_url, on_state=on_state)

        people = People(self.store.members, FEISHU, {app.app_id: profile})
        reader = Reader(people, lambda work, *args: work(*args), self.store.sync)
        channel = FeishuChannel(profile, client, people, read=reader.read, listen=listen)
        options = LoopOptions(stream=stream)
        return Agent(
            profile,
            channel,
            responder,
            options=options,
            decider=Decider(profile, members=lambda key: people.look().members(key, app.app_id)),
            **parts,
        )

    async def start(self, *agents: Agent) -> Runner:
        runner = Runner(agents, self.store)
        running = asyncio.get_running_loop().create_task(runner.run())
        ready = asyncio.ensure_future(runner.ready.wait())
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait([ready, running], return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if running.done():
            running.result()
        self.runners.append((runner, running))
        return runner

    async def stop(self) -> None:
        for runner, running in self.runners:
            runner.stop()
            async with asyncio.timeout(PATIENCE):
                await running
        await self.store.close()

    async def record(self, count: int = 0) -> list[Entry]:
        await until(lambda: len(self.store.sync.recent(self.key, 100).entries) >= count)
        return self.store.sync.recent(self.key, 100).entries

    async def ask(self, text: str, app: App, **options: Any) -> str:
        after = len(self.group.messages)
        await self.feishu.say(self.group, self.ada, text, **options)
        return (await self.feishu.wait_for_message(self.group, app, after=after)).text


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with FeishuSimulator() as feishu:
        one = Office(feishu, tmp_path)
        try:
            yield one
        finally:
            await one.stop()


async def test_a_command_answers_in_the_group_and_both_are_recorded_with_the_platforms_ids(office: Office) -> None:
    alpha = office.app("Alpha")
    code = "import sys; print('I read', len(sys.stdin.read()) > 0, '你好')"
    await office.start(office.agent(alpha, CommandResponder(CommandOptions([sys.executable, "-c", code]))))
    assert await office.ask("@Alpha 你好?", alpha) == "I read True 你好"
    question, answer = await office.record(2)
    sent = office.group.messages[-1]
    assert answer["message_id"] == sent.message_id
    assert answer["ts"] == sent.created_ms
    assert answer.get("ids") == {"app_id": alpha.app_id}
    assert answer.get("reply_to") == question["message_id"]
    assert question["sender"] == office.ada.union_id
    assert question.get("mentions") == [{"name": "Alpha", "id": "Alpha", "account": alpha.app_id}]
    assert sent.parent is office.group.messages[-2]


async def test_several_agents_in_one_process_share_the_record_and_the_names(office: Office) -> None:
    alpha, beta = office.app("Alpha"), office.app("Beta")
    minds = {app: ScriptedResponder([ScriptLine(f"{app.name} here, {{sender}}.")]) for app in (alpha, beta)}
    await office.start(office.agent(alpha, minds[alpha]), office.agent(beta, minds[beta]))
    await office.ask("@Alpha hello", alpha)
    await until(lambda: office.store.members.name_of(office.ada.union_id) == "Ada")
    assert await office.ask("@Beta what did Alpha say?", beta) == "Beta here, Ada."
    (prompt,) = minds[beta].prompts
    (line,) = [line for line in prompt.turns[0]["content"].splitlines() if "Alpha here" in line]
    assert json.loads(line)["bot"] is True
    assert len(await office.record(4)) == 4


async def test_a_models_answer_is_streamed_into_a_card_and_recorded_once_with_its_whole_text(office: Office) -> None:
    alpha = office.app("Alpha")
    async with ScriptedModel([Reply("one two three four", chunk_delay=0.2)]) as model:
        responder = OpenAIResponder(OpenAIOptions("m", base_url=model.base_url))
        await office.start(office.agent(alpha, responder, stream=True))
        assert await office.ask("@Alpha count", alpha) == "one two three four"
        _, answer = await office.record(2)
        assert (answer["content"], answer.get("source")) == ("one two three four", "stream")
        updates = office.feishu.calls_to("PUT /open-apis/cardkit/v1/cards/*/elements/*/content")
        assert updates


class HalfAnAnswer:
    """Begins to answer and fails."""

    def __init__(self, office: Office) -> None:
        self.office = office

    async def respond(self, prompt: Prompt) -> AsyncIterator[str]:
        yield "half an answer"
        await until(lambda: len(self.office.group.messages) > 1)
        raise ResponderError("The model is gone.")

    async def close(self) -> None:
        return None


async def test_a_card_whose_answer_fails_is_taken_back(office: Office) -> None:
    alpha = office.app("Alpha")
    await office.start(office.agent(alpha, HalfAnAnswer(office), stream=True))
    await office.feishu.say(office.group, office.ada, "@Alpha count")
    await until(lambda: len(office.group.messages) == 2 and office.group.messages[1].recalled)
    assert len(await office.record(1)) == 1


async def test_without_the_scope_for_cards_an_answer_is_sent_as_a_whole(office: Office) -> None:
    alpha = office.app("Alpha")
    alpha.revoke("cardkit:card:write")
    await office.start(office.agent(alpha, ScriptedResponder([ScriptLine("no card needed")]), stream=True))
    assert await office.ask("@Alpha hello", alpha) == "no card needed"
    assert [entry["content"] for entry in await office.record(2)] == ["@Alpha hello", "no card needed"]


async def test_a_private_chat_is_answered_and_not_recorded(office: Office) -> None:
    alpha = office.app("Alpha")
    await office.start(office.agent(alpha, ScriptedResponder([ScriptLine("between us")])))
    await office.feishu.say_private(office.ada, alpha, "hello")
    private = office.feishu.private_chat(office.ada, alpha)
    await office.feishu.wait_for_message(private, alpha, "between us")
    assert await office.store.chats() == []


async def test_a_recalled_message_is_gone_from_the_next_prompt(office: Office) -> None:
    alpha = office.app("Alpha")
    mind = ScriptedResponder([ScriptLine("noted")])
    await office.start(office.agent(alpha, mind))
    secret = await office.feishu.say(office.group, office.bo, "the password is swordfish")
    await office.feishu.recall(secret)
    await office.ask("@Alpha what is the password?", alpha)
    assert "swordfish" not in mind.prompts[-1].text


async def test_a_message_that_is_pushed_again_is_answered_once(office: Office) -> None:
    alpha = office.app("Alpha")
    await office.start(office.agent(alpha, ScriptedResponder([ScriptLine("once")])))
    message = await office.feishu.say(office.group, office.ada, "@Alpha hello")
    await office.feishu.push_again(message)
    await office.feishu.wait_for_message(office.group, alpha, "once")
    await office.feishu.push_again(message)
    await office.ask("@Alpha again", alpha)
    assert len(office.feishu.messages(office.group, alpha)) == 2


async def test_a_bot_that_names_another_one_tells_it(office: Office) -> None:
    alpha, beta = office.app("Alpha"), office.app("Beta")
    beta.grant("im:message.group_at_msg.include_bot:readonly")
    await office.start(
        office.agent(alpha, ScriptedResponder([ScriptLine("@Beta please take over.")])),
        office.agent(beta, ScriptedResponder([ScriptLine("I do.")])),
    )
    await office.ask("@Beta are you there?", beta)  # from this Alpha learns under which id it may mention Beta
    await until(
        lambda: any(bot.open_ids.get(alpha.app_id) for bot in office.store.members.bots() if bot.name == "Beta")
    )
    after = len(office.group.messages)
    await office.ask("@Alpha ask the other one", alpha)
    await office.feishu.wait_for_message(office.group, beta, "I do.", after=after)
    handed, taken = (await office.record(5))[-2:]
    assert (handed["content"], handed.get("hop")) == ("@Beta please take over.", 1)
    assert (taken.get("reply_to"), taken.get("hop")) == (handed["message_id"], 2)


def card_that_says(text: str, *more: dict[str, Any]) -> dict[str, Any]:
    """A card."""
    return {"schema": "2.0", "body": {"elements": [{"tag": "markdown", "content": text}, *more]}}


async def test_the_card_of_a_post_is_replaced_in_the_chat_and_in_the_record(office: Office) -> None:
    outbox = Outbox(office.store.base_dir)
    await office.start(office.agent(office.app("Alpha"), ScriptedResponder([]), posts=Posts(outbox)))
    post = await asyncio.to_thread(outbox.post, office.key, card=card_that_says("Ship it?"))
    await asyncio.to_thread(outbox.revise, post, card_that_says("Ada says yes."))
    status = await outbox.wait_sent(post, PATIENCE)
    assert status.message_id is not None
    message = office.feishu.message(status.message_id)
    await until(lambda: "Ada says yes." in str(message.content))
    await until(
        lambda: [entry["content"] for entry in office.store.sync.recent(office.key, 5).entries] == ["Ada says yes."]
    )
    outbox.close()


async def test_a_post_from_elsewhere_is_sent_and_the_press_of_its_button_comes_back(office: Office) -> None:
    alpha = office.app("Alpha")
    outbox = Outbox(office.store.base_dir)
    await office.start(office.agent(alpha, ScriptedResponder([ScriptLine("no")]), posts=Posts(outbox)))
    button = {"tag": "button", "text": {"tag": "plain_text", "content": "Yes"}, "value": {"choice": "yes"}}
    post = await asyncio.to_thread(outbox.post, office.key, card=card_that_says("Ship it?", button))
    status = await outbox.wait_sent(post, PATIENCE)
    assert status.message_id is not None
    message = office.feishu.message(status.message_id)
    await office.feishu.press(message, office.ada, {"choice": "yes"})
    answer = await outbox.wait_answer(post, PATIENCE)
    assert answer is not None
    assert (answer.kind, answer.value, answer.sender) == ("action", {"choice": "yes"}, office.ada.union_id)
    (entry,) = await office.record(1)
    assert "Ship it?" in entry["content"]
    outbox.close()


async def test_the_webhook_drives_the_runner_as_the_long_connection_does(office: Office) -> None:
    alpha = office.app("Alpha")
    agent = office.agent(alpha, ScriptedResponder([ScriptLine("over the webhook")]))
    server = WebhookServer()

    def listen(on_event: Any, on_state: Any) -> WebhookSeat:
        return server.seat("/feishu/alpha", FeishuWebhook(on_event, verification_token="v"), on_state)

    client = FeishuClient(alpha.app_id, alpha.app_secret, office.feishu.base_url)
    channel = FeishuChannel(agent.profile, client, People(office.store.members, FEISHU), listen=listen)
    await office.start(replace(agent, channel=channel))
    message = await office.feishu.say(office.group, office.ada, "@Alpha hello", wait=False)
    url = f"{server.url}/feishu/alpha"
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{server.url}/feishu/nobody", json={}) as answer:
            assert answer.status == 404
        challenge = {"type": "url_verification", "challenge": "c-1", "token": "v"}
        async with session.post(url, json=challenge) as answer:
            assert (answer.status, await answer.json()) == (200, {"challenge": "c-1"})
        event = message.pushes[0].event
        event = {**event, "header": {**event["header"], "token": "v"}}
        for _ in range(2):
            async with session.post(url, json=event) as answer:
                assert answer.status == 200
        forged = {**event, "header": {**event["header"], "token": "other", "event_id": "e-2"}}
        async with session.post(url, json=forged) as answer:
            assert answer.status >= 400
    await office.feishu.wait_for_message(office.group, alpha, "over the webhook")
    assert len(await office.record(2)) == 2


async def test_a_port_that_is_taken_is_told_at_the_start(office: Office) -> None:
    alpha = office.app("Alpha")
    agent = office.agent(alpha, ScriptedResponder([]))
    port = int(office.feishu.base_url.rpartition(":")[2])

    def listen(on_event: Any, on_state: Any) -> WebhookSeat:
        return WebhookServer(port=port).seat("/", FeishuWebhook(on_event, verification_token="v"), on_state)

    client = FeishuClient(alpha.app_id, alpha.app_secret, office.feishu.base_url)
    with pytest.raises(ConfigError, match="cannot listen"):
        await office.start(
            replace(agent, channel=FeishuChannel(agent.profile, client, People(None, FEISHU), listen=listen))
        )


async def test_wrong_credentials_are_told_at_the_start(office: Office) -> None:
    alpha = office.app("Alpha")
    with pytest.raises(CredentialsRefusedError):
        await office.start(office.agent(alpha, ScriptedResponder([]), secret="wrong"))
