"""What the first word of a line tells about its role in a conversation, in English and Chinese: consent, thanks, a
question …
"""

import re
from typing import Final

__all__ = ["opening"]

_ENGLISH: Final = (
    "ok okay k sure cool great nice good right indeed exactly true yes yeah yep yup",
    "no nope not nah",
    "thanks thank thx ty np cheers",
    "lol haha oh ah hm hmm well heh rofl",
    "but and so because then also or",
    "that it this its thats",
    "you your u ur",
    "try use check run do go",
    "i im i'm ive my i'll",
    "what why how where which when who whats hows wheres",
    "can could does is are did have will would anyone anybody any",
    "hi hello hey",
)
_CHINESE: Final = (
    "好 嗯 对 是的 行 可以 收到 没错 哦",
    "不 没 别",
    "谢 感谢 辛苦 多谢",
    "哈 啊 呃 唉 哎 额 呵 嘿",
    "但 可是 不过 而且 所以 因为 然后 还有 那 另外 并且",
    "这 它",
    "你 您",
    "试 用 查 看 运行",
    "我",
    "什么 为什么 怎么 哪 谁 几 多少 啥 为啥 咋",
    "能 有没有 是不是 有人",
    "你好 您好 大家好 早 嗨",
)
_WORDS: Final = {word: part for part, words in enumerate(_ENGLISH, 1) for word in words.split()}
_BEGINNINGS: Final = {word: part for part, words in enumerate(_CHINESE, 1) for word in words.split()}
_LONGEST: Final = max(map(len, _BEGINNINGS))
_CALL: Final = re.compile(r"\s{0,9}[@＠]?[^\s:：,，]{1,40}\s?[:：,，]\s{1,9}")
_FIRST: Final = re.compile(r"[\W_]{0,9}([a-z']{1,12})(?![a-z])")
_MARKS: Final = " \t@＠,，.。!！?？:：…~～-"
_LOOKED_AT: Final = 100


def opening(text: str) -> int:
    """The kind of word a text begins with, behind a name it calls: from 1 for consent to 12 for a greeting; 0 for any
    other.

    >>> opening("bob: yes, it does") == opening("yes, it does") == opening("对，可以的") == 1
    True
    """
    text = text[:_LOOKED_AT].casefold()
    first = _FIRST.match(text)
    called = None if first is not None and first[1] in _WORDS else _CALL.match(text)
    if called is not None:
        text = text[called.end() :]
        first = _FIRST.match(text)
    if first is not None:
        return _WORDS.get(first[1], 0)
    text = text.lstrip(_MARKS)
    return next((_BEGINNINGS[text[:size]] for size in range(_LONGEST, 0, -1) if text[:size] in _BEGINNINGS), 0)
