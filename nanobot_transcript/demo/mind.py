"""A script that stands in for a model: it answers from what is in the request and from nothing else.

It knows neither the scene nor any names. Whatever it says about somebody comes from entries of the record that the
plugin put into the request; without the plugin it has to say that it knows nothing.
"""

import random
import re
from collections.abc import Sequence
from typing import Final, Protocol

from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.demo.model_request import AskedTurn, Given
from nanobot_transcript.relevance.text import is_question
from nanobot_transcript.unicode_text import tokens
from transcript_channels.simulator import ModelRequest, Reply

__all__ = ["PHRASES", "Mind", "ScriptedMind", "answer"]

PHRASES: Final = (
    ("what did the other bot say?", "另一个机器人说了什么？"),
    ("recap", "总结一下"),
    ("note it as a task", "记成任务"),
    ("discuss it with the other bot", "和另一个机器人讨论"),
)
"""What the script understands, in English and in Chinese."""

_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_TASK: Final = re.compile(
    r"(?:记|列|转|写)(?:成|为|作|下).{0,4}(?:任务|待办)|\b(?:as|into) (?:a )?(?:task|todo)\b", re.IGNORECASE
)
_RECAP: Final = re.compile(r"总结|概括|聊了什么|大家.{0,4}[说聊]|\brecap|\bsummar|\bwhat happened", re.IGNORECASE)
_SAYING: Final = re.compile(
    r"[说讲](?:了|过|的|什么|啥)|提到|\bsa(?:id|ys)\b|\btold\b|\bdid\b.*\b(?:say|mean|write)\b", re.IGNORECASE
)
_OTHER_BOT: Final = re.compile(r"另一个机器人|\bother bot\b", re.IGNORECASE)
_DISCUSS: Final = re.compile(r"讨论|商量|\bdiscuss|\bdebate|\btalk it over", re.IGNORECASE)
_POINT: Final = re.compile(r"\bpoint (\d{1,6}):|第 (\d{1,6}) 点：", re.IGNORECASE)
_AT: Final = re.compile(r"@(\w+)", re.ASCII)
_CALL: Final = re.compile(r"^@(\w+)\s+", re.ASCII)
_STRANGER: Final = re.compile(
    r"\bdid (?!you\b|i\b|we\b|they\b|he\b|she\b|it\b|any|every|some)(\w+) (?:just )?(?:say|mean|write)\b"
    r"|(?<![\w])([A-Za-z]\w*)\s*(?:刚才|刚刚|之前)?[说讲](?:了|过|的|什么|啥)",
    re.IGNORECASE,
)
_ANSWER: Final = re.compile(
    r"(?:@\w+\s+)?(?:People said: |\w+ said: “|Noted as task |I am a script"
    r"|大家最近说的：|\w+ 说的是：「|记下了，任务 |我是脚本)",
    re.ASCII,
)
_QUOTED: Final = 160
_RECAPPED: Final = 4
_REPEATED: Final = 60
_WORD: Final = 4
_PIECE: Final = 8


class Mind(Protocol):
    """Answers the bots' model requests."""

    @property
    def label(self) -> str:
        """What to call it on screen."""
        ...

    @property
    def scripted(self) -> bool:
        """True when its answers can be foreseen from the request."""
        ...

    @property
    def patience(self) -> float:
        """Seconds after which an answer is overdue."""
        ...

    @property
    def phrases(self) -> Sequence[tuple[str, str]]:
        """All that it understands, in English and in Chinese; empty when one can say anything."""
        ...

    async def reply(self, request: ModelRequest) -> Reply:
        """The answer to one request."""
        ...

    def complaint(self) -> str:
        """A sentence about why it cannot answer, ``""`` while it can; asking takes it away."""
        ...

    def busy(self, name: str) -> bool:
        """True while a bot's turn is sure to go on, because its last answer was a call of a tool."""
        ...


class ScriptedMind:
    """The script: no key, no network."""

    scripted: bool = True
    patience: float = 60.0
    phrases: Sequence[tuple[str, str]] = PHRASES

    @property
    def label(self) -> str:
        """Says that it is no model."""
        return said("a script on this machine; set OPENAI_API_KEY for a real one")

    async def reply(self, request: ModelRequest) -> Reply:
        """The answer, streamed in small pieces as a model would."""
        text = answer(AskedTurn.of(request), request.api_key)
        pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
        return Reply(text, chunks=pieces, chunk_delay=0.02)

    def complaint(self) -> str:
        """A script can always answer."""
        return ""

    def busy(self, name: str) -> bool:
        """A script calls no tools."""
        return False


