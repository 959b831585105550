"""From a file name back to the exact session key."""

import os
from typing import Final

from nanobot_transcript.errors import StoreUnavailableError, UnsafePathError
from nanobot_transcript.files.descriptors import open_read
from nanobot_transcript.files.layout import Layout, stem_of
from nanobot_transcript.files.os_errors import store_error
from nanobot_transcript.files.replace import write_whole

__all__ = ["key_of", "remember"]

_LONGEST: Final = 1 << 20


def remember(layout: Layout, stem: str, session_key: str) -> None:
    """Store the exact session key beside the index, once."""
    path = layout.key_file(stem)
    if os.path.lexists(path):
        return
    try:
        write_whole(path, session_key.encode("utf-8", "surrogatepass"))
    except OSError as error:
        store_error(error, path)


def key_of(layout: Layout, stem: str) -> str | None:
    """The session key of a chat's files; None for a file that is not one of this store's transcripts."""
    try:
        descriptor = open_read(layout.key_file(stem))
    except (StoreUnavailableError, UnsafePathError):
        return _guess(stem)
    if descriptor is not None:
        try:
            key = os.pread(descriptor, _LONGEST, 0).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return _guess(stem)
        finally:
            os.close(descriptor)
        if stem_of(key) == stem:
            return key
    return _guess(stem)


def _guess(stem: str) -> str | None:
    """The hidden folder may be gone. Most keys are ``channel:chat_id`` in safe letters, and the hash confirms a
    guess.
    """
    prefix = stem.rpartition("-")[0]
    for candidate in (prefix.replace("_", ":", 1), prefix):
        if candidate and stem_of(candidate) == stem:
            return candidate
    return None
