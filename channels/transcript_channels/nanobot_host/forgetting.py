"""A message that was taken back is also taken out of nanobot's sessions that were shown it, so that no prompt to come
replays it. What a model has already answered stays.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any, Final

from transcript_channels.nanobot_host.watermark import Watermarks, digest

__all__ = ["Forgetting", "forget"]

logger = logging.getLogger(__name__)

_MARKER: Final = "_runtime_context"
_GONE: Final = "[this message was taken back]"


class Forgetting:
    """Finds the sessions in the background and changes them on nanobot's own loop."""

    def __init__(
        self,
        watermarks: Watermarks,
        app_ids: Callable[[], Iterable[str]],
        loop: Callable[[], asyncio.AbstractEventLoop | None],
    ) -> None:
        self._watermarks: Watermarks = watermarks
        self._app_ids: Callable[[], Iterable[str]] = app_ids
        self._loop: Callable[[], asyncio.AbstractEventLoop | None] = loop
        self.sessions: Any = None
        """nanobot's session manager, once there is one."""

    def recalled(self, message_id: str) -> None:
        """To be called off the loop: look for the message and have it removed."""
        loop = self._loop()
        if self.sessions is None or loop is None or not loop.is_running():
            return
        for held in self._watermarks.holding(self._app_ids(), message_id):
            loop.call_soon_threadsafe(self._clean, held.session_key, message_id, held.digest)

    def _clean(self, session_key: str, message_id: str, own: str | None) -> None:
        try:
            session = self.sessions.get_or_create(session_key)
            if forget(session, message_id, own):
                self.sessions.save(session)
        except Exception:
            logger.exception("A message that was taken back may still stand in nanobot's session %s", session_key)


def forget(session: Any, message_id: str, own: str | None) -> bool:
    """Take a message out of a session: where it was shown, and, with its digest, where it was a turn."""
    changed = False
    for message in session.messages:
        if own is not None and message.get("role") == "user":
            changed |= _forget_turn(message, own)
        for key, value in list(message.items()):
            cleaned = _without(value, f'{{"id": "{message_id}"')
            changed |= cleaned is not value
            message[key] = cleaned
    if changed and getattr(session, "provider_state", None) is not None:
        session.provider_state = None  # the provider's own copy of the conversation
    return changed


def _forget_turn(message: dict[str, Any], own: str) -> bool:
    content, marker = message.get("content"), message.get(_MARKER)
    if not isinstance(content, str):
        return False
    suffix = marker.get("suffix") if isinstance(marker, dict) else None
    tail = f"\n\n{suffix}" if isinstance(suffix, str) and content.endswith(f"\n\n{suffix}") else ""
    if digest(content.removesuffix(tail)) != own:
        return False
    message["content"] = _GONE + tail
    return True


def _without(value: Any, beginning: str) -> Any:
    """The value with every line that begins so emptied; the same object when there is none."""
    if isinstance(value, str):
        if beginning not in value:
            return value
        gone = f'{beginning}, "recalled": true}}'
        return "\n".join(gone if line.startswith(beginning) else line for line in value.split("\n"))
    if isinstance(value, dict):
        items = {key: _without(item, beginning) for key, item in value.items()}
        return items if any(items[key] is not item for key, item in value.items()) else value
    if isinstance(value, list):
        items = [_without(item, beginning) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value
