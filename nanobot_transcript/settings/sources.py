"""Where settings come from: YAML file, environment, command line; each as a plain nested dictionary."""

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import yaml
from pydantic_settings import EnvSettingsSource, SettingsError, YamlConfigSettingsSource

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings.model import Settings
from nanobot_transcript.settings.schema import closest
from nanobot_transcript.settings.unset_variables import Unset
from nanobot_transcript.settings.wording import place_of, shown
from nanobot_transcript.settings.yaml_errors import reason, repeated

__all__ = [
    "CONFIG_VARIABLE",
    "Origin",
    "Source",
    "command_line",
    "environment",
    "find_file",
    "origin_of",
    "yaml_file",
]

logger = logging.getLogger(__name__)

PREFIX: Final = "NANOBOT_TRANSCRIPT_"
CONFIG_VARIABLE: Final = f"{PREFIX}CONFIG"
_FILE: Final = "_FILE"
_AS_JSON: Final = {True: '{"name": "value"}', False: '["one", "two"]'}
_REFERENCE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from; ``written`` is the text before ``${VAR}`` was filled in, when it was."""

    kind: Literal["command line", "environment", "file", "default"]
    where: str = ""
    written: str | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.where}".rstrip()

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the environment that the value is made of."""
        if self.kind == "environment":
            return (self.where,)
        return tuple(_REFERENCE.findall(self.written or ""))


@dataclass(frozen=True, slots=True)
class Source:
    """The values of one source and the origin of each by dotted key; a section's serves what is in it."""

    values: dict[str, Any]
    kind: Literal["command line", "environment", "file"]
    origins: dict[str, Origin] = field(default_factory=dict)
    unset: dict[str, Unset] = field(default_factory=dict)
    """By key: what refers to a variable that is not set. Its value is None, in a list one of its items."""

    def holds(self, path: Sequence[str]) -> bool:
        """True when it says something of the setting or section behind these parts of a key."""
        values: Any = self.values
        for part in path:
            if not isinstance(values, dict) or part not in values:
                return False
            values = values[part]
        return True

    def origin(self, key: str) -> Origin:
        """The origin of a value, of the nearest section around it, or of something in it."""
        around = key
        while around:
            if around in self.origins:
                return self.origins[around]
            around = around.rpartition(".")[0]
        below = (origin for inner, origin in self.origins.items() if inner.startswith(f"{key}."))
        return next(below, Origin(self.kind))


def origin_of(key: str, sources: Sequence[Source]) -> Origin:
    """Where the value of a dotted key comes from: the first of the sources that has it."""
    for source in sources:
        if source.holds(key.split(".")):
            return source.origin(key)
    return Origin("default")


def find_file(config: Path | None, *, look_in_cwd: bool) -> Path | None:
    """The file to read: the given one, the variable's, ``./nanobot-transcript.yaml``, or the one in the home.

    Raises ConfigError when a file that was named does not exist.
    """
    named = config or (Path(text) if (text := os.environ.get(CONFIG_VARIABLE, "")) else None)
    if named is not None:
        path = _expanded(named)
        if not path.is_file():
            who = "" if config else f" ({CONFIG_VARIABLE})"
            raise ConfigError(f"There is no configuration file {path}{who}.", hint="Correct the path, or leave it out.")
        return path
    places = [Path("nanobot-transcript.yaml").absolute()] if look_in_cwd else []
    places.append(Path.home() / ".nanobot" / "transcript.yaml")
    return next((place for place in places if place.is_file()), None)


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:  # a user that does not exist: then nor does the file
        return path


def yaml_file(path: Path) -> Source:
    """The values of a YAML file with ``${VAR}`` filled in. Raises ConfigError with line and reason."""
    text = ""
    try:
        text = path.read_text(encoding="utf-8-sig")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if isinstance(node, yaml.MappingNode):
            _require_no_repetition(path, node)
            values = YamlConfigSettingsSource(Settings, yaml_file=path, yaml_file_encoding="utf-8-sig")()
            return _file_source(path, node, values)
    except OSError as error:
        raise ConfigError(f"Cannot read {path}: {error.strerror}.", hint="Check the file's permissions.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text.", hint="Save the file as UTF-8.") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML: {reason(error, text)}.", hint="Correct that line.") from error
    if node is None:
        return Source({}, "file")
    raise ConfigError(f"{path} does not contain settings.", hint="Write lines such as `store:` and `  dir: ~/x`.")


