"""Options of mailboxes."""

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["TYPES", "FileBoxOptions"]

TYPES: Final = ("BR", "ACK", "ER", "INFO", "URGENT")
"""Bug report, acknowledgement, enhancement request, information, urgent."""


@dataclass(frozen=True, slots=True)
class FileBoxOptions:
    """``more_types``: mail types besides the usual five. ``run_as``: whom ``runAs`` may name (``may_run_as`` if
    ``listed``). ``max_title`` is in characters, ``max_content`` and ``max_thread`` in bytes, ``max_read`` in characters
    per answer, ``page`` in mails per answer with headers, ``lock_wait`` in seconds. With ``fsync="always"`` a mail is
    synced to the disk before its sender is told that it was sent.
    """

    more_types: tuple[str, ...] = ()
    run_as: Literal["any", "listed", "off"] = "any"
    may_run_as: tuple[str, ...] = ()
    max_title: int = 255
    max_content: int = 1024 * 1024
    max_thread: int = 16 * 1024 * 1024
    max_read: int = 60_000
    page: int = 50
    lock_wait: float = 5.0
    fsync: Literal["never", "always"] = "never"

    @property
    def types(self) -> tuple[str, ...]:
        """Every type that may be sent."""
        return tuple(dict.fromkeys((*TYPES, *self.more_types)))
