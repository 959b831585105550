"""The settings: one class with a description per field, read from command line, environment and YAML file."""

from nanobot_transcript.settings.loading import LoadedSettings, Value, load_settings
from nanobot_transcript.settings.model import (
    AgentProfile,
    AgentSettings,
    ChatSettings,
    ContextSettings,
    FeishuSettings,
    GroupsSettings,
    RetentionSettings,
    Settings,
    StoreSettings,
)
from nanobot_transcript.settings.schema import Description, describe
from nanobot_transcript.settings.sources import Origin

__all__ = [
    "AgentProfile",
    "AgentSettings",
    "ChatSettings",
    "ContextSettings",
    "Description",
    "FeishuSettings",
    "GroupsSettings",
    "LoadedSettings",
    "Origin",
    "RetentionSettings",
    "Settings",
    "StoreSettings",
    "Value",
    "describe",
    "load_settings",
]
