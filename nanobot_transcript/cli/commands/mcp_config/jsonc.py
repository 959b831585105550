"""Edits JSON files of people, with comments or without: in place, so that everything else stays as it was written."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

__all__ = ["CommentInTheWayError", "Form", "bare", "rewritten"]

Form: TypeAlias = Literal["json", "commented", "jsonc", "toml"]
"""Forms of clients' files: JSON; with comments; with comments and trailing commas; or TOML."""

_TOKEN: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])')
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_INDENT: Final = re.compile(r'\n([ \t]+)"')
_VISIBLE: Final = re.compile(r"[^\r\n]")
_DECODER: Final = json.JSONDecoder()


class CommentInTheWayError(ValueError):
    """What is to be replaced has a comment in it."""


def bare(text: str, form: Form) -> str:
    """``text`` as strict JSON of the same length: what the form allows beyond it has become spaces."""
    if form != "json":
        text = _TOKEN.sub(lambda found: found[0] if found[0][0] == '"' else _VISIBLE.sub(" ", found[0]), text)
    if form == "jsonc":
        text = _LAST_COMMA.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)
    return text


def rewritten(text: str, form: Form, document: Mapping[str, Any]) -> str:
    """``text`` with as little of it changed as makes it hold ``document``.

    Raises ValueError when the text is no JSON object, CommentInTheWayError when a comment would be lost.
    """
    if not text.strip():
        return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    known = json.loads(bare(text, form))
    if not isinstance(known, dict):
        raise ValueError("it is not an object")
    for keys, value in _changes(known, document):
        text = _drop(text, form, keys) if value is _GONE else _put(text, form, keys, value)
    return text


_GONE: Final = object()


def _changes(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Path and new value of all that differs, ``_GONE`` for what is to go."""
    for key in known:
        if key not in wanted:
            yield (key,), _GONE
    for key, value in wanted.items():
        before = known.get(key, _GONE)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            yield from (((key, *keys), change) for keys, change in _changes(before, value))
        elif before is _GONE or before != value:
            yield (key,), value


@dataclass(frozen=True, slots=True)
class _Member:
    key: str
    start: int
    value: int
    end: int


def _members(plain: str, opening: int) -> tuple[list[_Member], int]:
    """The members of the object that begins at ``opening``, and where its closing brace stands."""
    found: list[_Member] = []
    at = _after_space(plain, opening + 1)
    while plain[at] != "}":
        if plain[at] == ",":
            at = _after_space(plain, at + 1)
        key, behind = _DECODER.raw_decode(plain, at)
        value = _after_space(plain, _after_space(plain, behind) + 1)
        _, end = _DECODER.raw_decode(plain, value)
        found.append(_Member(key, at, value, end))
        at = _after_space(plain, end)
    return found, at


def _after_space(plain: str, at: int) -> int:
    found = _SPACE.match(plain, at)
    return found.end() if found else at


def _object(plain: str, keys: tuple[str, ...]) -> int:
    """Where the object under these keys begins."""
    at = _after_space(plain, 0)
    for key in keys:
        at = next(member.value for member in reversed(_members(plain, at)[0]) if member.key == key)
    return at


def _put(text: str, form: Form, keys: tuple[str, ...], value: Any) -> str:
    plain = bare(text, form)
    opening = _object(plain, keys[:-1])
    members, closing = _members(plain, opening)
    there = next((member for member in reversed(members) if member.key == keys[-1]), None)
    if there is None:
        return _insert(text, form, (opening, closing), members, (keys[-1], value))
    lines = "\n" in text[there.value : there.end] or not isinstance(value, list | dict)
    return _replaced(text, there.value, there.end, _shown(text, value, _margin(text, there.start) if lines else None))


def _insert(text: str, form: Form, braces: tuple[int, int], members: list[_Member], item: tuple[str, Any]) -> str:
    """The text with one more member at the end of an object, behind the comments that stand there."""
    opening, closing = braces
    begin = members[-1].end if members else opening + 1
    tail = text[begin:closing].rstrip()
    ended = bare(text, "commented")[begin:closing].strip() == "," if form == "jsonc" else False
    below = bool(members) and "\n" in text[opening : members[0].start]
    on_lines = below or not members or "\n" in tail or "//" in tail
    outer = _margin(text, opening)
    margin = _margin(text, members[0].start) if below else outer + _unit(text)
    key = json.dumps(item[0], ensure_ascii=False)
    shown = f"{key}: {_shown(text, item[1], margin if on_lines else None)}"
    comma = "," if members and not ended else ""
    new_line = _new_line(text)
    lead = new_line + margin if on_lines else " "
    end = "," if ended else ""
    rest = text[begin + len(tail) :]
    if not members and "\n" not in rest[: closing - begin - len(tail)]:
        rest = new_line + outer + text[closing:]
    return text[:begin] + comma + tail + lead + shown + end + rest


def _drop(text: str, form: Form, keys: tuple[str, ...]) -> str:
    plain = bare(text, form)
    members, closing = _members(plain, _object(plain, keys[:-1]))
    at = max(number for number, member in enumerate(members) if member.key == keys[-1])
    if at + 1 < len(members):
        return _replaced(text, members[at].start, members[at + 1].start, "")
    if at:
        return _replaced(text, members[at - 1].end, members[at].end, "")
    comma = bare(text, "commented").find(",", members[at].end, closing)
    return _replaced(text, members[at].start, comma + 1 if comma >= 0 else members[at].end, "")


def _replaced(text: str, start: int, end: int, by: str) -> str:
    if bare(text, "commented")[start:end] != text[start:end]:
        raise CommentInTheWayError("there is a comment in what has to change")
    return text[:start] + by + text[end:]


def _shown(text: str, value: Any, margin: str | None) -> str:
    """A value as JSON, in one line, or with ``margin`` before each line but the first."""
    if margin is None:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return (_new_line(text) + margin).join(lines)


def _margin(text: str, at: int) -> str:
    """The white space with which the line begins in which this place is."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _new_line(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
