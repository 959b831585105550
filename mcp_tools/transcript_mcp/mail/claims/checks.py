"""Checks the arguments of claims: paths, duration, reason."""

import math
import re
from collections.abc import Collection, Sequence
from itertools import islice, product
from pathlib import Path
from typing import Any, Final, TypeAlias

from nanobot_transcript.errors import InvalidLetterError
from transcript_mcp.mail.claims.patterns import LONGEST, is_file_by_look, normalised
from transcript_mcp.mail.claims.values import ClaimOptions
from transcript_mcp.mail.one_line import line

__all__ = [
    "as_they_lie",
    "bounded",
    "expanded",
    "flag",
    "is_open",
    "paths",
    "patterns",
    "reason",
    "refuse_slips",
    "ttl",
    "without_folder_mark",
]

_LONGEST_REASON: Final = 500
_RUN: Final = re.compile(r"\{[^{}/]*\.\.[^{}/]*\}")


def ttl(ttl_seconds: Any, options: ClaimOptions) -> float:
    """The duration in seconds. Raises InvalidLetterError when it is out of range."""
    if ttl_seconds is None:
        return options.default_ttl
    number = isinstance(ttl_seconds, int | float) and not isinstance(ttl_seconds, bool)
    shortest, longest = options.shortest_ttl, options.longest_ttl
    if not number or math.isnan(ttl_seconds) or not shortest <= ttl_seconds <= longest:
        raise InvalidLetterError(
            f"A claim can last from {shortest:,.0f} to {longest:,.0f} seconds, not {str(ttl_seconds)[:40]!r}.",
            hint="Choose the time that the work needs; renew_claims extends it, release_claims ends it.",
        )
    return float(ttl_seconds)


def paths(given: Any, options: ClaimOptions) -> list[str]:
    """The list of paths, with braces expanded; a single path counts as a list. Raises InvalidLetterError."""
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, Sequence) or isinstance(listed, bytes) or not listed:
        raise InvalidLetterError(
            f"The paths must be a list of at least one path or pattern, not {str(given)[:40]!r}.",
            hint="For example: src/api/*.py",
        )
    if len(listed) > options.max_paths:
        raise _too_many(f"{len(listed):,} paths", options)
    found: list[str] = []
    for path in listed:
        if isinstance(path, str) and _RUN.search(path):
            raise InvalidLetterError(
                f"Ranges such as {{1..3}} are not expanded: {path[:80]}",
                hint="List each: {1,2,3}, or use a pattern: *.",
            )
        found += expanded(path, options.max_paths + 1) if isinstance(path, str) else [path]
        if len(found) > options.max_paths:
            raise _too_many(f"more than {options.max_paths:,} paths with the braces expanded", options)
    return found


def refuse_slips(listed: Sequence[str]) -> None:
    """Raise InvalidLetterError for likely typing errors: such a claim protects nothing, and nobody would notice."""
    for path in listed:
        if isinstance(path, str) and path != path.strip():
            raise InvalidLetterError(
                f"A path begins or ends with a space: {path[:80]!r}",
                hint="Remove the space. If the file name really has one there, write ? instead.",
            )
        if isinstance(path, str) and is_open(path):
            raise InvalidLetterError(
                f"Unbalanced brace: {path[:80]}",
                hint="Close it. If the file name really has a brace, write ? instead.",
            )


def _too_many(said: str, options: ClaimOptions) -> InvalidLetterError:
    return InvalidLetterError(
        f"These are {said}; {options.max_paths:,} are allowed.",
        hint="Name their folder, or use a pattern such as src/**.",
    )


def patterns(given: Sequence[str], root: str) -> list[str]:
    """The paths normalised, without duplicates. Raises InvalidLetterError."""
    try:
        return list(dict.fromkeys(normalised(path, root) for path in given))
    except ValueError as error:
        raise InvalidLetterError(
            str(error), hint="Give paths relative to the project's folder: src/api, src/*.py, docs/**."
        ) from error


def as_they_lie(kept: Sequence[str], root: str) -> list[str]:
    """The paths, with a slash at the end where a name that looks like a file's is a folder below ``root`` (the
    project's key) on this machine.
    """
    folder = Path(root)
    return [f"{path}/" if folder.is_absolute() and _is_folder(folder, path) else path for path in kept]


