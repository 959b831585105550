"""The thread below a mail's header: parsing it, adding a reply, and merging copies."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from transcript_mcp.filebox.escapes import escaped, unescaped
from transcript_mcp.filebox.message import MARKER, heading, is_marker, milliseconds, rewritten, trimmed
from transcript_mcp.filebox.values import Draft, ThreadEntry

__all__ = ["SEPARATOR", "entries", "joined", "with_reply"]

SEPARATOR: Final = "\u2501" * 102
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)?")
_SHORTEST_SEPARATOR: Final = 10


class _Piece(NamedTuple):
    """An entry in the file: its heading (None for text above the first heading) and its lines."""

    heading: ThreadEntry | None
    lines: tuple[str, ...]

    @property
    def known_by(self) -> tuple[str, ...]:
        """Identifies the entry in all copies, whatever programs did to line ends."""
        return tuple(line.rstrip() for line in self.lines)

    @property
    def time_ms(self) -> int:
        return (milliseconds(self.heading.time) if self.heading else None) or 0


def entries(text: str) -> list[ThreadEntry]:
    """The entries of a mail, newest first as in the file, with the original texts."""
    found: list[ThreadEntry] = []
    for head, lines in _pieces(_split(text)[1]):
        if head is not None:
            content = unescaped(trimmed("\n".join(lines[1:])))
            found.append(ThreadEntry(head.time, head.sender, head.receiver, head.type, content))
    return found


def with_reply(text: str, draft: Draft, time: str) -> str:
    """The mail with another entry on top and an updated header; older entries are not changed."""
    header, thread = _split(text)
    header = rewritten(
        header,
        {"Sender": draft.sender, "Receiver": draft.receiver, "Timestamp": time, "Current Owner": draft.receiver},
    )
    older = thread.lstrip("\r\n")
    if older and not _is_separator(older.partition("\n")[0]):
        older = f"{SEPARATOR}\n\n{older}"
    newest = f"{heading(draft, time)}\n\n{escaped(trimmed(draft.content))}\n"
    return f"{header}\n\n{SEPARATOR}\n\n{newest}" + (f"\n{older}" if older else "")


def joined(newest: str, others: Iterable[str]) -> str:
    """The newest copy of a mail, merged with entries that only other copies have; unchanged if there are none."""
    header, thread = _split(newest)
    pieces = _pieces(thread)
    known = {piece.known_by for piece in pieces}
    missing: list[_Piece] = []
    for other in others:
        for piece in _pieces(_split(other)[1]):
            if piece.known_by not in known:
                known.add(piece.known_by)
                missing.append(piece)
    if not missing:
        return newest
    ordered = sorted([*pieces, *missing], key=lambda piece: piece.time_ms, reverse=True)
    return header + "".join(f"\n\n{SEPARATOR}\n\n" + "\n".join(piece.lines) for piece in ordered)


def _split(text: str) -> tuple[str, str]:
    """The header with the marker, and the thread. Without a marker, the header ends at the first other line."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if is_marker(line):
            return "\n".join(lines[: number + 1]), "\n".join(lines[number + 1 :])
    end = next((number for number, line in enumerate(lines) if number and not _is_header(line)), len(lines))
    header = "\n".join(lines[:end]).rstrip()
    return f"{header}\n\n{MARKER}", "\n".join(lines[end:])


def _is_header(line: str) -> bool:
    return not line.strip() or line.startswith("**")


def _pieces(thread: str) -> list[_Piece]:
    pieces: list[_Piece] = []
    head: ThreadEntry | None = None
    lines: list[str] = []
    for line in thread.split("\n"):
        found = _parse_heading(line)
        if found is None:
            lines.append(line)
            continue
        pieces += _piece(head, lines)
        head, lines = found, [line]
    return pieces + _piece(head, lines)


def _piece(head: ThreadEntry | None, lines: list[str]) -> list[_Piece]:
    while lines and (not lines[-1].strip() or _is_separator(lines[-1])):
        lines.pop()
    while lines and head is None and (not lines[0].strip() or _is_separator(lines[0])):
        lines.pop(0)
    return [_Piece(head, tuple(lines))] if lines else []


def _parse_heading(line: str) -> ThreadEntry | None:
    """``## time - sender to receiver (TYPE)``; the text is left empty."""
    line = line.rstrip()
    if not line.startswith("## ") or len(line.splitlines()) > 1:
        return None
    time, dash, rest = line[3:].partition(" - ")
    parties, bracket, kind = rest.removesuffix(")").rpartition(" (")
    sender, to, receiver = parties.partition(" to ")
    if not (dash and bracket and to and rest.endswith(")") and _TIME.fullmatch(time)):
        return None
    return ThreadEntry(time, sender, receiver, kind, "")


def _is_separator(line: str) -> bool:
    line = line.strip()
    return len(line) >= _SHORTEST_SEPARATOR and not line.strip(SEPARATOR[0])
