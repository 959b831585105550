"""A message that was taken back, by whomever, is in none of the prompts to come."""

import asyncio
import copy
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.stub_nanobot import Outbound, group_event, recall_event, sdk_object
from support.waiting import until

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.coordination.files.marks import FileMarks
from nanobot_transcript.entry import Entry
from transcript_channels.nanobot_host.context import GroupContext
from transcript_channels.nanobot_host.host import Host
from transcript_channels.nanobot_host.session_erasure import Forgetting
from transcript_channels.nanobot_host.watermark import Watermark, Watermarks

KEY = "feishu:oc_1"
SESSION = "feishu:oc_1"


class Sessions:
    """nanobot's session manager: what is saved is on the "disk"; another one over the same disk is a restart."""

    def __init__(self, disk: dict[str, list[dict[str, Any]]]) -> None:
        self.disk, self.cached = disk, dict[str, Any]()
        self.saves = 0
        self.checkpoints: list[Any] = []
        self.broken = False

    def get_or_create(self, key: str) -> Any:
        if key not in self.cached:
            messages = copy.deepcopy(self.disk.get(key, []))
            self.cached[key] = SimpleNamespace(key=key, messages=messages, metadata={}, provider_state=None)
        return self.cached[key]

    def save(self, session: Any) -> None:
        if self.broken:
            raise OSError("no disk")
        self.saves += 1
        self.disk[session.key] = copy.deepcopy(session.messages)

    def save_runtime_checkpoint(self, session: Any) -> None:
        self.checkpoints.append(copy.deepcopy([session.messages, session.metadata]))


class Agent:
    """One gateway: the plugin, and a nanobot that keeps what its turns were shown and said."""

    def __init__(self, host: Host, channel: Any, disk: dict[str, list[dict[str, Any]]]) -> None:
        self.host, self.channel, self.sessions = host, channel, Sessions(disk)
        self.context = GroupContext(host, UTC)
        host.forgetting.attend(self.sessions)
        self.turns = 0

    def hear(self, message_id: str, text: str, person: str = "ada") -> None:
        self.channel._on_message_sync(sdk_object(group_event(message_id, text, person=person)))

    async def ask(self, message_id: str, text: str, answer: str = "", *, tool: str = "") -> str:
        """A turn as nanobot runs it. Returns the prompt: the history as it was at the beginning, and the turn."""
        self.hear(message_id, text)
        self.turns += 1
        session = self.sessions.get_or_create(SESSION)
        history = copy.deepcopy(session.messages)
        request = await self.begin(message_id, text, session)
        if tool:
            session.messages.append({"role": "tool", "content": tool})
        if answer:
            session.messages.append({"role": "assistant", "content": answer})
            self.sessions.save(session)
            await self.channel.send(Outbound("oc_1", answer, {"message_id": message_id}))
        return str([*history, request])

    async def begin(self, message_id: str, text: str, session: Any) -> dict[str, Any]:
        self.channel._transcript_bot.turns.confirm(message_id, SESSION)
        request = {"channel": "feishu", "chat_id": "oc_1", "message_id": message_id, "session_key": SESSION}
        request |= {"original_user_text": text, "turn_id": f"turn {id(self)} {self.turns}"}
        lines = await self.context.lines(SimpleNamespace(**request), is_fresh=lambda key: not session.messages)
        suffix = "\n".join(lines)
        message: dict[str, Any] = {"role": "user", "content": f"{text}\n\n{suffix}" if lines else text}
        if lines:
            message["_runtime_context"] = {"version": 1, "suffix": suffix}
        session.messages.append(message)
        self.sessions.save(session)
        return message


@pytest.fixture
def disk() -> dict[str, list[dict[str, Any]]]:
    return {}


@pytest.fixture
def start(make_host: Any, make_channel: Any, disk: dict[str, list[dict[str, Any]]]) -> Any:
    """``start()``: the gateway, again after a kill."""

    def starting() -> Agent:
        host = make_host()
        return Agent(host, make_channel(host), disk)

    return starting


@pytest.fixture
def agent(start: Any) -> Agent:
    return start()


@pytest.fixture
def other(agent: Agent) -> Any:
    """The record as another process sees it: another bot's, or a command."""
    with GroupTranscriptStore(agent.host.record.store.base_dir) as store:
        yield store


