"""Variables under the plain names that Agent Mail's format has always had, and the file ``.env`` of a folder.

In the process's environment only names that say whose they are count; ``HOST`` and ``PORT`` mean something to too many
programs, so they count in a ``.env`` alone.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dotenv import dotenv_values

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings.sources import Origin, Source, environment

__all__ = ["dotenv_file", "plain_environment"]

_OURS: Final = {
    "MCP_MAIL_STORE": "mail.store",
    "IMAGE_INLINE_MAX_BYTES": "mail.images.inline_max_bytes",
    "ATTACHMENT_POLICY": "mail.images.policy",
}
_IN_A_FILE: Final = {**_OURS, "HOST": "hub.host", "PORT": "hub.port", "LOG_LEVEL": "hub.log_level"}


def plain_environment() -> Source:
    """What ``MCP_MAIL_STORE``, ``IMAGE_INLINE_MAX_BYTES`` and ``ATTACHMENT_POLICY`` of the environment say."""
    return _source(os.environ, _OURS, "")


def dotenv_file(folder: Path) -> list[Source]:
    """What the file ``.env`` of a folder says, if there is one: first our own names, then the plain ones.

    Raises ConfigError when it cannot be read.
    """
    path = folder / ".env"
    if not path.is_file():
        return []
    try:
        variables = {name: value for name, value in dotenv_values(path, interpolate=False).items() if value is not None}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}.", hint="Save it as UTF-8 text that you may read."
        ) from error
    return [environment(variables, str(path)), _source(variables, _IN_A_FILE, str(path))]


def _source(variables: Mapping[str, str], names: Mapping[str, str], where: str) -> Source:
    source = Source({}, "environment")
    for name, key in names.items():
        if variables.get(name):
            _put(source.values, key.split("."), variables[name])
            source.origins[key] = Origin("environment", f"{where} {name}".lstrip())
    return source


def _put(values: dict[str, Any], path: list[str], value: str) -> None:
    *sections, name = path
    for section in sections:
        values = values.setdefault(section, {})
    values[name] = value
