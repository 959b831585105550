"""Names of agents: what may be one, and new ones of an adjective and a noun, such as GreenCastle."""

import re
import secrets
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any, Final

from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import ActingRefusedError, InvalidLetterError
from nanobot_transcript.scripts import folded
from transcript_mcp.mail.agents.lookalikes import disguised, skeleton
from transcript_mcp.mail.agents.words import ADJECTIVES, NOUNS

__all__ = [
    "ADJECTIVES",
    "HUMAN",
    "NOUNS",
    "RESERVED",
    "checked_name",
    "folded",
    "is_reserved",
    "normal",
    "pick",
    "reduced",
    "refuse_disguise",
    "skeleton",
]

HUMAN: Final = "human"
"""Who writes when a person does."""
RESERVED: Final = frozenset({HUMAN, "overseer", "system"})

_LONGEST: Final = 64
_LONGEST_HINT: Final = 48
_MOST_BYTES: Final = 200  # of a folder's name, and of a file's that has more in it
# Letters, marks of them and fillers that are shown as nothing: two names would look the same.
_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001bc9d\U0001bca0-\U0001bca3\U000e0100-\U000e01ef]"
)
_INSIDE: Final = frozenset("-_. ")
_DRAWS: Final = 40


def is_reserved(name: str) -> bool:
    """True for names that stand for people or for the system, in any case, and for those that look like one."""
    return folded(name) in RESERVED or skeleton(name) in RESERVED


def normal(name: str) -> str:
    """The name as it is kept and looked up: composed characters, no spaces around."""
    return unicodedata.normalize("NFC", well_formed(name).strip())


def checked_name(name: Any) -> str:
    """A fixed name as it is kept. Raises InvalidLetterError, and ActingRefusedError for a reserved one.

    One that exists already may look like another; ``refuse_disguise`` is for those that are new.
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidLetterError("An agent's name must be a non-empty text.", hint=_HINT)
    clean = normal(name)
    if len(clean) > _LONGEST or len(clean.encode()) > _MOST_BYTES:
        raise InvalidLetterError(
            f"An agent's name may have at most {_LONGEST} characters ({_MOST_BYTES} bytes).", hint="Shorten the name."
        )
    if not (clean[0].isalnum() and all(_may_stand(char) for char in clean)) or clean.endswith("."):
        shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in clean)
        raise InvalidLetterError(f"{shown} cannot be an agent's name: it names a folder, too.", hint=_HINT)
    if is_reserved(clean):
        raise ActingRefusedError(
            f"The name {clean} is reserved: it stands for people or the system.", hint="Choose another name."
        )
    return clean


def refuse_disguise(name: str) -> None:
    """Raises InvalidLetterError for a new name in which a letter of another script passes for a Latin one."""
    letter = disguised(name)
    if letter is not None:
        raise InvalidLetterError(
            f"{name} reads like a name of Latin letters, and {letter} in it is {unicodedata.name(letter)}.",
            hint="Write each word in the letters of one script.",
        )


_HINT: Final = (
    "Start with a letter or digit of any script; after that '-', '_', '.' and spaces in between are allowed, too."
)


def _may_stand(char: str) -> bool:
    """True for letters, digits, the marks that belong to letters, and what may stand between them."""
    visible = char.isalnum() or char in _INSIDE or unicodedata.category(char).startswith("M")
    return visible and not _INVISIBLE.match(char)


def reduced(hint: str | None) -> str:
    """The letters and digits of a hint; empty when nothing remains that could be a new name.

    >>> reduced("green castle!"), reduced("小 助手"), reduced("Human")
    ('greencastle', '小助手', '')
    """
    text = unicodedata.normalize("NFKC", hint or "")
    kept = "".join(char for char in text if char.isalnum() and _may_stand(char))[:_LONGEST_HINT]
    return "" if is_reserved(kept) or disguised(kept) else kept


def pick(is_taken: Callable[[str], bool], hint: str | None = None) -> str:
    """A free name: the reduced hint, if need be with a number, else an adjective and a noun."""
    return next(name for name in _candidates(reduced(hint)) if not is_taken(name))


def _candidates(hint: str) -> Iterator[str]:
    if hint:
        yield hint
        yield from _numbered(hint)
    for _ in range(_DRAWS):
        yield _pair()
    yield from _numbered(_pair())


def _numbered(name: str) -> Iterator[str]:
    for number in range(2, 10):
        yield f"{name}{number}"
    for digits in range(2, 12):  # a name that many want: few tries, whatever their number
        for _ in range(8):
            yield f"{name}{secrets.randbelow(9 * 10 ** (digits - 1)) + 10 ** (digits - 1)}"


def _pair() -> str:
    return secrets.choice(ADJECTIVES) + secrets.choice(NOUNS)