async def test_what_another_process_takes_back_is_in_no_later_prompt(agent: Agent, other: Any) -> None:
    agent.hear("om_1", "the code is Ypsilon")
    agent.hear("om_2", "kept")
    assert "Ypsilon" in await agent.ask("om_3", "Alpha?", "yes?")
    other.recall(KEY, "om_1")
    prompt = await agent.ask("om_4", "Alpha??")
    assert "Ypsilon" not in prompt
    assert "kept" in prompt
    assert "Ypsilon" not in str(agent.sessions.disk)


async def test_a_redaction_counts_like_a_recall(agent: Agent, other: Any) -> None:
    agent.hear("om_1", "the code is Ypsilon")
    await agent.ask("om_3", "Alpha?", "yes?")
    other.redact(KEY, "om_1")
    assert "Ypsilon" not in await agent.ask("om_4", "Alpha??")


async def test_a_message_shown_long_ago_is_found(agent: Agent, other: Any) -> None:
    agent.hear("om_secret", "the code is Ypsilon")
    for number in range(70):
        for line in range(5):
            agent.hear(f"om_{number}_{line}", f"line {number} {line}")
        await agent.ask(f"om_ask{number}", f"Alpha {number}?", f"answer {number}")
    mark = agent.host.watermarks.load("cli_a", SESSION)
    assert mark is not None
    assert not mark.holds("om_secret")
    other.recall(KEY, "om_secret")
    assert "Ypsilon" not in await agent.ask("om_last", "Alpha, once more?")


async def test_a_turn_of_long_ago_and_an_answer_are_found(agent: Agent, other: Any) -> None:
    await agent.ask("om_secret", "Alpha, the code is Ypsilon", "I note Ypsilon.")
    for number in range(70):
        await agent.ask(f"om_ask{number}", f"Alpha {number}?", f"answer {number}")
    other.recall(KEY, "om_secret")
    assert "the code is Ypsilon" not in await agent.ask("om_next", "Alpha?")
    other.recall(KEY, "om_out_1")
    prompt = await agent.ask("om_last", "Alpha, once more?")
    assert "Ypsilon" not in prompt
    assert "answer 69" in prompt


async def test_everything_of_a_purged_person_is_gone_and_the_rest_stays(agent: Agent, other: Any) -> None:
    agent.hear("om_1", "bo was here", "bo")
    agent.hear("om_2", "ada was here")
    await agent.ask("om_3", "Alpha?", "yes?")
    other.purge(sender="on_bo")
    prompt = await agent.ask("om_4", "Alpha??")
    assert "bo was here" not in prompt
    assert "ada was here" in prompt
    assert "yes?" in prompt


async def test_a_purged_chat_is_gone_from_the_session(agent: Agent, other: Any) -> None:
    agent.hear("om_1", "the code is Ypsilon")
    await agent.ask("om_3", "Alpha, and the harbour?", "yes?")
    other.purge(KEY)
    prompt = await agent.ask("om_4", "Alpha??")
    assert "Ypsilon" not in prompt
    assert "harbour" not in prompt


async def test_in_place_of_another_record_what_this_one_does_not_hold_counts_as_erased(
    agent: Agent, start: Any, caplog: pytest.LogCaptureFixture
) -> None:
    agent.hear("om_1", "the code is Ypsilon")
    await agent.ask("om_3", "Alpha?", "yes?")
    agent.host.record.store.purge(KEY)
    agent.hear("om_3", "Alpha?")
    agent.host.watermarks.change(
        "cli_a", SESSION, lambda mark: mark and replace(mark, cursor="e1.x.1", checked="e1.x.1")
    )
    again = start()
    prompt = await again.ask("om_4", "Alpha??")
    assert "Ypsilon" not in prompt
    assert "Alpha?" in prompt
    assert "may still stand" not in caplog.text
    mark = again.host.watermarks.load("cli_a", SESSION)
    assert mark is not None
    assert mark.checked == mark.cursor != "e1.x.1"


async def test_what_is_taken_back_while_no_process_runs_is_gone_after_the_restart(
    agent: Agent, other: Any, start: Any
) -> None:
    agent.hear("om_1", "the code is Ypsilon")
    await agent.ask("om_3", "Alpha?", "yes?")
    other.recall(KEY, "om_1")
    assert "Ypsilon" in str(agent.sessions.disk)
    assert "Ypsilon" not in await start().ask("om_4", "Alpha??")


