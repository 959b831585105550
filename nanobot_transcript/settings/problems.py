"""Wrong settings in plain words: which key, where it was set, what it is, and what it must be."""

from collections.abc import Sequence
from datetime import date

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings.schema import Description, place_of, shown
from nanobot_transcript.settings.sources import Origin, Source, origin_of

__all__ = ["config_error"]


def config_error(error: ValidationError, sources: Sequence[Source]) -> ConfigError:
    """The error to raise instead, with a sentence, on a line of its own, for each setting that is wrong."""
    problems: dict[str, ErrorDetails] = {}
    for problem in error.errors(include_url=False):
        problems.setdefault(place_of(problem["loc"]).key, problem)
    sentences = [_sentence(problem, sources) for problem in problems.values()]
    return ConfigError("\n".join(sentences), hint=_remedy(next(iter(problems.values())), sources))


def _sentence(problem: ErrorDetails, sources: Sequence[Source]) -> str:
    place = place_of(problem["loc"])
    if problem["type"] == "missing":
        return f"{place.key} is missing ({origin_of(place.key.rpartition('.')[0], sources)})."
    origin = origin_of(place.key, sources)
    must = f"must be {place.kind.must}"
    if problem["type"] == "value_error":  # raised by a check of our own, in words of our own
        must = str(problem["ctx"]["error"])  # pyright: ignore[reportTypedDictNotRequiredAccess]
    return f"{place.key} ({origin}) {_given(problem, place, origin)}{must}."


def _given(problem: ErrorDetails, place: Description, origin: Origin) -> str:
    """What it is, with a comma and a "but"; nothing of a secret of the right kind."""
    value = problem["input"]
    if origin.written is None and place.secret and isinstance(value, str):
        return ""
    text = shown(value, place) if origin.written is None else repr(origin.written)
    return f"contains {text}, but " if place.within else f"is {text}, but "


def _remedy(problem: ErrorDetails, sources: Sequence[Source]) -> str:
    place = place_of(problem["loc"])
    if problem["type"] == "missing":
        return f"Add {place.key}."
    origin = origin_of(place.key, sources)
    where = f" in {origin.where}" if origin.where else ""
    if problem["type"] == "string_type" and isinstance(problem["input"], bool | int | float | date):
        return f"Put {'each item' if place.within else 'the value'} of {place.key}{where} in quotes."
    if place.kind.is_mapping and origin.kind == "file":
        return f"Write what belongs to {place.key}{where} on the lines below it, indented."
    needed = place.required or place.needed
    instead = "" if needed else ", or remove it" if place.named else ", or remove it to use the default"
    return f"Correct {place.key}{where}{instead}."
