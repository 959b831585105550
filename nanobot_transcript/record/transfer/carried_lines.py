"""Lines as they are moved: encoded as our stores encode them, without the text of recalled messages."""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from nanobot_transcript.record.transfer.contract import Spelled
from nanobot_transcript.store.contract import Line
from nanobot_transcript.store.lines.codec import decode, encode
from nanobot_transcript.store.lines.erasure import Hidden

if TYPE_CHECKING:
    from collections import Counter

__all__ = ["spelled"]


def spelled(lines: Iterable[Line], hidden: AbstractSet[str], flaws: "Counter[str] | None" = None) -> Iterator[Spelled]:
    """Each line that a reader is shown or that changes what is shown; the others are counted in ``flaws``.

    ``hidden`` are the ids of recalled and redacted messages.
    """
    erased = Hidden(set(hidden)) if hidden else None
    for cursor, entry, flaw in lines:
        if entry is None:
            if flaws is not None:
                flaws[flaw] += 1
            continue
        body = erased(entry) if erased is not None else None
        stripped = decode(body) if body is not None else None
        if body is not None and stripped is not None:
            yield Spelled(cursor, stripped, body)
        else:
            yield Spelled(cursor, entry, encode(entry)[:-1])