@pytest.mark.parametrize("killed", ["before the session is saved", "before the mark is saved"])
async def test_a_kill_in_between_leaves_the_work_to_the_next_start(
    agent: Agent, other: Any, start: Any, killed: str
) -> None:
    agent.hear("om_1", "the code is Ypsilon")
    await agent.ask("om_3", "Alpha?", "yes?")
    before = copy.deepcopy(agent.sessions.disk)
    other.recall(KEY, "om_1")
    agent.sessions.get_or_create(SESSION)
    assert "Ypsilon" not in str(agent.sessions.disk)
    if killed == "before the session is saved":
        agent.sessions.disk.update(before)
    prompt = await start().ask("om_4", "Alpha??")
    assert "Ypsilon" not in prompt
    assert prompt.count("yes?") == 1


async def test_what_a_running_turn_was_shown_is_gone_from_the_next_one(agent: Agent, other: Any) -> None:
    agent.hear("om_1", "the code is Ypsilon")
    await agent.ask("om_2", "Alpha?", "yes?")
    session = agent.sessions.get_or_create(SESSION)
    shown = '{"id": "om_1", "from": "Ada", "text": "the code is Ypsilon"}'
    await agent.ask("om_3", "Alpha, look it up")  # the answer of the tool is not in the session yet ...
    other.recall(KEY, "om_1")
    agent.hear("om_4", "Alpha, hurry")
    await agent.begin("om_4", "Alpha, hurry", session)  # ... when another message reaches the same turn ...
    session.messages.append({"role": "tool", "content": shown})  # ... and stands there when it ends
    session.provider_state = "what the provider keeps of it"
    agent.sessions.save(session)
    assert "Ypsilon" not in await agent.ask("om_5", "Alpha?")
    assert session.provider_state is None


async def test_what_is_taken_back_while_a_turn_runs_is_not_saved_at_its_end(agent: Agent, other: Any) -> None:
    agent.hear("om_1", "the code is Ypsilon")
    await agent.ask("om_2", "Alpha?", "yes?")
    session = agent.sessions.get_or_create(SESSION)
    await agent.ask("om_3", "Alpha, what was the code word, Jericho?")
    for message_id in ("om_1", "om_3"):
        other.recall(KEY, message_id)
    session.messages.append({"role": "assistant", "content": "I do not know."})
    agent.sessions.save(session)
    kept = str(agent.sessions.disk)
    assert "Ypsilon" not in kept
    assert "Jericho" not in kept
    assert "I do not know." in kept


async def test_what_is_taken_back_while_a_turn_runs_is_in_none_of_its_checkpoints(agent: Agent, other: Any) -> None:
    agent.hear("om_1", "the code is Ypsilon")
    await agent.ask("om_2", "Alpha?", "yes?")
    session = agent.sessions.get_or_create(SESSION)
    await agent.ask("om_3", "Alpha, look it up")
    session.metadata["checkpoint"] = {"tools": ['{"id": "om_1", "from": "Ada", "text": "the code is Ypsilon"}']}
    other.recall(KEY, "om_1")
    agent.sessions.save_runtime_checkpoint(session)
    assert "Ypsilon" not in str(agent.sessions.checkpoints)


async def test_without_something_taken_back_nothing_is_searched_or_saved(agent: Agent) -> None:
    for number in range(3):
        agent.hear(f"om_{number}", f"line {number}")
        await agent.ask(f"om_ask{number}", "Alpha?", "yes")
    assert agent.sessions.saves == 6  # nanobot's own


async def test_a_session_that_cannot_be_saved_is_reported_and_tried_again(
    agent: Agent, other: Any, caplog: pytest.LogCaptureFixture
) -> None:
    agent.hear("om_1", "the code is Ypsilon")
    await agent.ask("om_3", "Alpha?", "yes?")
    other.recall(KEY, "om_1")
    agent.sessions.broken = True
    agent.sessions.get_or_create(SESSION)
    assert "may still be in nanobot's session" in caplog.text
    agent.sessions.broken = False
    agent.sessions.cached.clear()
    agent.sessions.get_or_create(SESSION)
    assert "Ypsilon" not in str(agent.sessions.disk)


