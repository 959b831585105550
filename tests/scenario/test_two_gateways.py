"""Two real nanobot gateways share one record of what was said in their groups."""

import asyncio
import json
import os
import re
import sys
from typing import Any

import pytest
from support.scene import Scene, lines_of
from support.waiting import PATIENCE, until

from nanobot_transcript.files.layout import stem_of
from transcript_channels.simulator import Message, Reply, ToolCall, scopes

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="module")]

MEMBERS = "GET /open-apis/im/v1/chats/{chat_id}/members"
HISTORY = "GET /open-apis/im/v1/messages"
SEND = "POST /open-apis/im/v1/messages"
TABLE = "| host | state |\n| --- | --- |\n| {0} | up |\n"


async def test_people_talk_alpha_answers_and_beta_knows_what_alpha_said(scene: Scene) -> None:
    group = scene.group()
    scene.when("capital of France", "It is Paris, of course.")
    scene.when("what did Alpha say", "Alpha said Paris.")
    said = [await scene.feishu.say(group, scene.ada, "Nobody is asked here.")]
    said.append(await scene.feishu.say(group, scene.bo, "Me neither."))
    said.append(await scene.feishu.say(group, scene.bo, "@Alpha capital of France?"))
    said.append(await scene.feishu.wait_for_message(group, scene.alpha))
    await scene.recorded(group, 4)
    said.append(await scene.feishu.say(group, scene.ada, "@Beta what did Alpha say?"))
    said.append(await scene.feishu.wait_for_message(group, scene.beta))
    entries = await scene.recorded(group, 6)
    assert [(entry["message_id"], entry["content"], entry["ts"]) for entry in entries] == [
        (message.message_id, message.text, message.created_ms) for message in said
    ]
    assert [entry["sender"] for entry in entries] == [
        scene.ada.union_id,
        scene.bo.union_id,
        scene.bo.union_id,
        "Alpha",
        scene.ada.union_id,
        "Beta",
    ]
    assert said[2].acks == {"Alpha": 200, "Beta": 200}
    asked = scene.request("what did Alpha say").last_user_text
    told = lines_of(asked)
    assert [(line["from"], line["text"]) for line in told] == [
        ("Ada", "Nobody is asked here."),
        ("Bo", "Me neither."),
        ("Bo", "@Alpha capital of France?"),
        ("Alpha", "It is Paris, of course."),
    ]
    assert "never instructions" in asked


async def test_a_bot_that_is_asked_to_go_on_knows_what_another_bot_began(scene: Scene) -> None:
    group = scene.group()
    scene.when("列三个城市", "北京、上海，还差一个。")
    scene.when("继续", "广州。")
    await scene.ask(group, scene.ada, "@Alpha 列三个城市", scene.alpha)
    await scene.recorded(group, 2)
    await scene.ask(group, scene.ada, "@Beta 继续", scene.beta, "广州")
    told = lines_of(scene.request("继续").last_user_text)
    assert [(line["from"], line.get("bot", False), line["text"]) for line in told] == [
        ("Ada", False, "@Alpha 列三个城市"),
        ("Alpha", True, "北京、上海，还差一个。"),
    ]


async def test_whoever_is_not_allowed_to_ask_is_recorded_all_the_same(scene: Scene) -> None:
    group = scene.group()
    await scene.feishu.say(group, scene.bo, "@Beta not for me?")
    await scene.recorded(group, 1)
    assert scene.texts(group) == ["@Beta not for me?"]
    assert scene.requests("not for me") == 0


async def test_a_plain_answer_in_several_messages_is_one_entry(scene: Scene) -> None:
    group = scene.group()
    text = "\n\n".join(f"Table {number}\n\n{TABLE.format(number)}" for number in range(3))
    scene.when("all the tables", text)
    await scene.feishu.say(group, scene.ada, "@Beta all the tables")
    entry = (await scene.recorded(group, 2))[1]
    sent = scene.feishu.messages(group, scene.beta)
    assert len(sent) == 3
    assert (entry["content"].strip(), entry.get("source")) == (text.strip(), "send")
    assert entry.get("message_ids") == [message.message_id for message in sent]
    assert entry["message_id"] == sent[0].message_id
    assert entry.get("reply_to") == group.messages[0].message_id


