"""The settings: one class with a description per field, read from command line, environment and YAML file."""

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
    FeishuSettings,
    HistorySettings,
    OutboxSettings,
    ResponderSettings,
    RunnerSettings,
    WebhookSettings,
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
    "FeishuSettings",
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
    "WebhookSettings",
    "describe",
    "load_settings",
]
