"""Custom processing: whoever installs an entry point in ``nanobot_transcript.filebox_hooks`` is told what happens.

An entry point is any object (a module, too) with some of these functions: ``before_send(draft)``, which may return a
changed draft, and ``delivered(event)``, ``replied(event)``, ``resolved(event)``, ``rejected(event)``. A hook that fails
is logged and costs nothing else.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final, Literal, TypeAlias

from transcript_mcp.filebox.values import Draft

__all__ = ["GROUP", "Happening", "Hooks", "MailEvent", "installed_hooks"]

GROUP: Final = "nanobot_transcript.filebox_hooks"
Happening: TypeAlias = Literal["delivered", "replied", "resolved", "rejected"]

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
    """Some hooks, called one after the other."""

    def __init__(self, hooks: Iterable[Any] = ()) -> None:
        self._hooks: Final = tuple(hooks)

    def before_send(self, draft: Draft) -> Draft:
        """The draft as the hooks want it."""
        for hook in self._hooks:
            changed = _call(hook, "before_send", draft)
            if isinstance(changed, Draft):
                draft = changed
            elif changed is not None:
                logger.error("The hook %r returned no draft from before_send but %r", hook, type(changed))
        return draft

    def tell(self, event: MailEvent) -> None:
        """Let all hooks know."""
        for hook in self._hooks:
            _call(hook, event.happening, event)


@cache
def installed_hooks() -> Hooks:
    """The hooks of all installed packages; looked up once."""
    return Hooks(hook for hook in map(_load, entry_points(group=GROUP)) if hook is not None)


def _load(point: Any) -> Any:
    try:
        return point.load()
    except Exception:  # whatever a foreign package does while it is imported, mail goes on
        logger.exception("The hook %s cannot be loaded", point.value)
        return None


def _call(hook: Any, name: str, argument: object) -> Any:
    function = getattr(hook, name, None)
    if function is None:
        return None
    try:
        return function(argument)
    except Exception:  # a failing hook never costs a mail
        logger.exception("The hook %r failed in %s", hook, name)
        return None
