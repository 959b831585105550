"""Reading the settings: command line over environment over file over defaults, each value with its origin."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_core import ErrorDetails

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings.model import Settings
from nanobot_transcript.settings.schema import Model, child, closest
from nanobot_transcript.settings.sources import (
    Origin,
    Source,
    command_line,
    environment,
    find_file,
    yaml_file,
)

__all__ = ["LoadedSettings", "Value", "load_settings"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Value:
    """One setting as it holds; ``text`` is safe to show."""

    key: str
    text: Any
    origin: Origin


class LoadedSettings(Settings):
    """Settings that know where they came from; ``load_settings`` makes them."""

    _sources: tuple[Source, ...] = ()
    _file: Path | None = None
    _unknown: tuple[str, ...] = ()

    @property
    def file(self) -> Path | None:
        """The configuration file that was read."""
        return self._file

    @property
    def unknown(self) -> tuple[str, ...]:
        """One sentence for each setting that was given but does not exist."""
        return self._unknown

    def origin_of(self, key: str) -> Origin:
        """Where the value of a dotted key came from."""
        return _origin(key, self._sources)

    def values(self) -> Iterator[Value]:
        """Every setting in effect; secrets are masked, filled-in ``${VAR}`` are shown as written."""
        for key, value in _leaves(self):
            origin = self.origin_of(key)
            yield Value(key, origin.written if origin.written is not None else _masked(value), origin)


def load_settings(
    config: Path | None = None, *, look_in_cwd: bool = True, overrides: dict[str, Any] | None = None
) -> LoadedSettings:
    """The settings of this process.

    ``config`` names the YAML file (else ``$NANOBOT_TRANSCRIPT_CONFIG``, else
    ``./nanobot-transcript.yaml`` if ``look_in_cwd``, else ``~/.nanobot/transcript.yaml``).
    ``overrides`` are nested values that go before all, such as ``{"store": {"dir": "/t"}}``. A setting that
    does not exist is named in one WARNING and left out.
    Raises ConfigError, naming key, origin and remedy.
    """
    path = find_file(config, look_in_cwd=look_in_cwd)
    sources = [command_line(overrides or {}), environment()]
    if path is not None:
        sources.append(yaml_file(path))
    unknown: list[str] = []
    merged: dict[str, Any] = {}
    for source in reversed(sources):
        _merge(merged, _known(source.values, Settings, "", source, unknown))
    try:
        settings = LoadedSettings(**merged)
    except ValidationError as error:
        raise _config_error(error, sources) from error
    settings._sources, settings._file, settings._unknown = tuple(sources), path, tuple(unknown)
    for sentence in unknown:
        logger.warning("%s", sentence)
    return settings


def _known(values: Any, model: Model, prefix: str, source: Source, unknown: list[str]) -> Any:
    """``values`` without what the settings do not have; each such key is put down in ``unknown``."""
    if values is None and model is not Settings:
        return {}  # a section whose lines are all commented out
    if not isinstance(values, dict):
        return values
    kept: dict[str, Any] = {}
    for name, value in values.items():
        key = f"{prefix}{name}"
        if name not in model.model_fields:
            unknown.append(_unknown_sentence(key, source.origin(key)))
            continue
        section, by_name = child(model, name)
        if section is None:
            kept[name] = value
        elif by_name:
            kept[name] = _known_by_name(value, section, key, source, unknown)
        else:
            kept[name] = _known(value, section, f"{key}.", source, unknown)
    return kept


def _known_by_name(values: Any, section: Model, key: str, source: Source, unknown: list[str]) -> Any:
    if values is None:
        return {}
    if not isinstance(values, dict):
        return values
    return {str(name): _known(item, section, f"{key}.{name}.", source, unknown) for name, item in values.items()}


def _merge(target: dict[str, Any], values: dict[str, Any]) -> None:
    for key, value in values.items():
        if isinstance(value, dict) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = value


def _unknown_sentence(key: str, origin: Origin) -> str:
    guess = closest(key)
    tail = f"; did you mean {guess}?" if guess else "; `nanobot-transcript config show` lists what there is."
    return f"There is no setting {key} ({origin}){tail}"


def _origin(key: str, sources: Sequence[Source]) -> Origin:
    for source in sources:
        if _holds(source.values, key.split(".")):
            return source.origin(key)
    return Origin("default")


def _holds(values: Any, path: list[str]) -> bool:
    for part in path:
        if not isinstance(values, dict) or part not in values:
            return False
        values = values[part]
    return True


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _masked(item) for name, item in value.items()}
    return "**********" if isinstance(value, SecretStr) else value


def _leaves(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name in type(model).model_fields:
        value = getattr(model, name)
        section, by_name = child(type(model), name)
        if section is None:
            yield f"{prefix}{name}", value
        elif not by_name:
            yield from _leaves(value, f"{prefix}{name}.")
        elif not value:
            yield f"{prefix}{name}", {}
        else:
            for key, item in value.items():
                yield from _leaves(item, f"{prefix}{name}.{key}.")


def _config_error(error: ValidationError, sources: Sequence[Source]) -> ConfigError:
    problems = error.errors(include_url=False)
    sentences = [_problem(problem, sources) for problem in problems]
    key = _key(problems[0])
    origin = _origin(key, sources)
    where = f" in {origin.where}" if origin.where else ""
    return ConfigError(" ".join(sentences), hint=_remedy(problems[0], key, where))


def _problem(problem: ErrorDetails, sources: Sequence[Source]) -> str:
    key = _key(problem)
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Input ").rstrip(".")
    if problem["type"] == "missing":
        section = key.rpartition(".")[0]
        return f"{key} is missing ({_origin(section, sources)})."
    if problem["type"] == "literal_error":
        message = f"must be {problem['ctx']['expected']}"  # pyright: ignore[reportTypedDictNotRequiredAccess]
    origin = _origin(key, sources)
    shown = f" is {problem['input']!r} but" if _may_be_shown(problem["input"], origin) else ""
    return f"{key} ({origin}){shown} {message}."


def _may_be_shown(value: Any, origin: Origin) -> bool:
    return origin.written is None and isinstance(value, str | int | float | None)


def _remedy(problem: ErrorDetails, key: str, where: str) -> str:
    if problem["type"] == "missing":
        return f"Add {key}."
    if problem["type"] == "string_type":
        return f"Put the value of {key}{where} in quotes."
    return f"Correct {key}{where}, or remove it to use the default."


def _key(problem: ErrorDetails) -> str:
    """The dotted key; pydantic adds the branch of a union (such as ``constrained-str``) behind it."""
    model: Model | None = Settings
    parts: list[str] = []
    place = list(problem["loc"])
    while place and model is not None:
        name = str(place.pop(0))
        parts.append(name)
        if name not in model.model_fields:
            break
        model, by_name = child(model, name)
        if by_name and place:
            parts.append(str(place.pop(0)))
    return ".".join(parts)
