"""Our channel class: nanobot's, with the parts of ours in front of it."""

from collections.abc import Collection
from typing import Any, Final

from transcript_channels.nanobot_host.channel import (
    Core,
    Gated,
    Hearing,
    Introducing,
    Recalling,
    Saying,
    Streaming,
)
from transcript_channels.nanobot_host.host import Host
from transcript_channels.nanobot_host.running import Actions, Connected, Running

__all__ = ["PARTS", "channel_class"]

PARTS: Final[dict[str, type[Core]]] = {
    "names": Introducing,
    "gate": Gated,
    "beside": Running,
    "actions": Actions,
    "reconnects": Connected,
    "inbound": Hearing,
    "recalls": Recalling,
    "streams": Streaming,
    "outbound": Saying,
}
"""By ability; a part earlier in this order is asked before a later one."""


def channel_class(base: type[Any], host: Host, abilities: Collection[str]) -> type[Any]:
    """A subclass of nanobot's channel class with the given abilities (those of ``PARTS``); everything else stays as it
    is in ``base``.
    """
    parts = [part for ability, part in PARTS.items() if ability in abilities]
    namespace = {"_transcript_host": host, "__module__": __name__, "__doc__": base.__doc__}
    return type("TranscriptFeishuChannel", (*parts, Core, base), namespace)
