"""Who wrote a line: a sender that is the same in every process, whichever bot received the message.

A bot is known by its agent's name. Only its account decides which bot a line belongs to, because names can be given
twice. An account is an opaque id of the platform.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

__all__ = [
    "ACCOUNT",
    "OPEN_ID",
    "AgentProfile",
    "account_of",
    "agent_names",
    "is_bot",
    "is_person",
    "name_clashes",
    "sender_ids",
    "speaker",
    "wrote",
]

ACCOUNT: Final = "app_id"
"""The kind of id that is the account of the bot that wrote a line."""

OPEN_ID: Final = "open_id"
"""The kind of id that one account uses for a member; every other account has another id for the same member."""

_SUFFIX_LENGTH: Final = 4


@dataclass(frozen=True, slots=True)
class AgentProfile:
    """A member of a group as the others know it; people have one too, of kind ``human``.

    ``account`` is a bot's, empty when unknown. ``ids`` holds every id by which the member writes or is mentioned: its
    stable sender, its account, and what other accounts call it.
    """

    name: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    ids: frozenset[str] = frozenset()
    kind: Literal["bot", "human"] = "bot"
    account: str = ""


def sender_ids(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The ids of the writer of an entry, by kind; empty when the field is not a mapping: other programs may write
    anything.
    """
    ids = entry.get("ids")
    return ids if isinstance(ids, Mapping) else {}


def account_of(entry: Mapping[str, Any]) -> str:
    """The account of the bot that wrote an entry; empty when the line does not tell."""
    account = sender_ids(entry).get(ACCOUNT)
    return account if isinstance(account, str) else ""


def is_bot(entry: Mapping[str, Any]) -> bool:
    """True for a bot's message; False for lines of nobody, such as system lines."""
    role = entry.get("role")
    return role == "assistant" or (role == "user" and entry.get("sender_kind") == "bot")


def is_person(entry: Mapping[str, Any]) -> bool:
    """True for a person's message."""
    return entry.get("role") == "user" and entry.get("sender_kind") != "bot"


def speaker(entry: Mapping[str, Any]) -> str:
    """The name by which a speaker is counted: the agent of a bot, the stable sender of a person."""
    agent, sender = entry.get("agent"), entry.get("sender")
    if agent and isinstance(agent, str):
        return agent
    return sender if isinstance(sender, str) else ""


def wrote(member: AgentProfile, entry: Mapping[str, Any]) -> bool:
    """True when this member wrote the entry. A bot never wrote a person's message, whatever the person is called.

    Between bots the account decides when both sides have one, because names can be given twice.
    """
    if member.kind == "human":
        return is_person(entry) and _sender(entry) in member.ids
    if not is_bot(entry):
        return False
    account = account_of(entry)
    if account and (member.account or account in member.ids):
        return account == member.account or account in member.ids
    return speaker(entry) == member.name or _sender(entry) in member.ids


def _sender(entry: Mapping[str, Any]) -> str | None:
    """The sender; None when it is not a text: other programs may write anything."""
    sender = entry.get("sender")
    return sender if isinstance(sender, str) else None


def agent_names(wanted: Mapping[str, str]) -> dict[str, str]:
    """One name per account, all different, from the names they want (case does not count).

    Of several accounts that want a name the smallest gets it, the others get a piece of their account as a suffix. The
    result depends only on the argument, so processes that know the same bots agree.

    >>> agent_names({"cli_2beef": "Alpha", "cli_1": "Alpha"})
    {'cli_1': 'Alpha', 'cli_2beef': 'Alpha-beef'}
    """
    names: dict[str, str] = {}
    owners = {name: accounts[0] for name, accounts in _claims(wanted).items()}
    taken = set(owners)
    for account in sorted(wanted):
        name = _plain(wanted[account], account)
        if owners[name.casefold()] != account:
            name = _suffixed(name, account, taken)
            taken.add(name.casefold())
        names[account] = name
    return names


def name_clashes(wanted: Mapping[str, str]) -> dict[str, list[str]]:
    """Names that more than one account wants, with those accounts; the first one gets the name."""
    several = (accounts for accounts in _claims(wanted).values() if len(accounts) > 1)
    return {_plain(wanted[accounts[0]], accounts[0]): accounts for accounts in several}


def _plain(name: str, account: str) -> str:
    return name.strip() or account


def _claims(wanted: Mapping[str, str]) -> dict[str, list[str]]:
    claims: dict[str, list[str]] = {}
    for account in sorted(wanted):
        claims.setdefault(_plain(wanted[account], account).casefold(), []).append(account)
    return claims


def _suffixed(name: str, account: str, taken: set[str]) -> str:
    for length in range(_SUFFIX_LENGTH, len(account) + 1):
        candidate = f"{name}-{account[-length:]}"
        if candidate.casefold() not in taken:
            return candidate
    return f"{name}-{account}"
