"""The sections of the settings that ``run`` needs, read from the configuration file."""

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings import LoadedSettings, load_settings
from nanobot_transcript.settings.running import GateSettings, RelaySection, RunnerSettings, TurnsSettings
from nanobot_transcript.settings.sources import yaml_file

__all__ = ["Sections", "read"]

_LOADING: Final = "nanobot_transcript.settings.loading"


class Sections(BaseModel):
    """What ``run`` needs beside the settings that all commands share."""

    runner: RunnerSettings = RunnerSettings()
    gate: GateSettings = GateSettings()
    turns: TurnsSettings = TurnsSettings()
    relay: RelaySection = RelaySection()


def read(config: Path | None, overrides: dict[str, Any] | None = None) -> tuple[LoadedSettings, Sections]:
    """The settings and the sections. Raises ConfigError, naming the file and what is wrong in it."""
    with _quiet_about_sections():
        settings = load_settings(config, overrides=overrides)
    if hasattr(settings, "runner"):  # the settings class has them
        return settings, Sections.model_construct(**{name: getattr(settings, name) for name in Sections.model_fields})
    values = yaml_file(settings.file).values if settings.file is not None else {}
    given = {name: values[name] for name in Sections.model_fields if values.get(name) is not None}
    try:
        return settings, Sections(**given)
    except ValidationError as error:
        problems = [
            f"{_key(problem['loc'])} {problem['msg'].removeprefix('Value error, ')}" for problem in error.errors()
        ]
        raise ConfigError(f"{settings.file}: {'; '.join(problems)}.", hint="Correct these settings.") from error


def _key(place: tuple[int | str, ...]) -> str:
    return ".".join(map(str, place))


@contextlib.contextmanager
def _quiet_about_sections() -> Iterator[None]:
    """The settings class does not know these sections yet and would call each of them unknown."""
    ours = tuple(f"There is no setting {name} " for name in Sections.model_fields)

    def is_news(record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith(ours)

    logger = logging.getLogger(_LOADING)
    logger.addFilter(is_news)
    try:
        yield
    finally:
        logger.removeFilter(is_news)
