"""Words that need no answer: thanks, consent and farewell, in Chinese and English, and emoji alone."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

__all__ = ["fingerprint", "is_consent", "is_courtesy", "is_greeting", "is_thanks", "is_wordless"]

_LONGEST: Final = 80
_LETTERS: Final = 4000

_ENGLISH: Final = """
    ok|okay|okey|k|kk|alright|all right|sure|sure thing|of course|yep|yup|agreed|i agree|exactly|right|indeed|same here|
    got it|understood|noted|roger|roger that|copy that|acknowledged|ack|will do|makes sense|sounds good|looks good|lgtm|
    good|great|nice|cool|perfect|excellent|awesome|wonderful|well done|good job|great job|great work|good work|
    no problem
"""
_CHINESE: Final = """
    好|好的|好滴|好嘞|好呀|好吧|好哒|好哦|好啊|好了|好极了|很好|太好了|太棒了|棒|真棒|赞|收到|已收到|知道了|知道|明白|明白了|
    了解|了解了|懂了|清楚了|记下了|没错|对|对的|是的|同意|赞同|确实|没问题|可以|可以的|行|行的|嗯|嗯嗯
"""
"""Consent and praise."""
_GRATITUDE: Final = """
    thanks|thank you|thank you very much|thank you so much|thanks a lot|many thanks|thx|ty|cheers|
    谢谢|谢谢你|谢谢您|谢谢大家|多谢|感谢|非常感谢|谢了|谢啦|感谢分享|感谢配合|辛苦了|辛苦|麻烦了|麻烦你了
"""
_HELLO: Final = "hi|hello|hey|早安|早上好|你好|您好|大家好"
_PLEASANTRIES: Final = """
    welcome|you re welcome|you are welcome|my pleasure|np|no worries|anytime|glad to help|happy to help|bye|goodbye|
    see you|see you later|good night|have a nice day|have a good day|have a great day|lol|haha|
    不客气|不用谢|不谢|客气了|应该的|没事|没关系|哦|噢|哈哈|哈哈哈|呵呵|再见|拜拜|回见|回头见|晚安|合作愉快|祝好|加油
"""
"""Neither thanks nor consent: replies to thanks, farewells, laughter, good wishes."""
_BESIDE: Final = """
    you|all|everyone|everybody|both|team|so much|very much|again|then|too|and|a lot|for your help|for the help|
    for the update|for sharing|你|您|大家|各位|啦|啊|呀|哦|了|的|那就|那|也
