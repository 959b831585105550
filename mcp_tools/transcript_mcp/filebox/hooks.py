"""Custom processing: whoever installs an entry point in ``nanobot_transcript.filebox_hooks`` is told what happens.

An entry point is any object (a module, too) with some of these functions: ``before_send(draft)``, which may return a
changed draft, and ``delivered(event)``, ``replied(event)``, ``resolved(event)``, ``rejected(event)``. A failing hook,
whatever it raises, is logged and costs nothing else; one that takes too long is left to itself, and the mail goes on.
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
    """Something that has happened to a mail. ``agent`` did it, and in the mailbox ``folder`` lies ``file`` now."""

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
    """Some hooks, called one after the other, each in a thread of its own.

    A call that has not ended after ``patience`` seconds is waited for no longer. While eight calls run, no further one
    is begun.
    """

    def __init__(self, hooks: Iterable[Any] = (), *, patience: float = _PATIENCE) -> None:
        self._hooks: Final = tuple(hooks)
        self._patience: Final = patience
        self._room: Final = threading.BoundedSemaphore(_MOST_RUNNING)

    def before_send(self, draft: Draft) -> Draft:
        """The draft as the hooks want it."""
        for hook in self._hooks:
            changed = self._call(hook, "before_send", draft)
            if isinstance(changed, Draft):
                draft = changed
            elif changed is not None:
                logger.error("The hook %r returned %r from before_send instead of a draft", hook, type(changed))
        return draft

    def tell(self, event: MailEvent) -> None:
        """Let all hooks know."""
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
            except BaseException:  # also SystemExit: a failing hook never costs a mail, nor the process
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
    """The hooks of all installed packages; looked up once."""
    return Hooks(loaded(entry_points(group=GROUP)))


def loaded(points: Iterable[Any]) -> list[Any]:
    """The objects that entry points name, without those that cannot be loaded."""
    return [hook for hook in map(_load, points) if hook is not None]


def _load(point: Any) -> Any:
    try:
        return point.load()
    except (Exception, SystemExit):  # whatever a foreign package does while it is imported, mail goes on
        logger.exception("The hook %s cannot be loaded", point.value)
        return None
