"""A group on the simulated platform in which both hosts live through the same things, and what each made of it.

A *sequence* is an async function of one ``Play``: a fresh group with Ada, Bo, the hosted bot Alpha and its peer Beta.
What came of it, in a form in which only real differences differ, is an ``Outcome``; ``comparing.py`` compares two.
"""

import asyncio
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Self

import pytest
from support.in_process import HostInProcess
from support.outcome import COURTESY, Outcome
from support.play import Play, Sequence
from support.waiting import PATIENCE

from nanobot_transcript.store import member_file
from transcript_channels.simulator import FeishuSimulator, ModelRequest, Reply, ScriptedModel

__all__ = ["SETTINGS", "Stage", "Stages"]

_MODES: Final = ("off", "observe", "listen")
_GROUPS_OF_A_MODE: Final = 4
SETTINGS: Final[dict[str, Any]] = {
    "groups": {"mode": "gate"},
    "gate": {"courtesy_reaction": COURTESY},
    "relay": {"mode": "mentions"},
    "turns": {"claim": {"longest_wait": 0.02, "ttl": 2.0}},
    "history": {"calls_per_hour": 100_000},
    "agents": {"cli_alpha": {"name": "Alpha", "aliases": ["小阿"], "description": "Plans and summarises."}},
}
"""What both hosts are set to."""


class Stage:
    """One host and its platform, for any number of plays."""

    def __init__(self, folder: Path, make: Callable[..., HostInProcess], **sections: Any) -> None:
        self._folder = folder
        self._make = make
        self._sections = {**SETTINGS, **sections}
        self.feishu = FeishuSimulator(ack_timeout=30.0)
        self.model = ScriptedModel(self._answer)
        self.play: Play | None = None

    async def start(self) -> None:
        """Open the platform, start the host, and let it learn who Ada and Bo are."""
        await self.feishu.start()
        await self.model.start()
        self.alpha = self.feishu.add_app("Alpha", app_id="cli_alpha", app_secret="a secret")
        self.beta = self.feishu.add_app("Beta", app_id="cli_beta")
        self.ada, self.bo = self.feishu.add_person("Ada"), self.feishu.add_person("Bo")
        everybody = [self.alpha, self.beta, self.ada, self.bo]
        self.spare = {
            mode: [self.feishu.add_group("Team", everybody) for _ in range(_GROUPS_OF_A_MODE)] for mode in _MODES
        }
        chats = {group.chat_id: {"mode": mode} for mode, groups in self.spare.items() for group in groups}
        sections = {**self._sections, "groups": {**self._sections["groups"], "chats": chats}}
        self.host = self._make(self._folder, self.feishu, self.model, self.alpha, sections)
        await self.host.start()
        self.record = self.host.settings().open_record()
        self._known: dict[str, Any] | None = None
        await self.live_through(_everybody_says_something)
        self._known = copy.deepcopy(self._members())

    async def stop(self) -> None:
        """End everything."""
        await self.host.stop()
        self.record.close()
        await self.model.stop()
        await self.feishu.stop()

    async def live_through(self, sequence: Sequence) -> Outcome:
        """Play a sequence."""
        self.play = Play(self, getattr(sequence, "__name__", ""))
        try:
            await sequence(self.play)
            await self.play.settled()
            return self.play.outcome()
        finally:
            self.feishu.clear_faults()
            await self._clear_up()
            self.play = None

    async def _clear_up(self) -> None:
        """Whom one sequence got to know, the next one does not."""
        if self._known is not None:
            await asyncio.to_thread(self.record.members._change, self._forget)
        if self.alpha.name != "Alpha":
            self.alpha.name = "Alpha"
            await self.host.stop()
            await self.host.start()

    def _members(self) -> dict[str, Any]:
        members = self.record.members
        members.bots()  # reads what the host wrote
        return members._document

    def _forget(self, document: dict[str, Any]) -> bool:
        document.clear()
        document.update(copy.deepcopy(self._known))
        return True

    async def _answer(self, request: ModelRequest) -> str | Reply:
        return await self.play.answer(request) if self.play is not None else "I have nothing to say."


class Stages:
    """The runner's stage and the plugin's, and what has been made of the sequences so far."""

    def __init__(self, runner: Stage, plugin: Stage) -> None:
        self._stages = runner, plugin
        self._patch = pytest.MonkeyPatch()
        self._made: dict[Sequence, tuple[Outcome, Outcome]] = {}

    async def outcomes(self, sequence: Sequence) -> tuple[Outcome, Outcome]:
        """What the runner and the plugin make of a sequence, which is played once."""
        if sequence not in self._made:
            runner, plugin = [await stage.live_through(sequence) for stage in self._stages]
            self._made[sequence] = runner, plugin
        return self._made[sequence]

    async def __aenter__(self) -> Self:
        self._patch.setattr(member_file, "_LOCK_TIMEOUT", PATIENCE)  # whom somebody meets, the host knows at once
        for stage in self._stages:
            await stage.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        for stage in self._stages:
            await stage.stop()
        self._patch.undo()


async def _everybody_says_something(play: Play) -> None:
    await play.say(play.ada, "@Bo hello @Alpha")
    await play.say(play.bo, "@Ada hello")
