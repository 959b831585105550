"""The settings: one class with a description per field, read from command line, environment and YAML file."""

# Each name is fetched when it is first asked for: `model` asks the platforms for their sections, which need `base`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from nanobot_transcript.settings.answering import (
        ClaimSettings,
        GateSettings,
        JudgeSettings,
        RelaySettings,
        TurnsSettings,
    )
    from nanobot_transcript.settings.groups import ChatSettings, ContextSettings, GroupsSettings
    from nanobot_transcript.settings.hosting import (
        AgentProfile,
        AgentSettings,
        HistorySettings,
        OutboxSettings,
        ResponderSettings,
        RunnerSettings,
    )
    from nanobot_transcript.settings.loading import LoadedSettings, Value, load_settings
    from nanobot_transcript.settings.model import Settings
    from nanobot_transcript.settings.schema import Description, describe
    from nanobot_transcript.settings.sources import Origin
    from nanobot_transcript.settings.storing import RetentionSettings, StoreSettings

__all__ = [
    "AgentProfile",
    "AgentSettings",
    "ChatSettings",
    "ClaimSettings",
    "ContextSettings",
    "Description",
    "GateSettings",
    "GroupsSettings",
    "HistorySettings",
    "JudgeSettings",
    "LoadedSettings",
    "Origin",
    "OutboxSettings",
    "RelaySettings",
    "ResponderSettings",
    "RetentionSettings",
    "RunnerSettings",
    "Settings",
    "StoreSettings",
    "TurnsSettings",
    "Value",
    "describe",
    "load_settings",
]

_HOMES = {
    "answering": (
        "ClaimSettings",
        "GateSettings",
        "JudgeSettings",
        "RelaySettings",
        "TurnsSettings",
    ),
    "groups": (
        "ChatSettings",
        "ContextSettings",
        "GroupsSettings",
    ),
    "hosting": (
        "AgentProfile",
        "AgentSettings",
        "HistorySettings",
        "OutboxSettings",
        "ResponderSettings",
        "RunnerSettings",
    ),
    "loading": (
        "LoadedSettings",
        "Value",
        "load_settings",
    ),
    "model": ("Settings",),
    "schema": (
        "Description",
        "describe",
    ),
    "sources": ("Origin",),
    "storing": (
        "RetentionSettings",
        "StoreSettings",
    ),
}


def __getattr__(name: str) -> object:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value