def _is_folder(root: Path, path: str) -> bool:
    """True for a folder, but not for a symbolic link to one: of that, git only has the link."""
    if not is_file_by_look(path):
        return False
    try:
        place = root / path
        return place.is_dir() and place.resolve() == root.resolve() / path
    except (OSError, RuntimeError):  # an impossible name, or a loop of links
        return False


def without_folder_mark(kept: str) -> str:
    """The path without the slash of a folder whose name looks like a file's, so that both spellings are equal.

    >>> without_folder_mark("conf.d/"), without_folder_mark("src/*/")
    ('conf.d', 'src/*/')
    """
    path = kept.removesuffix("/")
    return path if is_file_by_look(path) else kept


def bounded(wanted: Collection[str], own: Collection[str], in_project: int, options: ClaimOptions) -> None:
    """Raise InvalidLetterError when the agent, who holds ``own``, or the project would have too many active claims."""
    new = sum(1 for path in wanted if path not in own)
    if not new:
        return
    if len(own) + new > options.max_of_agent:
        raise InvalidLetterError(
            f"You would hold {len(own) + new:,} paths; an agent may hold at most {options.max_of_agent:,}.",
            hint="Release what you no longer need, or claim folders and patterns such as src/**.",
        )
    if in_project + new > options.max_in_project:
        raise InvalidLetterError(
            f"The project would have {in_project + new:,} claims; {options.max_in_project:,} are allowed.",
            hint="list_claims shows who holds them; wait, or ask their holders to release some.",
        )


def flag(exclusive: Any) -> bool:
    """Raises InvalidLetterError."""
    if not isinstance(exclusive, bool):
        raise InvalidLetterError(f"exclusive must be true or false, not {str(exclusive)[:40]!r}.")
    return exclusive


def reason(given: Any) -> str:
    """One line, may be empty. Raises InvalidLetterError."""
    return line("reason", " ".join(str(given or "").split()), _LONGEST_REASON, empty=True)


# A character class as in ``patterns``, a brace or comma, or text without them.
_PIECES: Final = re.compile(r"\[[!^]?+[^/][^\]/]*\]|[{},\[]|[^{},\[]+")

_Group: TypeAlias = list[list[str]]
"""The parts between commas; each part is the list of texts that it expands to."""


def expanded(pattern: str, limit: int) -> list[str]:
    """The brace expansion of a pattern, in the shell's order, at most ``limit`` of it.

    Groups without a comma, unbalanced braces, and what is inside ``[...]`` stay unchanged; so do patterns that are too
    long.

    >>> expanded("{a,b{1,2}}.py", 10), expanded("{id}/[{,}].c", 10), expanded("{a,b}{c,d}", 3)
    (['a.py', 'b1.py', 'b2.py'], ['{id}/[{,}].c'], ['ac', 'ad', 'bc'])
    """
    if "{" not in pattern or len(pattern) > LONGEST:
        return [pattern]
    groups: list[_Group] = [[[""]]]
    for piece in _PIECES.findall(pattern):
        if piece == "{":
            groups.append([[""]])
        elif piece == "," and len(groups) > 1:
            groups[-1].append([""])
        elif piece == "}" and len(groups) > 1:
            ended = _ended(groups.pop())
            _add(groups[-1], ended, limit)
        else:
            _add(groups[-1], [piece], limit)
    while len(groups) > 1:
        mark = "{"
        for texts in groups.pop():
            _add(groups[-1], [f"{mark}{text}" for text in texts], limit)
            mark = ","
    return groups[0][0]


def is_open(pattern: str) -> bool:
    """True for an unbalanced brace.

    >>> is_open("src/{a,b.py"), is_open("a}.py"), is_open("{id}/[{].c")
    (True, True, False)
    """
    depth = 0
    for piece in _PIECES.findall(pattern):
        depth += (piece == "{") - (piece == "}")
        if depth < 0:
            return True
    return depth > 0


def _ended(group: _Group) -> list[str]:
    if len(group) == 1:
        return [f"{{{text}}}" for text in group[0]]
    return [text for texts in group for text in texts]


def _add(group: _Group, texts: Sequence[str], limit: int) -> None:
    """Append each of the texts to each text of the group's last part."""
    group[-1] = [before + text for before, text in islice(product(group[-1], texts), limit)]
