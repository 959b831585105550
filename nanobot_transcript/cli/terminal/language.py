"""In which language the command line speaks: English, or Chinese where the locale is Chinese.

Sentences stand in the code in English; ``said`` gives them in the language of the person, from ``chinese.json``.
"""

import json
import os
import re
from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, TypeAlias

__all__ = ["Language", "language", "retold", "said", "speak"]

Language: TypeAlias = Literal["en", "zh"]

_LOCALES: Final = ("LC_ALL", "LC_MESSAGES", "LANG")
"""The first that is not empty counts: POSIX.1-2017, base definitions, 8.2."""

_chosen: list[Language] = []


def speak(chosen: Language | None) -> None:
    """Speak this language from now on; None: what the environment says."""
    _chosen[:] = [chosen] if chosen else []


def language(environment: Mapping[str, str] = os.environ) -> Language:
    """
    >>> language({"LANG": "zh_CN.UTF-8"}), language({"LC_ALL": "C", "LANG": "zh_CN.UTF-8"})
    ('zh', 'en')
    """
    if _chosen:
        return _chosen[0]
    locale = next((value for name in _LOCALES if (value := environment.get(name))), "")
    return "zh" if locale.casefold().startswith("zh") else "en"


def said(english: str, /, **values: object) -> str:
    """A sentence in the person's language, with these values in its ``{places}``; in English if it has no Chinese."""
    sentence = _chinese().get(english, english) if language() == "zh" else english
    return sentence.format(**values) if values else sentence


@cache
def _chinese() -> Mapping[str, str]:
    """Every sentence in Chinese, by the English one."""
    from importlib.resources import files  # takes a while to import, and most never need it

    return json.loads(files("nanobot_transcript.cli.terminal").joinpath("chinese.json").read_text(encoding="utf-8"))


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

    text = files("nanobot_transcript.cli.terminal").joinpath("chinese_of_others.json").read_text(encoding="utf-8")
    known: dict[str, str] = json.loads(text)
    forms = sorted(known, key=lambda english: len(_PLACE.sub("", english)), reverse=True)
    return {re.compile("(.+?)".join(map(re.escape, _PLACE.split(form)))): known[form] for form in forms}
