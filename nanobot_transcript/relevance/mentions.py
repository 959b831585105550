"""Who is spoken to, and who is only spoken about, in a text that mentions somebody with @.

"@Beta what did Alpha say?" is for Beta alone; "@Beta and Alpha, please both" is for Alpha, too. Without an @, a name in
a text counts as a call, and this module is not used. The few words below are English and Chinese.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.relevance.names import Roster, whole_word
from nanobot_transcript.unicode_text import TEXT_LIMIT, folded

__all__ = ["at_nodes", "begins_with_call", "called_beside", "is_for_everyone"]

_EVERYONE: Final = re.compile(r"[@＠](?:_?all|everyone|everybody|所有人|全体成员|大家)(?![A-Za-z0-9_])", re.IGNORECASE)

_THEY: Final = "\ue000"
"""Stands for members who are certainly spoken to; each following character stands for one member in question."""
_NEAR: Final = 40
_AND: Final = r"\s{0,3}(?:[&+/、]|,?\s{0,3}\b(?:and|or)\b|和|与|與|跟|及|以及|还有|還有|或)\s{0,3}[@＠]?"
_STOP: Final = r"[,，.。;；:：!！?？\n]"
_HELLO: Final = r"(?:(?:hi|hey|hello|dear|ok|okay|and|so|你好|您好|嗨|嘿|那)[\s,，]{0,3})?"
_BEGIN: Final = re.compile(rf"[\s@＠>-]{{0,9}}{_HELLO}")
_BEFORE: Final = re.compile(rf"[@＠]$|{_THEY}{_AND}$")
_BEHIND: Final = re.compile(rf"{_AND}{_THEY}")
_ADDRESS: Final = re.compile(rf"{_THEY}\s{{0,3}}$")
_COLON: Final = re.compile(r"\s{0,3}[:：]")
_PAUSE: Final = re.compile(rf"{_STOP}\s{{0,3}}{_HELLO}$")
_CALLED: Final = re.compile(r"\s{0,3}(?:你|您)")
_GO: Final = re.compile(
    rf"\s{{0,3}}(?:{_STOP}|$|{_AND}|(?:you|please|pls|both|can you|could you)\b|你|您|请你|請你|请您|麻烦你)"
)


def is_for_everyone(text: str) -> bool:
    """True when the text mentions the whole group.

    >>> is_for_everyone("@all lunch?"), is_for_everyone("＠所有人 开会"), is_for_everyone("mail me @allianz")
    (True, True, False)
    """
    return ("@" in text or "＠" in text) and _EVERYONE.search(text[:TEXT_LIMIT]) is not None


def at_nodes(mentions: Any, members: Iterable[AgentProfile]) -> list[str]:
    """The names that mentioned members may have in the text."""
    nodes = mentions if isinstance(mentions, list | tuple) else ()
    shown = [node.get("name") for node in nodes if isinstance(node, Mapping)]
    known = [name for member in members for name in (member.name, *member.aliases)]
    return [name for name in (*shown, *known) if isinstance(name, str) and name.strip()]


def called_beside(text: str, named: frozenset[int], roster: Roster, others: Iterable[str]) -> frozenset[int]:
    """Those of ``named`` whom a text speaks to although it is addressed to ``others`` (given by name).

    They are spoken to when their name is at the beginning, behind an @, in a list with somebody who is spoken to, or
    between marks, as in calling somebody ("…, Alpha?").
    """
    text = _marked(folded(_EVERYONE.sub(_THEY, text[:TEXT_LIMIT])), others, _THEY)
    waiting = {chr(ord(_THEY) + number): at for number, at in enumerate(sorted(named), 1)}
    for mark, at in waiting.items():
        text = _marked(text, (roster.members[at].name, *roster.members[at].aliases), mark)
    called: set[int] = set()
    places = [place for place, character in enumerate(text) if character in waiting]
    for place in [
        *places,
        *reversed(places),
    ]:  # both directions: a name in a list may come before or behind one that is spoken to
        mark = text[place]
        if mark in waiting and _is_call(text, place):
            called.add(waiting.pop(mark))
            text = text.replace(mark, _THEY)
    return frozenset(called)


def begins_with_call(text: str, names: Iterable[str]) -> bool:
    """True when a text begins with one of the names and goes on as if calling that member.

    >>> begins_with_call("Ada, did you see it?", ["Ada"]), begins_with_call("韩梅梅你觉得呢？", ["韩梅梅"])
    (True, True)
    >>> begins_with_call("Ada said so", ["Ada"]), begins_with_call("Will this work?", ["Will"])
    (False, False)
    """
    lead = _BEGIN.sub("", folded(text[:TEXT_LIMIT]), count=1)
    spelled = (folded(name.strip()) for name in names)
    return any(name and lead.startswith(name) and _CALLED.match(lead, len(name)) for name in spelled)


def _is_call(text: str, place: int) -> bool:
    before, behind = text[max(0, place - _NEAR) : place], text[place + 1 : place + 1 + _NEAR]
    if _BEFORE.search(before) or _BEHIND.match(behind) or (place < _NEAR and _BEGIN.fullmatch(before)):
        return True
    if _PAUSE.search(before):
        return _GO.match(behind) is not None
    return _ADDRESS.search(before) is not None and _COLON.match(behind) is not None


def _marked(text: str, names: Iterable[str], mark: str) -> str:
    """The text with ``mark`` in place of each whole occurrence of one of the names."""
    for name in sorted({folded(name.strip()) for name in names}, key=len, reverse=True):
        done = ""
        while name and (place := whole_word(text, name)) >= 0:
            done += text[:place] + mark
            text = text[place + len(name) :]
        text = done + text
    return text
