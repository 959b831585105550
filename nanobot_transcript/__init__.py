"""One shared record of a group chat for all the bots in it.

>>> from nanobot_transcript import GroupTranscriptStore
>>> store = GroupTranscriptStore("/tmp/transcripts")
>>> store.append("feishu:oc_1", "user", "hello", "on_ada", message_id="om_1")
True
>>> store.get_recent("feishu:oc_1")
[{'role': 'user', 'content': 'hello', 'sender': 'on_ada'}]
"""

# Each name is fetched from its module when it is first asked for: who needs one room does not pay for the others.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from nanobot_transcript.errors import (
        ConfigError,
        HostError,
        ImportFormatError,
        InvalidCursorError,
        InvalidEntryError,
        StoreBusyError,
        StoreError,
        StoreFullError,
        StoreUnavailableError,
        TranscriptError,
        UnsafePathError,
    )
    from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
    from nanobot_transcript.store.contract import (
        Changes,
        Chat,
        Hit,
        MaintenanceReport,
        Page,
        Retention,
        StoreBackend,
        VerifyReport,
    )
    from nanobot_transcript.store.front import GroupTranscriptStore

__version__ = "0.1.0"

__all__ = [
    "AsyncGroupTranscriptStore",
    "Changes",
    "Chat",
    "ConfigError",
    "GroupTranscriptStore",
    "Hit",
    "HostError",
    "ImportFormatError",
    "InvalidCursorError",
    "InvalidEntryError",
    "MaintenanceReport",
    "Page",
    "Retention",
    "StoreBackend",
    "StoreBusyError",
    "StoreError",
    "StoreFullError",
    "StoreUnavailableError",
    "TranscriptError",
    "UnsafePathError",
    "VerifyReport",
    "__version__",
]

_HOMES = {
    "errors": (
        "ConfigError",
        "HostError",
        "ImportFormatError",
        "InvalidCursorError",
        "InvalidEntryError",
        "StoreBusyError",
        "StoreError",
        "StoreFullError",
        "StoreUnavailableError",
        "TranscriptError",
        "UnsafePathError",
    ),
    "store.async_front": ("AsyncGroupTranscriptStore",),
    "store.contract": (
        "Changes",
        "Chat",
        "Hit",
        "MaintenanceReport",
        "Page",
        "Retention",
        "StoreBackend",
        "VerifyReport",
    ),
    "store.front": ("GroupTranscriptStore",),
}


def __getattr__(name: str) -> object:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
