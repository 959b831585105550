"""The settings: one class with a description per field, read from command line, environment and YAML file."""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nanobot_transcript.settings.loader import LoadedSettings, load_settings
    from nanobot_transcript.settings.model import Settings
    from nanobot_transcript.settings.schema import describe

__all__ = ["LoadedSettings", "Settings", "describe", "load_settings"]

_HOMES = {"LoadedSettings": "loader", "Settings": "model", "describe": "schema", "load_settings": "loader"}


def __getattr__(name: str) -> object:
    # Fetched when it is asked for: `model` loads the sections of the platforms, and they need `base` of this room.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
