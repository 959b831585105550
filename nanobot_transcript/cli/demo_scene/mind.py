"""Stands in for a model: answers from what is in the request and from nothing else.

It knows no scene and no names. Whatever it says about somebody it has found among the entries of the record that the
plugin put into the request; with the plugin switched off it has to say that it knows nothing.
"""

import random
import re
from typing import Final, Protocol

from nanobot_transcript.cli.demo_scene.reading import Given, Turn
from transcript_channels.simulator import ModelRequest, Reply

__all__ = ["Mind", "ScriptedMind", "answer"]

_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_TASK: Final = re.compile(r"任务|待办|\btask|\btodo\b", re.IGNORECASE)
_RECAP: Final = re.compile(r"总结|概括|聊了什么|大家|\brecap|\bsumm|\bwhat happened", re.IGNORECASE)
_SAYING: Final = re.compile(r"说|讲|提到|\bsa(?:y|id|ys)\b|\btold\b|\bmean", re.IGNORECASE)
_STRANGER: Final = re.compile(r"\bdid (\w+)|(\w+?)\s*(?:刚才|刚刚|之前)?\s*[说讲]", re.IGNORECASE)
_QUOTED: Final = 160
_RECAPPED: Final = 4
_PIECE: Final = 8


class Mind(Protocol):
    """Who answers the gateways' model requests."""

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

    label: str = "a script on this machine; set OPENAI_API_KEY for a real one"
    scripted: bool = True
    patience: float = 60.0

    async def reply(self, request: ModelRequest) -> Reply:
        """The answer, streamed in small pieces as a model would."""
        text = answer(Turn.of(request))
        pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
        return Reply(text, chunks=pieces, chunk_delay=0.02)

    def complaint(self) -> str:
        """A script can always answer."""
        return ""

    def busy(self, name: str) -> bool:
        """A script calls no tools."""
        return False


def answer(turn: Turn) -> str:
    """What the script says: a quote, a task, a recap, or what it can do, in the language of the question."""
    others = [line for line in turn.known if not line.own]
    chinese = bool(_HAN.search(turn.question))
    asked_about = _asked_about(turn.question, others)
    if asked_about and (_SAYING.search(turn.question) or not _TASK.search(turn.question)):
        return _quote(asked_about, chinese)
    if _TASK.search(turn.question):
        return _task(others, chinese)
    if _RECAP.search(turn.question):
        return _recap(others, chinese)
    stranger = _STRANGER.search(turn.question)
    if stranger:
        return _unknown(stranger[1] or stranger[2], chinese)
    return _help(others, chinese)


def _asked_about(question: str, others: list[Given]) -> Given | None:
    """The newest line of somebody whose name stands in the question."""
    asked = question.casefold()
    return next((line for line in reversed(others) if line.name and line.name.casefold() in asked), None)


def _quote(line: Given, chinese: bool) -> str:
    return f"{line.name} 说的是：「{_short(line)}」" if chinese else f"{line.name} said: “{_short(line)}”"


def _task(others: list[Given], chinese: bool) -> str:
    line = next((line for line in reversed(others) if not line.bot), None)
    if line is None:
        return "记录里还没有人说过什么，没有可以记的任务。" if chinese else "Nobody has said anything worth a task."
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


def _help(others: list[Given], chinese: bool) -> str:
    if chinese:
        return (
            f"我是脚本，不是真模型。记录给了我 {len(others)} 条别人的消息。可以问我某人说了什么、"
            "让我总结一下，或者让我把它记成任务。"
        )
    return (
        f"I am a script, not a model. The record gave me {len(others)} messages of others. Ask me what somebody "
        "said, for a recap, or to note a task."
    )


def _short(line: Given, most: int = _QUOTED) -> str:
    text = " ".join(line.text.split())
    return text if len(text) <= most else f"{text[:most]}…"