def answer(turn: AskedTurn, me: str = "") -> str:
    """What the script says as the bot ``me``, in the language of the question.

    Thanks for an answer, a point of a discussion, a quote, a task, a recap, or what it understands.
    """
    question, others = turn.question, [line for line in turn.known if not line.own]
    chinese = bool(_HAN.search(question))
    answered = _ANSWER.match(question)
    if answered:  # the other bot's answer: thank it, which nobody answers again
        return "谢谢。" if _HAN.search(answered[0]) else "Thanks."
    point = _point(question, others, me, chinese)
    if point:
        return point
    asks, asked_about = is_question(question), _asked_about(question, others)
    if asked_about and (_SAYING.search(question) or (asks and not _TASK.search(question))):
        return _quote(asked_about, chinese)
    if _TASK.search(question):
        return _task(others, chinese)
    if _RECAP.search(question):
        return _recap(others, chinese)
    stranger = _STRANGER.search(question)
    if stranger:
        return _unknown(stranger[1] or stranger[2], chinese)
    told = _told(question, others) if asks else None
    return _quote(told, chinese) if told else _help(chinese)


def _point(question: str, others: list[Given], me: str, chinese: bool) -> str:
    """The next point of a discussion, addressed to the other bot; ``""`` when nothing is discussed.

    Left to itself the script goes on for ever: every point asks for the next.
    """
    made = _POINT.search(question)
    if not made and not _DISCUSS.search(question):
        return ""
    called = [name for name in _AT.findall(question) if name.casefold() != me.casefold()]
    other = (called or [line.name for line in reversed(others) if line.bot] or [""])[0]
    number = int(made[1] or made[2]) + 1 if made else 1
    chinese = bool(made[2]) if made else chinese
    said = _stated(others)
    if not other or not said:
        return ""
    line = said[-number % len(said)]
    quoted = _short(line, _REPEATED)
    if chinese:
        return f"@{other} 第 {number} 点：{line.name} 提过「{quoted}」，我先看这一条。你怎么看？"
    return f"@{other} Point {number}: {line.name} wrote: “{quoted}” What do you think?"


def _asked_about(question: str, others: list[Given]) -> Given | None:
    """The newest line of somebody whose name stands in the question, or of the other bot."""
    if _OTHER_BOT.search(question):
        return next((line for line in reversed(others) if line.bot), None)
    return next((line for line in reversed(others) if line.name and _names(question, line.name)), None)


def _names(question: str, name: str) -> bool:
    """True when the name stands there as a word of its own: no Bo in "everybody"."""
    edge = "[A-Za-z0-9_]"
    return re.search(rf"(?<!{edge}){re.escape(name)}(?!{edge})", question, re.IGNORECASE) is not None


def _stated(others: list[Given]) -> list[Given]:
    """What people said that is neither a question nor put to a bot."""
    return [line for line in others if not line.bot and not is_question(line.text) and "@" not in line.text]


def _told(question: str, others: list[Given]) -> Given | None:
    """What somebody stated in words that the question has too; the newest of the best."""
    wanted = set(_words(question))
    stated = reversed(_stated(others))
    best = max(stated, key=lambda line: len(wanted & set(_words(line.text))), default=None)
    return best if best and wanted & set(_words(best.text)) else None


def _words(text: str) -> list[str]:
    """Pairs of Chinese characters, and words that are long enough to mean something."""
    return [word for word in tokens(text) if _HAN.match(word) or len(word) >= _WORD]


def _quote(line: Given, chinese: bool) -> str:
    return f"{line.name} 说的是：「{_short(line)}」" if chinese else f"{line.name} said: “{_short(line)}”"


def _task(others: list[Given], chinese: bool) -> str:
    """Notes the newest of what people stated."""
    line = next(reversed(_stated(others)), None)
    if line is None:
        return "记录里还没有可以记成任务的话。" if chinese else "The record holds nothing yet that could be a task."
    number = f"T-{random.randint(1000, 9999)}"
    if chinese:
        return f"记下了，任务 {number}（{line.name} 提出）：「{_short(line)}」"
    return f"Noted as task {number}, raised by {line.name}: “{_short(line)}”"


def _recap(others: list[Given], chinese: bool) -> str:
    newest = [line for line in others if not line.bot][-_RECAPPED:]
    if not newest:
        return "记录里还没有人说过什么。" if chinese else "Nobody has said anything yet."
    if chinese:
        return "大家最近说的：" + "；".join(f"{line.name}：「{_short(line, 60)}」" for line in newest)
    return "People said: " + "; ".join(f"{line.name}: “{_short(line, 60)}”" for line in newest)


def _unknown(name: str, chinese: bool) -> str:
    return f"给我的记录里没有 {name} 说的话。" if chinese else f"Nothing that {name} said has been given to me."


def _help(chinese: bool) -> str:
    if chinese:
        known = "".join(f"「{phrase}」" for _, phrase in PHRASES)
        return f"我是脚本，不是真模型，只听得懂这几句：{known}。设置 OPENAI_API_KEY 后由真模型回答。"
    known = ", ".join(f"“{phrase}”" for phrase, _ in PHRASES)
    return f"I am a script, not a model. I understand {known}. With OPENAI_API_KEY set, a real model answers."


def _short(line: Given, most: int = _QUOTED) -> str:
    """Its words; a quote calls nobody, not even whom they began with."""
    text = " ".join(_CALL.sub(r"\1, ", line.text).replace("@", "").split())
    return text if len(text) <= most else f"{text[:most]}…"
