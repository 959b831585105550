"""Does ``groups.mode`` let the bots decide together who answers, under nanobot and under ``run``?"""

from typing import TYPE_CHECKING, Final

from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.findings import Finding

if TYPE_CHECKING:
    from nanobot_transcript.settings import LoadedSettings

__all__ = ["check"]

_LISTENING: Final = (
    "groups.mode is listen: each bot answers what nanobot's own group policy lets through; "
    "the bots do not decide together who answers."
)
_LISTENING_RUN: Final = "groups.mode is listen. Under `nanobot-transcript run` the bots decide together who answers."
_NOT_UNDER_NANOBOT: Final = " Under nanobot they do not: each bot answers what nanobot's own group policy lets through."
_AS_IN_THE_DEMO: Final = (
    "To have them decide together, as in the demo, set groups.mode to gate, "
    "and relay.mode to mentions so that they hear each other."
)
_SILENT_RUN: Final = (
    "groups.mode is observe: messages are only recorded. Under `nanobot-transcript run` no bot answers in a group."
)


def check(loaded: "LoadedSettings", *, nanobot: bool) -> Finding:
    """What the mode of the settings means where ``nanobot`` is installed, and for the bots that ``run`` runs."""
    groups, runs = loaded.groups, bool(loaded.run_accounts)
    if not groups.policy.active:
        bots, plugin = (
            "The bots of `nanobot-transcript run` are switched off ({origin}).",
            "The plugin is switched off ({origin}).",
        )
        sentence = said(bots if runs and not nanobot else plugin, origin=loaded.origin_of("groups.mode"))
        return Finding("mode", "warning", sentence, said("Set groups.mode to listen."))
    if groups.mode == "gate":
        return Finding(
            "mode", "ok", said("groups.mode is gate: the bots decide together, from the record, who answers.")
        )
    if groups.mode == "listen":
        return _listening(nanobot=nanobot, runs=runs)
    if groups.mode == "observe" and runs:
        return Finding("mode", "info", said(_SILENT_RUN), said("To let them answer, set groups.mode to gate."))
    return Finding("mode", "ok", said("groups.mode is {mode}.", mode=groups.mode))


def _listening(*, nanobot: bool, runs: bool) -> Finding:
    if not runs:
        return Finding("mode", "info", said(_LISTENING), said(_AS_IN_THE_DEMO))
    if nanobot:
        return Finding("mode", "info", said(_LISTENING_RUN) + said(_NOT_UNDER_NANOBOT), said(_AS_IN_THE_DEMO))
    return Finding("mode", "ok", said(_LISTENING_RUN))
