"""The chats of the record and their members."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.store.contract import Chat
from nanobot_transcript.store.names import in_words
from transcript_mcp.transcript.json_lines import NOTE, Line, count, encode, moment, one_line
from transcript_mcp.transcript.reading import View
from transcript_mcp.transcript.size_limits import USUAL_CHARS, within

__all__ = ["agents_of", "chats_text", "everybody", "members_text", "present"]

_NAMES: Final = 8
_LONGEST_DESCRIPTION: Final = 300
_LONGEST_KEY: Final = 200
_WRITERS_AMONG: Final = 1000


def chats_text(view: View, *, limit: int, offset: int) -> str:
    """The chats of the store, the most recently active first."""
    chats = sorted(view.store.chats(), key=lambda chat: -chat.last_write_ms)
    lines = within((_chat(view, chat) for chat in chats[offset : offset + limit]), USUAL_CHARS)
    if not chats:
        return f"There is no chat in {view.store.place} yet. Bots create it once the plugin or the runner is running."
    return _list(f"Group chats, most recently active first. {NOTE}", lines, offset, len(chats), "chat")


def members_text(
    view: View, session_key: str | None, agents: Iterable[AgentProfile], *, limit: int, offset: int
) -> str:
    """Everybody seen in a chat, bots first; without a chat, all bots of the store."""
    if session_key is None:
        found = list(_agent_lines(agents_of(view, agents)))
        head = "All bots that have run with this record, whichever chats they sit in; of those that only stand in "
        head += "imported messages each chat has its own."
    else:
        found = list(_member_lines(view, session_key, agents))
        head = f"Members of {in_words(session_key)}, as far as they have been seen there, bots first."
    lines = within(found[offset : offset + limit], USUAL_CHARS)
    return _list(f"{head} {NOTE}" if found else f"{head} There is nobody yet.", lines, offset, len(found), "member")


def agents_of(view: View, agents: Iterable[AgentProfile]) -> list[AgentProfile]:
    """The bots of the store and those of the settings; profiles of the same bot are merged."""
    from nanobot_transcript.relevance.gate_input import bots  # slow to import

    known = {bot.name: bot for bot in bots(view.store.members)}
    for agent in agents:
        recorded = known.get(agent.name)
        known[agent.name] = _joined(agent, recorded) if recorded is not None else agent
    return list(known.values())


def everybody(
    view: View, session_key: str, entries: Iterable[Entry], agents: Iterable[AgentProfile]
) -> list[AgentProfile]:
    """All bots, including those that only appear in the ``entries`` of the chat, and the chat's people."""
    from nanobot_transcript.relevance.gate_input import members

    bots = agents_of(view, agents)
    return [*bots, *(one for one in members(view.store, session_key, entries) if not _is_one_of(one, bots))]


def present(view: View, session_key: str) -> list[AgentProfile]:
    """Everybody seen in the chat, or among the authors of its newest messages."""
    return list(_present(view, session_key, view.store.recent(session_key, _WRITERS_AMONG).entries))


def _is_one_of(member: AgentProfile, bots: Iterable[AgentProfile]) -> bool:
    return any(member.name == bot.name or not member.ids.isdisjoint(bot.ids) for bot in bots)


def _bots_first(member: AgentProfile) -> tuple[str, str]:
    return member.kind, member.name


def _joined(agent: AgentProfile, recorded: AgentProfile) -> AgentProfile:
    aliases = tuple(dict.fromkeys([*agent.aliases, *recorded.aliases]))
    described = agent.description or recorded.description
    account = agent.account or recorded.account
    return AgentProfile(agent.name, aliases, described, agent.ids | recorded.ids, agent.kind, account)


def _chat(view: View, chat: Chat) -> Line:
    members = sorted(present(view, chat.session_key), key=_bots_first)
    names = [one_line(member.name) for member in members[:_NAMES]]
    line: Line = {"session_key": chat.session_key[:_LONGEST_KEY]}
    if (when := moment(chat.last_write_ms, view.where)) is not None:
        line["last_write"] = when
    if names:
        line["members"] = [*names, f"and {len(members) - _NAMES} more"] if len(members) > _NAMES else names
    return line


def _member_lines(view: View, session_key: str, agents: Iterable[AgentProfile]) -> Iterator[Line]:
    entries = view.store.recent(session_key, _WRITERS_AMONG).entries
    seen: dict[str, float] = {member.sender: member.last_seen_ms for member in view.store.members.of_chat(session_key)}
    for entry in entries:
        seen[entry["sender"]] = max(seen.get(entry["sender"], 0), entry["ts"])
    known = {bot.name: bot for bot in agents_of(view, agents)}
    there = [known.get(one.name, one) if one.kind == "bot" else one for one in _present(view, session_key, entries)]
    for one in sorted(there, key=_bots_first):
        last = max((seen[identity] for identity in one.ids if identity in seen), default=None)
        yield _member(one) | ({"last_seen": moment(last, view.where)} if last else {})


def _present(view: View, session_key: str, entries: Sequence[Entry]) -> Iterator[AgentProfile]:
    """The members, without bots that are only in other chats."""
    from nanobot_transcript.relevance.gate_input import members

    senders = {entry["sender"] for entry in entries}
    senders |= {member.sender for member in view.store.members.of_chat(session_key)}
    return (one for one in members(view.store, session_key, entries) if not one.ids.isdisjoint(senders))


def _agent_lines(agents: Iterable[AgentProfile]) -> Iterator[Line]:
    return map(_member, sorted(agents, key=lambda one: one.name))


def _member(member: AgentProfile) -> Line:
    line: Line = {"name": one_line(member.name), "kind": member.kind}
    if member.aliases:
        line["aliases"] = [one_line(alias) for alias in member.aliases[:_NAMES]]
    if member.description:
        line["description"] = member.description[:_LONGEST_DESCRIPTION]
    return line


def _list(head: str, lines: Sequence[Line], offset: int, total: int, what: str) -> str:
    shown = [head, *map(encode, lines)]
    if not lines and total:
        shown.append(f"There are only {count(total, what)}; offset {offset} is past the last one.")
    elif offset + len(lines) < total:
        last = offset + len(lines)
        shown.append(f"{offset + 1:,} to {last:,} of {count(total, what)}. More: the same with offset={last}.")
    return "\n".join(shown)
