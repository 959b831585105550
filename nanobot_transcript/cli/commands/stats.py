"""``stats``: counts what was said, and by whom."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from nanobot_transcript.cli.terminal.chat_names import chat_keys, shown_name
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.moments import local
from nanobot_transcript.cli.terminal.options import ChatArgument, ConfigOption, JsonOption, StoreOption, opened_record
from nanobot_transcript.cli.terminal.output import amount, console, emit_json, number, printable, progress_bar, size
from nanobot_transcript.cli.terminal.tables import print_table
from nanobot_transcript.store.message_counts import Spoken
from nanobot_transcript.store.names import short_name

if TYPE_CHECKING:
    from nanobot_transcript.relevance.tally import Tally
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["stats"]


@dataclass(slots=True)
class _Chat:
    session_key: str
    title: str
    bytes: int
    spoken: Spoken = field(default_factory=Spoken)

    def document(self) -> dict[str, Any]:
        """The counts for JSON."""
        spoken = self.spoken
        return {
            "session_key": self.session_key,
            "title": self.title or None,
            "bytes": self.bytes,
            "messages": spoken.messages,
            "first_ms": spoken.first_ms,
            "last_ms": spoken.last_ms,
            "sources": dict(spoken.sources),
            "speakers": [asdict(speaker) for speaker in spoken.by_messages()],
        }


def stats(
    chat: ChatArgument = None,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Count messages per chat or per member.

    One line for each chat, or for each member when a chat is named. Below, for each bot: how often people told it that
    it was not meant, and how often they had to ask it again.

    \b
    Example:
      nanobot-transcript stats oc_team
    """
    from nanobot_transcript.relevance.tally import tallies_since

    with opened_record(config, store) as record:
        opened = record.store
        keys = chat_keys(opened, chat)
        counted = _count(opened, keys)
        bots = [one for one in tallies_since(record.decisions, 0, frozenset(keys)) if one.judged]
        if json:
            document = {"store": opened.place, "chats": [one.document() for one in counted]}
            emit_json(document | {"bots": [_corrected(one) for one in bots]})
            return
        if chat is not None or len(counted) == 1:
            _print_chat(counted[0])
        else:
            _print_chats(counted)
        _print_corrected(bots)


def _count(store: "GroupTranscriptStore", keys: list[str]) -> list[_Chat]:
    sizes = {chat.session_key: chat.bytes for chat in store.chats()}
    counted: list[_Chat] = []
    with progress_bar(said("Counting")) as advance:
        for done, key in enumerate(keys):
            one = _Chat(key, store.members.title_of(key) or "", sizes.get(key, 0))
            names: dict[str, str] = {}
            for entry in store.scan(key):
                name = names.get(entry["sender"]) or names.setdefault(entry["sender"], shown_name(store, entry))
                one.spoken.add(entry, name)
            counted.append(one)
            if advance is not None:
                advance(done + 1, len(keys))
    return counted


def _print_chats(counted: Sequence[_Chat]) -> None:
    numbers = ("messages", "people", "bots", "size")
    named = ["name"] if any(one.title for one in counted) else []
    keys = [one.session_key for one in counted]
    chats = [short_name(key, keys) for key in keys] if console().is_terminal else keys
    rows = [
        [printable(chat), *([printable(one.title)] if named else []), *_row(one)]
        for chat, one in zip(chats, counted, strict=True)
    ]
    shorten = "name" if named else "chat"
    print_table(["chat", *named, *numbers, "first", "last"], rows, right=numbers, shorten=shorten)


def _row(one: _Chat) -> list[str]:
    kinds = Counter(speaker.kind for speaker in one.spoken.speakers.values())
    counts = (one.spoken.messages, kinds["human"], kinds["bot"])
    return [
        *(number(count) for count in counts),
        size(one.bytes),
        _time(one.spoken.first_ms)[:10],
        _time(one.spoken.last_ms),
    ]


def _print_chat(one: _Chat) -> None:
    spoken = one.spoken
    first, last = _time(spoken.first_ms), _time(spoken.last_ms)
    span = said(" from {first} to {last}", first=first, last=last) if spoken.messages else ""
    named = f" ({one.title})" if one.title else ""
    messages, chat = amount(spoken.messages, "message"), printable(one.session_key + named)
    summary = said("{chat}: {messages}{span}, {size}", chat=chat, messages=messages, span=span, size=size(one.bytes))
    console().print(summary, soft_wrap=True)
    numbers = ("messages", "share", "characters")
    rows = [
        [
            printable(speaker.name).replace("\n", " "),
            said(speaker.kind),
            number(speaker.messages),
            f"{speaker.messages / spoken.messages:.0%}",
            number(speaker.characters),
            _time(speaker.last_ms),
        ]
        for speaker in spoken.by_messages()
    ]
    print_table(["member", "kind", *numbers, "last"], rows, right=numbers, shorten="member")


def _corrected(one: "Tally") -> dict[str, Any]:
    return {
        "agent": one.agent,
        "answers": one.ended,
        "intruded": one.intruded,
        "missed": one.missed,
        "intruded_per_100": round(one.intruded_per_100, 1),
        "missed_per_100": round(one.missed_per_100, 1),
    }


def _print_corrected(bots: "Sequence[Tally]") -> None:
    """How often people corrected each bot, as far back as the log of decisions goes."""
    if not bots:
        return
    heads = ("answers", "butted in", "per 100", "missed", "per 100 ")
    rows = [
        [
            printable(one.agent),
            number(one.ended),
            number(one.intruded),
            f"{one.intruded_per_100:.1f}",
            number(one.missed),
            f"{one.missed_per_100:.1f}",
        ]
        for one in bots
    ]
    console().print()
    print_table(["bot", *heads], rows, right=heads, shorten="bot")


def _time(ms: float | None) -> str:
    return f"{local(ms):%Y-%m-%d %H:%M}" if ms is not None else ""
