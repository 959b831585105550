"""The exit codes of commands, and the error of arguments that do not fit.

0 done · 1 a negative result (nothing found, a finding, a refusal) · 2 usage or configuration · 3 the store is not
available · 4 another machine failed · 130 interrupted
"""

from typing import Any, ClassVar, Final

from nanobot_transcript.errors import (
    DeliveryError,
    NothingFoundError,
    PlatformError,
    ResponderError,
    StoreError,
    TranscriptError,
)

__all__ = ["DONE", "INTERRUPTED", "NEGATIVE", "REMOTE", "STORE", "USAGE", "UsageError", "described", "exit_code"]

DONE: Final = 0
NEGATIVE: Final = 1
USAGE: Final = 2
STORE: Final = 3
REMOTE: Final = 4
INTERRUPTED: Final = 130


class UsageError(TranscriptError):
    """The arguments of a command do not fit what there is."""

    code: ClassVar[str] = "usage"


def exit_code(error: TranscriptError) -> int:
    """The exit code of a command that ended with this error."""
    if isinstance(error, StoreError):
        return STORE
    if isinstance(error, NothingFoundError):
        return NEGATIVE
    return REMOTE if isinstance(error, PlatformError | DeliveryError | ResponderError) else USAGE


def described(error: TranscriptError) -> dict[str, Any]:
    """An error as the JSON document of a command that failed."""
    return {"error": {"code": error.code, "message": str(error), "hint": error.hint}}
