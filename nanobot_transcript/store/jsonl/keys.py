"""From a file name back to the exact session key."""

import os
from typing import Final

from nanobot_transcript.store.jsonl.layout import Layout, open_read, stem_of

__all__ = ["key_of"]

_LONGEST: Final = 1 << 20


def key_of(layout: Layout, stem: str) -> str | None:
    """The session key of a chat's files; None for a file that is not one of this store's transcripts."""
    descriptor = open_read(layout.key_file(stem))
    if descriptor is not None:
        try:
            key = os.pread(descriptor, _LONGEST, 0).decode("utf-8", "surrogatepass")
        finally:
            os.close(descriptor)
        if stem_of(key) == stem:
            return key
    return _guess(stem)


def _guess(stem: str) -> str | None:
    """The hidden folder may be gone: most keys are ``channel:chat_id`` in safe letters, and the hash proves a guess."""
    prefix = stem.rpartition("-")[0]
    for candidate in (prefix.replace("_", ":", 1), prefix):
        if candidate and stem_of(candidate) == stem:
            return candidate
    return None
