"""The two hosts that can run the demo's bots: nanobot with the plugin, and our own runner."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from nanobot_transcript.demo.bot import DemoBot
from nanobot_transcript.demo.nanobot_bot import nanobot_bots, require_nanobot
from nanobot_transcript.demo.runner_bot import require_runner, runner_bots
from transcript_channels.simulator import App

__all__ = ["DemoHost", "HostName", "host_named"]

HostName = Literal["nanobot", "runner"]


@dataclass(frozen=True, slots=True)
class DemoHost:
    """What runs the bots. ``require`` says what it is, with its version, or raises HostError.

    Your own bots get what the demo shows with the package's extra ``extra`` and the ``settings``, lines of the file
    ``file``.
    """

    name: HostName
    title: str
    noun: str
    extra: str
    file: str
    settings: tuple[str, ...]
    require: Callable[[], str]
    bots: Callable[[Sequence[App], Path], list[DemoBot]]


_HOSTS: Final[dict[HostName, DemoHost]] = {
    "nanobot": DemoHost(
        name="nanobot",
        title="Two real nanobot gateways",
        noun="gateway",
        extra="nanobot",
        file="~/.nanobot/transcript.yaml",
        settings=("groups: {mode: gate}", "relay: {mode: mentions}"),
        require=require_nanobot,
        bots=nanobot_bots,
    ),
    "runner": DemoHost(
        name="runner",
        title="Two real runners",
        noun="runner",
        extra="feishu",
        file="the file that run --config names",
        settings=("relay: {mode: mentions}",),
        require=require_runner,
        bots=runner_bots,
    ),
}


def host_named(name: HostName) -> DemoHost:
    """The host with this name."""
    return _HOSTS[name]
