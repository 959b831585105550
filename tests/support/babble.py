"""Texts as people and agents write them, in many scripts, and what somebody may type to find one of them again."""

import random
from collections.abc import Callable, Sequence
from typing import Final

__all__ = ["Babble"]

_ENGLISH: Final = """
the plan build release deploy users user migrate migration table index server cache queue letter answer
question retry timeout lock window review branch merge commit token café naïve résumé Zürich coöperate don't
it's e-mail POL-358 v2 v2.0 API HTTP/2 GPT5 2026-11-27 12:30 3.14 1_000 C++ x86_64 UTF-8
"""
_CHINESE: Final = (
    "我们周三发布窗口两小时回滚计划数据库迁移完成请确认邮件占用文件测试通过失败重试超时队列缓存索引"
    "用户登录页面中文输入全角半角标点符号智能体群聊消息记录主库副本切换一二三四五六七八九十"
)
_CODE: Final = (
    "def take(self): return foo.bar_baz(x[0])",
    "SELECT * FROM jobs WHERE state='queued'",
    "std::vector<int>&& v",
    "/src/app/main.py:42",
    "https://example.org/a?b=c&d=%E5%8F%91",
    "`git rebase -i HEAD~3`",
    "a_b__c -> d->e",
    "<at id='all'></at>",
    "100% \\ back\\slash 'quote' \"double\"",
)
_OTHERS: Final = (
    "🎉🚀 done",
    "👩‍💻",
    "привет мир",
    "καλημέρα",
    "안녕 세계",
    "ガスカ゛ス",
    "ｖ２ ＡＰＩ",
    "e\u0301te\u0301",
    "İstanbul ışık",
    "ﷺ ﬁn",
    "𠮷野家",
    "שלום",
    "नमस्ते",
    "a\u200db",
    "x\u00a0y",
)
_RANGES: Final = ((0x20, 0x3000), (0x3000, 0xD800), (0xE000, 0x10000), (0x10000, 0x1F000))
_WORDS: Final = _ENGLISH.split()
_MARKS: Final = (" ", " ", " ", ", ", ". ", "\n", "，", "。", "！", " - ", "/", "—", "（", "）", "")


class Babble:
    """The same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random: random.Random = random.Random(seed)

    def text(self, most: int) -> str:
        """Up to so many pieces."""
        pieces = [self._piece() + self.random.choice(_MARKS) for _ in range(self.random.randint(0, most))]
        return "".join(pieces)

    def query(self, texts: Sequence[str]) -> str:
        """Something to look for: mostly of one of the texts."""
        kinds: list[Callable[[str], str]] = [self._words, self._phrase, self._beginning, self._typo, self._odd]
        query = self.random.choice(kinds)(self.random.choice(texts))
        while self.random.random() < 0.4:
            other = self.random.choice(kinds)(self.random.choice(texts))
            sign = self.random.choice(["AND", "OR", "NOT", "", "AND NOT"])
            query = f"({query}) {sign} {other}" if self.random.random() < 0.5 else f"{query} {sign} ({other})"
        return query

    def _piece(self) -> str:
        kind = self.random.random()
        if kind < 0.45:
            word = self.random.choice(_WORDS)
            return word.upper() if self.random.random() < 0.1 else word
        if kind < 0.8:
            start = self.random.randrange(len(_CHINESE))
            return _CHINESE[start : start + self.random.randint(1, 6)]
        if kind < 0.88:
            return self.random.choice(_CODE)
        if kind < 0.97:
            return self.random.choice(_OTHERS)
        return "".join(chr(self.random.randrange(*self.random.choice(_RANGES))) for _ in range(3))

    def _some(self, text: str, most: int) -> list[str]:
        words = text.split() or ["nothing"]
        start = self.random.randrange(len(words))
        return words[start : start + self.random.randint(1, most)]

    def _words(self, text: str) -> str:
        return " ".join(self._some(text, 2))

    def _phrase(self, text: str) -> str:
        return f'"{" ".join(self._some(text, 4))}"'

    def _beginning(self, text: str) -> str:
        return f"{self._some(text, 1)[0][: self.random.randint(1, 4)]}*"

    def _typo(self, text: str) -> str:
        word = self._some(text, 1)[0]
        at = self.random.randrange(len(word))
        return word[:at] + word[at + 1 :]

    def _odd(self, text: str) -> str:
        start = self.random.randrange(len(text) or 1)
        return text[start : start + self.random.randint(0, 8)]
