"""Identifiers in the shapes of the platform.

The ids of members are derived, not random: a person has the same ``open_id`` for an app in every run in which the
app's id and the person's key are the same, and another one for every other app.
"""

import hashlib
import itertools
import secrets
import time
import uuid

__all__ = [
    "new_app_id",
    "new_card_id",
    "new_chat_id",
    "new_event_id",
    "new_file_key",
    "new_log_id",
    "new_message_id",
    "new_secret",
    "new_thread_id",
    "now_ms",
    "open_id",
    "union_id",
    "user_id",
]

_card_numbers = itertools.count(7_355_372_766_134_157_313)


def now_ms() -> int:
    """Milliseconds since 1970, the platform's unit of time."""
    return time.time_ns() // 1_000_000


def open_id(observer_app_id: str, member_key: str) -> str:
    """How the app ``observer_app_id`` sees a member: ``ou_`` and 32 hex digits."""
    return "ou_" + _digest("open", observer_app_id, member_key)


def union_id(member_key: str) -> str:
    """The id of a member that all apps of one developer share: ``on_`` and 32 hex digits."""
    return "on_" + _digest("union", member_key)


def user_id(member_key: str) -> str:
    """A person's id inside the tenant: 8 hex digits."""
    return _digest("user", member_key)[:8]


def new_app_id() -> str:
    """``cli_a`` and 15 hex digits; random, because clients cache tokens by app id for the life of their process."""
    return "cli_a" + uuid.uuid4().hex[:15]


def new_secret() -> str:
    """An app secret of 32 characters."""
    return secrets.token_hex(16)


def new_message_id() -> str:
    """``om_`` and 32 hex digits."""
    return "om_" + uuid.uuid4().hex


def new_chat_id() -> str:
    """``oc_`` and 32 hex digits, for groups and private chats alike."""
    return "oc_" + uuid.uuid4().hex


def new_thread_id() -> str:
    """``omt_`` and 16 hex digits."""
    return "omt_" + uuid.uuid4().hex[:16]


def new_card_id() -> str:
    """A card entity's id: a number in text form."""
    return str(next(_card_numbers))


def new_event_id() -> str:
    """32 hex digits."""
    return uuid.uuid4().hex


def new_file_key(prefix: str) -> str:
    """The key of an uploaded image (``img_v3_…``) or file (``file_v3_…``)."""
    return f"{prefix}_v3_{uuid.uuid4().hex}"


def new_log_id() -> str:
    """What the platform puts into ``X-Tt-Logid``."""
    return time.strftime("%Y%m%d%H%M%S", time.gmtime()) + uuid.uuid4().hex[:18].upper()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
