"""``fetch``: a picture or file of a message, with the secrets that stand in the settings."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.waiting import PATIENCE

from nanobot_transcript import GroupTranscriptStore
from transcript_channels.feishu.content import text_of
from transcript_channels.simulator import App, FeishuSimulator, Message

Run = Callable[..., Any]


@dataclass
class Place:
    """A group at the platform, its record, and a command that asks there."""

    feishu: FeishuSimulator
    store: GroupTranscriptStore
    run: Run
    config: Path
    to: Path

    def __post_init__(self) -> None:
        self.ada = self.feishu.add_person("Ada")
        self.alpha, self.beta = self.feishu.add_app("Alpha"), self.feishu.add_app("Beta")
        self.group = self.feishu.add_group("Team", [self.ada, self.alpha, self.beta])
        self.agents(self.alpha)

    def agents(self, *apps: App, secret: str = "", platform: str = "feishu") -> None:
        agents = {
            app.app_id: {"name": app.name, "app_secret": secret or app.app_secret, "platform": platform} for app in apps
        }
        self.config.write_text(yaml.safe_dump({"agents": agents, "feishu": {"base_url": self.feishu.base_url}}))

    def record(self, message: Message) -> str:
        text = text_of(message.msg_type, message.content)
        key = f"feishu:{message.chat.chat_id}"
        self.store.append(key, "user", text, "on_ada", message.message_id, msg_type=message.msg_type)
        return message.message_id

    async def fetch(self, message_id: str, *options: str) -> Any:
        """In a thread, as the platform lives on this loop."""
        arguments = ("fetch", self.group.chat_id, message_id, "--config", str(self.config), "--to", str(self.to))
        return await asyncio.to_thread(self.run, *arguments, *options)


@pytest.fixture
async def place(base_dir: Path, run: Run, tmp_path: Path) -> AsyncIterator[Place]:
    async with FeishuSimulator(ack_timeout=PATIENCE) as feishu:
        with GroupTranscriptStore(base_dir) as store:
            yield Place(feishu, store, run, tmp_path / "transcript.yaml", tmp_path / "pictures")


async def test_a_picture_is_fetched_once_and_its_path_is_printed(place: Place) -> None:
    message_id = place.record(await place.feishu.send_file(place.group, place.ada, b"pixels", "a.png"))
    ended = await place.fetch(message_id)
    assert (ended.code, ended.err) == (0, "")
    assert Path(ended.out.rstrip("\n")).read_bytes() == b"pixels"
    key = place.feishu.message(message_id).content["image_key"]
    for name in (message_id[-8:], key):
        assert (await place.fetch(name)).out == ended.out
    document = (await place.fetch(message_id, "--json")).document
    assert document == {
        "session_key": f"feishu:{place.group.chat_id}",
        "message_id": message_id,
        "key": key,
        "path": ended.out.rstrip("\n"),
        "bytes": 6,
        "media_type": "image/png",
        "kept": True,
    }


async def test_of_several_the_one_that_is_named_is_fetched(place: Place) -> None:
    keys = [place.feishu.add_file(name.encode(), name) for name in ("a.png", "b.png")]
    post = {"content": [[{"tag": "img", "image_key": key} for key in keys]]}
    message_id = place.record(
        await place.feishu.say(place.group, place.ada, msg_type="post", content=post),
    )
    ended = await place.fetch(message_id)
    assert ended.code == 2
    assert all(key in ended.err for key in keys)
    ended = await place.fetch(message_id, "--key", keys[1])
    assert Path(ended.out.rstrip("\n")).read_bytes() == b"b.png"


async def test_the_first_bot_that_may_is_asked(place: Place) -> None:
    message_id = place.record(await place.feishu.send_file(place.group, place.ada, b"x", "a.pdf"))
    place.feishu.leave(place.group, place.alpha)
    ended = await place.fetch(message_id)
    assert ended.code == 4
    assert "The bot is not in the chat" in ended.err
    place.agents(place.alpha, place.beta)
    assert (await place.fetch(message_id)).code == 0


async def test_what_cannot_be_fetched_is_told_with_its_exit_code(place: Place) -> None:
    said = place.record(await place.feishu.say(place.group, place.ada, "hello"))
    ended = await place.fetch(said)
    assert (ended.code, "has no picture or file" in ended.err) == (1, True)
    ended = await place.fetch("om_unknown")
    assert ended.code == 2
    assert "There is no message" in ended.err
    gone = place.record(await place.feishu.send_file(place.group, place.ada, b"x", "a.pdf"))
    place.store.recall(f"feishu:{place.group.chat_id}", gone)
    assert (await place.fetch(gone)).code == 2
    large = place.record(await place.feishu.send_file(place.group, place.ada, b"x", "a.pdf"))
    place.feishu.fail("GET /open-apis/im/v1/messages/{message_id}/resources/{file_key}", code=234037)
    ended = await place.fetch(large, "--json")
    assert (ended.code, ended.document["error"]["code"]) == (4, "too_large")
    assert not list(place.to.iterdir())


async def test_a_secret_that_is_not_known_here_is_told_before_anybody_is_asked(place: Place) -> None:
    message_id = place.record(await place.feishu.send_file(place.group, place.ada, b"x", "a.pdf"))
    assert "NO_SUCH_SECRET" not in os.environ
    place.agents(place.alpha, secret="${NO_SUCH_SECRET}")
    ended = await place.fetch(message_id)
    assert (ended.code, "NO_SUCH_SECRET" in ended.err) == (2, True)
    place.agents()
    ended = await place.fetch(message_id)
    assert (ended.code, "No bot here can ask Feishu" in ended.err) == (2, True)
    assert place.feishu.calls == []


async def test_the_secret_of_a_bot_on_another_platform_is_not_told_to_feishu(place: Place) -> None:
    message_id = place.record(await place.feishu.send_file(place.group, place.ada, b"x", "a.pdf"))
    place.agents(place.alpha, platform="talk")
    ended = await place.fetch(message_id)
    assert (ended.code, "No bot here can ask Feishu" in ended.err) == (2, True)
    assert place.feishu.calls == []
