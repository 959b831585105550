"""The task: for each labelled message, which of the recently active members is it for?"""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.relevance.evaluation.irc import IrcLine, Log
from nanobot_transcript.relevance.names import whole_word

__all__ = ["WINDOW", "LabelledCase", "cases", "names"]

WINDOW: Final = 100
_LEAST_LINES: Final = 2
_MINUTE: Final = 60_000


class LabelledCase(NamedTuple):
    """A labelled message: its ``history``, whom to decide about, and which of them it is for (``meant``)."""

    message: Entry
    history: list[Entry]
    members: list[AgentProfile]
    candidates: list[AgentProfile]
    meant: frozenset[str]


def cases(log: Log) -> Iterator[LabelledCase]:
    """The labelled messages of a log. Members are those who have spoken so far."""
    entries = [as_entry(log.name, at, line) for at, line in enumerate(log.lines)]
    known: dict[str, AgentProfile] = {}
    members: list[AgentProfile] = []
    done = 0
    for at in sorted(log.links):
        message = entries[at]
        if message is None:
            continue
        for entry in entries[done : at + 1]:
            if entry is not None and entry["sender"] not in known:
                known[entry["sender"]] = AgentProfile(entry["sender"], ids=frozenset({entry["sender"]}), kind="human")
                members = list(known.values())
        done = at + 1
        history = [entry for entry in entries[max(0, at - WINDOW) : at] if entry is not None]
        lines = Counter(entry["sender"] for entry in history)
        del lines[message["sender"]]
        candidates = [known[nick] for nick, count in lines.items() if count >= _LEAST_LINES]
        yield LabelledCase(message, history, members, candidates, log.addressees(at))


def as_entry(log: str, at: int, line: IrcLine | None) -> Entry | None:
    """A line of a log as an entry of a transcript."""
    if line is None:
        return None
    return {
        "role": "user",
        "content": line.text,
        "sender": line.nick,
        "message_id": f"{log}:{at}",
        "ts": float(line.minute * _MINUTE),
    }


def names(text: str, nick: str) -> bool:
    """True when the nick is in the text as a whole word: what "mention" means in this task."""
    return whole_word(text.casefold(), nick.casefold()) >= 0
