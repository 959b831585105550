"""The configuration file: which one is read, its values with their lines, and what is wrong with it as YAML."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic_settings import YamlConfigSettingsSource

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings.environment import CONFIG_VARIABLE
from nanobot_transcript.settings.model import Settings
from nanobot_transcript.settings.schema import place_of
from nanobot_transcript.settings.sources import REFERENCE, Origin, Source
from nanobot_transcript.settings.unset_variables import Unset

__all__ = ["find_file", "yaml_file"]

_COLON: Final = "mapping values are not allowed here"


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


def yaml_file(path: Path) -> Source:
    """The values of a YAML file with ``${VAR}`` filled in. Raises ConfigError with line and reason."""
    text = ""
    try:
        text = path.read_text(encoding="utf-8-sig")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if isinstance(node, yaml.MappingNode):
            _require_names(path, node)
            _require_no_repetition(path, node)
            values = YamlConfigSettingsSource(Settings, yaml_file=path, yaml_file_encoding="utf-8-sig")()
            return _file_source(path, node, values)
    except OSError as error:
        raise ConfigError(f"Cannot read {path}: {error.strerror}.", hint="Check the file's permissions.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text.", hint="Save the file as UTF-8.") from error
    except RecursionError as error:
        raise ConfigError(f"{path} is nested too deeply.", hint="Remove the brackets or aliases in it.") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML: {_reason(error, text)}.", hint="Correct that line.") from error
    if node is None:
        return Source({}, "file")
    raise ConfigError(f"{path} does not contain settings.", hint="Write lines such as `store:` and `  dir: ~/x`.")


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:  # a user that does not exist: then nor does the file
        return path


# -- values, lines and variables


_NAMES: Final = frozenset({"tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"})


def _require_names(path: Path, node: yaml.MappingNode) -> None:
    for name, _ in node.value:
        if name.tag not in _NAMES:
            raise ConfigError(
                f"Line {name.start_mark.line + 1} of {path} does not begin with the name of a setting.",
                hint="Correct that line.",
            )


def _file_source(path: Path, node: yaml.MappingNode, values: dict[str, Any]) -> Source:
    source = Source(values, "file", {key: Origin("file", f"{path}:{line}") for key, line in _lines(node)})
    return replace(source, values=_expand(values, (), source))


def _lines(node: yaml.MappingNode, prefix: str = "") -> Iterator[tuple[str, int]]:
    for name, value in node.value:
        key = f"{prefix}{name.value}"
        yield key, name.start_mark.line + 1
        if isinstance(value, yaml.MappingNode):
            yield from _lines(value, f"{key}.")


def _expand(value: Any, path: tuple[str, ...], source: Source) -> Any:
    """The value with ``${VAR}`` filled in; ``source`` notes how it was written and which variables are not set."""
    if isinstance(value, dict):
        return {name: _expand(item, (*path, str(name)), source) for name, item in value.items()}
    if isinstance(value, list):
        return [_expand(item, path, source) for item in value]
    if not isinstance(value, str) or not REFERENCE.search(value):
        return value
    key = ".".join(path)
    origin = source.origins.get(key, Origin("file"))
    source.origins[key] = Origin(origin.kind, origin.where, written=value)
    missing = [name for name in REFERENCE.findall(value) if name not in os.environ]
    if not missing:
        return REFERENCE.sub(lambda match: os.environ[match[1]], value)
    known = source.unset[key].variables if key in source.unset else ()  # of an earlier item of the same list
    variables = tuple(dict.fromkeys([*known, *missing]))
    source.unset[key] = Unset(path, str(origin), value, variables, waits=place_of(path).may_wait)
    return None


# -- what is wrong with it


def _require_no_repetition(path: Path, node: yaml.MappingNode) -> None:
    for key, first, again in _repeated(node):
        raise ConfigError(
            f"{key} appears twice in {path}, on lines {first} and {again}.",
            hint="Merge the two, or remove one: only one would take effect.",
        )


def _repeated(node: yaml.MappingNode, prefix: str = "") -> Iterator[tuple[str, int, int]]:
    """Dotted keys that stand twice in one section, with both lines: YAML's own reader silently takes the last one."""
    seen: dict[str, int] = {}
    for name, value in node.value:
        key, line = f"{prefix}{name.value}", name.start_mark.line + 1
        if key in seen and name.value != "<<":  # several merges (`<<: *other`) in one section are allowed
            yield key, seen[key], line
        seen[key] = line
        if isinstance(value, yaml.MappingNode):
            yield from _repeated(value, f"{key}.")


def _reason(error: yaml.YAMLError, text: str) -> str:
    """The line in which a person sees it, counted from 1, and what is wrong there.

    The parser notices many things a line or more later: at the first text that cannot go on what stands above.
    """
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return str(error).replace("\n", " ")
    problem, context = error.problem or "", error.context or ""
    found = error.problem_mark.line
    begun = error.context_mark.line if error.context_mark is not None else found
    if "expected ':'" in problem:
        return _at(begun, "a colon is missing after the name")
    if "quoted scalar" in context:
        return _at(begun, "the quotation mark that opens here is not closed")
    if context.startswith("while parsing a flow"):
        opened = "{" if "mapping" in context else "["
        return _at(begun, f"the {opened} here is not closed, or a comma is missing")
    above = _without_a_colon(text, found)
    if problem == _COLON:
        if above is not None:
            return _at(above, "a colon is missing after the name")
        return _at(
            found,
            "a colon is not allowed here; put a text that contains one in quotes, and indent like the lines above",
        )
    if problem.startswith("expected <block end>"):
        if above is not None and _indentation(text, above) == _indentation(text, found):
            return _at(above, "a colon is missing after the name")
        return _at(found, "this line is not indented like the lines it belongs to")
    if r"'\t'" in problem:
        return _at(found, "a tab; indent with spaces")
    return _at(found, problem or context)


def _at(line: int, what: str) -> str:
    return f"line {line + 1}: {what}"


def _without_a_colon(text: str, line: int) -> int | None:
    """The nearest line above that says something, when it has no colon: the parser took it for the text's beginning."""
    lines = text.splitlines()
    for number in range(min(line, len(lines)) - 1, -1, -1):
        said = lines[number].split(" #")[0].strip()
        if said and not said.startswith("#"):
            return None if ":" in said or said.startswith("-") else number
    return None


def _indentation(text: str, line: int) -> int:
    said = text.splitlines()[line]
    return len(said) - len(said.lstrip())
