"""Members and history as input of the gate, read from the store."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import UnknownNameError
from nanobot_transcript.identity import AgentProfile, is_bot
from nanobot_transcript.store.names import in_words, shown_name
from nanobot_transcript.turns.addressees import ids_of

if TYPE_CHECKING:
    from nanobot_transcript.store.front import GroupTranscriptStore
    from nanobot_transcript.store.members import MemberDirectory

__all__ = ["bot_called", "bots", "members", "up_to"]

_HISTORY: Final = 200
_LISTED: Final = 20


def bots(directory: "MemberDirectory") -> list[AgentProfile]:
    """All bots of a store, whatever chats they are in."""
    return [bot.called(directory.name_of(bot.account) or bot.name) for bot in directory.bots()]


def members(store: "GroupTranscriptStore", session_key: str, entries: Iterable[Entry]) -> list[AgentProfile]:
    """The bots of the store, the people of the chat, and whoever else wrote one of the ``entries``."""
    known = bots(store.members)
    names = {bot.name for bot in known}
    people = [
        AgentProfile(member.name, ids=frozenset({member.sender}), kind=member.kind)
        for member in store.members.of_chat(session_key)
        if member.sender not in names
    ]
    senders = names | {identity for person in people for identity in person.ids}
    wrote = {entry["sender"]: entry for entry in entries if entry["sender"] and entry["sender"] not in senders}
    for sender, entry in wrote.items():
        kind = "bot" if is_bot(entry) else "human"
        people.append(AgentProfile(shown_name(store, entry), ids=frozenset({sender}), kind=kind))
    return known + people


def bot_called(among: Sequence[AgentProfile], name: str) -> AgentProfile:
    """The bot with this name, alias or id, ignoring case. Raises UnknownNameError, which lists the bots."""
    known = [member for member in among if member.kind == "bot"]
    wanted = name.strip().removeprefix("@").casefold()
    for names in (lambda bot: [bot.name], lambda bot: [*bot.aliases, *bot.ids]):
        found = next((bot for bot in known if wanted in map(str.casefold, names(bot))), None)
        if found is not None:
            return found
    listed = ", ".join(in_words(bot.name) for bot in known[:_LISTED]) or "none"
    raise UnknownNameError(f"There is no bot called {in_words(name)}.", hint=f"Bots here: {listed}.")


def up_to(store: "GroupTranscriptStore", session_key: str, message_id: str) -> tuple[Entry, list[Entry]] | None:
    """The message with this id and what was recorded before it, oldest first; None when there is no such message."""
    history: list[Entry] = []
    for entry in store.scan(session_key):
        if message_id in ids_of(entry):
            return entry, sorted(history, key=lambda one: one["ts"])
        history.append(entry)
        if len(history) > 2 * _HISTORY:
            del history[:_HISTORY]
    return None
