"""Sentences that other rooms and the parser of the command line wrote, told again in the person's language.

They come here finished, with their values in them; ``chinese_of_others.json`` knows them by their form.
"""

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Final

from nanobot_transcript.cli.language import language

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["retold"]

_PLACE: Final = re.compile(r"\{\d\}")
_LONGEST: Final = 500
"""Of a line, in characters. Where values could begin and end is tried out, in a long one for minutes."""


def retold(text: str) -> str:
    """``text`` in Chinese where that is spoken, each line whose form is known, and else as it is."""
    return "\n".join(map(_line, text.split("\n"))) if language() == "zh" else text


def _line(text: str) -> str:
    if len(text) > _LONGEST:
        return text
    for form, chinese in _forms().items():
        if found := form.fullmatch(text):
            return chinese.format(*found.groups())
    return text


@cache
def _forms() -> "Mapping[re.Pattern[str], str]":
    """What sentences look like, those with the most words of their own first: they fit the fewest."""
    from importlib.resources import files  # takes a while to import, and most never need it

    text = files("nanobot_transcript.cli").joinpath("chinese_of_others.json").read_text(encoding="utf-8")
    known: dict[str, str] = json.loads(text)
    forms = sorted(known, key=lambda english: len(_PLACE.sub("", english)), reverse=True)
    return {re.compile("(.+?)".join(map(re.escape, _PLACE.split(form)))): known[form] for form in forms}