"""


def _phrases(listed: str) -> frozenset[str]:
    return frozenset(phrase.strip() for phrase in listed.split("|"))


_CONSENT: Final = _phrases(_ENGLISH) | _phrases(_CHINESE)
_THANKS: Final = _CONSENT | _phrases(_GRATITUDE)
_GREETINGS: Final = _phrases(_HELLO)
_COURTESIES: Final = _THANKS | _GREETINGS | _phrases(_PLEASANTRIES)
_FILLERS: Final = _phrases(_BESIDE)
_MENTION: Final = re.compile(r"@[^\s@,，。:：!！?？]+")
_OTHER: Final = re.compile(r"[\W_]+")
_PIECE: Final = re.compile(r"[a-z0-9 ]+|[^a-z0-9 ]+")
_APPROVING: Final = re.compile("[👍👌🙏👏🙌🤝🫡🫶💯✅✔❤🎉💐🌹]")


def is_courtesy(text: str, names: Iterable[str] = ()) -> bool:
    """True for a text of only thanks, consent, greetings, farewells and emoji; ``names`` of members may occur.

    >>> is_courtesy("好的，谢谢！👍"), is_courtesy("Thanks @Beta, sounds good"), is_courtesy("ok, but which one?")
    (True, True, False)
    """
    names = list(names)
    plain = _spoken(text, names)
    if not plain:
        return not _asks(text)
    return bool(_courtesies(text, plain, names))


def is_thanks(text: str, names: Iterable[str] = ()) -> bool:
    """True for a courtesy that thanks, praises or agrees, in words or by emoji alone; not for greetings, farewells,
    laughter, replies to thanks and a bare mention.

    >>> is_thanks("好的，谢谢！"), is_thanks("👍 @Beta"), is_thanks("bye!"), is_thanks("@Beta")
    (True, True, False, False)
    """
    names = list(names)
    plain = _spoken(text, names)
    if not plain:
        return _APPROVING.search(text[:_LETTERS]) is not None and not _asks(text)
    return not _THANKS.isdisjoint(_courtesies(text, plain, names))


def is_consent(text: str, names: Iterable[str] = ()) -> bool:
    """True for a courtesy that agrees or praises and does not thank: it is an answer when something was asked.

    >>> is_consent("可以"), is_consent("👍"), is_consent("好的，谢谢"), is_consent("bye")
    (True, True, False, False)
    """
    names = list(names)
    plain = _spoken(text, names)
    said = _courtesies(text, plain, names)
    return is_thanks(text, names) if not plain else bool(said & _CONSENT) and said <= _CONSENT


def is_greeting(text: str, names: Iterable[str] = ()) -> bool:
    """True for a courtesy that greets.

    >>> is_greeting("hi呀 @Beta"), is_greeting("大家好！"), is_greeting("good, thanks")
    (True, True, False)
    """
    names = list(names)
    return not _GREETINGS.isdisjoint(_courtesies(text, _spoken(text, names), names))


def is_wordless(text: str, names: Iterable[str] = ()) -> bool:
    """True for a text without words apart from mentions: a bare mention, emoji."""
    return not _spoken(text, list(names))


def _asks(text: str) -> bool:
    return "?" in text or "？" in text


def _spoken(text: str, names: Iterable[str]) -> str:
    """The words of a text apart from mentions, in lower case; empty for emoji alone."""
    return _plain(_without_mentions(text[:_LETTERS], names))


def _courtesies(text: str, plain: str, names: Iterable[str]) -> frozenset[str]:
    """The courtesies a text consists of, ``plain`` being its words; empty when it says anything else."""
    if len(text) > _LONGEST or "?" in text or "？" in text:
        return frozenset()
    allowed = {_plain(name) for name in names} | _COURTESIES | _FILLERS
    phrases: set[str] = set()
    for piece in filter(None, map(str.strip, _PIECE.findall(plain))):
        said = _said(piece, allowed)
        if said is None:
            return frozenset()
        phrases.update(said)
    return _COURTESIES & phrases


def _without_mentions(text: str, names: Iterable[str]) -> str:
    """The text without @mentions: known names first, because text may follow them without a space."""
    if "@" not in text:
        return text
    for name in sorted(filter(None, names), key=len, reverse=True):
        text = re.sub(f"@{re.escape(name)}", " ", text, flags=re.IGNORECASE)
    return _MENTION.sub(" ", text)


def fingerprint(text: str) -> str:
    """The letters and digits of a text: equal for texts with the same words; empty for emoji alone.

    >>> fingerprint("Done!") == fingerprint(" done ✅")
    True
    """
    return _plain(text[:_LETTERS]).replace(" ", "")


def _plain(text: str) -> str:
    """Lower-case letters and digits of any script, with everything else as single spaces."""
    return _OTHER.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def _said(piece: str, allowed: set[str]) -> list[str] | None:
    """The allowed phrases a piece of text consists of, longest first; None when it contains anything else."""
    latin = piece[0].isascii()
    units = piece.split() if latin else list(piece.replace(" ", ""))
    glue = " " if latin else ""
    said: list[str] = []
    at = 0
    while at < len(units):
        for end in range(min(len(units), at + 6), at, -1):
            if (phrase := glue.join(units[at:end])) in allowed:
                said.append(phrase)
                at = end
                break
        else:
            return None
    return said
