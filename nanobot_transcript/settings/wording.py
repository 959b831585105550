"""Settings and their values in words that a person knows who edits a file; read off the settings class."""

import re
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import ByteSize, SecretStr
from pydantic.fields import FieldInfo

from nanobot_transcript.settings.model import Settings
from nanobot_transcript.settings.schema import Model, bare, child, placeholder

__all__ = ["SettingPlace", "place_of", "shown"]

_SECTION: Final = "a section of settings"
_LONGEST: Final = 80
_OF_ONE_BOT: Final = re.compile(r"agents\.[^.]+\.(instructions$|responder\.)")

_WORDS: Final = {
    str: "text",
    int: "a whole number",
    float: "a number",
    Path: "a path",
    ByteSize: "a size in bytes (or such as 64 MiB)",
    bool: "true or false",
    SecretStr: "text",
    Any: "any value",
}


@dataclass(frozen=True, slots=True)
class SettingPlace:
    """A setting or section by its dotted ``key``, what it ``must`` be, and whether that is a ``secret``.

    ``within``: an item of its list is meant. ``required``: there is no default. ``named``: an entry under a free name,
    which has no default either, but need not be there.
    """

    key: str
    must: str
    secret: bool = False
    within: bool = False
    required: bool = False
    named: bool = False

    @property
    def is_section(self) -> bool:
        """True for what holds settings and is none itself."""
        return self.must.startswith("a section")

    @property
    def may_wait(self) -> bool:
        """True for what may be missing until it is used: a secret, and what only the bot itself has to know."""
        return (self.secret and self.must.endswith("or null")) or bool(_OF_ONE_BOT.match(self.key))


def place_of(path: Sequence[int | str]) -> SettingPlace:
    """The place behind the parts of a key, such as ``("agents", "cli_a", "aliases", 0)``.

    What stands behind a setting is left out: pydantic adds which branch of a union was tried.

    >>> place_of(["context", "max_entries"]).must
    'a whole number from 1 to 1000'
    """
    model: Model = Settings
    parts: list[str] = []
    rest = list(path)
    while rest:
        parts.append(str(rest.pop(0)))
        info = model.model_fields.get(parts[-1])
        if info is None:
            break
        section, by_name = child(model, parts[-1])
        if section is None:
            return _leaf(".".join(parts), info, rest)
        if by_name and not rest:
            key = ".".join(parts)
            return SettingPlace(key, f"{_SECTION} for each {placeholder(key)}")
        if by_name:
            parts.append(str(rest.pop(0)))
        model = section
    return SettingPlace(".".join(parts), _SECTION)


def shown(value: Any, place: SettingPlace) -> str:
    """A value in an error; of a secret, and of what may hold one, only the kind.

    >>> shown("many", place_of(["context", "max_entries"])), shown(7, place_of(["gate", "judge", "api_key"]))
    ("'many'", 'a number')
    """
    if value is None:
        return "null"
    if isinstance(value, dict | list):
        return "a section" if isinstance(value, dict) else "a list"
    if place.secret or place.is_section:
        return _kind(value)
    if isinstance(value, str):
        return repr(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _kind(value: Any) -> str:
    kinds = {str: "text", bool: "true or false", int: "a number", float: "a number"}
    return kinds.get(type(value), "something else")


def _leaf(key: str, info: FieldInfo, rest: Sequence[int | str]) -> SettingPlace:
    annotation, secret = bare(info.annotation), _holds_secrets(info.annotation)
    if get_origin(annotation) is dict and len(rest) == 1:
        return SettingPlace(f"{key}.{rest[0]}", _words(get_args(annotation)[1], ()), secret, named=True)
    within = bool(rest) and isinstance(rest[0], int)
    return SettingPlace(key, _words(annotation, info.metadata), secret, within, info.is_required())


def _words(annotation: Any, limits: Sequence[Any]) -> str:
    kind, arguments = get_origin(annotation), get_args(annotation)
    if kind is Annotated:
        return _words(arguments[0], [*limits, *_limits(arguments[1:])])
    if kind in (Union, types.UnionType):
        words = [_words(part, limits) for part in arguments if part is not type(None)]
        return f"{' or '.join(words)}, or null"
    if kind is Literal:
        return _either([repr(value) for value in arguments])
    if kind is list:
        return f"a list of {_words(arguments[0], ())}"
    if kind is dict:
        return f"a section with {_words(arguments[1], ())} for each name"
    return _WORDS[annotation] + _bounds(limits)


def _bounds(limits: Sequence[Any]) -> str:
    """A whole range, or each limit by itself."""
    least, most = _limit(limits, "ge"), _limit(limits, "le")
    if least is not None and most is not None:
        return f" from {least} to {most}"
    names = {"gt": "greater than", "ge": "of at least", "lt": "less than", "le": "of at most"}
    found = [f"{words} {bound}" for name, words in names.items() if (bound := _limit(limits, name)) is not None]
    if _limit(limits, "min_length"):
        found.append("that is not empty")
    if (pattern := _limit(limits, "pattern")) is not None:
        found.append(f"of the form {pattern}")
    return f" {' and '.join(found)}" if found else ""


def _limit(limits: Sequence[Any], name: str) -> Any:
    return next((bound for limit in limits if (bound := getattr(limit, name, None)) is not None), None)


def _limits(metadata: Sequence[Any]) -> Iterator[Any]:
    for one in metadata:
        if isinstance(one, FieldInfo):
            yield from one.metadata
        else:
            yield one


def _holds_secrets(annotation: Any) -> bool:
    return annotation is SecretStr or any(_holds_secrets(part) for part in get_args(annotation))


def _either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]
