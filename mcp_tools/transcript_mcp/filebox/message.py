"""The text of a mail: a header, a marker, and the thread, newest entry first.

All programs that use this format begin a mail like this::

    # BR: title

    **Format Version:** 1.0
    **Message ID:** uuid
    …
    ===== MESSAGE THREAD =====

    ## 2025-06-30T08:15:22.616Z - qa_agent to dev_agent (BR)

    content
"""

import re
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from transcript_mcp.filebox.escapes import escaped
from transcript_mcp.filebox.values import Draft, Mail

__all__ = [
    "MARKER",
    "heading",
    "is_marker",
    "milliseconds",
    "new_message",
    "parsed",
    "rewritten",
    "timestamp",
    "trimmed",
]

MARKER: Final = "===== MESSAGE THREAD ====="
_FIRST_LINE: Final = re.compile(r"\ufeff?# ([^:]*): (.*)")
_FIELD: Final = re.compile(r"\*\*([A-Za-z ]+):\*\* ?(.*)")
_NAMES: Final = {
    "Message ID": "id",
    "Sender": "sender",
    "Receiver": "receiver",
    "Timestamp": "timestamp",
    "Original Sender": "original_sender",
}
_REPEATED: Final = frozenset({"sender", "receiver", "original_sender"})
_SPACES: Final = "\t\n\x0b\x0c\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)


def new_message(draft: Draft, message_id: str, time: str) -> str:
    """The whole text of a new mail, without a final newline."""
    return (
        f"# {draft.type}: {draft.title}\n\n"
        "**Format Version:** 1.0\n"
        f"**Message ID:** {message_id}\n"
        f"**Sender:** {draft.sender}\n"
        f"**Receiver:** {draft.receiver}\n"
        f"**Timestamp:** {time}\n"
        f"**Original Sender:** {draft.sender}\n"
        f"**Current Owner:** {draft.receiver}\n\n"
        f"{MARKER}\n\n"
        f"{heading(draft, time)}\n\n"
        f"{escaped(trimmed(draft.content))}"
    )


def heading(draft: Draft, time: str) -> str:
    """The line above an entry of the thread."""
    return f"## {time} - {draft.sender} to {draft.receiver} ({draft.type})"


def parsed(file: str, text: str, stamp: tuple[int, int, int]) -> Mail:
    """The mail, from its header. One that cannot be parsed has a ``problem``, and the time of its file."""
    lines = text.split("\n")
    first = _FIRST_LINE.match(lines[0].rstrip("\r"))
    fields = {_NAMES[name]: value for name, value in _fields(lines) if name in _NAMES}
    for name in fields.keys() & _REPEATED:
        fields[name] = sys.intern(fields[name])  # ten thousand mails name few agents
    modified_ms = stamp[0] // 1_000_000
    if not fields.get("id"):
        problem = "is not a mail: its header has no Message ID" if text.strip() else "is empty"
        return Mail(file, stamp, modified_ms, problem=problem)
    moment = milliseconds(fields.get("timestamp", ""))
    kind, title = (sys.intern(first[1]), first[2]) if first else ("", "")
    return Mail(file, stamp, modified_ms if moment is None else moment, type=kind, title=title, **fields)


def rewritten(header: str, changes: Mapping[str, str]) -> str:
    """The header with some fields changed; missing fields are added after the others."""
    left, last = dict(changes), 0
    lines = header.split("\n")
    for number, line in enumerate(lines):
        found = _FIELD.match(line.rstrip("\r"))
        if found is None:
            continue
        last = number
        if found[1] in changes:
            left.pop(found[1], None)
            lines[number] = f"**{found[1]}:** {changes[found[1]]}" + ("\r" if line.endswith("\r") else "")
    lines[last + 1 : last + 1] = [f"**{name}:** {value}" for name, value in left.items()]
    return "\n".join(lines)


def is_marker(line: str) -> bool:
    """True for the line between header and thread."""
    return line.strip() == MARKER


def timestamp(moment_ms: int) -> str:
    """Milliseconds since 1970 in the format of a mail.

    >>> timestamp(1751271322616)
    '2025-06-30T08:15:22.616Z'
    """
    return f"{datetime.fromtimestamp(moment_ms // 1000, UTC):%Y-%m-%dT%H:%M:%S}.{moment_ms % 1000:03d}Z"


def milliseconds(time: str) -> int | None:
    """Milliseconds since 1970 for an ISO 8601 time (UTC if it has no zone), None for anything else."""
    try:
        moment = datetime.fromisoformat(time.strip())
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000 + 0.5)
    except (ValueError, OverflowError):
        return None


def trimmed(content: str) -> str:
    """The text without white space at both ends, by the definition of the format's other programs."""
    return content.strip(_SPACES)


def _fields(lines: list[str]) -> Iterator[tuple[str, str]]:
    """The fields above the marker. Of two with the same name the later counts, because a title could forge the earlier.

    Without a marker, the header ends at the first other line, so that text cannot pass for a header.
    """
    complete = any(is_marker(line) for line in lines)
    for number, line in enumerate(lines):
        if is_marker(line):
            return
        found = _FIELD.match(line.rstrip("\r"))
        if found is not None:
            yield found[1], found[2].strip()
        elif number and not complete and line.strip():
            return
