"""Finding text in lines of programs that use other JSON escapes than this store: ``\\u4f1a``, ``\\/``.

Text is searched for as bytes, and this store escapes no letter. The id table of a segment remembers whether all its
lines do so; only where it cannot vouch for that, more than the bytes of the text is searched for.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from nanobot_transcript.store.jsonl.lines import Line, grep
from nanobot_transcript.store.lines.codec import decode, json_fragment
from nanobot_transcript.store.lines.ids import ids_of

__all__ = ["candidates", "is_plain"]

# Any letter may be written as \uXXXX, and a slash as \/; every other escape has one spelling only.
_ESCAPES: Final = (b"\\u", b"\\/")


def is_plain(line: bytes) -> bool:
    """True for a line whose text and ids are escaped as this store escapes them, or that no reader can decode."""
    if not any(escape in line for escape in _ESCAPES):
        return True
    entry = decode(line)
    if entry is None:
        return True
    texts = [entry["content"], *ids_of(entry), entry.get("target") or ""]
    return all(json_fragment(text) in line for text in texts)


def candidates(offset: int, block: bytes, needles: Iterable[bytes], plain_to: int) -> Iterator[Line]:
    """The lines of a block that contain one of the needles, in order; behind ``plain_to`` also every line that may
    spell it with other escapes.
    """
    wanted = list(needles) if offset + len(block) <= plain_to else [*needles, *_ESCAPES]
    if len(wanted) == 1:
        yield from grep(offset, block, wanted[0])
    else:
        yield from sorted({line for needle in wanted for line in grep(offset, block, needle)})
