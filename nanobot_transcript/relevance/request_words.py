"""What a text asks for and of whom, as far as its words tell: English and Chinese."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from nanobot_transcript.relevance.names import beside_names
from nanobot_transcript.relevance.text import breadth, is_question
from nanobot_transcript.turns.courtesy import is_courtesy
from nanobot_transcript.unicode_text import TEXT_LIMIT, folded

__all__ = ["Wording", "asks_anybody", "tells_to_stop", "wording"]

_LOOKED_AT: Final = 400


def _pattern(english: str, chinese: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{english})\b|{chinese}", re.IGNORECASE)


_YOU: Final = _pattern("you|your|u|ur|yours", "[你您]")
_ALL: Final = _pattern(
    "you all|you guys|you two|you both|y'?all|everyone|everybody|guys|folks|team", "你们|大家|各位|诸位|@all|@所有人"
)
_WE: Final = _pattern("we|us|our|let'?s", "我们|咱")
_I: Final = _pattern("i|i'm|im|my|me|i'll|i've|mine", "我(?!们)")
_ANYBODY: Final = _pattern(
    "anyone|anybody|someone|somebody|who can|who knows|can any|can some|please|pls|plz|need|can we get|give me|give us"
    "|remind",
    "谁(?:能|会|知道|懂|有空|来|帮|给|查|看|可以|记得|清楚)|有没有(?:人|谁)|有人|哪位|求|帮(?:忙|我|看|查|问|个)|请问|麻烦|来个"
    "|给(?:我|讲|个|大家|咱)",
)
_WHO_KNOWS: Final = _pattern(
    r"(?:any|some)(?:one|body)(?: here)? (?:know|can|could|remember|able)\w*(?! have)"
    r"|who (?:knows|can tell|can help|remembers)(?=\s*\w)",
    r"(?:谁|有没有(?:人|谁)|有人|哪位)(?:能帮|能说|能讲|能解释|会用|知道|懂|记得|清楚)(?![呢啊呀吧]|\W*$)",
)
_WHO: Final = _pattern(
    "who's|whose|who is|who has|who took|who wants|who left",
    "谁(?!能|会|知道|懂|来|帮|给|查|看|可以|记得|清楚)|你们|要不要|吃啥|去不去|来不来|几个人|报名",
)
_ASKS: Final = _pattern(
    "what|why|how|where|which|when|who|is there|are there|do we|does|did|can|could|should|any",
    "什么|怎么|哪|几|多少|啥|为何|咋|多久|多大|多长|是不是|有没有|能不能|可不可以|行不行|对不对|要不要|还是|吗|呢|么$|没$",
)
_DO: Final = re.compile(
    r"\W{0,9}(?:再|把|查|看看|帮|给|列|写|算|改|加|删|换|提醒|安排|生成|翻译|总结|统计|更新|发|做|出|整理|继续|记|来"
    r"|(?:check|find|show|list|write|add|remind|translate|run|post|send|put|look|book|set|tell|update|remove|make|give"
    r"|draft|same|continue|go on|shorter|longer|now|also|and|next|then|another|more)\b)",
    re.IGNORECASE,
)
_WRONG: Final = re.compile(
    r"不对|错了|说错|写错|打错|不是(?:这|问|你|那)|搞错|应该是|我是说|我是问|更正|不是.{0,12}是|^\*"
    r"|\b(?:no,|nope\b|wrong\b|not that\b|i mean|sorry,|actually\b|correction\b|typo\b|oops\b)",
    re.IGNORECASE,
)
_ON: Final = re.compile(
    r"\W{0,9}(?:继续|还有|那|再|另外|然后|接着|第|其他|剩下"
    r"|(?:and|also|what about|how about|then|continue|go on|next|more|another|the (?:second|other|first|last)|same)\b)",
    re.IGNORECASE,
)
_STOP: Final = _pattern(
    "no need|don'?t (?:answer|reply|bother)|not you|not asking|ignore|never ?mind|say nothing|saw nothing",
    "不用(?:你|回|管|查|了|看|发|动|答)|别(?:回|动|管|发|说|理|接话|插嘴|答)|不许说|先别|没问你|不是问你|没叫你|闭嘴|算了",
)
_STOPS: Final = re.compile(
    r"(?:请|那|就|先|你们?|您|都|啊|哎){0,3}(?:不用|不必|别|不要|不许)(?:你们?|您|再)?"
    r"(?:回复?|管|查|看|发|动|回?答|说话?|理|接话|插嘴|吵)?(?:了|啦|吧|话|哈|我们?|它|呢)?"
    r"|(?:我)?(?:又)?(?:没|不是|没有)(?:在)?[问叫]你们?(?:的|呢|啊|哈)?|闭嘴|算了吧?|先别|(?:我)?[问叫喊@]错(?:人|了)了?"
    r"|(?:please )?(?:no need(?: to (?:answer|reply|respond))?|don'?t (?:answer|reply|respond|bother)"
    r"|(?:i'?m |i am |i was(?:n'?t)? )?not (?:you|asking you)|ignore (?:that|this|it|me)|never ?mind|say nothing"
    r"|wrong (?:bot|person)|shut up)",
    re.IGNORECASE,
)
"""A whole clause."""
_SORRY: Final = re.compile(
    r"^(?:(?:oh|no(?! need)|nope|oops|(?:i'?m )?sorry|抱歉|不好意思|对不起) )+|(?: (?:sorry|抱歉|不好意思|对不起))+$",
    re.IGNORECASE,
)
_CLAUSES: Final = re.compile(r"[\s,，。.!！;；:：~～…@＠]+")
_MYSELF: Final = re.compile(r"(?:我|咱|i\b|i'|we\b|us\b)", re.IGNORECASE)
_BOTS: Final = _pattern(
    r"(?:any|some|which|one of the|hey|dear|our|the) bots?|bots|robots?|ai", "机器人|哪个ai|各位ai|ai们"
)
_LAUGH: Final = re.compile(r"哈哈|笑死|233|hh+|\b(?:lol|haha+|lmao)\b|😂|🤣", re.IGNORECASE)


class Wording(NamedTuple):
    """What the words of a text say; all but ``length`` and ``rows`` are 0 or 1."""

    question: float
    asks: float
    you: float
    everybody: float
    we: float
    i: float
    anybody: float
    who: float
    imperative: float
    wrong: float
    goes_on: float
    stop: float
    laughs: float
    courtesy: float
    bots: float
    length: float
    rows: float


def wording(text: str, names: Iterable[str]) -> Wording:
    """The wording of a text; ``names`` of members do not count as words of a courtesy."""
    return _wording(text[:TEXT_LIMIT], frozenset(names))


def asks_anybody(text: str) -> bool:
    """True for a question to anybody who knows: "does anybody know ...?", "有谁知道……？"."""
    return is_question(text) and _WHO_KNOWS.search(text[:_LOOKED_AT]) is not None


def tells_to_stop(text: str, names: frozenset[str]) -> bool:
    """True for a text that says that no answer is wanted, and at most what its writer does instead; ``names`` of
    members, folded, may occur.

    >>> tells_to_stop("Alpha 不用回了，我自己来", frozenset({"alpha"}))
    True
    >>> tells_to_stop("oh sorry, not you", frozenset()), tells_to_stop("别管格式，先发出来", frozenset())
    (True, False)
    """
    said = _SORRY.sub("", " ".join(filter(None, _CLAUSES.split(beside_names(folded(text[:_LOOKED_AT]), names)))))
    stop = _STOPS.match(said)
    if stop is None or not stop[0]:
        return False
    rest = said[stop.end() :]
    return not rest or (rest[0] == " " and _MYSELF.match(rest[1:]) is not None)


@lru_cache(maxsize=512)
def _wording(text: str, names: frozenset[str]) -> Wording:
    seen = text if len(text) <= 2 * _LOOKED_AT else f"{text[:_LOOKED_AT]}\n{text[-_LOOKED_AT:]}"
    return Wording(
        is_question(text),
        _ASKS.search(seen) is not None,
        _YOU.search(seen) is not None,
        _ALL.search(seen) is not None,
        _WE.search(seen) is not None,
        _I.search(seen) is not None,
        _ANYBODY.search(seen) is not None,
        _WHO.search(seen) is not None,
        _DO.match(seen) is not None,
        _WRONG.search(seen) is not None,
        _ON.match(seen) is not None,
        _STOP.search(seen) is not None,
        _LAUGH.search(seen) is not None,
        is_courtesy(text, names),
        _BOTS.search(seen) is not None,
        breadth(text),
        text.count("\n"),
    )
