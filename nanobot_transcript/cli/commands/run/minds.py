"""Makes minds out of settings: the responders of agents, and the gate's judge."""

from typing import TYPE_CHECKING, Final

from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.errors import ConfigError

if TYPE_CHECKING:
    from nanobot_transcript.relevance import Judge
    from nanobot_transcript.runner import Responder
    from nanobot_transcript.settings.sections.agents import ResponderSettings
    from nanobot_transcript.settings.sections.gate import JudgeSettings

__all__ = ["judge_for", "responder_for"]

_SILENCE: Final = 60.0  # seconds without any byte after which a streaming endpoint is given up


def responder_for(given: "ResponderSettings", key: str) -> "Responder":
    """The responder that the section ``key`` describes. Raises ConfigError when something is missing."""
    from nanobot_transcript.runner import (
        CommandOptions,
        CommandResponder,
        OpenAIOptions,
        OpenAIResponder,
        ScriptedResponder,
    )

    needed = {"openai": "model", "command": "command", "scripted": "answers"}[given.kind]
    if not getattr(given, needed):
        raise ConfigError(
            said("{key} is missing.", key=f"{key}.{needed}"),
            hint=said("A responder of kind {kind} needs it.", kind=given.kind),
        )
    if given.kind == "openai":
        silence = min(_SILENCE, given.timeout)
        options = OpenAIOptions(given.model or "", given.base_url, given.secret, silence, extra=given.extra)
        return OpenAIResponder(options)
    if given.kind == "scripted":
        return ScriptedResponder(given.answers)
    command = CommandOptions(
        given.command,
        given.input,
        timeout=given.timeout,
        max_output=given.max_output,
        cwd=given.cwd.expanduser() if given.cwd is not None else None,
        env={name: value.get_secret_value() for name, value in given.env.items()},
        inherit=given.inherit,
    )
    responder = CommandResponder(command)
    if (found := responder.obstacle()) is not None:
        raise ConfigError(f"{key}.{found.option}: {found.sentence}", hint=found.hint)
    return responder


def judge_for(given: "JudgeSettings", mind: "ResponderSettings") -> "Judge | None":
    """The judge, if one is wanted; ``host`` means the agent's own endpoint. Raises ConfigError."""
    if given.kind == "off":
        return None
    if given.kind == "openai":
        return given.asking(given)
    return given.asking(mind) if mind.kind == "openai" else None  # a command or a script cannot be asked
