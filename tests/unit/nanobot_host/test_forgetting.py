"""A message that was taken back disappears from nanobot's sessions, too."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from support.stub_nanobot import group_event, recall_event, sdk_object

from transcript_channels.nanobot_host.forgetting import forget
from transcript_channels.nanobot_host.host import Host
from transcript_channels.nanobot_host.watermark import Watermark, digest
from transcript_channels.nanobot_host.wording import encode

LINE = encode({"id": "om_1", "from": "Ada", "text": "secret"})
OTHER = encode({"id": "om_12", "from": "Bo", "text": "kept"})
GONE = '{"id": "om_1", "recalled": true}'


def session(*messages: dict[str, Any]) -> Any:
    return SimpleNamespace(messages=list(messages), provider_state="state")


def told(text: str, *lines: str) -> dict[str, Any]:
    suffix = "\n".join(["[Runtime Context]", *lines, "[/Runtime Context]"])
    return {
        "role": "user",
        "content": f"{text}\n\n{suffix}",
        "_runtime_context": {"version": 1, "suffix": suffix},
    }


def test_a_shown_line_is_emptied_wherever_it_stands() -> None:
    kept = session(
        told("hi", LINE, OTHER),
        {"role": "tool", "content": f"Messages:\n{LINE}\n{OTHER}"},
        {"role": "user", "content": [{"type": "text", "text": f"x\n{LINE}"}]},
    )
    assert forget(kept, "om_1", None)
    assert "secret" not in str(kept.messages)
    assert str(kept.messages).count("kept") == 3
    first = kept.messages[0]
    assert first["content"].endswith(first["_runtime_context"]["suffix"])
    assert GONE in first["content"]
    assert kept.provider_state is None


def test_a_message_that_was_a_turn_is_emptied_and_what_was_told_with_it_stays() -> None:
    kept = session(told("my secret", OTHER), {"role": "assistant", "content": "my secret"})
    assert forget(kept, "om_9", digest("my secret"))
    assert kept.messages[0]["content"].startswith("[this message was taken back]\n\n")
    assert "kept" in kept.messages[0]["content"]
    assert kept.messages[1]["content"] == "my secret"


def test_a_session_without_the_message_is_left_alone() -> None:
    kept = session(told("hi", OTHER), {"role": "user", "content": None})
    before = str(kept.messages)
    assert not forget(kept, "om_1", digest("something else"))
    assert str(kept.messages) == before
    assert kept.provider_state == "state"


async def test_a_recall_reaches_the_sessions_that_were_told(host: Host, channel: Any) -> None:
    channel._loop = asyncio.get_running_loop()
    kept, saved = session(told("hi", LINE)), asyncio.Event()
    host.forgetting.sessions = SimpleNamespace(get_or_create=lambda key: kept, save=lambda session: saved.set())
    channel._on_message_sync(sdk_object(group_event("om_1", "secret")))
    host.watermarks.save("cli_a", "feishu:oc_1", Watermark("c").with_told(["om_1"]))
    await asyncio.to_thread(host.inbound.recall, sdk_object(recall_event("om_1")))
    async with asyncio.timeout(10):
        await saved.wait()
    assert "secret" not in str(kept.messages)


async def test_a_session_that_cannot_be_saved_is_reported(
    host: Host, channel: Any, caplog: pytest.LogCaptureFixture
) -> None:
    channel._loop = asyncio.get_running_loop()
    failed = asyncio.Event()

    def fail(key: str) -> Any:
        failed.set()
        raise OSError("no disk")

    host.forgetting.sessions = SimpleNamespace(get_or_create=fail)
    host.watermarks.save("cli_a", "feishu:oc_1", Watermark("c").with_told(["om_1"]))
    await asyncio.to_thread(host.forgetting.recalled, "om_1")
    async with asyncio.timeout(10):
        await failed.wait()
    assert "may still stand" in caplog.text
