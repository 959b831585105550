"""In what two hosts are compared that lived through the same, and where they may differ."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from support.outcome import Outcome, Told

__all__ = ["ASPECTS", "HOST_DECIDES", "PLUGIN_NOTES"]

Pair: TypeAlias = tuple[list[Any], list[Any]]

HOST_DECIDES: Final[dict[str, str]] = {
    "root_id": "nanobot answers a message outside of threads with a new message, the runner with a reply to it",
    "msg_type": "nanobot chooses text, post or card by what is in an answer; the runner streams a card",
    "source": "it follows from msg_type",
    "message_ids": "how long a message may be depends on msg_type",
}
"""Fields of the bot's own answers in which the hosts may differ, and why."""
PLUGIN_NOTES: Final[dict[str, str]] = {
    "stale": "the runner leaves out what is too old before it asks the gate",
    "duplicate": "the runner leaves out what it has handled before it asks the gate",
}
"""Why a message was not answered, of which only the plugin makes a note."""


def _entries(runner: Outcome, plugin: Outcome) -> Pair:
    return _compared(runner), _compared(plugin)


def _compared(outcome: Outcome) -> list[dict[str, Any]]:
    own = {entry["message_id"] for entry in outcome.entries if _is_own(entry)}
    return [_shared(entry, own) for entry in outcome.entries]


def _shared(entry: Mapping[str, Any], own: set[str]) -> dict[str, Any]:
    """What the host does not decide. The root of a reply to the bot is that of the bot's answer, or the answer."""
    left_out = set(HOST_DECIDES) if _is_own(entry) else {"root_id"} if entry.get("reply_to") in own else set()
    return {name: value for name, value in entry.items() if name not in left_out}


def _is_own(entry: Mapping[str, Any]) -> bool:
    return entry.get("agent") == "Alpha"


def _decisions(runner: Outcome, plugin: Outcome) -> Pair:
    noted = [[one for one in outcome.decisions if one["reason"] not in PLUGIN_NOTES] for outcome in (runner, plugin)]
    return noted[0], noted[1]


def _history(runner: Outcome, plugin: Outcome) -> Pair:
    told = [_new(one, other) for one, other in zip(runner.told, plugin.told, strict=False)]
    told += [one.history for one in runner.told[len(plugin.told) :]]
    return told, [one.history for one in plugin.told]


def _new(runner: Told, plugin: Told) -> list[dict[str, Any]]:
    """A session of nanobot's keeps what it was told, and nanobot quotes what is replied to in its own way."""
    lines = [line for line in runner.history if line["text"].removeprefix("@Alpha ") not in plugin.before]
    quoted = lines[-1:] if lines and lines[-1] not in plugin.history else []
    return [line for line in lines if not (line in quoted and f"[Reply to: {line['text']}]" in plugin.asked)]


def _members(runner: Outcome, plugin: Outcome) -> Pair:
    told = [_unlisted(one, other) for one, other in zip(runner.told, plugin.told, strict=False)]
    told += [one.members for one in runner.told[len(plugin.told) :]]
    return told, [one.members for one in plugin.told]


def _unlisted(runner: Told, plugin: Told) -> list[dict[str, Any]]:
    """A session of nanobot's is told once who is there."""
    return [line for line in runner.members if json.dumps(line, ensure_ascii=False) not in plugin.before]


def _asker(runner: Outcome, plugin: Outcome) -> Pair:
    return [one.asker for one in runner.told], [one.asker for one in plugin.told]


def _reactions(runner: Outcome, plugin: Outcome) -> Pair:
    return runner.reactions, plugin.reactions


ASPECTS: Final[dict[str, Callable[[Outcome, Outcome], Pair]]] = {
    "entries": _entries,
    "decisions": _decisions,
    "history": _history,
    "members": _members,
    "asker": _asker,
    "reactions": _reactions,
}
"""Each gives of the two outcomes what must be equal."""
