"""Hooks for mail events, installed as entry points of the group ``nanobot_transcript.filebox_hooks``.

A hook is any object (or module) with some of these functions: ``before_send(draft)``, which may return a changed draft,
and ``delivered(event)``, ``replied(event)``, ``resolved(event)``, ``rejected(event)``. A hook that fails is logged; one
that takes too long is not waited for. Neither stops the mail.
"""

import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final, Literal, TypeAlias

from transcript_mcp.filebox.values import Draft

__all__ = ["GROUP", "Happening", "Hooks", "MailEvent", "installed_hooks", "loaded"]

GROUP: Final = "nanobot_transcript.filebox_hooks"
Happening: TypeAlias = Literal["delivered", "replied", "resolved", "rejected"]

_PATIENCE: Final = 5.0
_MOST_RUNNING: Final = 8

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MailEvent:
    """What ``agent`` did with a mail, which now is ``file`` in the mailbox ``folder``."""

    happening: Happening
    agent: str
    sender: str
    receiver: str
    id: str
    type: str
    title: str
    file: str
    folder: str


class Hooks:
    """Hooks that are called one after the other, each in a thread of its own.

    A call is waited for ``patience`` seconds at most. While eight calls are still running, no other is started.
    """

    def __init__(self, hooks: Iterable[Any] = (), *, patience: float = _PATIENCE) -> None:
        self._hooks: Final = tuple(hooks)
        self._patience: Final = patience
        self._room: Final = threading.BoundedSemaphore(_MOST_RUNNING)

    def before_send(self, draft: Draft) -> Draft:
        """The draft, perhaps changed by the hooks."""
        for hook in self._hooks:
            changed = self._call(hook, "before_send", draft)
            if isinstance(changed, Draft):
                draft = changed
            elif changed is not None:
                logger.error("The hook %r returned %r from before_send instead of a draft", hook, type(changed))
        return draft

    def tell(self, event: MailEvent) -> None:
        """Call all hooks with an event."""
        for hook in self._hooks:
            self._call(hook, event.happening, event)

    def _call(self, hook: Any, name: str, argument: object) -> Any:
        """What the hook returns; None when it has no such function, fails, or takes too long."""
        if (function := getattr(hook, name, None)) is None:
            return None
        if not self._room.acquire(blocking=False):
            logger.warning(
                "The hook %r was not called for %s: %d calls of hooks are still running", hook, name, _MOST_RUNNING
            )
            return None
        returned: list[Any] = []

        def work() -> None:
            try:
                returned.append(function(argument))
            except BaseException:  # even SystemExit: a failing hook must stop neither the mail nor the process
                logger.exception("The hook %r failed in %s", hook, name)
            finally:
                self._room.release()

        thread = threading.Thread(target=work, name=f"hook-{name}", daemon=True)
        thread.start()
        thread.join(self._patience)
        if thread.is_alive():
            logger.warning(
                "The hook %r has not finished %s within %g seconds; the mail goes out without it",
                hook,
                name,
                self._patience,
            )
            return None
        return returned[0] if returned else None


@cache
def installed_hooks() -> Hooks:
    """The hooks of all installed packages; loaded once."""
    return Hooks(loaded(entry_points(group=GROUP)))


def loaded(points: Iterable[Any]) -> list[Any]:
    """The objects of entry points, without those that fail to load."""
    return [hook for hook in map(_load, points) if hook is not None]


def _load(point: Any) -> Any:
    try:
        return point.load()
    except (Exception, SystemExit):  # importing a foreign package may do anything
        logger.exception("The hook %s cannot be loaded", point.value)
        return None
