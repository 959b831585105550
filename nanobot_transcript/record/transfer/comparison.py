"""Comparing two places line by line: does the target have everything of the source?"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import zip_longest
from typing import Final

from nanobot_transcript.record.transfer.carried_lines import spelled
from nanobot_transcript.record.transfer.contract import Spelled, Transcripts
from nanobot_transcript.store.contract import StoreBackend
from nanobot_transcript.store.lines.codec import encode
from nanobot_transcript.store.lines.ids import EDIT_SENT, hidden_key, ids_of, is_sent
from nanobot_transcript.store.lines.ops import hides, is_edit, is_known_op, is_op

__all__ = ["Comparison", "chained", "compare", "seen_by_readers"]

_DIGEST: Final = 16
_STEP: Final = 2000


@dataclass(slots=True)
class Comparison:
    """Two parts of a chat compared: how many lines the source has, and a digest, in each place's order, of the lines
    that are in both; ``cursor_there`` is the one behind the last line of the target.

    ``missing`` lines of the source are unknown to the target; ``known`` ones it has by their id, from somebody else;
    ``more`` are in the target only.
    """

    lines: int = 0
    digest: str = ""
    digest_there: str = ""
    cursor_there: str = ""
    missing: int = 0
    known: int = 0
    more: int = 0

    @property
    def is_equal(self) -> bool:
        """True for the same lines in the same order, and no others."""
        return self.digest == self.digest_there and not (self.missing or self.known or self.more)


def compare(
    source: Transcripts,
    target: Transcripts,
    session_key: str,
    *,
    behind: tuple[str | None, str | None] = (None, None),
    upto: str | None = None,
    digest: str = "",
    advance: Callable[[int, int], None] = lambda lines, size: None,
) -> Comparison:
    """Compare the source behind the first cursor, up to ``upto``, with the target behind the second one.

    ``digest`` is that of the lines before. ``advance`` is called with lines and bytes of each step. The text of
    recalled messages does not count.
    """
    return _Comparing(source, target, session_key, behind, upto, advance).result(digest)


def seen_by_readers(backend: StoreBackend, session_key: str) -> str:
    """A digest of everything that readers of a chat see, in order."""
    digest = b""
    for entry in backend.scan(session_key):
        digest = chained(digest, (encode(entry),))
    return digest.hex()


def chained(digest: bytes, bodies: Iterable[bytes]) -> bytes:
    """The digest of earlier lines, continued with these."""
    for body in bodies:
        digest = blake2b(digest + body, digest_size=_DIGEST).digest()
    return digest


class _Comparing:
    def __init__(
        self,
        source: Transcripts,
        target: Transcripts,
        session_key: str,
        behind: tuple[str | None, str | None],
        upto: str | None,
        advance: Callable[[int, int], None],
    ) -> None:
        self._source: Transcripts = source
        self._target: Transcripts = target
        self._key: str = session_key
        self._behind: tuple[str | None, str | None] = behind
        self._upto: str | None = upto
        self._advance: Callable[[int, int], None] = advance
        self._hidden: set[str] = source.hidden(session_key) | target.hidden(session_key)

    def result(self, digest: str) -> Comparison:
        found = Comparison()
        here, there = bytes.fromhex(digest), bytes.fromhex(digest)
        digests, digests_there, size = array("Q"), array("Q"), 0
        for line, other in zip_longest(self._of_source(), self._of_target()):
            if line is not None:
                here = chained(here, (line.body,))
                digests.append(_short(line.body))
                size += len(line.body)
                if len(digests) % _STEP == 0:
                    self._advance(_STEP, size)
                    size = 0
            if other is not None:
                there = chained(there, (other.body,))
                digests_there.append(_short(other.body))
                found.cursor_there = other.cursor
        self._advance(len(digests) % _STEP, size)
        found.lines = len(digests)
        if here != there:
            here, there = self._in_both(digest, digests, digests_there, found)
        found.digest, found.digest_there = here.hex(), there.hex()
        return found

    def _in_both(
        self, digest: str, digests: "array[int]", digests_there: "array[int]", found: Comparison
    ) -> tuple[bytes, bytes]:
        """The digests of lines that are in both places; counts the others in ``found``."""
        both = Counter(digests) & Counter(digests_there)
        found.more = len(digests_there) - both.total()
        here, there, left = bytes.fromhex(digest), bytes.fromhex(digest), both.copy()
        for line, short in zip(self._of_source(), digests, strict=False):
            if left[short] > 0:
                left[short] -= 1
                here = chained(here, (line.body,))
            elif self._is_known(line):
                found.known += 1
            else:
                found.missing += 1
        left = both
        for line in self._of_target():
            short = _short(line.body)
            if left[short] > 0:
                left[short] -= 1
                there = chained(there, (line.body,))
        return here, there

    def _is_known(self, line: Spelled) -> bool:
        """True when the target knows the message, or need not know the change."""
        entry, knows = line.entry, self._target.knows
        if not is_op(entry):
            return any(knows(self._key, one, one) for one in ids_of(entry))
        target = entry.get("target")
        if not target:
            return hides(entry)  # an erasure, which each place notes for itself
        if knows(self._key, target, hidden_key(target)):
            return is_known_op(entry)
        return is_edit(entry) and is_sent(entry) and knows(self._key, target, EDIT_SENT + target)

    def _of_source(self) -> Iterator[Spelled]:
        return spelled(self._source.lines(self._key, self._behind[0], self._upto), self._hidden)

    def _of_target(self) -> Iterator[Spelled]:
        return spelled(self._target.lines(self._key, self._behind[1]), self._hidden)


def _short(body: bytes) -> int:
    return int.from_bytes(blake2b(body, digest_size=8).digest(), "little")
