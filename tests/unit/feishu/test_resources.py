"""Fetching what a message carries: which file, from whom, and where it is put."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest
from support.feishu_answers import refused
from support.waiting import PATIENCE

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import (
    MessageGoneError,
    NoAnswerError,
    NothingFoundError,
    NotPermittedError,
    RequestRefusedError,
    StoreUnavailableError,
    TooLargeError,
    UnexpectedAnswerError,
    UnknownNameError,
    UnsafePathError,
)
from transcript_channels.feishu.attachments import Attachment
from transcript_channels.feishu.client import FeishuClient
from transcript_channels.feishu.content import text_of
from transcript_channels.feishu.resources import chosen, fetch
from transcript_channels.simulator import Message

RESOURCE = "GET /open-apis/im/v1/messages/{message_id}/resources/{file_key}"
PICTURE = Attachment("image", "img_v3_1")


@pytest.fixture
async def beta(team) -> AsyncIterator[FeishuClient]:
    async with FeishuClient(team.beta.app_id, team.beta.app_secret, team.feishu.base_url) as client:
        yield client


def entry(content: str, msg_type: str = "post") -> Entry:
    return {
        "role": "user",
        "content": content,
        "sender": "on_a",
        "message_id": "om_1",
        "ts": 1.0,
        "msg_type": msg_type,
    }


def carried(message: Message) -> Attachment:
    return chosen(entry(text_of(message.msg_type, message.content), message.msg_type))


# --- which


def test_the_only_file_is_meant_and_of_several_the_one_that_is_named() -> None:
    assert chosen(entry("see [image (img_v3_1)]")) == PICTURE
    several = entry("[image (img_v3_1)] and [file: plan.pdf (file_v3_2)]")
    assert chosen(several, "file_v3_2").name == "plan.pdf"
    with pytest.raises(UnknownNameError, match="has 2 files") as told:
        chosen(several)
    assert told.value.hint == "Choose one of the keys: img_v3_1 (image), file_v3_2 (plan.pdf)."
    with pytest.raises(UnknownNameError, match="has no file img_v3_9"):
        chosen(several, "img_v3_9")


@pytest.mark.parametrize(("content", "msg_type"), [("[image]", "image"), ("[image (img_v3_1)]", "text")])
def test_a_message_may_carry_nothing(content: str, msg_type: str) -> None:
    with pytest.raises(NothingFoundError, match="om_1 has no picture or file"):
        chosen(entry(content, msg_type))


# --- the download


@pytest.mark.parametrize(
    ("name", "suffix", "media_type"),
    [
        ("图 1.png", ".png", "image/png"),
        ("plan.v2.PDF", ".pdf", "application/pdf"),
        ("notes", ".bin", "application/octet-stream"),
        ("made.of.a-very-long-suffix", ".bin", "application/octet-stream"),
    ],
)
async def test_a_file_is_put_under_a_safe_name_for_its_owner_alone(team, tmp_path, name, suffix, media_type) -> None:
    data = os.urandom(3_000_000)
    said = await team.feishu.send_file(team.group, team.ada, data, name)
    wanted, folder = carried(said), tmp_path / "files"
    found = await fetch([team.client], team.group.chat_id, said.message_id, wanted, folder)
    assert found.path.name.startswith(f"{said.message_id}-{wanted.key}")
    assert (found.path.read_bytes(), found.size, found.kept) == (data, len(data), False)
    assert (found.path.suffix, found.media_type) == (suffix, media_type)
    assert stat.S_IMODE(found.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.iterdir()) == [found.path]


async def test_what_was_fetched_before_is_not_fetched_again(team, tmp_path) -> None:
    said = await team.feishu.send_file(team.group, team.ada, b"pixels", "a.png")
    first = await fetch([team.client], team.group.chat_id, said.message_id, carried(said), tmp_path / "files")
    again = await fetch([], team.group.chat_id, said.message_id, carried(said), tmp_path / "files")
    assert (again.path, again.size, again.media_type, again.kept) == (first.path, 6, "image/png", True)
    assert len(team.feishu.calls_to(RESOURCE)) == 1


async def test_what_a_bundle_carries_is_fetched_with_the_bundle(team, tmp_path) -> None:
    other = team.feishu.add_group("Other", [team.ada])
    inner = await team.feishu.send_file(other, team.ada, b"pixels", "a.png")
    bundle = await team.feishu.forward(team.group, team.ada, [inner])
    found = await fetch([team.client], team.group.chat_id, bundle.message_id, carried(inner), tmp_path / "files")
    assert found.path.read_bytes() == b"pixels"


async def test_the_first_bot_that_may_is_asked(team, beta, tmp_path) -> None:
    said = await team.feishu.send_file(team.group, team.ada, b"x", "a.pdf")
    team.alpha.scopes.clear()
    async with AsyncExitStack() as stack:
        outside = team.feishu.add_app("Outside")
        stranger = FeishuClient(outside.app_id, outside.app_secret, team.feishu.base_url)
        stack.push_async_callback(stranger.close)
        clients = [stranger, team.client, beta]
        found = await fetch(clients, team.group.chat_id, said.message_id, carried(said), tmp_path / "a")
        assert found.size == 1
        with pytest.raises(NotPermittedError, match="lacks im:message"):
            await fetch(clients[:2], team.group.chat_id, said.message_id, carried(said), tmp_path / "b")
        with pytest.raises(NotPermittedError, match="not in the chat"):
            await fetch(clients[:1], team.group.chat_id, said.message_id, carried(said), tmp_path / "b")
    with pytest.raises(NotPermittedError, match="None of your bots"):
        await fetch([], team.group.chat_id, said.message_id, carried(said), tmp_path / "b")
    assert list((tmp_path / "b").iterdir()) == []


async def test_a_file_of_another_message_is_refused(team, tmp_path) -> None:
    said = await team.feishu.say(team.group, team.ada, "[image (img_v3_1)]")
    with pytest.raises(RequestRefusedError, match="has no such file"):
        await fetch([team.client], team.group.chat_id, said.message_id, PICTURE, tmp_path / "files")


async def test_a_file_that_is_too_large_leaves_nothing_behind(team, tmp_path) -> None:
    said = await team.feishu.send_file(team.group, team.ada, b"x" * 5000, "a.pdf")
    for most in (4999, 5000):
        asking = fetch([team.client], team.group.chat_id, said.message_id, carried(said), tmp_path / "files", most)
        if most < 5000:
            with pytest.raises(TooLargeError):
                await asking
            assert list((tmp_path / "files").iterdir()) == []
        else:
            assert (await asking).size == 5000
    team.feishu.fail(RESOURCE, code=234037)
    with pytest.raises(TooLargeError, match="more than 100 MB"):
        await fetch([team.client], team.group.chat_id, said.message_id, carried(said), tmp_path / "other")


async def test_a_line_that_is_cut_is_tried_again_from_the_beginning(team, tmp_path) -> None:
    said = await team.feishu.send_file(team.group, team.ada, b"pixels", "a.png")
    team.feishu.fail(RESOURCE, drop=True)
    team.feishu.fail(RESOURCE, code=99991663, status=401)
    found = await fetch([team.client], team.group.chat_id, said.message_id, carried(said), tmp_path / "files")
    assert found.path.read_bytes() == b"pixels"
    assert len(team.feishu.calls_to(RESOURCE)) == 3


async def test_half_a_file_is_not_kept(api, client, tmp_path) -> None:
    async def half() -> AsyncIterator[bytes]:
        yield b"half"
        raise httpx.ReadError("gone")

    api.get("/open-apis/im/v1/messages/om_1/resources/img_v3_1").mock(
        side_effect=lambda request: httpx.Response(200, content=half(), headers={"content-type": "image/png"})
    )
    with pytest.raises(NoAnswerError):
        await fetch([client], "oc_1", "om_1", PICTURE, tmp_path / "files")
    assert list((tmp_path / "files").iterdir()) == []


@pytest.mark.parametrize(
    ("answer", "error", "expected"),
    [
        (refused(234040, 200), MessageGoneError, "not visible"),
        (httpx.Response(200, json={"code": 0, "msg": "ok"}), UnexpectedAnswerError, "returned no file"),
        (httpx.Response(200, json={"size": 3}), UnexpectedAnswerError, "not from Feishu"),
    ],
)
async def test_json_without_the_name_of_a_file_is_no_file(api, client, tmp_path, answer, error, expected) -> None:
    api.get("/open-apis/im/v1/messages/om_1/resources/img_v3_1").mock(return_value=answer)
    with pytest.raises(error, match=expected):
        await fetch([client], "oc_1", "om_1", PICTURE, tmp_path / "files")


async def test_json_that_people_send_is_a_file(team, tmp_path) -> None:
    said = await team.feishu.send_file(team.group, team.ada, b'{"code": 7}', "a.json")
    found = await fetch([team.client], team.group.chat_id, said.message_id, carried(said), tmp_path / "files")
    assert (found.path.read_bytes(), found.media_type) == (b'{"code": 7}', "application/json")


async def test_no_link_is_followed(team, tmp_path) -> None:
    said = await team.feishu.send_file(team.group, team.ada, b"pixels", "a.png")
    wanted, chat = carried(said), team.group.chat_id
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafePathError):
        await fetch([team.client], chat, said.message_id, wanted, tmp_path / "linked")
    target = tmp_path / "target"
    (tmp_path / "elsewhere" / f"{said.message_id}-{wanted.key}.png").symlink_to(target)
    with pytest.raises(UnsafePathError):
        await fetch([team.client], chat, said.message_id, wanted, tmp_path / "elsewhere")
    assert not target.exists()
    with pytest.raises(StoreUnavailableError):
        await fetch([team.client], chat, said.message_id, wanted, tmp_path / "no" / "such")


async def test_two_that_fetch_the_same_at_once_both_get_it(team, beta, tmp_path) -> None:
    said = await team.feishu.send_file(team.group, team.ada, b"pixels" * 100_000, "a.png")
    async with asyncio.timeout(PATIENCE):
        asking = (
            fetch([client], team.group.chat_id, said.message_id, carried(said), tmp_path / "files")
            for client in (team.client, beta)
        )
        found = await asyncio.gather(*asking)
    assert found[0].path == found[1].path
    assert Path(found[0].path).read_bytes() == b"pixels" * 100_000
    assert len(list((tmp_path / "files").iterdir())) == 1
