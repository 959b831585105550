"""The demo's events: what happens in the group and in the bots' prompts, shown at once and kept for ``--json``."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, TypeAlias

from nanobot_transcript.demo.model_request import AskedTurn
from nanobot_transcript.demo.world import World
from transcript_channels.simulator import App, Message, ModelRequest, Notice

__all__ = ["Chronicle", "Event"]

Event: TypeAlias = dict[str, Any]
"""``kind`` is ``said``, ``given`` or ``recalled``, ``at_ms`` the time; the rest is described at each."""


class Chronicle:
    """Listens to the platform and to the model's endpoint. ``show`` is called with each event."""

    def __init__(self, world: World, show: Callable[[Event], None]) -> None:
        self.events: list[Event] = []
        self.turns: list[tuple[str, AskedTurn]] = []
        """The bots' turns in order: who asked its model, and what stood in the request."""
        self._show: Callable[[Event], None] = show
        self._said: set[str] = set()
        self._chat = world.group
        self._listening: ExitStack = ExitStack()
        self._listening.callback(world.feishu.listen(self._on_platform))
        self._listening.callback(world.model.listen(self._on_model))

    def close(self) -> None:
        """Stop listening."""
        self._listening.close()

    def turn_of(self, app: App) -> AskedTurn | None:
        """The newest turn of a bot."""
        return next((turn for name, turn in reversed(self.turns) if name == app.name), None)

    def _on_platform(self, notice: Notice) -> None:
        message = notice.subject
        if not isinstance(message, Message) or message.chat is not self._chat:
            return
        if notice.kind in ("message", "card") and message.finished and message.message_id not in self._said:
            self._said.add(message.message_id)
            self._add(_said(message))
        elif notice.kind == "recall":
            self._add({"kind": "recalled", "from": message.sender.name, "message_id": message.message_id})

    def _on_model(self, notice: Notice) -> None:
        request = notice.subject
        if not isinstance(request, ModelRequest) or request.messages[-1].get("role") != "user":
            return  # the same turn goes on after a tool
        asked = (request.api_key, AskedTurn.of(request))
        if self.turns and asked == self.turns[-1]:
            return  # the host tries again
        self.turns.append(asked)
        name, turn = asked
        self._add({"kind": "given", "to": name, "question": turn.question, "entries": [asdict(g) for g in turn.given]})

    def _add(self, event: Event) -> None:
        event["at_ms"] = time.time_ns() // 1_000_000
        self.events.append(event)
        self._show(event)


def _said(message: Message) -> Event:
    return {
        "kind": "said",
        "from": message.sender.name,
        "bot": isinstance(message.sender, App),
        "text": message.text,
        "mentions": [mention.member.name for mention in message.mentions],
        "message_id": message.message_id,
    }
