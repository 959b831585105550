"""Checks and formats one-line texts: subjects, names, keys."""

import re
from typing import Any, Final

from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import InvalidLetterError

__all__ = ["amount", "line"]

# Control characters, Unicode line ends, marks that change the direction of writing, and unpaired surrogates.
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def amount(count: int, noun: str) -> str:
    """
    >>> amount(1, "file"), amount(2, "file")
    ('1 file', '2 files')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _has_controls(text: str) -> bool:
    """True when the text would not be shown faithfully on one line."""
    return _CONTROLS.search(text) is not None


def line(what: str, text: Any, longest: int, *, empty: bool = False) -> str:
    """The text as one stripped line of at most ``longest`` characters. Raises InvalidLetterError, naming ``what``."""
    if not isinstance(text, str):
        raise InvalidLetterError(
            f"The {what} must be a text, not {str(text)[:40]!r}.", hint=f"Give the {what} as a string."
        )
    clean = well_formed(text).strip()
    if not clean and not empty:
        raise InvalidLetterError(f"The {what} is empty.", hint=f"Give the {what}.")
    if len(clean) > longest:
        raise InvalidLetterError(
            f"The {what} has {len(clean):,} characters; {longest:,} are allowed.", hint=f"Shorten the {what}."
        )
    if _has_controls(clean):
        raise InvalidLetterError(
            f"The {what} contains a line break or another control character.",
            hint="Write it on one line, as plain text.",
        )
    return clean
