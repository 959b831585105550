"""Summarises a thread by rules, without a model: the same messages always give the same summary.
It lists participants, key points, decisions, open questions and action items. English and Chinese are understood (see
``remarks``). The size of the answer is bounded, whatever the messages contain.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypedDict

from transcript_mcp.mail.messages.remarks import Remark, key, remarks, words
from transcript_mcp.mail.search.index_text import without_embedded
from transcript_mcp.mail.values import Letter

__all__ = ["Action", "Example", "Participant", "Point", "Summary", "summarize", "summarize_letters"]

_MOST: Final = 20
_MOST_POINTS: Final = 12
_POINTS_OF_A_MESSAGE: Final = 3
_MOST_EXAMPLES: Final = 5
_MOST_PARTICIPANTS: Final = 50
_LONGEST: Final = 240
_MOST_READ: Final = 2000
_LONGEST_BODY: Final = 20_000
_CHARACTERS: Final = 2_000_000
_ANSWERED_WITHIN: Final = 30
_ENOUGH: Final = 2
_MOST_QUOTES: Final = 5


class Participant(TypedDict):
    """Who wrote how many messages of the thread."""

    name: str
    messages: int


Point = TypedDict("Point", {"text": str, "from": str, "message_id": str})
"""A sentence, its author and its message."""

Action = TypedDict("Action", {"text": str, "from": str, "message_id": str, "owner": str | None, "done": bool})
"""A task. ``owner`` is the agent it names; ``done`` is True when a check list says so."""

Example = TypedDict("Example", {"message_id": str, "from": str, "created_ts": float, "excerpt": str})
"""The beginning of a message."""


class Summary(TypedDict):
    """The summary of a thread. Lists keep the thread's order; ``left_out`` counts omitted entries by list.

    Times are seconds since 1970; None when there are no messages.
    """

    subject: str
    messages: int
    first_ts: float | None
    last_ts: float | None
    participants: list[Participant]
    key_points: list[Point]
    decisions: list[Point]
    open_questions: list[Point]
    action_items: list[Action]
    examples: list[Example]
    left_out: dict[str, int]


@dataclass
class _Message:
    """A message split into remarks."""

    place: int
    id: str
    sender: str
    reply_to: str | None
    remarks: list[Remark]
    stated: list[Remark]
    quoted: list[str]

    @cached_property
    def said(self) -> frozenset[str]:
        """The words of all its statements."""
        return frozenset[str]().union(*(words(remark.text) for remark in self.stated))

    def point(self, remark: Remark) -> Point:
        return {"text": _short(remark.text), "from": self.sender, "message_id": self.id}


def summarize_letters(letters: Sequence[Letter], include_examples: bool = False, *, older: int = 0) -> Summary:
    """Summarise the letters of one thread; ``left_out["bodies"]`` counts those whose body was not available.
    ``older`` is how many letters of the thread are missing; it becomes ``left_out["messages"]``.
    """
    messages = [
        {
            "id": letter.id,
            "from_agent": letter.sender,
            "subject": letter.subject,
            "body_md": letter.body or "",
            "created_ts": letter.created_ts,
            "reply_to": letter.reply_to,
        }
        for letter in letters
    ]
    summary = summarize(messages, include_examples)
    if unread := sum(letter.left_out for letter in letters):
        summary["left_out"]["bodies"] = unread
    if older:
        summary["left_out"]["messages"] = older
    return summary


def summarize(messages: Sequence[Mapping[str, Any]], include_examples: bool = False) -> Summary:
    """Summarise the messages of one thread, in any order.

    Each has ``id``, ``from_agent``, ``subject``, ``body_md`` and ``created_ts``, and may have ``reply_to``. In very
    long threads all messages are counted but only the newest 2,000 read; of very long messages only the beginning.
    """
    ordered = sorted(messages, key=lambda message: message["created_ts"])
    read = _read(ordered[-_MOST_READ:])
    left_out: dict[str, int] = {}
    counts = Counter(str(message["from_agent"]) for message in ordered).most_common()
    participants: list[Participant] = [{"name": name, "messages": count} for name, count in counts]
    return {
        "subject": _short(str(ordered[0]["subject"])) if ordered else "",
        "messages": len(ordered),
        "first_ts": ordered[0]["created_ts"] if ordered else None,
        "last_ts": ordered[-1]["created_ts"] if ordered else None,
        "participants": _bounded("participants", participants, left_out, _MOST_PARTICIPANTS, newest=False),
        "key_points": _points(read, left_out),
        "decisions": _bounded("decisions", _once(_decisions(read)), left_out),
        "open_questions": _bounded("open_questions", _once(_open_questions(read)), left_out),
        "action_items": _actions(read, [name for name, _ in counts[:_MOST_PARTICIPANTS]], left_out),
        "examples": _examples(ordered, read) if include_examples else [],
        "left_out": left_out,
    }


def _read(messages: Sequence[Mapping[str, Any]]) -> list[_Message]:
    longest = min(_LONGEST_BODY, _CHARACTERS // max(1, len(messages)))
    return [_understood(place, message, longest) for place, message in enumerate(messages)]


def _understood(place: int, message: Mapping[str, Any], longest: int) -> _Message:
    found = list(remarks(without_embedded(str(message["body_md"]))[:longest]))
    stated = [remark for remark in found if remark.kind != "quote" and not remark.asks]
    quoted = [key(remark.text) for remark in found if remark.kind == "quote"][:_MOST_QUOTES]
    reply_to = message.get("reply_to")
    return _Message(place, str(message["id"]), str(message["from_agent"]), reply_to, found, stated, quoted)


def _points(read: Sequence[_Message], left_out: dict[str, int]) -> list[Point]:
    """The weightiest remarks that are in no other list; of equal weight, the newest."""
    weighed: dict[str, tuple[int, tuple[int, int], Point]] = {}
    for message in read:
        rest = [
            (remark.weight, -place, remark)
            for place, remark in enumerate(message.remarks)
            if remark.weight and not remark.decides and not remark.demands
        ]
        for weight, place, remark in sorted(rest, key=lambda each: each[:2], reverse=True)[:_POINTS_OF_A_MESSAGE]:
            weighed.setdefault(key(remark.text), (weight, (message.place, -place), message.point(remark)))
    best = sorted(weighed.values(), key=lambda each: each[:2])[-_MOST_POINTS:]
    if len(weighed) > len(best):
        left_out["key_points"] = len(weighed) - len(best)
    return [point for _, _, point in sorted(best, key=lambda each: each[1])]


def _decisions(read: Sequence[_Message]) -> Iterable[Point]:
    return (message.point(remark) for message in read for remark in message.remarks if remark.decides)


def _open_questions(read: Sequence[_Message]) -> Iterable[Point]:
    for message in read:
        asked = [remark for remark in message.remarks if remark.asks]
        near = read[message.place + 1 : message.place + 1 + _ANSWERED_WITHIN] if asked else ()
        answers = [each for each in near if each.sender != message.sender and each.stated]
        for remark in asked[-_MOST:]:
            if not _is_answered(remark, message, answers, only=len(asked) == 1):
                yield message.point(remark)


def _is_answered(question: Remark, asked: _Message, answers: Sequence[_Message], *, only: bool) -> bool:
    """True when somebody else says yes or no next, quotes the question, replies to its message, or uses its words."""
    wanted, wording = words(question.text), key(question.text)
    enough = min(_ENOUGH, max(1, (len(wanted) + 1) // 2))
    for place, answer in enumerate(answers):
        if place == 0 and answer.stated[0].answers:
            return True
        if only and answer.reply_to == asked.id:
            return True
        if any(quoted in wording or wording in quoted for quoted in answer.quoted):
            return True
        if len(wanted & answer.said) >= enough:
            return True
    return False


def _actions(read: Sequence[_Message], names: Sequence[str], left_out: dict[str, int]) -> list[Action]:
    """Open tasks, then done ones. A box that is ticked later is the same task."""
    found: dict[str, Action] = {}
    for message in read:
        for remark in message.remarks:
            if remark.demands:
                done = remark.kind == "done"
                known = found.setdefault(
                    key(remark.text), {**message.point(remark), "owner": _owner(remark, names), "done": done}
                )
                if remark.kind in {"open", "done"}:
                    known["done"] = done
    todo = [action for action in found.values() if not action["done"]]
    kept = _bounded("action_items", todo, left_out)
    done = [action for action in found.values() if action["done"]]
    room = done[max(0, len(done) - (_MOST - len(kept))) :]
    if len(done) > len(room):
        left_out["action_items"] = left_out.get("action_items", 0) + len(done) - len(room)
    return kept + room


def _owner(remark: Remark, names: Sequence[str]) -> str | None:
    if remark.called is not None:
        return remark.called
    return next((name for name in names if len(name) > 2 and name in remark.text), None)


def _examples(ordered: Sequence[Mapping[str, Any]], read: Sequence[_Message]) -> list[Example]:
    """The first and the last message, and those between with the most decisions and tasks."""
    weights = {each.id: sum(remark.decides or remark.demands for remark in each.remarks) for each in read}
    middle = sorted(ordered[1:-1], key=lambda message: -weights.get(str(message["id"]), 0))[: _MOST_EXAMPLES - 2]
    chosen = {str(message["id"]) for message in (*ordered[:1], *middle, *ordered[-1:])}
    return [
        {
            "message_id": str(message["id"]),
            "from": str(message["from_agent"]),
            "created_ts": message["created_ts"],
            "excerpt": _short(without_embedded(str(message["body_md"]))[: 4 * _LONGEST]),
        }
        for message in ordered
        if str(message["id"]) in chosen
    ]


def _once(points: Iterable[Point]) -> list[Point]:
    found: dict[str, Point] = {}
    for point in points:
        found.setdefault(key(point["text"]), point)
    return list(found.values())


def _bounded(name: str, found: list[Any], left_out: dict[str, int], most: int = _MOST, *, newest: bool = True) -> Any:
    if len(found) > most:
        left_out[name] = len(found) - most
    return found[-most:] if newest else found[:most]


def _short(text: str) -> str:
    clean = " ".join(text.split())
    return clean if len(clean) <= _LONGEST else clean[: _LONGEST - 1] + "…"
