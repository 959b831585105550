"""One shared record of a group chat for all the bots in it.

>>> from nanobot_transcript import GroupTranscriptStore
>>> store = GroupTranscriptStore("/tmp/transcripts")
>>> store.append("feishu:oc_1", "user", "hello", "on_ada", message_id="om_1")
True
>>> store.get_recent("feishu:oc_1")
[{'role': 'user', 'content': 'hello', 'sender': 'on_ada'}]
"""

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
