"""The tool ``group_file`` as nanobot uses it, against the simulated platform."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.stub_nanobot import StubChannel
from support.waiting import PATIENCE

from transcript_channels.nanobot_host.install import channel_class

pytest.importorskip("nanobot")
pytestmark = pytest.mark.host

from nanobot.agent.tools.context import RequestContext, request_context  # noqa: E402
from nanobot.agent.tools.filesystem import ReadFileTool  # noqa: E402

from nanobot_transcript.settings import Settings  # noqa: E402
from transcript_channels.feishu.content import text_of  # noqa: E402
from transcript_channels.nanobot_host.file_tool import GroupFileTool  # noqa: E402
from transcript_channels.nanobot_host.host import Host  # noqa: E402
from transcript_channels.simulator import FeishuSimulator, Message  # noqa: E402

RESOURCE = "GET /open-apis/im/v1/messages/{message_id}/resources/{file_key}"
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360f8cf500f0003860180" + "5a347d6b0000000049454e44ae426082"
)


class Place:
    """A group, the plugin of Alpha's process, and its tool in a workspace."""

    def __init__(self, feishu: FeishuSimulator, host: Host, workspace: Path) -> None:
        self.feishu = feishu
        self.host = host
        self.workspace = workspace
        self.ada, self.alpha = feishu.add_person("Ada"), feishu.add_app("Alpha")
        self.group = feishu.add_group("Team", [self.ada, self.alpha])
        config = {"app_id": self.alpha.app_id, "app_secret": self.alpha.app_secret}
        self.channel = channel_class(StubChannel, host, frozenset({"inbound"}))(config)
        self.tool = GroupFileTool(host, SimpleNamespace(workspace=str(workspace)))

    def record(self, message: Message) -> str:
        text = text_of(message.msg_type, message.content)
        key = f"feishu:{message.chat.chat_id}"
        self.host.record.store.append(key, "user", text, "on_ada", message.message_id, msg_type=message.msg_type)
        return message.message_id

    async def ask(self, message_id: str, key: str | None = None, **options: Any) -> str:
        given = {"channel": "feishu", "chat_id": self.group.chat_id, **options}
        with request_context(RequestContext(**given)):
            return str(await self.tool.execute(message_id=message_id, key=key))


@pytest.fixture
def modes() -> dict[str, Any]:
    return {}


@pytest.fixture
async def place(tmp_path: Path, modes: dict[str, Any]) -> AsyncIterator[Place]:
    (tmp_path / "workspace").mkdir()
    async with FeishuSimulator(ack_timeout=PATIENCE) as feishu:
        sections = {"store": {"dir": tmp_path / "transcripts"}, "feishu": {"base_url": feishu.base_url}, **modes}
        settings = Settings.model_validate(sections)
        host = Host(settings, settings.open_record())
        host.conversation.background.start()
        made = Place(feishu, host, tmp_path / "workspace")
        yield made
        client = host.clients.of(made.alpha.app_id)
        assert client is not None
        await client.close()
        assert host.conversation.background.close(PATIENCE)
        host.record.store.close()


async def test_a_picture_comes_into_the_workspace_where_read_file_shows_it(place: Place) -> None:
    message_id = place.record(await place.feishu.send_file(place.group, place.ada, PIXEL, "a.png"))
    told = json.loads(await place.ask(message_id))
    path = Path(told["path"])
    assert path.parent == place.workspace.resolve() / "group_files"
    assert (path.read_bytes(), told["bytes"], told["type"]) == (PIXEL, len(PIXEL), "image/png")
    shown = await ReadFileTool(workspace=place.workspace, allowed_dir=place.workspace).execute(path=told["path"])
    assert "image_url" in str(shown)
    assert json.loads(await place.ask(message_id)) == told
    assert len(place.feishu.calls_to(RESOURCE)) == 1


async def test_of_several_the_agent_names_one(place: Place) -> None:
    keys = [place.feishu.add_file(name.encode(), name) for name in ("a.png", "b.png")]
    post = {"content": [[{"tag": "img", "image_key": key} for key in keys]]}
    message_id = place.record(await place.feishu.say(place.group, place.ada, msg_type="post", content=post))
    assert f"Choose one of the keys: {keys[0]} (image), {keys[1]} (image)." in await place.ask(message_id)
    told = json.loads(await place.ask(message_id, keys[1]))
    assert Path(told["path"]).read_bytes() == b"b.png"


async def test_nothing_is_fetched_that_does_not_stand_in_the_record_of_this_group(place: Place) -> None:
    unheard = await place.feishu.send_file(place.group, place.ada, b"x", "a.pdf")
    other = place.feishu.add_group("Other", [place.ada, place.alpha])
    elsewhere = place.record(await place.feishu.send_file(other, place.ada, b"x", "a.pdf"))
    gone = place.record(await place.feishu.send_file(place.group, place.ada, b"x", "a.pdf"))
    place.host.record.store.recall(f"feishu:{place.group.chat_id}", gone)
    for message_id in (unheard.message_id, elsewhere, gone, "", "../x"):
        assert "There is no message" in await place.ask(message_id)
    said = place.record(await place.feishu.say(place.group, place.ada, "hello"))
    assert "has no picture or file" in await place.ask(said)
    assert place.feishu.calls_to(RESOURCE) == []


async def test_outside_of_a_group_it_fetches_nothing(place: Place) -> None:
    message_id = place.record(await place.feishu.send_file(place.group, place.ada, b"x", "a.pdf"))
    for elsewhere in ({"chat_id": "ou_ada"}, {"channel": "telegram"}):
        assert "Error: " in await place.ask(message_id, **elsewhere)
    assert "not a group chat" in str(await place.tool.execute(message_id=message_id))
    assert place.feishu.calls == []


@pytest.mark.parametrize("modes", [{"groups": {"mode": "observe"}}])
async def test_where_the_record_is_not_shared_nothing_is_fetched(place: Place) -> None:
    message_id = place.record(await place.feishu.send_file(place.group, place.ada, b"x", "a.pdf"))
    assert "is not shared with agents" in await place.ask(message_id)


async def test_a_refusal_of_the_platform_is_told_with_what_to_do(place: Place) -> None:
    message_id = place.record(await place.feishu.send_file(place.group, place.ada, b"x", "a.pdf"))
    place.alpha.scopes.clear()
    answer = await place.ask(message_id)
    assert "lacks im:message" in answer
    assert "Grant it at" in answer
    place.feishu.fail(RESOURCE, code=234037)
    assert "more than 100 MB" in await place.ask(message_id)