def environment(variables: Mapping[str, str] = os.environ, where: str = "") -> Source:
    """The values of ``NANOBOT_TRANSCRIPT_*``; ``__`` separates nested names. ``…_FILE`` names a file that holds the
    value. Raises ConfigError with the name of one that is no JSON and should be, or whose file cannot be read.
    ``where`` is the file that the variables stand in, if they do.
    """
    ours = {name: value for name, value in variables.items() if _is_ours(name)}
    named = {name: name for name in ours}
    for name in [name for name in ours if _names_a_file(name)]:
        value, setting = _content(name, ours.pop(name)), name[: -len(_FILE)]
        if value is not None and not ours.get(setting):
            _require_one_value(name, variables[name], value, setting)
            ours[setting], named[setting] = value, name
    for name, value in ours.items():
        _require_json(name, value)
    values = _parsed(ours)
    origins = {_key_of(name): Origin("environment", f"{where} {named[name]}".lstrip()) for name in ours}
    for key in list(origins):
        top = key.partition(".")[0]
        if top not in Settings.model_fields:
            values.setdefault(top, None)  # so that it is named as unknown
            origins.setdefault(top, origins[key])
    return Source(values, "environment", origins)


def command_line(overrides: dict[str, Any]) -> Source:
    """The options of a command, nested; None stands for an option that was not given."""
    return Source(_without_none(overrides), "command line")


def _names_a_file(variable: str) -> bool:
    """True for ``…_FILE`` where only what stands before it is a setting: the file holds the value, as containers are
    given secrets.
    """
    if not variable.upper().endswith(_FILE):
        return False
    whole, before = _key_of(variable), _key_of(variable[: -len(_FILE)])
    return closest(whole) != whole and closest(before) == before


def _content(variable: str, path: str) -> str | None:
    if not path:
        return None
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        told = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(
            f"{variable} names {path}, which cannot be read: {told}.", hint="Correct the path."
        ) from error


def _require_one_value(variable: str, path: str, value: str, setting: str) -> None:
    """Raise ConfigError for a file that holds nothing, or more than one secret. Nothing of it is repeated."""
    if not value:
        raise ConfigError(f"{variable} names {path}, which is empty.", hint="Write the value into that file.")
    if "\n" in value and place_of(_key_of(setting).split(".")).secret:
        raise ConfigError(
            f"{variable} names {path}, which has several lines.", hint="Write the value into that file, on one line."
        )


def _require_json(variable: str, text: str) -> None:
    """Raise ConfigError when the variable cannot be read; only lists and sections can be that wrong."""
    try:
        _parsed({variable: text})
    except SettingsError as error:
        place = place_of(_key_of(variable).split("."))
        raise ConfigError(
            f"{place.key} (environment {variable}) is {shown(text, place)}, but must be {place.must}, written as JSON.",
            hint=f"Write it as {_AS_JSON[place.is_section]}, or set it in the configuration file.",
        ) from error


def _parsed(variables: Mapping[str, str]) -> dict[str, Any]:
    source = EnvSettingsSource(Settings)
    source.env_vars = {name.lower(): value for name, value in variables.items() if value}
    return source()


def _is_ours(name: str) -> bool:
    return name.upper().startswith(PREFIX) and name.upper() != CONFIG_VARIABLE


def _key_of(variable: str) -> str:
    return variable[len(PREFIX) :].lower().replace("__", ".")


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    nested = {key: _without_none(value) if isinstance(value, dict) else value for key, value in values.items()}
    return {key: value for key, value in nested.items() if value is not None}


def _file_source(path: Path, node: yaml.MappingNode, values: dict[str, Any]) -> Source:
    source = Source(values, "file", {key: Origin("file", f"{path}:{line}") for key, line in _lines(node)})
    return replace(source, values=_expand(values, (), source))


def _require_no_repetition(path: Path, node: yaml.MappingNode) -> None:
    for key, first, again in repeated(node):
        raise ConfigError(
            f"{key} appears twice in {path}, on lines {first} and {again}.",
            hint="Merge the two, or remove one: only one would take effect.",
        )


def _lines(node: yaml.MappingNode, prefix: str = "") -> Iterator[tuple[str, int]]:
    for name, value in node.value:
        key = f"{prefix}{name.value}"
        yield key, name.start_mark.line + 1
        if isinstance(value, yaml.MappingNode):
            yield from _lines(value, f"{key}.")


def _expand(value: Any, path: tuple[str, ...], source: Source) -> Any:
    if isinstance(value, dict):
        return {name: _expand(item, (*path, str(name)), source) for name, item in value.items()}
    if isinstance(value, list):
        return [_expand(item, path, source) for item in value]
    if not isinstance(value, str) or not _REFERENCE.search(value):
        return value
    key = ".".join(path)
    origin = source.origins.get(key, Origin("file"))
    source.origins[key] = Origin(origin.kind, origin.where, written=value)
    missing = [name for name in _REFERENCE.findall(value) if name not in os.environ]
    if not missing:
        return _REFERENCE.sub(lambda match: os.environ[match[1]], value)
    known = source.unset[key].variables if key in source.unset else ()
    variables = tuple(dict.fromkeys([*known, *missing]))
    source.unset[key] = Unset(path, str(origin), value, variables, waits=place_of(path).may_wait)
    return None
