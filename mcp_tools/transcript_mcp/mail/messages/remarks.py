"""Classifies the lines of a message by their words, in English and Chinese: point, decision, question or task.

Every repetition in the patterns is bounded, and so is every piece of text they see: the work grows linearly with the
length of the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, Literal, TypeAlias

from transcript_mcp.mail.search.index_text import APART

__all__ = ["Kind", "Remark", "key", "remarks", "words"]

Kind: TypeAlias = Literal["heading", "item", "open", "done", "decision", "text", "quote"]

_LONGEST_LINE: Final = 2000
_LONGEST_SENTENCE: Final = 400
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_CHECK: Final = re.compile(r"\s{0,20}(?:[-*+]|\d{1,3}[.)])[ \t]{1,4}\[([ xX])\][ \t]")
_ITEM: Final = re.compile(r"\s{0,20}(?:[-*+•][ \t]|\d{1,3}[.)][ \t]|\d{1,3}、|[（(]\d{1,3}[）)])")
_HEADING: Final = re.compile(r" {0,3}#{1,6}[ \t]")
_END: Final = re.compile(r"[.!?]+|[。！？；]+")
_CLOSING: Final = " \t*_`'\"”’)）】」』~"

_ASKS: Final = re.compile(r"[?？]\Z|[吗呢么]\Z")
_POLITE: Final = re.compile(
    r"\b(?:please|pls|(?:can|could|would|will) you)\b|麻烦|请(?!问)|帮(?:忙|我|我们)?[看查改测]", re.IGNORECASE
)
_TASK: Final = re.compile(
    r"\b(?:TODO|FIXME)\b|(?i:\b(?:please|pls)\b|\b(?:to-?do|action(?: items?)?)[ \t]?[:：])|待办"
    r"|(?<![申邀聘恳提敬])请(?![问假求示帖柬教客])|(?<![不无太很怕])麻烦(?![的了事])|(?<![不无否])需要(?![吗么])|(?<!不)务必"
)
_TASKS: Final = re.compile(
    r"(?:to-?dos?|action items?|actions|next steps|tasks|待办(?:事项)?|下一步|行动项|任务)[:： ]?", re.IGNORECASE
)
_DECISIONS: Final = re.compile(r"(?:decisions?|decided|决定|决议|结论)[:： ]?", re.IGNORECASE)
_CALLED: Final = re.compile(r"@([^\W\d_][\w-]{0,39})")
_BY_NAME: Final = re.compile(r"\b(?:TODO|FIXME)[ \t]?\(@?([\w-]{1,40})\)")
_DECIDES: Final = re.compile(
    r"\b(?:decided|decision|agreed|approved|settled on|(?:going|go) with|we chose|we(?:'ll| will) use|conclusion)\b"
    r"|决定|确定(?!一下|吗)|定为|敲定|定下来|结论|同意|批准|达成一致|就按|就用|采用|选用",
    re.IGNORECASE,
)
_NOT_YET: Final = re.compile(
    r"(?:\b(?:not|never|no|if|once|whether|until|before|nobody|to)|n't|\bun)\W{0,3}(?:\w{1,12}\W{1,3}){0,2}\Z"
    r"|(?:未|没|没有|不|待|尚|是否|如果|无法|才能|再)\w{0,2}\Z",
    re.IGNORECASE,
)
_WEIGHTY: Final = re.compile(
    r"\b(?:important|note|warning|blocked|blocker|breaking|deadline|risk|because|root cause|must)\b"
    r"|注意|重要|风险|截止|阻塞|卡住|原因|关键|必须|因为",
    re.IGNORECASE,
)
_ANSWERS: Final = re.compile(
    r"\W{0,5}(?:(?:yes|no|yep|yeah|nope|ok|okay|sure|correct|right|done|exactly)\b"
    r"|是的|不是|没错|对[，,。]|对\Z|可以|不可以|不行|好的|没有|不用|不会|会的|行[，,。])",
    re.IGNORECASE,
)
_WORD: Final = re.compile(rf"[{APART}]+|[^\W_{APART}]+")
_RUN_APART: Final = re.compile(f"[{APART}]")
_COMMON: Final = frozenset(
    """
    the and for are was were will would can could should shall may might does did have has had that this these those
    with from what when where which who whom whose why how you your our ours their they them then than there here
    not but any some all its into about please need let get just also very been being question questions
    什么 是否 怎么 我们 你们 他们 可以 需要 一个 这个 那个 哪个 时候 有没 没有 还是 如何 为什 多少 不是 应该 是不
    """.split()  # noqa: SIM905 - a list of words is read more easily so
)


@dataclass(frozen=True)
class Remark:
    """A sentence, or a line that counts as one. ``kind`` comes from its Markdown: ``open`` and ``done`` are items of a
    check list or under a heading like "To do", ``decision`` those under one like "Decisions"."""

    text: str
    kind: Kind
    first: bool = False

    @cached_property
    def asks(self) -> bool:
        """A real question, not a request phrased as one."""
        if self.kind == "quote" or not _ASKS.search(self.text.rstrip(_CLOSING)):
            return False
        return not (_POLITE.search(self.text) and (self.called or not self.text.isascii()))

    @cached_property
    def called(self) -> str | None:
        """The name after the first @, or in ``TODO(name)``."""
        found = _BY_NAME.search(self.text) or _CALLED.search(self.text)
        return found[1] if found else None

    @cached_property
    def demands(self) -> bool:
        """Something to do."""
        if self.kind in {"open", "done"}:
            return True
        if self.kind in {"quote", "heading", "decision"} or self.asks:
            return False
        return bool(_TASK.search(self.text) or (self.called is not None and _POLITE.search(self.text)))

    @cached_property
    def decides(self) -> bool:
        """A decision that was made: not asked, denied or still to come."""
        if self.kind == "decision":
            return True
        if self.kind in {"quote", "heading", "open"} or self.asks:
            return False
        found = _DECIDES.search(self.text)
        return found is not None and not _NOT_YET.search(self.text[max(0, found.start() - 30) : found.start()])

    @cached_property
    def answers(self) -> bool:
        """It begins like an answer."""
        return self.kind != "quote" and _ANSWERS.match(self.text) is not None

    @cached_property
    def weight(self) -> int:
        """How likely it is a point of the message: 0 to 3."""
        if self.kind == "quote" or self.asks or _section(self.text):
            return 0
        if self.kind == "text" and len(self.text) < (8 if self.text.isascii() else 4):
            return 0
        if _WEIGHTY.search(self.text):
            return 3
        return 2 if self.kind in {"heading", "item"} else int(self.first and not self.answers)


def remarks(body: str) -> Iterator[Remark]:
    """The sentences of a message in order, without its code blocks."""
    fence, first = "", True
    section: Kind | None = None
    for line in body.splitlines():
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
            continue
        if mark:
            fence = mark[1]
            continue
        for remark in _of_line(line[:_LONGEST_LINE]):
            if remark.kind == "heading" or remark.kind == "text":
                section = _section(remark.text)
            kind = section if section and remark.kind == "item" else remark.kind
            yield Remark(remark.text, kind, first and kind == "text")
            first = first and kind != "text"


def _section(heading: str) -> Kind | None:
    bare = heading.strip(_CLOSING)
    return "open" if _TASKS.fullmatch(bare) else "decision" if _DECISIONS.fullmatch(bare) else None


def words(text: str) -> frozenset[str]:
    """The words that show that a question and an answer belong together; for Chinese, each pair of characters."""
    found: set[str] = set()
    for run in _WORD.findall(text[:_LONGEST_SENTENCE].lower()):
        if run[0] > "\x7f" and _RUN_APART.match(run):
            found.update(map("".join, pairwise(run)))
        elif len(run) > 2 and run not in _COMMON:
            found.add(run.removesuffix("s"))
    return frozenset(found) - _COMMON


def key(text: str) -> str:
    """The text without case, spacing and punctuation, to recognise repetitions."""
    return " ".join(_WORD.findall(text.lower()))


def _of_line(line: str) -> Iterator[Remark]:
    if line.lstrip().startswith(">"):
        yield from _trimmed(line.lstrip(" >\t"), "quote")
    elif check := _CHECK.match(line):
        yield from _trimmed(line[check.end() :], "open" if check[1] == " " else "done")
    elif heading := _HEADING.match(line):
        yield from _trimmed(line[heading.end() :].rstrip("# \t"), "heading")
    else:
        item = _ITEM.match(line)
        for sentence in _sentences(line[item.end() :] if item else line):
            yield from _trimmed(sentence, "item" if item else "text")


def _sentences(line: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(line):
        # A dot inside a word ends no sentence: v2.1, users.py.
        if end[0][0] in ".!?" and line[end.end() : end.end() + 1].strip(_CLOSING):
            continue
        yield line[start : end.end()]
        start = end.end()
    yield line[start:]


def _trimmed(text: str, kind: Kind) -> Iterator[Remark]:
    clean = " ".join(text.split())[:_LONGEST_SENTENCE]
    if _WORD.search(clean):
        yield Remark(clean, kind)