async def test_a_recall_this_bot_hears_of_reaches_an_idle_session_at_once(agent: Agent) -> None:
    agent.channel._loop = asyncio.get_running_loop()
    agent.hear("om_1", "the code is Ypsilon")
    await agent.ask("om_3", "Alpha?", "yes?")
    await asyncio.to_thread(agent.host.inbound.apply, "im.message.recalled_v1", sdk_object(recall_event("om_1")))
    await until(lambda: "Ypsilon" not in str(agent.sessions.disk))


async def test_an_edited_message_is_told_again_with_its_newest_text(agent: Agent, other: Any) -> None:
    agent.hear("om_1", "at nine")
    agent.hear("om_2", "unchanged")
    await agent.ask("om_3", "Alpha, the plan is red", "noted")
    other.edit(KEY, "om_1", "at ten")
    other.edit(KEY, "om_3", "Alpha, the plan is blue")
    session = agent.sessions.get_or_create(SESSION)
    prompt = await agent.ask("om_4", "Alpha?", "yes")
    told = session.messages[2]["content"]
    assert told.count('"edited": true') == 2
    assert "at ten" in told
    assert "the plan is blue" in told
    assert "unchanged" not in told
    assert "at nine" in prompt
    await agent.ask("om_5", "Alpha??")
    assert "What was said" not in session.messages[-1]["content"]
    other.recall(KEY, "om_1")
    prompt = await agent.ask("om_6", "Alpha!")
    assert "at nine" not in prompt
    assert "at ten" not in prompt


async def test_an_edit_of_what_the_session_never_held_is_not_told(agent: Agent, other: Any) -> None:
    await agent.ask("om_1", "Alpha?", "yes?")
    for number in range(40):
        agent.hear(f"om_x{number}", f"line {number}")
    await agent.ask("om_2", "Alpha?", "yes?")
    other.edit(KEY, "om_x0", "something else")
    assert "something else" not in await agent.ask("om_3", "Alpha?")


class Counting(GroupTranscriptStore):
    """A store that counts how often single messages are looked up in it."""

    gets = 0

    def get(self, session_key: str, message_id: str) -> Entry | None:
        self.gets += 1
        return super().get(session_key, message_id)


@pytest.mark.parametrize("erase", ["purge", "recall"])
def test_a_session_is_not_looked_through_message_by_message(tmp_path: Path, erase: str) -> None:
    """Neither what it was shown, nor its turns, nor what these reply to."""
    with Counting(tmp_path / "transcripts") as store:
        watermarks = Watermarks(FileMarks(store.base_dir))
        for number in range(40):
            sender = "on_bo" if number % 2 else "on_ada"
            reply: Any = {"reply_to": f"om_{number - 1}"} if number else {}
            store.append(KEY, "user", f"text {number}", sender, f"om_{number}", **reply)
        watermarks.save("cli_a", SESSION, Watermark(store.end(KEY), chat="oc_1", checked=store.end(KEY)))
        quoted = [f"[Reply to: text {number - 1}]\ntext {number}" for number in range(40)]
        turns = [{"role": "user", "content": text, "_group_transcript": f"om_{n}"} for n, text in enumerate(quoted)]
        lines = [
            {"role": "tool", "content": f'{{"id": "om_{number}", "text": "text {number}"}}'} for number in range(40)
        ]
        session = SimpleNamespace(messages=[*turns, *lines], metadata={})
        forgetting = Forgetting(store, watermarks, lambda: ["cli_a"], lambda: None)
        forgetting.attend(SimpleNamespace(get_or_create=lambda key: session, save=lambda session: None))
        if erase == "purge":
            store.purge(KEY, sender="on_bo")
        else:
            for number in range(1, 40, 2):
                store.recall(KEY, f"om_{number}")
        assert forgetting.look(SESSION, session)
        for number in range(40):
            told, shown = turns[number]["content"], lines[number]["content"]
            if number % 2:
                assert "text" not in told + shown
            else:
                assert told.endswith(f"\ntext {number}")
                assert number == 0 or f"text {number - 1}" not in told
                assert f"text {number}" in shown
        assert store.gets == 0


async def test_sessions_of_other_chats_are_handed_out_as_they_are(agent: Agent) -> None:
    session = agent.sessions.get_or_create("websocket:1")
    session.messages.append({"role": "user", "content": '{"id": "om_1", "text": "mine"}'})
    assert agent.sessions.get_or_create("websocket:1") is session
    assert await agent.host.forgetting.is_clean("websocket:1")
    assert "mine" in str(session.messages)
