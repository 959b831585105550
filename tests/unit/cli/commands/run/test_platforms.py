"""Which platforms `run` can connect, by what, and whose history is asked about a chat."""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from nanobot_transcript.cli.commands.run.platforms import code_rooms, connect_of, fallback_of, platform_named
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.platform import Platform, platforms
from nanobot_transcript.store.gaps import Fallback
from transcript_channels.feishu.connector import connect
from transcript_channels.feishu.platform import FEISHU

SILENT = Platform("silent", ("uid",), re.compile(r"s-\d+"))


@dataclass
class Connected:
    """A connector of which only the history counts."""

    fallback: Fallback | None
    way: str = ""

    def channel(self, seat: Any) -> Any:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Any:
    """``install(FEISHU, SILENT)``: these platforms are there."""

    @dataclass
    class Offered:
        found: Platform
        name: str = "any"
        value: str = "some.package:ANY"
        dist: Any = None

        def load(self) -> Platform:
            return self.found

    def installing(*found: Platform) -> None:
        monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: [Offered(one) for one in found])
        platforms.cache_clear()

    yield installing
    monkeypatch.undo()
    platforms.cache_clear()


def history_of(name: str, asked: list[str]) -> Fallback:
    @asynccontextmanager
    async def ask(session_key: str, since_ms: float | None, limit: int) -> AsyncIterator[Sequence[Entry]]:
        asked.append(f"{name}: {session_key}")
        yield []

    return ask


def test_a_platform_is_found_by_its_name(install: Callable[..., None]) -> None:
    install(FEISHU, SILENT)
    assert platform_named("feishu", "agents.1.platform") is FEISHU
    assert connect_of(FEISHU) is connect
    assert code_rooms() == {"nanobot_transcript", "transcript_channels"}


@pytest.mark.parametrize(
    ("name", "why"), [("feihsu", "no such platform is installed"), ("silent", "does not say how to connect it")]
)
def test_one_that_run_cannot_connect_is_refused_with_those_it_can(
    install: Callable[..., None], name: str, why: str
) -> None:
    install(FEISHU, SILENT)
    with pytest.raises(ConfigError, match=re.escape(f"agents.1.platform is '{name}'")) as refused:
        platform_named(name, "agents.1.platform")
    assert why in str(refused.value)
    assert refused.value.hint == "`run` can connect: feishu."


@pytest.mark.parametrize("place", ["no_such_package.connector:connect", "re:nothing", "re", "re:__name__"])
def test_what_cannot_be_loaded_is_named_with_its_platform(place: str) -> None:
    broken = Platform("broken", ("uid",), re.compile("b"), run=place)
    with pytest.raises(ConfigError, match=f"connects the platform broken, {place}, cannot be loaded"):
        connect_of(broken)


async def test_each_chat_is_asked_for_at_its_own_platform() -> None:
    asked: list[str] = []
    one, other = history_of("one", asked), history_of("other", asked)
    fallback = fallback_of({"one": Connected(one), "other": Connected(other), "silent": Connected(None)})
    for session_key in ("one:1", "other:1", "silent:1", "unknown:1"):
        async with fallback(session_key, None, 10) as entries:
            assert list(entries) == []
    assert asked == ["one: one:1", "other: other:1"]
