"""Where settings come from: YAML file, environment, command line; each as a plain nested dictionary."""

import logging
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import yaml
from pydantic_settings import EnvSettingsSource, SettingsError, YamlConfigSettingsSource

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings.model import Settings

__all__ = ["CONFIG_VARIABLE", "Origin", "Source", "command_line", "environment", "find_file", "yaml_file"]

logger = logging.getLogger(__name__)

PREFIX: Final = "NANOBOT_TRANSCRIPT_"
CONFIG_VARIABLE: Final = f"{PREFIX}CONFIG"
_REFERENCE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from; ``written`` is the text before ``${VAR}`` was filled in, when it was."""

    kind: Literal["command line", "environment", "file", "default"]
    where: str = ""
    written: str | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.where}".rstrip()


@dataclass(frozen=True, slots=True)
class Source:
    """The values of one source and the origin of each by dotted key; a section's serves what is in it."""

    values: dict[str, Any]
    kind: Literal["command line", "environment", "file"]
    origins: dict[str, Origin] = field(default_factory=dict)

    def origin(self, key: str) -> Origin:
        """The origin of a value, or of the nearest section around it."""
        while key:
            if key in self.origins:
                return self.origins[key]
            key = key.rpartition(".")[0]
        return Origin(self.kind)


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
    try:
        node = yaml.compose(path.read_text(encoding="utf-8-sig"), Loader=yaml.SafeLoader)
        if isinstance(node, yaml.MappingNode):
            values = YamlConfigSettingsSource(Settings, yaml_file=path, yaml_file_encoding="utf-8-sig")()
            return _file_source(path, node, values)
    except OSError as error:
        raise ConfigError(f"Cannot read {path}: {error.strerror}.", hint="Check the file's permissions.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text.", hint="Save the file as UTF-8.") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML: {_yaml_reason(error)}.", hint="Correct that line.") from error
    if node is None:
        return Source({}, "file")
    raise ConfigError(f"{path} does not hold settings.", hint="Write lines such as `store:` and `  dir: ~/x`.")


def environment() -> Source:
    """The values of ``NANOBOT_TRANSCRIPT_*``; ``__`` separates nested names."""
    try:
        values = EnvSettingsSource(Settings)()
    except SettingsError as error:
        raise ConfigError(
            f"An environment variable {PREFIX}* cannot be read: {error}.",
            hint="Lists and sections are written as JSON.",
        ) from error
    origins = {_key_of(name): Origin("environment", name) for name in _our_variables()}
    for key in list(origins):
        top = key.partition(".")[0]
        if top not in Settings.model_fields:
            values.setdefault(top, None)  # so that it is named as unknown
            origins.setdefault(top, origins[key])
    return Source(values, "environment", origins)


def command_line(overrides: dict[str, Any]) -> Source:
    """The options of a command, nested; None stands for an option that was not given."""
    return Source(_without_none(overrides), "command line")


def _our_variables() -> list[str]:
    return [name for name in os.environ if name.upper().startswith(PREFIX) and name.upper() != CONFIG_VARIABLE]


def _key_of(variable: str) -> str:
    return variable[len(PREFIX) :].lower().replace("__", ".")


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    nested = {key: _without_none(value) if isinstance(value, dict) else value for key, value in values.items()}
    return {key: value for key, value in nested.items() if value is not None}


def _file_source(path: Path, node: yaml.MappingNode, values: dict[str, Any]) -> Source:
    origins = {key: Origin("file", f"{path}:{line}") for key, line in _lines(node)}
    return Source(_expand(values, "", origins), "file", origins)


def _lines(node: yaml.MappingNode, prefix: str = "") -> Iterator[tuple[str, int]]:
    for name, value in node.value:
        key = f"{prefix}{name.value}"
        yield key, name.start_mark.line + 1
        if isinstance(value, yaml.MappingNode):
            yield from _lines(value, f"{key}.")


def _yaml_reason(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem or error.context}"
    return str(error).replace("\n", " ")


def _expand(value: Any, key: str, origins: dict[str, Origin]) -> Any:
    if isinstance(value, dict):
        return {name: _expand(item, f"{key}.{name}".lstrip("."), origins) for name, item in value.items()}
    if isinstance(value, list):
        return [_expand(item, key, origins) for item in value]
    if not isinstance(value, str) or not _REFERENCE.search(value):
        return value
    origin = origins.get(key, Origin("file"))
    for name in _REFERENCE.findall(value):
        if name not in os.environ:
            raise ConfigError(
                f"{key} ({origin}) refers to ${{{name}}}, which is not set.",
                hint=f"Set the environment variable {name}, or write the value itself.",
            )
    origins[key] = Origin(origin.kind, origin.where, written=value)
    return _REFERENCE.sub(lambda match: os.environ[match[1]], value)
