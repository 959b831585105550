"""One bot of this process."""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from transcript_channels.nanobot_host.turns import Answers, Turns

if TYPE_CHECKING:
    import weakref

__all__ = ["Bot"]


@dataclass(slots=True, eq=False)
class Bot:
    """One bot of this process: its app, nanobot's channel object, its turns and its answers."""

    app_id: str
    channel: "weakref.ref[Any]"
    turns: Turns = field(default_factory=Turns)
    answers: Answers = field(default_factory=Answers)
    known: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the platform has said who the bot is."""

    @property
    def channel_name(self) -> str:
        """nanobot's name of the channel, ``feishu`` or ``feishu.<instance>``; nanobot sets it late."""
        return str(getattr(self.channel(), "name", ""))
