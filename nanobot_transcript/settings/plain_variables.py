"""Variables under the plain names that Agent Mail's format has always had, and the file ``.env`` of a folder.

In the process's environment only names that say whose they are count; ``HOST`` and ``PORT`` mean something to too many
programs, so they count in a ``.env`` alone, and there for the hub alone. That file is mostly somebody else's: what does
not fit in it is told and left out.
"""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from dotenv import dotenv_values
from pydantic import ValidationError

from nanobot_transcript.settings.model import Settings
from nanobot_transcript.settings.sources import Origin, Source, environment
from nanobot_transcript.settings.wording import place_of

__all__ = ["DotenvUse", "dotenv_file", "plain_environment"]

logger = logging.getLogger(__name__)

DotenvUse: TypeAlias = Literal["none", "ours", "hub"]
"""Who reads a ``.env``: nobody (``none``), a command (``ours``: names that say whose they are), or the ``hub`` itself,
for which ``HOST``, ``PORT`` and ``LOG_LEVEL`` count, too."""

_OURS: Final = {
    "MCP_MAIL_STORE": "mail.store",
    "IMAGE_INLINE_MAX_BYTES": "mail.images.inline_max_bytes",
    "ATTACHMENT_POLICY": "mail.images.policy",
}
_HUB: Final = {**_OURS, "HOST": "hub.host", "PORT": "hub.port", "LOG_LEVEL": "hub.log_level"}
_SYNONYMS: Final = {("LOG_LEVEL", "warn"): "warning"}


def plain_environment() -> Source:
    """What ``MCP_MAIL_STORE``, ``IMAGE_INLINE_MAX_BYTES`` and ``ATTACHMENT_POLICY`` of the environment say."""
    return _source(os.environ, _OURS, "")


def dotenv_file(folder: Path, use: DotenvUse) -> list[Source]:
    """What the file ``.env`` of a folder says, if there is one: first our own names, then the plain ones.

    A file that cannot be read, and a plain name whose value does not fit, is told in one WARNING and left out. Raises
    ConfigError when one of our own names is wrong.
    """
    path = folder / ".env"
    if use == "none":
        return []
    try:
        if not path.is_file():
            return []
        read = dotenv_values(path, interpolate=False, encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        logger.warning("%s cannot be read and is ignored: %s.", path, error)
        return []
    variables = {name: value for name, value in read.items() if value is not None}
    plain = _HUB if use == "hub" else _OURS
    fitting = {name: key for name, key in plain.items() if _fits(variables, name, key, path)}
    return [environment(variables, str(path)), _source(variables, fitting, str(path))]


def _fits(variables: Mapping[str, str], name: str, key: str, path: Path) -> bool:
    """Whether a setting can have the value of a plain name; says so when it cannot."""
    if not variables.get(name):
        return False
    parts, values = key.split("."), dict[str, Any]()
    _put(values, parts, _meant(name, variables[name]))
    try:
        Settings(**values)
    except ValidationError as error:
        if any(list(problem["loc"])[: len(parts)] == parts for problem in error.errors(include_url=False)):
            must = place_of(parts).must
            logger.warning("%s in %s is ignored: as %s it must be %s.", name, path, key, must)
            return False
    return True


def _meant(name: str, value: str) -> str:
    return _SYNONYMS.get((name, value.strip().lower()), value)


def _source(variables: Mapping[str, str], names: Mapping[str, str], where: str) -> Source:
    source = Source({}, "environment")
    for name, key in names.items():
        if variables.get(name):
            _put(source.values, key.split("."), _meant(name, variables[name]))
            source.origins[key] = Origin("environment", f"{where} {name}".lstrip())
    return source


def _put(values: dict[str, Any], path: list[str], value: str) -> None:
    *sections, name = path
    for section in sections:
        values = values.setdefault(section, {})
    values[name] = value
