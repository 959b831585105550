"""Settings from environment variables: our own names, the plain ones of Agent Mail's format, and a folder's ``.env``.

Our own are ``NANOBOT_TRANSCRIPT_*``. The plain ones exist because other programs that read Agent Mail's format use
them. In the environment of the process only plain names that say whose they are count: ``HOST`` and ``PORT`` mean
something to too many programs, so they count only in a ``.env``, and only for the hub. A ``.env`` mostly belongs to
somebody else, so a plain name in it whose value does not fit is a warning and no error.
"""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from dotenv import dotenv_values
from pydantic import ValidationError
from pydantic_settings import EnvSettingsSource, SettingsError

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings.model import PREFIX, Settings
from nanobot_transcript.settings.schema import closest, place_of, shown
from nanobot_transcript.settings.sources import Origin, Source

__all__ = ["CONFIG_VARIABLE", "DotenvUse", "dotenv_file", "environment", "plain_environment"]

logger = logging.getLogger(__name__)

CONFIG_VARIABLE: Final = f"{PREFIX}CONFIG"
"""Names the configuration file, and is no setting."""

DotenvUse: TypeAlias = Literal["none", "ours", "hub"]
"""Who reads a ``.env``: nobody (``none``), a command (``ours``: names that say whose they are), or the ``hub`` itself,
for which ``HOST``, ``PORT`` and ``LOG_LEVEL`` count, too."""

_FILE: Final = "_FILE"
_AS_JSON: Final = {True: '{"name": "value"}', False: '["one", "two"]'}
_OURS: Final = {
    "MCP_MAIL_STORE": "mail.store",
    "IMAGE_INLINE_MAX_BYTES": "mail.images.inline_max_bytes",
    "ATTACHMENT_POLICY": "mail.images.policy",
}
_HUB: Final = {**_OURS, "HOST": "hub.host", "PORT": "hub.port", "LOG_LEVEL": "hub.log_level"}
_SYNONYMS: Final = {("LOG_LEVEL", "warn"): "warning"}


def environment(variables: Mapping[str, str] = os.environ, where: str = "") -> Source:
    """The values of ``NANOBOT_TRANSCRIPT_*``; ``__`` separates nested names. ``…_FILE`` names a file that holds the
    value. Raises ConfigError for a list or section that is not written as JSON, and for a file that cannot be read;
    the sentence names the variable. ``where`` is the file that the variables stand in, if they do.
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
            # pydantic drops what it has no field for; as None it is still there when unknown settings are named.
            values.setdefault(top, None)
            origins.setdefault(top, origins[key])
    return Source(values, "environment", origins)


def plain_environment() -> Source:
    """What ``MCP_MAIL_STORE``, ``IMAGE_INLINE_MAX_BYTES`` and ``ATTACHMENT_POLICY`` of the environment say."""
    return _plain_source(os.environ, _OURS, "")


def dotenv_file(folder: Path, use: DotenvUse) -> list[Source]:
    """What the file ``.env`` of a folder says, if there is one: first our own names, then the plain ones.

    A file that cannot be read, and a plain name whose value does not fit, get one WARNING and are left out. Raises
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
    return [environment(variables, str(path)), _plain_source(variables, fitting, str(path))]


# -- our own names


def _is_ours(name: str) -> bool:
    return name.upper().startswith(PREFIX) and name.upper() != CONFIG_VARIABLE


def _key_of(variable: str) -> str:
    return variable[len(PREFIX) :].lower().replace("__", ".")


def _parsed(variables: Mapping[str, str]) -> dict[str, Any]:
    source = EnvSettingsSource(Settings)
    source.env_vars = {name.lower(): value for name, value in variables.items() if value}
    return source()


def _require_json(variable: str, text: str) -> None:
    """Raise ConfigError when the variable cannot be read; only lists and sections can be that wrong."""
    try:
        _parsed({variable: text})
    except SettingsError as error:
        place = place_of(_key_of(variable).split("."))
        raise ConfigError(
            f"{place.key} (environment {variable}) is {shown(text, place)}, "
            f"but must be {place.kind.must}, written as JSON.",
            hint=f"Write it as {_AS_JSON[place.kind.is_mapping]}, or set it in the configuration file.",
        ) from error


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
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(
            f"{variable} names {path}, which cannot be read: {reason}.", hint="Correct the path."
        ) from error


def _require_one_value(variable: str, path: str, value: str, setting: str) -> None:
    """Raise ConfigError for a file that holds nothing, or more than one secret. Nothing of it is repeated."""
    if not value:
        raise ConfigError(f"{variable} names {path}, which is empty.", hint="Write the value into that file.")
    if "\n" in value and place_of(_key_of(setting).split(".")).secret:
        raise ConfigError(
            f"{variable} names {path}, which has several lines.", hint="Write the value into that file, on one line."
        )


# -- plain names


def _fits(variables: Mapping[str, str], name: str, key: str, path: Path) -> bool:
    """Whether a setting can have the value of a plain name; logs a warning when it cannot."""
    if not variables.get(name):
        return False
    parts, values = key.split("."), dict[str, Any]()
    _put(values, parts, _meant(name, variables[name]))
    try:
        Settings(**values)
    except ValidationError as error:
        if any(list(problem["loc"])[: len(parts)] == parts for problem in error.errors(include_url=False)):
            must = place_of(parts).kind.must
            logger.warning("%s in %s is ignored: as %s it must be %s.", name, path, key, must)
            return False
    return True


def _meant(name: str, value: str) -> str:
    return _SYNONYMS.get((name, value.strip().lower()), value)


def _plain_source(variables: Mapping[str, str], names: Mapping[str, str], where: str) -> Source:
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
