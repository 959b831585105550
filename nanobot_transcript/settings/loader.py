"""Reading the settings: command line over environment over file over defaults, each value with its origin."""

import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, SecretStr, ValidationError

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings.config_file import find_file, yaml_file
from nanobot_transcript.settings.environment import DotenvUse, dotenv_file, environment, plain_environment
from nanobot_transcript.settings.model import Settings
from nanobot_transcript.settings.problems import config_error
from nanobot_transcript.settings.schema import Model, child, closest, place_of
from nanobot_transcript.settings.sources import Origin, Source, command_line, origin_of
from nanobot_transcript.settings.unset_variables import Unset, unset_error

if TYPE_CHECKING:
    from nanobot_transcript.record import Record

__all__ = ["LoadedSettings", "Value", "load_settings"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Value:
    """One setting in effect; ``text`` is safe to show."""

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
        return origin_of(key, self._sources)

    @property
    def names_record(self) -> bool:
        """True when somebody has said where the record is."""
        return any(self.origin_of(key).kind != "default" for key in ("store.dir", "record.url"))

    @property
    def variables(self) -> frozenset[str]:
        """The variables of this process's environment that settings are made of, without those of a ``.env``."""
        origins = (origin for source in self._sources for origin in source.origins.values())
        return frozenset(name for origin in origins for name in origin.variables if name in os.environ)

    def open_database(self, *, spooled: bool = True) -> "Record":
        """See ``Settings.open_database``; an error about an address also says where it was set."""
        try:
            return super().open_database(spooled=spooled)
        except ConfigError as error:
            key, _, told = str(error).partition(" ")
            if key not in ("record.url", "record.listen_url") or self.origin_of(key).kind == "default":
                raise
            raise ConfigError(f"{key} ({self.origin_of(key)}) {told}", hint=error.hint) from error

    def values(self) -> Iterator[Value]:
        """Every setting in effect; secrets are masked, filled-in ``${VAR}`` are shown as written."""
        for key, value in _leaves(self):
            yield Value(key, self._shown(key, value), self.origin_of(key))

    def _shown(self, key: str, value: Any) -> Any:
        if key in self._unset:
            return f"{self._unset[key].written} (not set)"
        if (written := self.origin_of(key).written) is not None:
            return written
        if isinstance(value, dict):
            missing = {one.path[-1]: None for one in self._unset.values() if one.key == f"{key}.{one.path[-1]}"}
            return {name: self._shown(f"{key}.{name}", item) for name, item in (value | missing).items()}
        return "**********" if isinstance(value, SecretStr) else value


def load_settings(
    config: Path | None = None,
    *,
    look_in_cwd: bool = True,
    overrides: dict[str, Any] | None = None,
    dotenv: DotenvUse = "ours",
    later: bool = False,
) -> LoadedSettings:
    """The settings of this process.

    ``config`` names the YAML file (else ``$NANOBOT_TRANSCRIPT_CONFIG``, else
    ``./nanobot-transcript.yaml`` if ``look_in_cwd``, else ``~/.nanobot/transcript.yaml``).
    ``overrides`` are nested values that go before all, such as ``{"store": {"dir": "/t"}}``. ``dotenv``: how
    much of ``./.env`` counts, if ``look_in_cwd``. A setting that does not exist gets one WARNING and is ignored.
    ``later``: a reference to a variable that is not set is no error until the caller asks with ``require``.
    Raises ConfigError, naming key, origin and remedy.
    """
    path = find_file(config, look_in_cwd=look_in_cwd)
    sources = [command_line(overrides or {}), environment(), plain_environment()]
    if look_in_cwd:
        sources += dotenv_file(Path.cwd(), dotenv)
    if path is not None:
        sources.append(yaml_file(path))
    unknown: list[str] = []
    merged: dict[str, Any] = {}
    for source in reversed(sources):
        _merge(merged, _known(source.values, Settings, "", source, unknown))
    unset = _take_out_unset(merged, sources)
    needed = [one for one in unset.values() if not one.waits]
    if needed and not later:
        raise unset_error(needed)
    try:
        settings = LoadedSettings(**merged)
    except ValidationError as error:
        raise config_error(error, sources) from error
    settings._sources, settings._file, settings._unknown = tuple(sources), path, tuple(unknown)
    settings._unset = unset
    for sentence in unknown:
        logger.warning("%s", sentence)
    return settings


def _take_out_unset(merged: dict[str, Any], sources: Sequence[Source]) -> dict[str, Unset]:
    """Remove from ``merged`` what refers to a variable that is not set, so that its default holds; return it by key.

    A required setting stays as it is written: without it pydantic would call it missing, which it is not.
    """
    found: dict[str, Unset] = {}
    for number, source in enumerate(sources):
        for key, one in source.unset.items():
            *sections, name = one.path
            around = _section_in(merged, sections)
            name = _key_in(around, name)
            if name not in around or any(other.holds(one.path) for other in sources[:number]):
                continue  # there is no such setting, or another source says what it is
            found[key] = one
            del around[name]
            if place_of(one.path).required:
                around[name] = one.written
    return found


def _section_in(values: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    found: Any = values
    for name in path:
        found = found.get(_key_in(found, name)) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _key_in(section: dict[Any, Any], name: str) -> Any:
    """The key as YAML read it: ``1:`` is a number."""
    return next((key for key in section if str(key) == name), name)


def _known(values: Any, model: Model, prefix: str, source: Source, unknown: list[str]) -> Any:
    """``values`` without keys that are no settings; a sentence about each of these is added to ``unknown``."""
    if values is None and model is not Settings:
        return {}  # a section whose lines are all commented out
    if not isinstance(values, dict):
        return values
    kept: dict[str, Any] = {}
    for name, value in values.items():
        key = f"{prefix}{name}"
        if name not in model.model_fields:
            unknown.append(_unknown_sentence(prefix, name, source.origin(key)))
            continue
        section, by_name = child(model, name)
        if section is None:
            kept[name] = dict(value) if isinstance(value, dict) else value
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


def _unknown_sentence(prefix: str, name: str, origin: Origin) -> str:
    key = prefix + name
    guess = closest(key)
    if guess and "." in name:
        tail = f"; sections are nested, not written with dots: `{_nested(prefix, guess)}`."
    else:
        tail = f"; did you mean {guess}?" if guess else "; `nanobot-transcript config show` lists all settings."
    return f"There is no setting {key} ({origin}){tail}"


def _nested(prefix: str, key: str) -> str:
    """How a setting is written in YAML, below the section ``prefix`` where it lies there.

    >>> _nested("", "gate.style"), _nested("gate.", "gate.judge.model")
    ('gate: {style: …}', 'judge: {model: …}')
    """
    parts = key.split(".")
    inner = parts[prefix.count(".") :] if key.startswith(prefix) else parts
    written = f"{inner[-1]}: …"
    for part in reversed(inner[:-1]):
        written = f"{part}: {{{written}}}"
    return written


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
