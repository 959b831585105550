"""How `run` connects a chat platform: what it gives the platform of each bot, and what it wants of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from nanobot_transcript.conversation.lists import Lists
from nanobot_transcript.conversation.people import People
from nanobot_transcript.conversation.ports import Channel, Read
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.record import Record
from nanobot_transcript.store.gaps import Fallback

__all__ = ["Connect", "Connector", "Seat"]


@dataclass(frozen=True, slots=True)
class Seat:
    """One bot that is to be connected.

    ``key`` names its settings, ``secrets`` are those of them that are given, such as ``app_secret``. All bots of a
    platform share ``people``, and ``lists`` where the platform has to be asked who is where. ``read`` makes of a
    message what the channel publishes. ``on_gap`` is to be told the session key of a chat in which messages may have
    passed unheard; in the event loop.
    """

    key: str
    profile: AgentProfile
    secrets: Mapping[str, str]
    people: People
    lists: Lists
    read: Read
    on_gap: Callable[[str], None]

    @property
    def account(self) -> str:
        """What the bot writes with."""
        return self.profile.account

    def secret(self, name: str) -> str:
        """A secret that this bot cannot do without. Raises ConfigError when it is not given."""
        if found := self.secrets.get(name):
            return found
        raise ConfigError(f"{self.key}.{name} is missing.", hint="Write ${NAME} and set that variable.")

    def introduce(self, platform_name: str, open_id: str = "") -> None:
        """The platform knows this bot, under that name: enter it among the members. For a thread.

        ``open_id`` is what the bot itself is called by, where each bot sees other ids.
        """
        self.people.introduce(self.account, platform_name=platform_name, open_id=open_id)

    def sits(self, session_key: str, title: str = "") -> None:
        """This bot takes part in a chat: so others know it before it says anything. For a thread. Raises StoreError.

        ``title`` is what the chat is called, where the platform tells.
        """
        self.people.sits(session_key, self.account)
        if title and self.people.members is not None:
            self.people.members.remember_chat(session_key, title)


class Connector(Protocol):
    """One platform in one process, with the bots that it was made for."""

    @property
    def way(self) -> str:
        """How it connects, in a few words for who waits for it; empty where that is nothing to tell."""
        ...

    @property
    def fallback(self) -> Fallback | None:
        """The platform's history, for what nobody has heard; None where there is none."""
        ...

    def channel(self, seat: Seat) -> Channel:
        """The channel of one of the bots. Asked once for each."""
        ...

    async def close(self) -> None:
        """Release what the channels share. They are stopped by then, or were never started."""
        ...


class Connect(Protocol):
    """What `Platform.run` names."""

    def __call__(self, settings: Any, record: Record, seats: Sequence[Seat], /) -> Connector:
        """The connector for these bots; connects nothing yet.

        ``settings`` are the ``Settings`` of the process; ``section`` of them gives the platform its own. Raises
        ConfigError for what cannot work, before anything has begun.
        """
        ...
