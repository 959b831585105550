"""How a bot's name is used in a text: "Alpha, look" calls it; "Alpha was wrong" and "the alpha release" do not.

Decided by its position, by what is before and behind it, and by how it is written; the words are English and Chinese.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from nanobot_transcript.relevance.names import whole_word
from nanobot_transcript.unicode_text import TEXT_LIMIT, folded

__all__ = ["NOT_NAMED", "Call", "call_of"]

_NEAR: Final = 40
_MOST_PLACES: Final = 20
_GREETING: Final = (
    r"(?:(?:hi|hey|hello|dear|ok|okay|and|so|yo|oh|now|then|well|please|pls|thanks"
    r"|你好|您好|嗨|嘿|那|喂|请问|请|麻烦|对了|好的|行|早|话说)[\s,，!！~]{0,3}){0,3}"
)
_BEGIN: Final = re.compile(rf"[\s@＠>(（-]{{0,9}}{_GREETING}[\s@＠]{{0,3}}")
_END: Final = re.compile(r"(?:呢|吗|啊|呀|please|pls|thx|thanks|thank you|谢谢|🙏|\W){0,9}")
_APART: Final = re.compile(r"\s{0,3}[,，:：、;；!！?？。.…~～]|\s|$")
_MARK: Final = re.compile(r"\s{0,3}[)）,，:：!！?？…~～—-]")
_PAUSE: Final = re.compile(r"[,，。.!！?？:：…~～\n]\s{0,3}$")
_AND: Final = r"\s{0,3}(?:[&+/、,，]|\b(?:and|or)\b|和|与|與|跟|及|以及|还有|或)\s{0,3}[@＠]?"
_BOTH: Final = r"(?:都|也|一起|各|both\s|all\s)?"
_GO: Final = re.compile(
    rf"\s{{0,3}}[,，]?\s{{0,3}}{_BOTH}"
    r"(?:(?:说说|看看|讲讲|试试|你|您|帮|请|麻烦|能|可以|给我|给大家|给我们|把|查|看|说|来|改|再|去|继续|列|写|算|提醒|安排|记|发|生成"
    r"|翻译|总结|统计|更新|什么|怎么|为什么|几|谁|哪|在(?:吗|嘛|不在|么))(?![完过]|好?了|成功|失败)"
    r"|(?:you|can you|could you|would you|will you|please|pls|draft|check|what|how|when|who|where|which|is there"
    r"|are there|do we|does|any|make|give|find|show|list|write|add|remind|translate|run|post|send|put"
    r"|look|book|set|tell|update|remove|why)\b)"
)
_OWNS: Final = re.compile(r"\s?(?:的|['’]s\b|那边|这边|那个|家)")
_ASKED: Final = re.compile(
    r"(?:\b(?:can|could|would|will|please)|(?<![我们他她天晚里才已都又])请|麻烦|能不能|可以)\s{0,3}$"
)
_ABOUT_BEFORE: Final = re.compile(
    r"(?:[问让叫被把跟和给用找靠对像比听说是在的有等看怪信到换夸骂连上于个]|你们|\b(?:the|a|an|ask|asked|told|tell|use|using|from|to"
    r"|by|with|about|of|for|like|and|did|does|is|was|has|what|that|than|in|on|my|our|set|if|when|why|because|think|but"
    r"|let|have|says?|via|this|no|got|or|as))\s{0,3}[\"“「]?\s{0,3}$"
)
_ABOUT_BEHIND: Final = re.compile(
    r"\s{0,3}[\"”」]?\s{0,3}(?!(?:都|也|一起|各)?(?:说说|看看|讲讲|试试|来))(?:在(?!吗|嘛|不在|么)|[说昨今刚又没不是都也会算给发里上版那这真挺还老总回比了就以很太有为跟和只]|已经|环境|测试|好像|怎么"
    r"|居然|最近|应该|肯定|一般|可能|其实|(?:is|was|says|said|does|did|has|had|will|would|got|keeps|always|never|just"
    r"|again|seems|thinks|knows|sent|made|went|gets|and|or|in|to|here|on|from|for|with|at|of|that|who|can'?t|doesn"
    r"|didn|isn|still|already)\b)"
)


class Call(NamedTuple):
    """How a name is used where it looks most like a call; each 0 or 1, except ``times``."""

    named: float
    begins: float
    ends: float
    apart: float
    marked: float
    after_pause: float
    goes_on: float
    owns: float
    about_before: float
    about_behind: float
    same_case: float
    at_sign: float
    asked: float
    times: float
    dense: float

    @property
    def is_clear(self) -> bool:
        """True when nobody would take it for talk about the bot: "Alpha, look", "can Alpha look?", "what now,
        Alpha?".
        """
        if self.at_sign:
            return True
        if self.owns or self.about_behind:
            return False
        if self.asked and self.goes_on:
            return True
        starts = self.begins or self.after_pause
        return bool(starts and not self.about_before and (self.marked or self.goes_on or self.ends))


NOT_NAMED: Final = Call(*[0.0] * len(Call._fields))


def call_of(text: str, names: Sequence[str], beside: Sequence[str] = ()) -> Call:
    """How one of a bot's ``names`` is used in a text; ``NOT_NAMED`` when none occurs. In a list with other names
    (``beside``) it has the position of the list.
    """
    text = _unlisted(text[:TEXT_LIMIT], names, beside)
    plain = folded(text)
    places = list(islice(_places(plain, names), _MOST_PLACES))
    if not places:
        return NOT_NAMED
    same_length = len(plain) == len(text)
    calls = [
        _call(plain, begin, end, len(places), same_case=same_length and text[begin:end] == name)
        for begin, end, name in places
    ]
    return max(calls, key=_likeness)


def _unlisted(text: str, names: Sequence[str], beside: Sequence[str]) -> str:
    """The text with each list of names that contains one of ``names`` reduced to that name."""
    own = [re.escape(name.strip()) for name in names if name.strip()]
    others = [re.escape(name.strip()) for name in beside if name.strip()]
    if not others or not any(name.strip().casefold() in text.casefold() for name in beside if name.strip()):
        return text
    one, other = ("|".join(sorted(some, key=len, reverse=True)) for some in (own, others))
    # Atomic and possessive, against catastrophic backtracking: a name may contain the separators of the list.
    before = rf"(?>(?:{other}){_AND}){{1,9}}+(?P<last>{one})"
    behind = rf"(?P<first>{one})(?>{_AND}(?:{other})){{1,9}}+"
    text = re.sub(before, lambda found: found["last"], text, flags=re.IGNORECASE)
    return re.sub(behind, lambda found: found["first"], text, flags=re.IGNORECASE)


def _call(text: str, begin: int, end: int, times: int, *, same_case: bool) -> Call:
    before, behind = text[max(0, begin - _NEAR) : begin], text[end : end + _NEAR]
    begins = begin < _NEAR and _BEGIN.fullmatch(before) is not None
    return Call(
        1.0,
        float(begins),
        float(_END.fullmatch(behind) is not None),
        float(_APART.match(behind) is not None),
        float(_MARK.match(behind) is not None),
        float(_PAUSE.search(before) is not None),
        float(_GO.match(behind) is not None),
        float(_OWNS.match(behind) is not None),
        float(not begins and _ABOUT_BEFORE.search(before) is not None),
        float(_ABOUT_BEHIND.match(behind) is not None),
        float(same_case),
        float(before.endswith(("@", "＠"))),
        float(_ASKED.search(before) is not None),
        float(times),
        float(not text[begin:end].isascii()),
    )


def _likeness(call: Call) -> float:
    calls = 3 * (call.begins + call.at_sign) + call.ends + call.marked + call.after_pause + 2 * call.goes_on
    return calls - 2 * (call.owns + call.about_before + call.about_behind)


def _places(text: str, names: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Where the names occur, longest first; none within another."""
    taken: list[tuple[int, int]] = []
    for name in sorted(names, key=len, reverse=True):
        wanted = folded(name.strip())
        place = whole_word(text, wanted) if wanted else -1
        while place >= 0:
            end = place + len(wanted)
            if not any(begin < end and place < over for begin, over in taken):
                taken.append((place, end))
                yield place, end, name.strip()
            place = whole_word(text, wanted, end)
