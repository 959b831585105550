"""One real process of one bot, from its start to its open connection."""

import asyncio
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.demo.errors import DemoError
from nanobot_transcript.demo.process import Process
from nanobot_transcript.demo.record import DemoPlace
from transcript_channels.simulator import App

__all__ = ["DemoAddresses", "DemoBot"]

_START_SECONDS: Final = 150.0  # after an installation Python first has to compile 11,000 modules


@dataclass(frozen=True, slots=True)
class DemoAddresses:
    """What a bot needs to know: the addresses of ``platform`` and ``model`` on loopback, and where the record is."""

    platform: str
    model: str
    record: DemoPlace


class DemoBot(Process, ABC):
    """A process for one bot."""

    keeper: ClassVar[str]
    """What in it keeps the record."""

    def __init__(self, app: App, home: Path) -> None:
        super().__init__(home)
        self.app: App = app
        self.started_in: float = 0.0
        """Seconds from the start to the open connection."""

    async def start(self, places: DemoAddresses) -> None:
        """Start it and wait for its long connection. Raises DemoError when it ends early or takes too long."""
        began = time.monotonic()
        self.home.mkdir(mode=0o700)
        await self._begin(self._prepare(places), self._variables(places) | places.record.variables)
        await self._connected(began)
        self.started_in = time.monotonic() - began

    @abstractmethod
    def _prepare(self, places: DemoAddresses) -> list[str]:
        """Write what the process reads into ``home``; returns its command."""

    @abstractmethod
    def _variables(self, places: DemoAddresses) -> dict[str, str]:
        """Environment variables of this kind of process."""

    async def _connected(self, began: float) -> None:
        while not self.app.connected:
            if self.ended:
                raise DemoError(said("{name} stopped while starting.", name=self.app.name))
            if time.monotonic() - began > _START_SECONDS:
                seconds = round(_START_SECONDS)
                late = said("{name} did not connect within {seconds} seconds.", name=self.app.name, seconds=seconds)
                raise DemoError(late)
            await asyncio.sleep(0.05)
