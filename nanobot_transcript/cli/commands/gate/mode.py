"""Who decides in a chat whether a bot answers, depending on the chat's mode and on what runs the bot."""

from typing import TYPE_CHECKING, Final, Literal, TypedDict

from nanobot_transcript.cli.terminal.language import said

if TYPE_CHECKING:
    from nanobot_transcript.conversation.policy import Mode

__all__ = ["decided_by", "who_decides"]


class DecidedBy(TypedDict):
    """Who decides about bots in nanobot, and about those of ``nanobot-transcript run``."""

    nanobot: Literal["gate", "group_policy"]
    run: Literal["gate", "nobody"]


_DECIDED_BY: Final["dict[Mode, DecidedBy]"] = {
    "gate": {"nanobot": "gate", "run": "gate"},
    "listen": {"nanobot": "group_policy", "run": "gate"},
    "observe": {"nanobot": "group_policy", "run": "nobody"},
    "off": {"nanobot": "group_policy", "run": "nobody"},
}
_POLICY: Final = " In nanobot its own group policy decides who answers, not the gate;"
_NOBODY: Final = " under `nanobot-transcript run` nobody answers."
_SENTENCES: Final["dict[Mode, tuple[str, ...]]"] = {
    "listen": ("The settings say mode listen here.", _POLICY, " under `nanobot-transcript run` the gate decides."),
    "observe": ("The settings say mode observe here: messages are only recorded.", _POLICY, _NOBODY),
    "off": ("The settings say mode off here: messages are not recorded any more.", _POLICY, _NOBODY),
}


def decided_by(mode: "Mode") -> DecidedBy:
    """Who decides in a chat with this mode."""
    return _DECIDED_BY[mode]


def who_decides(mode: "Mode") -> str | None:
    """The same as sentences; None where the gate decides everywhere."""
    return "".join(map(said, _SENTENCES.get(mode, ()))) or None
