"""The lines of a file to import, and which format they are in."""

import codecs
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from nanobot_transcript.errors import ImportFormatError
from nanobot_transcript.store.contract import Progress
from nanobot_transcript.store.exchange.chat_logs import Clock, Parser, irc_line, text_line
from nanobot_transcript.store.exchange.report import ImportFormat, ImportReport
from nanobot_transcript.store.lines.codec import decode

__all__ = ["PARSERS", "FileLine", "decoded", "lines_of", "settle_format", "watched"]

PARSERS: Final[dict[str, Parser]] = {"irc": irc_line, "text": text_line}

_SAMPLE: Final = 50
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
_PROGRESS_STEP: Final = 500
_LOOKS_LIKE: Final = {
    "jsonl": ("a transcript in JSONL", 'A line looks like {"role": "user", "content": "hello", "sender": "Ada"}.'),
    "irc": ("an IRC log", "A line looks like `[12:18] <nick> text`."),
    "text": ("a plain text log", "A line looks like `name: text` or `2024-05-01 12:00 name: text`."),
}


class FileLine(NamedTuple):
    """One line without its end; ``end`` is the offset behind it."""

    number: int
    body: bytes
    end: int


def lines_of(file: BinaryIO) -> Iterator[FileLine]:
    """Every line from the current position; only a newline ends one."""
    end = 0
    for number, raw in enumerate(file, start=1):
        end += len(raw)
        body = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        yield FileLine(number, body.rstrip(b"\r\n"), end)


def watched(
    lines: Iterator[FileLine], report: ImportReport, size: int, progress: Progress | None
) -> Iterator[FileLine]:
    """The lines that are not blank, counted; ``progress`` is called with the bytes read."""
    for line in lines:
        report.lines += 1
        if line.body.strip():
            yield line
        if progress is not None and line.number % _PROGRESS_STEP == 0:
            progress(line.end, size)
    if progress is not None:
        progress(size, size)


def decoded(body: bytes, encoding: str) -> str:
    """The text of a line, with U+FFFD for bytes that the encoding does not know."""
    return body.decode(encoding, "replace")


def require_encoding(path: Path, file: BinaryIO, encoding: str) -> None:
    """Raise ImportFormatError when the file is plainly in another encoding. Leaves the file at its beginning.

    The first lines must decode without an error; further down, up to one bad character in a hundred is accepted.
    """
    characters = bad = 0
    for line in lines_of(file):
        text = decoded(line.body, encoding)
        wrong = text.count(_REPLACEMENT) if _REPLACEMENT in text and not _is_valid(line.body, encoding) else 0
        if wrong and line.number <= _SAMPLE:
            raise _wrong_encoding(path, encoding, f"line {line.number} has other bytes")
        characters, bad = characters + len(text), bad + wrong
    file.seek(0)
    if bad * 100 > characters:
        raise _wrong_encoding(path, encoding, f"{bad} of {characters} characters are wrong")


def _is_valid(body: bytes, encoding: str) -> bool:
    try:
        body.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _wrong_encoding(path: Path, encoding: str, reason: str) -> ImportFormatError:
    other = "gb18030" if _name(encoding) != "gb18030" else "utf-8"
    hint = f"Try --encoding {other}, or name the one the file is in."
    return ImportFormatError(f"{path} is not {encoding.upper()}: {reason}.", hint=hint)


def _name(encoding: str) -> str:
    return codecs.lookup(encoding).name


def settle_format(path: Path, file: BinaryIO, announced: ImportFormat, encoding: str) -> str:
    """The format of most of the first lines.

    Raises ImportFormatError when they make no sense in any format, or when a log is in another encoding.
    """
    sample = [line.body for line, _ in zip(lines_of(file), range(_SAMPLE), strict=False) if line.body.strip()]
    file.seek(0)
    if any(b"\0" in body for body in sample):
        raise ImportFormatError(f"{path} is not text.", hint="JSONL, IRC logs and plain text can be imported.")
    candidates = list(_LOOKS_LIKE) if announced == "auto" else [announced]
    counted = {name: _understood(sample, name, encoding) for name in candidates}
    best = max(candidates, key=lambda name: counted[name])
    if best != "jsonl" or not counted[best]:
        require_encoding(path, file, encoding)
    if counted[best] or not sample:
        return best
    if announced == "auto":
        raise ImportFormatError(
            f"{path} is neither a transcript nor a chat log.", hint=" ".join(hint for _, hint in _LOOKS_LIKE.values())
        )
    what, hint = _LOOKS_LIKE[announced]
    raise ImportFormatError(f"{path} is not {what}.", hint=hint)


def _understood(sample: list[bytes], kind: str, encoding: str) -> int:
    if kind == "jsonl":
        return sum(body.lstrip().startswith(b"{") and decode(body) is not None for body in sample)
    parse, clock = PARSERS[kind], Clock(date.min)
    parsed = [parse(decoded(body, encoding), clock) for body in sample]
    return sum(line is not None and line.kind == "message" for line in parsed)
