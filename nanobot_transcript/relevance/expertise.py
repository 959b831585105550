"""Which bot a question is for, judged by the bots' descriptions: words and topics in common, and how near words lie.

"The site is down" shares no word with "deployment, monitoring", but a topic. The words of each topic, English and
Chinese, are in ``topics.json``. A word of several topics counts less, and so does one that all descriptions share.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from math import log, sqrt
from typing import Final, NamedTuple

import msgspec

from nanobot_transcript.relevance import nearness
from nanobot_transcript.relevance.text import clipped
from nanobot_transcript.unicode_text import COMMON, tokens

__all__ = ["Affinity", "affinities", "is_general", "read_words", "topics"]

_GENERAL: Final = re.compile(
    r"\b(?:general|all[- ]?(?:round|purpose)\w*|anything|everything|whatever|all sorts|most things|almost anything"
    r"|a bit of everything|ask me|miscellaneous|chatty|odds and ends)\b"
    r"|通用|万能|万事通|什么都|啥都|闲聊|百科|随便问|打杂|杂活|全能|各种问题|有问必答|陪聊",
    re.IGNORECASE,
)
_HELPER: Final = re.compile(r"\b(?:assistant(?! to)|helper|helps)\b|助手|助理|聊天", re.IGNORECASE)
"""In the description of a bot for anything, unless it says something else."""
_ASSISTANTS: Final = "llm_ai_assistants"
"""The topic of the words "AI assistant" themselves, which do not say what such a bot is for."""
_JOINTS: Final = re.compile(r"[/-]")
_LATIN: Final = re.compile(r"[a-z0-9][a-z0-9'.&+#/-]{0,40}")
_EDGES: Final = ".'-/"
_LONGEST_PHRASE: Final = 3
_LOOKED_AT: Final = 400
_LONG_WORD: Final = 4
_LONG_COUNTS: Final = 1.5


class Affinity(NamedTuple):
    """How a text fits a description: by ``words`` and ``topic``, both from 0, and how ``near`` it is, in log odds."""

    words: float
    topic: float
    near: float


class _Lexicon(NamedTuple):
    """Topics by word, for Latin words and for others; the length of the longest of the others."""

    latin: Mapping[str, frozenset[str]]
    dense: Mapping[str, frozenset[str]]
    longest: int


def affinities(text: str, descriptions: Sequence[str]) -> list[Affinity]:
    """How a text fits each of the descriptions, compared with the others."""
    said, about = _words(text), topics(text)
    words = [_words(description) for description in descriptions]
    known = [topics(description) for description in descriptions]
    whole = len(descriptions) + 1
    rare = Counter(word for some in words for word in some)
    scarce = Counter(topic for some in known for topic in some)
    size = sqrt(sum(share * share for share in about.values())) or 1.0
    return [
        Affinity(
            sum(
                log(whole / rare[word]) * (_LONG_COUNTS if len(word) >= _LONG_WORD else 1.0)
                for word in sorted(said & theirs)
            ),
            sum(
                share * min(1.0, topical[topic]) * log(whole / scarce[topic])
                for topic, share in about.items()
                if topic in topical
            )
            / size,
            close,
        )
        for theirs, topical, close in zip(words, known, nearness.closeness(text, descriptions), strict=True)
    ]


def read_words() -> None:
    """Read the words of topics, and those near them, once per process."""
    _lexicon()
    nearness.read_places()


def is_general(description: str) -> bool:
    """True for a bot whose description says that it is for anything, or says nothing."""
    text = clipped(description, _LOOKED_AT)
    if not text.strip() or _GENERAL.search(text):
        return True
    return _HELPER.search(text) is not None and topics(text).keys() <= {_ASSISTANTS}


def topics(text: str) -> Mapping[str, float]:
    """The topics of a text, with the number of its words for each.

    >>> "operations" in topics("服务器挂了") and "operations" in topics("the server is down")
    True
    """
    return _topics(clipped(text, _LOOKED_AT).casefold())


@lru_cache(maxsize=1024)
def _topics(text: str) -> Mapping[str, float]:
    lexicon = _lexicon()
    found: Counter[str] = Counter()
    for told in (*_latin(text, lexicon), *(() if text.isascii() else _dense(text, lexicon))):
        for topic in sorted(told):
            found[topic] += 1 / len(told)  # pyright: ignore[reportArgumentType] - a Counter of shares
    return found


def _latin(text: str, lexicon: _Lexicon) -> list[frozenset[str]]:
    words = [part for word in _LATIN.findall(text) for part in _parts(word.strip(_EDGES), lexicon)]
    found: list[frozenset[str]] = []
    for at in range(len(words)):
        phrases = (" ".join(words[at : at + size]) for size in range(_LONGEST_PHRASE, 0, -1))
        told = next((lexicon.latin[phrase] for phrase in phrases if phrase in lexicon.latin), None)
        if told is not None:
            found.append(told)
    return found


def _parts(word: str, lexicon: _Lexicon) -> Sequence[str]:
    """The word, or its parts when only those are known: "billing-invoices"."""
    return (word,) if word in lexicon.latin else _JOINTS.split(word)


def _dense(text: str, lexicon: _Lexicon) -> list[frozenset[str]]:
    found: list[frozenset[str]] = []
    at = 0
    while at < len(text):
        size = next((size for size in range(lexicon.longest, 0, -1) if text[at : at + size] in lexicon.dense), 0)
        if size:
            found.append(lexicon.dense[text[at : at + size]])
        at += size or 1
    return found


def _words(text: str) -> frozenset[str]:
    return _words_of(clipped(text, _LOOKED_AT))


@lru_cache(maxsize=1024)
def _words_of(text: str) -> frozenset[str]:
    return frozenset(tokens(text)) - COMMON


@cache
def _lexicon() -> _Lexicon:
    text = files("nanobot_transcript.relevance").joinpath("topics.json").read_text(encoding="utf-8")
    latin: dict[str, frozenset[str]] = {}
    dense: dict[str, frozenset[str]] = {}
    for topic, words in msgspec.json.decode(text, type=dict[str, list[str]]).items():
        one = frozenset((topic,))
        for word in words:
            script = latin if word.isascii() else dense
            known = script.get(word)
            script[word] = one if known is None else known | one
    return _Lexicon(latin, dense, max(map(len, dense), default=0))
