"""What became of the turns of this process's bots, as far as nanobot and the platform say it."""

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from nanobot_transcript.relevance.decision import TurnOutcome
from nanobot_transcript.session_key import split
from transcript_channels.feishu.platform import FEISHU
from transcript_channels.nanobot_host.bot import Bot, Objection

__all__ = ["Outcomes", "turn_completed"]

logger = logging.getLogger(__name__)

Note = Callable[[str, str, str, TurnOutcome, str], None]
"""Called with app id, session key, the message that was to be answered, the outcome, and the reason."""

_KEPT: Final = 1024
_NOT_SENT: Final = "The platform did not take the answer; nanobot's log says why."
_SENT_IN_PART: Final = "The platform took only a part of the answer; nanobot's log says why."


@dataclass(slots=True, eq=False)
class Outcomes:
    """Notes each outcome of a turn once; for private chats only whether the turn failed. ``concerns`` says by session
    key which chats are recorded; ``bot_on`` finds a bot by nanobot's name of its channel. For nanobot's event loop;
    never raises.
    """

    note: Note
    concerns: Callable[[str], bool]
    bot_on: Callable[[str], "Bot | None"]
    _noted: OrderedDict[tuple[str, str], tuple[TurnOutcome, str]] = field(default_factory=OrderedDict, init=False)
    _failed: set[tuple[str, str]] = field(default_factory=set, init=False)
    """Turns that nanobot calls failed."""
    _parts: set[tuple[str, str]] = field(default_factory=set, init=False)
    """Answers of which a part is about to be recorded."""
    _bus: Any = field(default=None, init=False)

    def attend(self, bus: Any) -> None:
        """Listen on nanobot's bus for the ends of turns, if this nanobot publishes them."""
        kind, subscribe = turn_completed(), getattr(bus, "subscribe", None)
        if kind is not None and subscribe is not None and bus is not self._bus:
            self._bus = bus
            subscribe(self._completed, kind)

    def answered(self, app_id: str, session_key: str, trigger: str | None) -> None:
        """An answer, or a part of one, was delivered and recorded."""
        key = (app_id, trigger or "")
        if key in self._parts:
            self._parts.discard(key)
        elif key not in self._failed:
            self._end(app_id, session_key, trigger, "answered")

    def told(self, app_id: str, session_key: str, trigger: str | None, text: str) -> None:
        """A whole message was delivered. After a failed turn that is nanobot's message about the failure."""
        if (app_id, trigger or "") in self._failed:
            self._end(app_id, session_key, trigger, "failed", text)

    def unsent(self, app_id: str, session_key: str, trigger: str | None, *, partly: bool) -> None:
        """An answer was not delivered, or only ``partly``; to be called before that part is recorded."""
        if partly:
            self._parts.add((app_id, trigger or ""))
        if partly or (app_id, trigger or "") not in self._noted:
            self._end(app_id, session_key, trigger, "failed", _SENT_IN_PART if partly else _NOT_SENT)

    def withheld(self, app_id: str, session_key: str, trigger: str | None, objection: Objection) -> None:
        """An answer was ready and must not go out."""
        if objection.outcome is not None:
            self._end(app_id, session_key, trigger, objection.outcome, objection.why)

    def _completed(self, event: Any) -> None:
        """nanobot ended a turn. It says so before it sends the turn's last message."""
        try:
            about = event.context
            bot, trigger = self.bot_on(about.channel), about.metadata.get("message_id")
            if bot is None or not isinstance(trigger, str):
                return
            if not FEISHU.is_group(about.chat_id):
                outcome: TurnOutcome = "failed" if event.outcome == "failed" else "answered"
                self.note(bot.app_id, FEISHU.key(about.chat_id), trigger, outcome, "")
            elif event.outcome == "failed":
                kinds = [kind for kind in (event.failure_kind, event.failure_error_kind) if kind]
                why = f"nanobot's turn failed ({', '.join(kinds) or 'unknown'}); its log says more."
                self._failed.add((bot.app_id, trigger))
                self._end(bot.app_id, FEISHU.key(about.chat_id), trigger, "failed", why)
        except Exception:
            logger.exception("Could not tell how a turn of nanobot ended")

    def _end(self, app_id: str, session_key: str, trigger: str | None, outcome: TurnOutcome, why: str = "") -> None:
        known = (outcome, why)
        if not trigger or not self._is_group(session_key) or self._noted.get((app_id, trigger)) == known:
            return
        self._noted[app_id, trigger] = known
        self._noted.move_to_end((app_id, trigger))
        while len(self._noted) > _KEPT:
            oldest, _ = self._noted.popitem(last=False)
            self._failed.discard(oldest)
            self._parts.discard(oldest)
        self.note(app_id, session_key, trigger, outcome, why)

    def _is_group(self, session_key: str) -> bool:
        return FEISHU.is_group(split(session_key)[1]) and self.concerns(session_key)


def turn_completed() -> Any:
    """nanobot's event at the end of a turn; None where it does not say whether the turn failed (0.3.0)."""
    try:
        from nanobot.bus.runtime_events import TurnCompleted
    except ImportError:
        return None
    fields = getattr(TurnCompleted, "__dataclass_fields__", {})
    return TurnCompleted if {"context", "outcome", "failure_kind", "failure_error_kind"} <= set(fields) else None
