"""Turns the arguments of the store's front doors into clean entries."""

import time
from collections.abc import Mapping
from math import isfinite
from typing import Any

from nanobot_transcript.entry import OPTIONAL_FIELDS, Entry, Op, well_formed
from nanobot_transcript.errors import InvalidEntryError

__all__ = ["clean_id", "entry", "key", "looks_like_seconds", "op", "timestamp"]

_SURELY_MS, _SURELY_MS_TO = 10**11, 10**18


def key(session_key: str) -> str:
    """A session key may be any non-empty string."""
    if not isinstance(session_key, str) or not session_key:
        raise InvalidEntryError(f"A session key must be a non-empty string, not {session_key!r}.")
    return session_key


def entry(
    role: str,
    content: str,
    sender: str,
    message_id: str | None,
    timestamp_ms: float | str | None,
    fields: Mapping[str, Any],
) -> Entry:
    """A message as one line will hold it; ``rts`` is now."""
    if type(role) is not str or type(content) is not str or type(sender) is not str:
        _refuse_other_than_text(role=role, content=content, sender=sender)
    if not role:
        raise InvalidEntryError("A role must be a non-empty string such as 'user' or 'assistant'.")
    now = time.time_ns() // 1_000_000
    line: dict[str, Any] = {
        "role": role,
        "content": content,
        "sender": sender,
        "message_id": message_id
        if type(message_id) is str and message_id and message_id.isprintable()
        else clean_id(message_id),
        "ts": timestamp_ms
        if type(timestamp_ms) is int and _SURELY_MS <= timestamp_ms < _SURELY_MS_TO
        else timestamp(timestamp_ms, now),
    }
    if fields:
        _add(line, fields)
    line["rts"] = now
    return line  # pyright: ignore[reportReturnType] -- built key by key; a cast would cost a call per message


def op(
    name: Op,
    target: str,
    content: str,
    sender: str,
    timestamp_ms: float | str | None,
    fields: Mapping[str, Any],
) -> Entry:
    """A line that changes an earlier message."""
    target_id = clean_id(target)
    if target_id is None:
        raise InvalidEntryError(f"{name} needs the id of the message it is about.")
    line = entry("assistant" if fields.get("agent") else "user", content, sender, None, timestamp_ms, fields)
    line["op"] = name
    line["target"] = target_id
    return line


def timestamp(value: float | str | None, now: int) -> float:
    """Milliseconds from a number or a numeric string, else ``now``: then the time of arrival orders the message.

    A value that looks like seconds (September 2001 to the year 5138) is not taken for milliseconds in 1970.
    """
    try:
        number = float(now if value is None else value)
    except (TypeError, ValueError, OverflowError):
        return now
    if not isfinite(number) or not 0 <= number < 1e18 or looks_like_seconds(number):
        return now
    return int(number) if number.is_integer() else number


def looks_like_seconds(number: float) -> bool:
    """True for numbers that are sensible as seconds since 1970 and absurd as milliseconds."""
    return 1e9 <= number < 1e11


def _add(line: dict[str, Any], fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        if name not in OPTIONAL_FIELDS:
            raise InvalidEntryError(
                f"An entry has no field {name!r}.", hint=f"Known fields: {', '.join(sorted(OPTIONAL_FIELDS))}."
            )
        if value is not None and value != [] and value != {}:
            line[name] = _ids(value) if name == "message_ids" else value


def _ids(value: object) -> list[str]:
    if not isinstance(value, list | tuple):
        raise InvalidEntryError(f"message_ids is a list of strings, not {value!r}.")
    return [known for part in value if (known := clean_id(part))]


def clean_id(value: object) -> str | None:
    """A message id as it is recorded; None when there is none."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        # Keys of the index that begin with NUL are its own marks; no id from outside may look like one.
        return well_formed(value).replace("\0", "\u2400")
    if isinstance(value, int):
        return str(value)
    raise InvalidEntryError(f"A message id is a string, not {value!r}.")


def _refuse_other_than_text(**arguments: object) -> None:
    name, value = next(((n, v) for n, v in arguments.items() if not isinstance(v, str)), ("", ""))
    if not name:
        return
    raise InvalidEntryError(
        f"{name} is a string, not {type(value).__name__}.", hint="Turn it into text before it is recorded."
    )