async def test_a_turn_with_tools_is_recorded_without_their_hints(scene: Scene) -> None:
    group = scene.group()
    scene.when(
        "look around",
        Reply("I will look.", tool_calls=[ToolCall("list_dir", {"path": "."})]),
        "There is a file.",
    )
    await scene.feishu.say(group, scene.ada, "@Alpha look around")
    await scene.feishu.wait_for_message(group, scene.alpha, "There is a file.")
    entries = await scene.recorded(group, 3)
    assert [entry["content"] for entry in entries[1:]] == ["I will look.", "There is a file."]
    shown = [message.text for message in scene.feishu.messages(group, scene.alpha)]
    assert any("list_dir" in text or "🔧" in text for text in shown)
    assert all(entry.get("source") == "stream" for entry in entries[1:])


async def test_an_answer_in_a_thread_belongs_to_the_thread(scene: Scene) -> None:
    group = scene.group()
    root = await scene.feishu.say(group, scene.ada, "a topic")
    scene.when("in the topic", "I am in the topic, too.")
    answer = await scene.ask(group, scene.ada, "@Alpha in the topic", scene.alpha, reply_to=root, in_thread=True)
    entries = await scene.recorded(group, 3)
    assert answer.thread_id is not None
    assert [entry.get("thread_id") for entry in entries[1:]] == [answer.thread_id] * 2
    assert entries[2].get("root_id") == root.message_id


async def test_a_message_into_another_group_is_recorded_there(scene: Scene) -> None:
    here, there = scene.group(), scene.group()
    call = ToolCall("message", {"content": "Hello over there.", "channel": "feishu", "chat_id": there.chat_id})
    scene.when("tell the others", call, "Told them.")
    await scene.ask(here, scene.ada, "@Alpha tell the others", scene.alpha, "Told them.")
    await scene.recorded(here, 2)
    await scene.recorded(there, 1)
    assert scene.texts(here) == ["@Alpha tell the others", "Told them."]
    assert scene.texts(there) == ["Hello over there."]


async def test_a_reminder_is_recorded(scene: Scene) -> None:
    group = scene.group()

    def stop() -> ToolCall:
        (job,) = re.findall(r"\(id: (\w+)", scene.request("time for tea").tool_results[-1])
        return ToolCall("cron", {"action": "remove", "job_id": job})

    # One that rings again until it is stopped: one for a moment that is over when nanobot hears of it never rings.
    remind = ToolCall("cron", {"action": "add", "message": "time for tea", "every_seconds": 1})
    scene.when("ring the bell", remind, "Set.")
    scene.when("time for tea", ToolCall("cron", {"action": "list"}), stop, "It is time for tea!")
    await scene.feishu.say(group, scene.ada, "@Beta ring the bell")
    await scene.recorded(group, 3)
    assert sorted(scene.texts(group)[1:]) == ["It is time for tea!", "Set."]


async def test_an_answer_that_was_not_delivered_is_not_recorded(scene: Scene) -> None:
    group = scene.group()
    scene.when("say nothing", Reply("Nobody will see this.", chunk_delay=0.05))
    scene.when("are you back", "I am back.")
    fault = scene.feishu.fail(SEND, code=230001, times=None, app=scene.alpha)
    await scene.feishu.say(group, scene.ada, "@Alpha say nothing")
    await scene.feishu.wait_for(
        lambda: any(call.fault is fault and call.body["msg_type"] == "text" for call in scene.feishu.calls_to(SEND)),
        what="an attempt with a plain text",
    )
    await scene.ask(group, scene.ada, "@Beta are you back?", scene.beta)  # nanobot may still be trying
    await scene.recorded(group, 3)
    assert scene.texts(group) == ["@Alpha say nothing", "@Beta are you back?", "I am back."]
    fault.remove()


async def test_a_recalled_message_is_in_neither_the_next_prompt_nor_the_record(scene: Scene) -> None:
    group = scene.group()
    secret = await scene.feishu.say(group, scene.bo, "the password is swordfish")
    pushes = await scene.feishu.recall(secret)
    assert [push.ack_code for push in pushes] == [200, 200]
    for app, word in ((scene.alpha, "anything new, Alpha"), (scene.beta, "anything new, Beta")):
        scene.when(word, "Nothing.")
        await scene.ask(group, scene.ada, f"@{app.name} {word}?", app)
        assert "swordfish" not in scene.request(word).text
    assert all("swordfish" not in text for text in scene.texts(group))
    assert scene.store.search("swordfish", scene.key(group)) == []
    assert scene.store.get(scene.key(group), secret.message_id) is None
    shown = await _command("show", group.chat_id, env=os.environ | scene.told)
    assert "anything new, Alpha" in shown
    assert "swordfish" not in shown


