"""Finding text in lines of programs that spell it with other escapes than this store: ``\\u4f1a``, ``\\/``.

Text is searched for as bytes, and this store leaves every letter as it is. The id table of a segment remembers whether
all lines in it do so; only where it cannot vouch for that is more looked at than the bytes of the text.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from nanobot_transcript.store.jsonl.lines import Line, grep
from nanobot_transcript.store.lines.codec import decode, json_fragment
from nanobot_transcript.store.lines.ids import ids_of

__all__ = ["candidates", "is_plain"]

# Every letter may be written as \uXXXX, and a slash as \/; what else begins with a backslash has one spelling.
_ESCAPES: Final = (b"\\u", b"\\/")


def is_plain(line: bytes) -> bool:
    """True for a line whose text and ids are spelled as this store spells them, or that no reader can read."""
    if not any(escape in line for escape in _ESCAPES):
        return True
    entry = decode(line)
    if entry is None:
        return True
    texts = [entry["content"], *ids_of(entry), entry.get("target") or ""]
    return all(json_fragment(text) in line for text in texts)


def candidates(offset: int, block: bytes, needles: Iterable[bytes], plain_to: int) -> Iterator[Line]:
    """The lines of a block that contain one of the needles, in order, and behind ``plain_to`` also all lines that may
    spell it otherwise.
    """
    wanted = list(needles) if offset + len(block) <= plain_to else [*needles, *_ESCAPES]
    if len(wanted) == 1:
        yield from grep(offset, block, wanted[0])
    else:
        yield from sorted({line for needle in wanted for line in grep(offset, block, needle)})
