"""Who is in a chat, as the gate and the prompt want to know it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from nanobot_transcript.identity import AgentProfile, agent_names
from nanobot_transcript.store.members import MemberDirectory

__all__ = ["Members", "members_of"]

_REMEMBERED: Final = 5000

Members = Callable[[str], Sequence[AgentProfile]]
"""The members of a chat by session key."""


def members_of(directory: MemberDirectory, own: Iterable[AgentProfile] = ()) -> Members:
    """Everybody whom the store's members file knows in a chat, and ``own``, this process's agents.

    Equal profiles are the same objects from call to call: the gate knows by that what it has read already.
    """
    known, interned = tuple(own), dict[AgentProfile, AgentProfile]()

    def members(session_key: str) -> list[AgentProfile]:
        seen = directory.of_chat(session_key)
        present = {member.sender for member in seen}
        bots = {bot.name: bot for bot in _bots(directory) if bot.name in present} | {bot.name: bot for bot in known}
        people = [
            AgentProfile(member.name, ids=frozenset({member.sender}), kind="human")
            for member in seen
            if member.kind == "human"
        ]
        if len(interned) > _REMEMBERED:
            interned.clear()
        others = [interned.setdefault(member, member) for member in (*bots.values(), *people) if member not in known]
        return [*known, *others]

    return members


def _bots(directory: MemberDirectory) -> list[AgentProfile]:
    bots = directory.bots()
    names = agent_names({bot.account: bot.name for bot in bots})
    return [bot.called(names[bot.account]) for bot in bots]
