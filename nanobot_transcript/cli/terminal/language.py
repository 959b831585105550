"""In which language the command line speaks: that of the locale where we have it, else English.

Sentences stand in the code in English; ``said`` gives them in the person's language. A language is a file beside this
module, which has its sentences by the English ones, and a line in ``_FILES``; what the file lacks is said in English. A
second file, ``…_of_others.json``, is for sentences of the rooms below, which know no languages: see ``retold``.
"""

import json
import os
import re
from collections.abc import Mapping
from functools import cache
from typing import Final

__all__ = ["is_translated", "language", "retold", "said", "speak"]

_FILES: Final = {"zh": "chinese"}
"""How locales of a language begin, and how its files are called."""

_ENGLISH: Final = "en"

_LOCALES: Final = ("LC_ALL", "LC_MESSAGES", "LANG")
"""The first that is not empty counts: POSIX.1-2017, base definitions, 8.2."""

_chosen: list[str] = []


def speak(chosen: str | None) -> None:
    """Speak this language from now on (``en``, ``zh``); None: what the environment says."""
    _chosen[:] = [chosen] if chosen else []


def language(environment: Mapping[str, str] = os.environ) -> str:
    """
    >>> language({"LANG": "zh_CN.UTF-8"}), language({"LC_ALL": "C", "LANG": "zh_CN.UTF-8"})
    ('zh', 'en')
    """
    if _chosen:
        return _chosen[0]
    locale = next((value for name in _LOCALES if (value := environment.get(name))), "").casefold()
    return next((code for code in _FILES if locale.startswith(code)), _ENGLISH)


def said(english: str, /, **values: object) -> str:
    """A sentence in the person's language, with these values in its ``{places}``; without a translation in English."""
    spoken = language()
    sentence = english if spoken == _ENGLISH else _sentences(spoken).get(english, english)
    return sentence.format(**values) if values else sentence


def is_translated(english: str) -> bool:
    """True when ``said`` does not fall back to English."""
    spoken = language()
    return spoken == _ENGLISH or english in _sentences(spoken)


_PLACE: Final = re.compile(r"\{\d\}")


_LONGEST: Final = 500
"""Characters of a line that is translated. A longer one may take minutes: all places of its values are tried."""


def retold(text: str) -> str:
    """``text`` in the person's language, each line whose form is known; other lines as they are."""
    spoken = language()
    return text if spoken == _ENGLISH else "\n".join(_line(spoken, line) for line in text.split("\n"))


def _line(spoken: str, text: str) -> str:
    if len(text) > _LONGEST:
        return text
    for form, translated in _forms(spoken).items():
        if found := form.fullmatch(text):
            return translated.format(*found.groups())
    return text


@cache
def _sentences(spoken: str) -> Mapping[str, str]:
    """Every sentence of a language by the English one."""
    return _read(_FILES[spoken])


@cache
def _forms(spoken: str) -> "Mapping[re.Pattern[str], str]":
    """The forms of other rooms' sentences, those with the most words of their own first: they fit the fewest lines."""
    known = _read(f"{_FILES[spoken]}_of_others")
    forms = sorted(known, key=lambda english: len(_PLACE.sub("", english)), reverse=True)
    return {re.compile("(.+?)".join(map(re.escape, _PLACE.split(form)))): known[form] for form in forms}


def _read(name: str) -> dict[str, str]:
    """The sentences in a file of ours; none where it does not exist."""
    from importlib.resources import files  # takes a while to import, and most never need it

    file = files("nanobot_transcript.cli.terminal").joinpath(f"{name}.json")
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
