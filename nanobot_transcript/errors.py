"""Every error this product raises on purpose.

TranscriptError
├── InvalidEntryError        (also ValueError)  an argument of append/edit/recall cannot be recorded
├── InvalidCursorError       (also ValueError)  a cursor that no store handed out
├── ConfigError                                 a setting or a configuration file is wrong
├── ImportFormatError                           a file to import is not in the announced format
├── StoreError                                  the record could not be written or read
│   ├── StoreUnavailableError                   directory missing, read-only, or not permitted
│   ├── StoreFullError                          no space or quota left; nothing was acknowledged
│   ├── UnsafePathError                         a symlink or a foreign kind of file is in the way
│   └── StoreBusyError                          another process holds the maintenance lock
├── HostError                                   the host framework (nanobot) lacks what the plugin needs
├── DeliveryError                               a message could not be sent to its chat
└── ResponderError                              an agent's mind (a model, a command) gave no answer
    └── ResponderTimeoutError                   it took longer than it may

Each error has a stable ``code``, a sentence for the person (``str(error)``), and a ``hint`` that says what to do next.
"""

from typing import ClassVar

__all__ = [
    "ConfigError",
    "DeliveryError",
    "HostError",
    "ImportFormatError",
    "InvalidCursorError",
    "InvalidEntryError",
    "ResponderError",
    "ResponderTimeoutError",
    "StoreBusyError",
    "StoreError",
    "StoreFullError",
    "StoreUnavailableError",
    "TranscriptError",
    "UnsafePathError",
]


class TranscriptError(Exception):
    """Base of all errors of this product.

    ``str(error)`` is one sentence for the person; ``hint`` says what to do next and may be empty.
    """

    code: ClassVar[str] = "transcript_error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class InvalidEntryError(TranscriptError, ValueError):
    """An argument cannot be recorded: wrong type, unknown role, empty target."""

    code = "invalid_entry"


class InvalidCursorError(TranscriptError, ValueError):
    """The cursor was not handed out by a store."""

    code = "invalid_cursor"


class ConfigError(TranscriptError):
    """A setting or a configuration file is wrong."""

    code = "config"


class ImportFormatError(TranscriptError):
    """A file to import is not in the announced format."""

    code = "import_format"


class StoreError(TranscriptError):
    """The record could not be written or read."""

    code = "store"


class StoreUnavailableError(StoreError):
    """The store's directory is missing, read-only, or not permitted."""

    code = "store_unavailable"


class StoreFullError(StoreError):
    """No space or quota is left; the entry was not acknowledged and no half line stays behind."""

    code = "store_full"


class UnsafePathError(StoreError):
    """A symlink or a foreign kind of file stands where the store keeps its own."""

    code = "unsafe_path"


class StoreBusyError(StoreError):
    """Another process holds the maintenance lock of this transcript."""

    code = "store_busy"


class HostError(TranscriptError):
    """The host framework lacks what the plugin needs."""

    code = "host"


class DeliveryError(TranscriptError):
    """A message could not be sent to its chat.

    ``retryable`` says that another attempt may succeed, ``retry_after`` (seconds) when the platform wants it.
    """

    code = "delivery"

    def __init__(
        self, message: str, *, hint: str = "", retryable: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.retryable = retryable
        self.retry_after = retry_after


class ResponderError(TranscriptError):
    """An agent's mind (a model, a command) gave no answer."""

    code = "responder"


class ResponderTimeoutError(ResponderError):
    """An agent's mind took longer than it may."""

    code = "responder_timeout"
