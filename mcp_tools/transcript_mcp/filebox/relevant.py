"""Which mail of an inbox belongs to what a group is talking about, and a piece of that talk quoted in a mail."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from math import log
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.relevance.lexical import tokens
from nanobot_transcript.relevance.quote import quote
from transcript_mcp.filebox.files import read
from transcript_mcp.filebox.folders import MailboxFolder
from transcript_mcp.filebox.thread import entries
from transcript_mcp.filebox.values import Mail

__all__ = ["Relevant", "relevant", "with_context"]

_LOOKED_AT: Final = 200
_WINDOW: Final = 60
_TEXT: Final = 400
_LEAST: Final = 0.35
_HALF: Final = 5.0  # so much in common makes a score of one half
_SMOOTHING: Final = 10
_LONG_WORD: Final = 4
_SHOWN_WORDS: Final = 5
_ID_LENGTH: Final = 8


@dataclass(frozen=True, slots=True)
class Relevant:
    """A mail that belongs to the talk: how much (0 to 1), and why, in a sentence."""

    mail: Mail
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a mail, those of its title apart."""

    mail: Mail
    title: list[str]
    text: list[str]


def relevant(inbox: Sequence[Mail], mailbox: MailboxFolder, recent: Iterable[Entry], limit: int) -> list[Relevant]:
    """The mails of an inbox that have to do with the recent entries of a group, the most fitting first.

    A mail is compared with each entry; what is rare counts more, what stands in the title counts twice. Looks at the
    newest 200 mails and the newest 60 entries. A mail that cannot be understood belongs to nothing.
    """
    said = [text for entry in recent if isinstance(text := entry.get("content"), str) and not entry.get("op")]
    said = said[-_WINDOW:]
    with mailbox.looked_at("inbox") as folder:
        mails = [
            _Words(mail, tokens(mail.title), tokens(_newest_text(folder, mail)))
            for mail in inbox[:_LOOKED_AT]
            if folder is not None and said and not mail.problem
        ]
    spoken = [set(tokens(text)) for text in said]
    rarity = _rarity([*spoken, *({*mail.title, *mail.text} for mail in mails)])
    mentioned = " ".join(said).casefold()
    fits = [fit for mail in mails if (fit := _named(mail.mail, mentioned) or _fit(mail, spoken, rarity))]
    return sorted(fits, key=lambda fit: (fit.score, fit.mail.time_ms), reverse=True)[:limit]


def with_context(
    content: str,
    recent: Sequence[Entry],
    chat: str,
    *,
    names: Mapping[str, str] | None = None,
    timezone: tzinfo = UTC,
    max_chars: int = 4000,
) -> str:
    """The content of a mail with recent entries of a group quoted under a heading of their own."""
    quoted = quote(recent, names=names, timezone=timezone, max_chars=max_chars)
    return f"{content}\n\n### Recent messages of {chat}\n\n{quoted}" if quoted else content


def _named(mail: Mail, mentioned: str) -> Relevant | None:
    if len(mail.id) >= _ID_LENGTH and mail.id[:_ID_LENGTH].casefold() in mentioned:
        return Relevant(mail, 1.0, "Its Message ID was mentioned.")
    return None


def _fit(mail: _Words, spoken: Sequence[set[str]], rarity: Mapping[str, float]) -> Relevant | None:
    weights = {word: rarity[word] for word in mail.text} | {word: 2 * rarity[word] for word in mail.title}
    best = max(spoken, key=lambda words: sum(weights[word] for word in words & weights.keys()))
    common = sum(weights[word] for word in best & weights.keys())
    score = common / (common + _HALF)
    if score < _LEAST:
        return None
    words = ", ".join(_in_common([*mail.title, *mail.text], best))
    return Relevant(mail.mail, round(score, 2), f"It has in common with what was said: {words}.")


def _rarity(texts: Sequence[set[str]]) -> dict[str, float]:
    """From nearly 1 for a word of one text to nearly 0 for a word of all; a longer word says twice as much."""
    count = Counter(word for words in texts for word in words)
    whole = len(texts) + _SMOOTHING
    return {
        word: log(whole / number) / log(whole) * (2 if len(word) >= _LONG_WORD else 1) for word, number in count.items()
    }


def _newest_text(folder: int | None, mail: Mail) -> str:
    try:
        taken = read(folder, mail.file, 4 * _TEXT + 4096) if folder is not None else None
    except OSError:
        return ""  # its title still counts
    written = entries(taken.body.decode("utf-8", "replace")) if taken else []
    return written[0].text[:_TEXT] if written else ""


def _in_common(words: Sequence[str], said: set[str]) -> list[str]:
    """What both know, pairs of characters put together to words again, the longest first."""
    found: list[str] = []
    before = ""
    for word in words:
        shared = word in said and len(word) > 1
        if shared and len(word) == len(before) == 2 and before[-1] == word[0] and not word.isascii():
            found[-1] += word[1:]
        elif shared:
            found.append(word)
        before = word if shared else ""
    return sorted(dict.fromkeys(found), key=len, reverse=True)[:_SHOWN_WORDS]
