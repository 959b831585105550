"""A host over a store in a temporary folder, and a channel whose base is a stub."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.stub_nanobot import FakeClient, StubChannel
from support.waiting import PATIENCE

from nanobot_transcript.settings import Settings
from transcript_channels.nanobot_host.host import Host
from transcript_channels.nanobot_host.install import channel_class

MakeHost = Callable[..., Host]
MakeChannel = Callable[..., Any]

ABILITIES = frozenset({"inbound", "gate", "beside", "actions", "reconnects", "recalls", "names", "outbound", "streams"})


def pytest_unconfigure() -> None:
    """The Feishu SDK makes an event loop when it is imported and never closes it. nanobot runs its own in a thread."""
    loop = getattr(sys.modules.get("lark_oapi.ws.client"), "loop", None)
    if isinstance(loop, asyncio.AbstractEventLoop) and not loop.is_closed() and not loop.is_running():
        loop.close()


@pytest.fixture
def make_host(tmp_path: Path) -> Iterator[MakeHost]:
    """``make_host(groups={"mode": "observe"})``: the plugin of one more process over the same store."""
    opened: list[Host] = []

    def make(**sections: Any) -> Host:
        settings = Settings(**{"store": {"dir": tmp_path / "transcripts"}, **sections})
        opened.append(Host(settings, settings.open_record()))
        opened[-1].conversation.background.start()
        return opened[-1]

    yield make
    for host in opened:
        assert host.conversation.background.close(PATIENCE)
        host.record.store.close()


@pytest.fixture
def host(make_host: MakeHost) -> Host:
    """A host with the default settings."""
    return make_host()


@pytest.fixture
def make_channel() -> MakeChannel:
    """``make_channel(host, app_id="cli_b")``: a channel with a client that the platform answers."""

    def make(host: Host, *, abilities: frozenset[str] = ABILITIES, **config: Any) -> Any:
        channel = channel_class(StubChannel, host, abilities)(config)
        channel._client = FakeClient()
        channel._fetch_bot_open_id()
        return channel

    return make


@pytest.fixture
def channel(host: Host, make_channel: MakeChannel) -> Any:
    """The channel of the bot Alpha, app ``cli_a``."""
    return make_channel(host)