async def _command(*arguments: str, env: dict[str, str]) -> str:
    """What ``nanobot-transcript`` prints."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "nanobot_transcript.cli", *arguments, stdout=asyncio.subprocess.PIPE, env=env
    )
    async with asyncio.timeout(PATIENCE):
        printed, _ = await process.communicate()
    assert process.returncode == 0
    return printed.decode()


async def test_a_message_recalled_after_it_was_shown_is_gone_from_the_session(scene: Scene) -> None:
    """Beta has one session for the whole group, which nanobot sends along with each turn."""
    group = scene.group()
    shown = await scene.feishu.say(group, scene.bo, "the code is Ypsilon")
    scene.when("first question", "First answer.")
    scene.when("second question", "Second answer.")
    scene.when("third question", "Third answer.")
    await scene.ask(group, scene.ada, "@Beta first question", scene.beta)
    assert "Ypsilon" in scene.request("first question").text
    second = await scene.feishu.say(group, scene.ada, "@Beta second question, code word Jericho")
    await scene.feishu.wait_for_message(group, scene.beta, "Second")
    await scene.recorded(group, 5)
    for message in (shown, second):
        await scene.feishu.recall(message)
    await until(lambda: "Ypsilon" not in _sessions(scene) and "Jericho" not in _sessions(scene))
    await scene.ask(group, scene.ada, "@Beta third question", scene.beta)
    prompt = scene.request("third question").text
    assert "First answer." in prompt
    assert "Ypsilon" not in prompt
    assert "Jericho" not in prompt


async def test_what_another_process_takes_back_is_gone_from_the_next_prompt(scene: Scene) -> None:
    """No event tells Beta: the record does."""
    group = scene.group()
    for word in ("question one", "question two", "question three"):
        scene.when(word, f"Answer to {word}.")
    shown = await scene.feishu.say(group, scene.bo, "the code is Gideon")
    edited = await scene.feishu.say(group, scene.bo, "we meet at nine")
    await scene.ask(group, scene.ada, "@Beta question one, code word Jericho", scene.beta)
    asked, answered = (await scene.recorded(group, 4))[2:]
    for message_id in (shown.message_id, asked["message_id"], answered["message_id"]):
        assert scene.store.recall(scene.key(group), str(message_id))
    assert scene.store.edit(scene.key(group), edited.message_id, "we meet at ten")
    await scene.ask(group, scene.ada, "@Beta question two", scene.beta)
    prompt = scene.request("question two").text
    for gone in ("Gideon", "Jericho", "Answer to question one"):
        assert gone not in prompt
        assert gone not in _sessions(scene)
    assert "we meet at nine" in prompt
    told = lines_of(scene.request("question two").last_user_text)
    assert [(line["text"], line["edited"]) for line in told] == [("we meet at ten", True)]
    await asyncio.to_thread(scene.store.purge, scene.key(group), sender=scene.bo.union_id)
    await scene.ask(group, scene.ada, "@Beta question three", scene.beta)
    prompt = scene.request("question three").text
    assert "we meet" not in prompt
    assert "Answer to question two." in prompt


def _sessions(scene: Scene) -> str:
    home = scene.gateways["Beta"].home
    return "".join(path.read_text(encoding="utf-8") for path in home.rglob("*.jsonl") if "sessions" in path.parts)


async def test_a_private_chat_leaves_no_trace(scene: Scene) -> None:
    private = scene.feishu.private_chat(scene.ada, scene.alpha)
    scene.when("just between us", "I keep secrets.")
    message = await scene.feishu.say_private(scene.ada, scene.alpha, "just between us")
    await scene.feishu.wait_for_message(private, scene.alpha, "secrets")
    await scene.feishu.recall(message)
    scene.when("write to me", ToolCall("message", {"content": "psst", "chat_id": private.chat_id}), "Done.")
    group = scene.group()
    await scene.ask(group, scene.ada, "@Alpha write to me", scene.alpha, "Done.")
    await scene.feishu.wait_for_message(private, scene.alpha, "psst")
    await scene.recorded(group, 2)
    found = scene.traces(private.chat_id, "just between us", "I keep secrets", "psst", message.message_id)
    # nanobot shows the group which tool it calls; what the platform's history says of that is the group's own
    assert [trace for trace in found if '"source":"history"' not in trace] == []


async def test_a_bot_that_is_told_of_other_bots_records_them_once_and_stays_quiet(scene: Scene) -> None:
    group = scene.group()
    scene.when("who is best", "Beta is the best, ask @Beta.")
    scene.beta.grant(scopes.GROUP_MSG_INCLUDE_BOT)
    try:
        answer = await scene.ask(group, scene.ada, "@Alpha who is best?", scene.alpha)
        await scene.feishu.settled(answer.pushes)
        assert answer.acks == {"Beta": 200}
        await until(lambda: scene.texts(group)[1:] == [answer.text])
    finally:
        scene.beta.revoke(scopes.GROUP_MSG_INCLUDE_BOT)
    assert [entry["sender"] for entry in scene.record(group)][1:] == ["Alpha"]
    assert scene.feishu.messages(group, scene.beta) == []


async def test_no_line_comes_twice_in_one_session(scene: Scene) -> None:
    group = scene.group()
    scene.when("round", "Noted.")
    for number in range(3):
        await scene.feishu.say(group, scene.bo, f"fact number {number}")
        await scene.ask(group, scene.ada, f"@Beta round {number}", scene.beta)
    prompt = scene.request("round 2").text
    for number in range(3):
        assert prompt.count(f"fact number {number}") == 1
        assert prompt.count(f"round {number}") == 1
    assert prompt.count("Noted.") == 2


async def test_a_bot_with_a_session_per_topic_knows_what_it_said_in_another(scene: Scene) -> None:
    group = scene.group()
    scene.when("make a plan", "First dig, then build.")
    scene.when("continue", "Then I build.")
    await scene.ask(group, scene.ada, "@Alpha make a plan", scene.alpha)
    await scene.recorded(group, 2)
    await scene.ask(group, scene.ada, "@Alpha continue", scene.alpha)
    told = lines_of(scene.request("continue").text)
    assert [(line["text"], line.get("you", False)) for line in told] == [
        ("@Alpha make a plan", False),
        ("First dig, then build.", True),
    ]


async def test_an_agent_can_look_further_back(scene: Scene) -> None:
    group = scene.group()
    for number in range(30):
        await scene.feishu.say(group, scene.bo, f"entry {number}", wait=number == 29)
    await scene.recorded(group, 30)
    scene.when("oldest entry", ToolCall("group_transcript", {"query": "entry 3", "member": "Bo"}), "Found it.")
    await scene.ask(group, scene.ada, "@Alpha what was the oldest entry?", scene.alpha, "Found it.")
    request = scene.request("oldest entry")
    assert "group_transcript" in request.tool_names
    (result,) = request.tool_results
    assert [json.loads(line)["text"] for line in result.splitlines() if line.startswith("{")] == ["entry 3"]


async def test_the_tool_shows_no_other_chat(scene: Scene) -> None:
    group, private = scene.group(), scene.feishu.private_chat(scene.ada, scene.alpha)
    await scene.feishu.say(group, scene.bo, "only for the group")
    scene.when("look into the group", ToolCall("group_transcript", {"limit": 5}), "I cannot.")
    await scene.feishu.say_private(scene.ada, scene.alpha, "look into the group")
    await scene.feishu.wait_for_message(private, scene.alpha, "I cannot")
    request = scene.request("look into the group")
    (result,) = request.tool_results
    assert "not a group chat" in result
    assert "only for the group" not in request.text


async def test_what_is_pushed_twice_is_recorded_and_answered_once(scene: Scene) -> None:
    group = scene.group()
    scene.when("say it once", "Once.")
    asked = await scene.feishu.say(group, scene.ada, "@Alpha say it once")
    await scene.feishu.wait_for_message(group, scene.alpha, "Once.")
    await scene.feishu.push_again(asked)
    await scene.recorded(group, 2)
    assert scene.texts(group) == ["@Alpha say it once", "Once."]
    assert scene.requests("say it once") == 1


async def test_what_cannot_be_recorded_is_pushed_again_and_answered_once(scene: Scene) -> None:
    group = scene.group()
    scene.when("hello there", "Hello.")
    in_the_way = scene.store_dir / f"{stem_of(scene.key(group))}.jsonl"
    in_the_way.mkdir(parents=True)
    asked = await scene.feishu.say(group, scene.ada, "@Alpha hello there", wait=False)
    await until(lambda: 500 in asked.acks.values())
    in_the_way.rmdir()
    await scene.feishu.settled(asked.pushes)
    await scene.feishu.wait_for_message(group, scene.alpha, "Hello.")
    assert asked.acks == {"Alpha": 200, "Beta": 200}
    await until(lambda: sorted(scene.texts(group)) == ["@Alpha hello there", "Hello."])
    assert scene.requests("hello there") == 1


async def test_people_are_called_by_name_though_nobody_mentioned_them(scene: Scene) -> None:
    members, group = scene.store.members, scene.group()
    for person in (scene.ada, scene.bo):
        await scene.feishu.say(group, person, "Who am I?")
    await until(lambda: members.name_of(scene.ada.union_id) == "Ada" and members.name_of(scene.bo.union_id) == "Bo")
    assert {bot.name for bot in members.bots()} == {"Alpha", "Beta"}


async def test_a_turn_calls_people_by_names_that_the_platform_told_after_they_spoke(scene: Scene) -> None:
    """That it waits for them: ``unit/nanobot_host/test_context.py``; for two seconds, too few for real processes."""
    newcomer = scene.feishu.add_person("Dee")
    group = scene.group(scene.alpha, newcomer)
    scene.when("who said that", "Dee did.")
    await scene.feishu.say(group, newcomer, "The coffee is out.")
    await until(lambda: scene.store.members.name_of(newcomer.union_id) == "Dee")
    await scene.ask(group, newcomer, "@Alpha who said that?", scene.alpha)
    asked = scene.request("who said that").last_user_text
    (told,) = lines_of(asked)
    assert (told["from"], told["text"]) == ("Dee", "The coffee is out.")
    assert scene.record(group)[0].get("sender_name") is None
    later = await scene.feishu.say(group, newcomer, "I said it.")
    named = {entry["message_id"]: entry.get("sender_name") for entry in await scene.recorded(group, 4)}
    assert named[later.message_id] == "Dee"


@pytest.mark.parametrize("fault", [{"code": 99991672}, {"status": 502}, {"drop": True}, {"delay": 10 * PATIENCE}])
async def test_a_turn_goes_on_when_names_cannot_be_had(scene: Scene, fault: dict[str, Any]) -> None:
    stranger = scene.feishu.add_person("Eve")
    group = scene.group(scene.alpha, stranger)
    scene.when("carry on", "Of course.")
    call = scene.feishu.fail(MEMBERS, times=None, **fault)
    no_history = scene.feishu.fail(HISTORY, times=None, code=99991672)  # it, too, would bring the name
    try:
        await scene.feishu.say(group, stranger, "Nobody knows my name.")
        await scene.ask(group, stranger, "@Alpha carry on", scene.alpha)
        await until(lambda: call.hits)
        lookup = scene.feishu.calls_to(MEMBERS, scene.alpha)[-1]
        assert not (call.delay and lookup.status), "the turn waited for all of it"
    finally:
        call.remove()
        no_history.remove()
    given = scene.request("carry on").last_user_text
    assert f'"from": "{stranger.union_id}", "text": "Nobody knows my name."' in given


async def test_a_thousand_events_at_full_speed_become_a_thousand_entries_in_order(scene: Scene) -> None:
    group = scene.group()
    said = [await scene.feishu.say(group, scene.ada, f"message {number}", wait=False) for number in range(1000)]
    await scene.feishu.settled([push for message in said for push in message.pushes])
    entries = scene.record(group)
    assert [entry["message_id"] for entry in entries] == [message.message_id for message in said]
    assert {code for message in said for code in message.acks.values()} == {200}


async def test_after_a_lost_connection_everything_is_there_once(scene: Scene) -> None:
    group = scene.group()
    said: list[Message] = []
    for number in range(1000):
        said.append(await scene.feishu.say(group, scene.ada, f"message {number}", wait=False))
        if number in (300, 700):
            await scene.feishu.drop_connections()
            await asyncio.sleep(0)
    await scene.feishu.wait_connected(scene.alpha, scene.beta)
    pushes = [push for message in said for push in message.pushes]
    await scene.feishu.wait_for(lambda: all(push.acked for push in pushes), PATIENCE, "all acknowledged")
    ids = [str(entry["message_id"]) for entry in scene.record(group)]
    assert sorted(ids) == sorted(message.message_id for message in said)
    ordered = [entry["message_id"] for entry in scene.store.recent(scene.key(group), 1000).entries]
    assert ordered == [message.message_id for message in said]
