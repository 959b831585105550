"""Which bot a thread, or the current talk of a chat, belongs to: the same answer in every process."""

from collections.abc import Iterable, Sequence
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile, is_bot, is_person, speaker, wrote
from nanobot_transcript.turns.addressees import addresses, same_talk, says_at

__all__ = ["owner_of"]

_IDLE: Final = 600.0


def owner_of(
    entries: Sequence[Entry],
    thread_id: str | None = None,
    *,
    root_id: str | None = None,
    bots: Iterable[AgentProfile] = (),
    now_ms: float | None = None,
    idle: float = _IDLE,
) -> str | None:
    """The name of the bot that was last mentioned with @, else of the one that spoke last; None without either.

    ``entries`` are the newest, oldest first. With ``thread_id`` those of that thread count (``root_id`` is its first
    message), however old. Without, those outside of threads since the last silence of ``idle`` seconds, and none if
    ``now_ms`` is that long after them. ``bots`` are the known bots; whoever speaks as a bot in ``entries`` counts, too.
    """
    talk = [entry for entry in entries if same_talk(entry, thread_id, root_id)]
    if thread_id is None:
        talk = _since_silence(talk, now_ms, idle * 1000)
    known = tuple(bots)
    members = _members(talk, known)
    names = tuple(name for bot in members for name in (bot.name, *bot.aliases))
    for entry in reversed(talk):
        if (entry.get("mentions") or says_at(entry, names)) and (named := _mentioned(entry, members, known)):
            return named
    return next((_name(entry, members) for entry in reversed(talk) if is_bot(entry)), None)


def _since_silence(talk: list[Entry], now_ms: float | None, idle_ms: float) -> list[Entry]:
    later = now_ms
    for at in range(len(talk) - 1, -1, -1):
        if later is not None and later - talk[at]["ts"] > idle_ms:
            return talk[at + 1 :]
        later = talk[at]["ts"]
    return talk


def _members(talk: Iterable[Entry], bots: Iterable[AgentProfile]) -> list[AgentProfile]:
    members = [bot for bot in bots if bot.kind == "bot"]
    unknown = {speaker(e): None for e in talk if is_bot(e) and not any(wrote(bot, e) for bot in members)}
    return members + [AgentProfile(name) for name in unknown if name]


def _mentioned(entry: Entry, members: Sequence[AgentProfile], known: Sequence[AgentProfile]) -> str | None:
    """The bot an entry mentions; the last of its list when it mentions several. A bot cannot hand over to itself."""
    if not (is_bot(entry) or is_person(entry)):
        return None
    others = [bot for bot in members if not wrote(bot, entry) and addresses(entry, bot, (*members, *known))]
    if len(others) < 2:
        return others[0].name if others else None
    return max(others, key=lambda bot: (_place(entry, bot), bot.name)).name


def _place(entry: Entry, bot: AgentProfile) -> int:
    mentions = entry.get("mentions")
    places = [
        at
        for at, mention in enumerate(mentions if isinstance(mentions, list) else ())
        if addresses({**entry, "content": "", "mentions": [mention]}, bot)
    ]
    return max(places, default=-1)


def _name(entry: Entry, members: Iterable[AgentProfile]) -> str:
    return next((bot.name for bot in members if wrote(bot, entry)), speaker(entry))
