"""How ``run`` connects a chat platform: what it gives the platform for each bot, and what it expects."""

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

    ``key`` names its settings, ``secrets`` holds those that are set, such as ``app_secret``. All bots of a platform
    share ``people``, and ``lists`` where the platform has to be asked who is in a group. ``read`` turns a message into
    what the channel publishes. Call ``on_gap`` in the event loop with the session key of a chat in which messages may
    have been missed.
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
        """The account the bot writes with."""
        return self.profile.account

    def secret(self, name: str) -> str:
        """A secret that this bot needs. Raises ConfigError when it is not set."""
        if found := self.secrets.get(name):
            return found
        raise ConfigError(f"{self.key}.{name} is missing.", hint="Write ${NAME} and set that variable.")

    def introduce(self, platform_name: str, open_id: str = "") -> None:
        """Enter the bot among the members, under the name it has on the platform. For a thread.

        ``open_id`` is the bot's own id, where each bot sees different ids.
        """
        self.people.introduce(self.account, platform_name=platform_name, open_id=open_id)

    def sits(self, session_key: str, title: str = "") -> None:
        """Record that this bot is in a chat, so that others know it before it says anything. For a thread. Raises
        StoreError.

        ``title`` is what the chat is called, if the platform tells.
        """
        self.people.sits(session_key, self.account)
        if title and self.people.members is not None:
            self.people.members.remember_chat(session_key, title)


class Connector(Protocol):
    """One platform in one process, for the bots it was made for."""

    @property
    def way(self) -> str:
        """How it connects, in a few words for people who wait for it; empty when there is nothing to tell."""
        ...

    @property
    def fallback(self) -> Fallback | None:
        """The platform's history, for messages that nobody has heard; None when there is none."""
        ...

    def channel(self, seat: Seat) -> Channel:
        """The channel of one of the bots. Called once for each."""
        ...

    async def close(self) -> None:
        """Release what the channels share. By then they are stopped, or were never started."""
        ...


class Connect(Protocol):
    """What ``Platform.run`` names."""

    def __call__(self, settings: Any, record: Record, seats: Sequence[Seat], /) -> Connector:
        """The connector for these bots; connects nothing yet.

        ``settings`` are the ``Settings`` of the process; their ``section`` gives the platform its own. Raises
        ConfigError for settings that cannot work, before anything is started.
        """
        ...
