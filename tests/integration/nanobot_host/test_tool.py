"""The tool as nanobot uses it: in its registry, with its request context, whatever happens to the record."""

from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.stub_nanobot import FakeClient, StubChannel, group_event, sdk_object
from support.waiting import PATIENCE

from transcript_channels.nanobot_host.install import channel_class

pytest.importorskip("nanobot")
pytestmark = pytest.mark.host

from nanobot.agent.tools.context import RequestContext, request_context  # noqa: E402
from nanobot.session.manager import SessionManager  # noqa: E402

from nanobot_transcript.settings import Settings  # noqa: E402
from transcript_channels.nanobot_host.context import GroupContext  # noqa: E402
from transcript_channels.nanobot_host.host import Host  # noqa: E402
from transcript_channels.nanobot_host.plugin import GroupTranscriptTool, attend  # noqa: E402
from transcript_channels.nanobot_host.watermark import Watermark  # noqa: E402

SESSION = "feishu:oc_1"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    settings = Settings.model_validate({"store": {"dir": tmp_path / "transcripts"}})
    opened = Host(settings, settings.open_record())
    opened.conversation.background.start()
    yield opened
    assert opened.conversation.background.close(PATIENCE)
    opened.record.store.close()


@pytest.fixture
def channel(host: Host) -> Any:
    made = channel_class(StubChannel, host, frozenset({"inbound", "names"}))({})
    made._client = FakeClient()
    made._fetch_bot_open_id()
    return made


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionManager:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # nanobot's sessions lie there
    return SessionManager(tmp_path / "workspace")


@pytest.fixture
def tool(host: Host, sessions: SessionManager) -> GroupTranscriptTool:
    ctx = SimpleNamespace(timezone="UTC", sessions=sessions)
    attend(host, ctx, {"forgetting"})
    return GroupTranscriptTool(host, ctx, {"tool", "context"})


def request(**options: Any) -> RequestContext:
    given = {"channel": "feishu", "chat_id": "oc_1", "message_id": "om_ask", "session_key": SESSION, **options}
    return RequestContext(**given, original_user_text="Alpha?")


def say(channel: Any, message_id: str, text: str, **options: Any) -> None:
    channel._on_message_sync(sdk_object(group_event(message_id, text, **options)))


async def test_a_turn_is_given_a_block_once(tool: GroupTranscriptTool, channel: Any, sessions: SessionManager) -> None:
    say(channel, "om_1", "hello there")
    provide = tool.runtime_context_provider()
    block = await provide(request())
    assert block.source == "group_transcript"
    assert "hello there" in block.content
    sessions.get_or_create(SESSION).add_message("user", "Alpha?")
    assert await tool._provide(request()) is None


async def test_a_record_that_cannot_be_read_stops_no_turn(
    tool: GroupTranscriptTool, channel: Any, host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    say(channel, "om_1", "hello there")
    host.record.store.close()
    for path in host.record.store.base_dir.glob("*.jsonl"):
        path.unlink()
        path.mkdir()
    assert await tool._provide(request()) is None
    assert "A turn runs without the latest messages of its group" in caplog.text
    with request_context(request()):
        assert "cannot be read" in str(await tool.execute())


@pytest.mark.parametrize("odd", [{"chat_id": None}, {"chat_id": 7}, {"channel": None}, {"session_key": 7}])
async def test_a_request_nobody_expects_stops_no_turn(tool: GroupTranscriptTool, channel: Any, odd: Any) -> None:
    say(channel, "om_1", "hello there")
    await tool._provide(request(**odd))
    await tool._provide(None)


async def test_the_tool_answers_about_its_own_group_and_no_other(tool: GroupTranscriptTool, channel: Any) -> None:
    say(channel, "om_1", "one", chat_id="oc_1")
    say(channel, "om_2", "two", chat_id="oc_2")
    say(channel, "om_3", "three", chat_id="oc_private", chat_type="p2p")
    for chat_id, wanted in (("oc_1", "one"), ("oc_2", "two")):
        with request_context(request(chat_id=chat_id)):
            answer = str(await tool.execute(limit=5))
        assert [text for text in ("one", "two", "three") if f'"text": "{text}"' in answer] == [wanted]
    for elsewhere in ({"chat_id": "oc_private"}, {"chat_id": "ou_ada"}, {"channel": "telegram"}):
        with request_context(request(**elsewhere)):
            assert "not a group chat" in str(await tool.execute())
    assert "not a group chat" in str(await tool.execute())


async def test_what_the_tool_showed_does_not_come_by_itself_again(
    tool: GroupTranscriptTool, channel: Any, sessions: SessionManager
) -> None:
    await tool._provide(request())
    sessions.get_or_create(SESSION).add_message("user", "Alpha?")
    say(channel, "om_1", "hello there")
    with request_context(request()):
        assert "hello there" in str(await tool.execute())
    told = await tool._provide(request())
    assert told is None or "hello there" not in told.content


async def test_ids_beside_messages_are_kept_on_the_disk_and_never_sent_to_a_model(
    host: Host, tool: GroupTranscriptTool, channel: Any, sessions: SessionManager, tmp_path: Path
) -> None:
    session = sessions.get_or_create(SESSION)
    session.add_message("user", "Alpha?")
    session.add_message("assistant", "Yes, Ypsilon.")
    end = host.record.store.end(SESSION)
    mark = Watermark(end, "oc_1", end).with_turn("om_ask", "Alpha?")
    host.watermarks.save("cli_a", SESSION, mark.with_answer("om_out", "Yes, Ypsilon."))
    sessions.save(sessions.get_or_create(SESSION))
    reborn = SessionManager(tmp_path / "workspace")
    host.forgetting.attend(reborn)
    kept = reborn.get_or_create(SESSION)
    assert [message["_group_transcript"] for message in kept.messages] == ["om_ask", "om_out"]
    assert "om_" not in str(kept.get_history())
    say(channel, "om_ask", "Alpha?")
    host.record.store.append(SESSION, "assistant", "Yes, Ypsilon.", "Alpha", "om_out")
    host.record.store.recall(SESSION, "om_out")
    assert "Ypsilon" not in str(reborn.get_or_create(SESSION).get_history())
    assert "Ypsilon" not in str(SessionManager(tmp_path / "workspace").get_or_create(SESSION).messages)


async def test_what_an_interrupted_turn_left_is_cleaned_before_it_is_taken_up_again(
    host: Host, tool: GroupTranscriptTool, channel: Any, sessions: SessionManager, tmp_path: Path
) -> None:
    """nanobot keeps what a running turn has so far in a file of its own."""
    say(channel, "om_1", "the code is Ypsilon")
    block = await GroupContext(host, UTC).lines(request(), is_fresh=lambda key: False)
    session = sessions.get_or_create(SESSION)
    session.add_message("user", "Alpha?")
    sessions.save(session)
    shown = "\n".join(block)
    session.metadata["runtime_checkpoint"] = {"completed_tool_results": [{"role": "tool", "content": shown}]}
    if hasattr(sessions, "save_runtime_checkpoint"):
        sessions.save_runtime_checkpoint(session)
    else:
        sessions.save(session)
    host.record.store.recall(SESSION, "om_1")
    reborn = SessionManager(tmp_path / "workspace")
    host.forgetting.attend(reborn)
    assert "Ypsilon" in shown
    assert "Ypsilon" not in str(reborn.get_or_create(SESSION).metadata)
    on_disk = [path.read_text(encoding="utf-8") for path in sessions.sessions_dir.rglob("*") if path.is_file()]
    assert on_disk
    assert "Ypsilon" not in "".join(on_disk)
