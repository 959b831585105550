"""Patterns of files: what a claim covers. The same matcher serves the server and the pre-commit guard.

Paths and patterns are relative to the project's folder, with ``/``, case-sensitive.

- ``*`` is any text and ``?`` any character within a name; ``**`` as a whole name is any number of folders.
- ``[a-z]`` and ``[!a-z]`` are one character. A name with brackets also stands for itself: ``app/[id]/page.tsx``.
- A pattern that ends in ``/`` also covers everything below, and so does one whose last name has no ``*`` and ``?`` and
  may be a folder's: ``src/*/``, ``src``. ``main.py`` and ``Makefile`` are files by their look, ``conf.d/`` is a folder.
- ``.`` is the whole project.
- An accented letter is the same whether it is written as one character or as two (NFC).

The guard's hook contains this source and runs on any Python: standard library only, and nothing newer than Python 3.9.
The time is bounded by the product of the lengths, whatever the pattern.
"""

from __future__ import annotations

import functools

TYPE_CHECKING = False  # importing `typing` would take a tenth of the guard's time
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypeAlias

    # A parsed pattern is a sequence of names and ``_STAR``; a name is a text or its readings; a reading is a sequence
    # of characters and ``_STAR``; a character is a set of ranges (first, last).
    Character: TypeAlias = tuple[tuple[int, int], ...]
    Reading: TypeAlias = tuple[Character | None, ...]
    Name: TypeAlias = str | tuple[Reading, ...]
    Pattern: TypeAlias = tuple[Name | None, ...]

__all__ = ["LONGEST", "covered", "covers_below", "is_file_by_look", "matches", "normalised", "overlap"]

LONGEST = 1000
"""Characters of a pattern."""
_DEEPEST = 64
_LAST = 0x10FFFF
_SLASH = ord("/")
_ANY_CHARACTER = ((1, _SLASH - 1), (_SLASH + 1, _LAST))
_FILES = frozenset(
    """
    AUTHORS CHANGELOG CODEOWNERS CONTRIBUTING COPYING Containerfile Dockerfile GNUmakefile Gemfile INSTALL Jenkinsfile
    Justfile LICENCE LICENSE MAINTAINERS Makefile NOTICE Pipfile Podfile Procfile README Rakefile TODO Vagrantfile
    gradlew justfile makefile mvnw
    .babelrc .browserslistrc .dockerignore .editorconfig .env .envrc .eslintignore .eslintrc .flake8 .gitattributes
    .gitignore .gitkeep .gitmodules .mailmap .npmignore .npmrc .nvmrc .prettierignore .prettierrc .pylintrc
    """.split()  # noqa: SIM905 - a list of words is read more easily so
)
"""Names without an extension that usually are files."""
_STAR = None  # among characters: any text; among names: any number of folders


def overlap(a: str, b: str) -> bool:
    """True when some path is covered by both patterns. Raises ValueError for an invalid pattern.

    >>> overlap("app/*.py", "app/m*"), overlap("app/*.py", "app/api/x.py"), overlap("app", "**/x.py")
    (True, False, True)
    """
    (start, names), (other_start, other_names) = _parsed(a), _parsed(b)
    could = start.startswith(other_start) or other_start.startswith(start)  # excludes most pairs quickly
    return could and _meet(names, other_names, _names_meet)


def matches(pattern: str, path: str) -> bool:
    """True when the pattern covers this literal path. Raises ValueError for an invalid pattern.

    >>> matches("src", "src/a/b.py"), matches("src/*", "src/a/b.py"), matches("src/**", "src/a/b.py")
    (True, False, True)
    """
    start, names = _parsed(pattern)
    path = _composed(path)
    return path.startswith(start) and _is_instance(names, path.split("/"), _name_matches)


def covered(patterns: Sequence[str], paths: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of a path and a pattern that covers it, as indexes into the two lists, by path. Skips invalid patterns.

    Only patterns whose literal beginning and longest literal piece are in a path are tried on it.

    >>> covered(["src/*.py", "docs", "../x"], ["docs/a.md", "src/b.py"])
    [(0, 1), (1, 0)]
    """
    starts: dict[str, list[int]] = {}
    for here, pattern in enumerate(patterns):
        try:
            starts.setdefault(_parsed(pattern)[0], []).append(here)
        except ValueError:
            continue
    composed = [_composed(path) for path in paths]
    found: list[tuple[int, int]] = []
    for start, candidates in _by_start(starts, composed).items():
        together = "\0".join([composed[there] for there in candidates])
        for here in starts[start]:
            needed = _needed(normalised(patterns[here]))
            if needed in together:
                fitting = (there for there in candidates if needed in composed[there])
                found += [(there, here) for there in fitting if matches(patterns[here], composed[there])]
    return sorted(found)


def _by_start(starts: Iterable[str], paths: Sequence[str]) -> dict[str, list[int]]:
    """For each start that some path has, the indexes of those paths."""
    lengths = sorted({len(start) for start in starts})
    wanted = set(starts)
    found: dict[str, list[int]] = {}
    for there, path in enumerate(paths):
        for length in lengths:
            if length <= len(path) and path[:length] in wanted:
                found.setdefault(path[:length], []).append(there)
    return found


def normalised(pattern: str, root: str = "") -> str:
    """The pattern as it is stored: relative to ``root``, the project's folder, without ``.`` and doubled slashes.

    Raises ValueError, with a sentence for the caller, for an invalid pattern.

    >>> normalised("./src//api/"), normalised("/repo/src/*.py", "/repo"), normalised("conf.d/"), normalised(".")
    ('src/api', 'src/*.py', 'conf.d/', '**')
    """
    if not isinstance(pattern, str) or not pattern.strip():
        raise ValueError("A path must be a non-empty text.")
    composed = _composed(pattern) if len(pattern) <= LONGEST else pattern  # NFC lengthens some characters
    if len(composed) > LONGEST:
        raise ValueError(f"A path may have at most {LONGEST:,} characters.")
    shown = ascii(pattern)[1:-1][:80]
    if any(character < " " or character == "\x7f" or "\ud800" <= character <= "\udfff" for character in pattern):
        raise ValueError(f"The path {shown} contains characters that are not allowed.")
    if "\\" in pattern:
        raise ValueError(f"The path {pattern[:80]} has a backslash: separate folders with /.")
    names = _names(_below(composed, _composed(root)))
    if names and not "".join(names).strip():
        raise ValueError("A path must be a non-empty text.")
    if len(names) > _DEEPEST:
        raise ValueError(f"A path may have at most {_DEEPEST} names.")
    kept = "/".join(names) if names else "**"
    return kept if covers_below(kept) or not pattern.endswith(("/", "/.")) else f"{kept}/"


def covers_below(kept: str) -> bool:
    """True for a normalised pattern that covers everything below what it names.

    >>> covers_below("src"), covers_below("src/**"), covers_below("src/main.py"), covers_below("conf.d/")
    (True, True, False, True)
    """
    name = kept.rpartition("/")[2]
    return name in ("", "**") or not ("*" in name or "?" in name or is_file_by_look(kept))


def is_file_by_look(kept: str) -> bool:
    """True when the last name of a normalised pattern looks like a file's.

    That is, it has an extension of letters and digits that begins with a letter, or is a known name. Names with ``*``
    or ``?`` never do.

    >>> is_file_by_look("docs/a.md"), is_file_by_look("Makefile"), is_file_by_look("v1.2"), is_file_by_look("*.md")
    (True, True, False, False)
    """
    name = kept.rpartition("/")[2]
    stem, _, extension = name.rpartition(".")
    if "*" in name or "?" in name:
        return False
    if not (stem and extension.isascii() and extension.isalnum()):
        return name in _FILES
    return extension[0].isalpha()


def _composed(text: str) -> str:
    """The text in NFC: some file systems and editors write an accented letter as two characters."""
    if text.isascii():
        return text
    import unicodedata  # rarely needed, and imports cost the guard time

    return unicodedata.normalize("NFC", text)


def _needed(pattern: str) -> str:
    """The longest text that every covered path contains; may be empty."""
    plain = (name for name in pattern.split("/") if "[" not in name)
    return max((piece for name in plain for piece in name.replace("?", "*").split("*")), key=len, default="")


def _below(pattern: str, root: str) -> str:
    root = root.rstrip("/")
    is_inside = bool(root) and (pattern == root or pattern.startswith(f"{root}/"))
    below = pattern[len(root) :] if is_inside else pattern
    # `./~/x` would be normalised to `~/x`, which is refused because it looks like a home folder.
    first = next((name for name in below.split("/") if name not in ("", ".")), "")
    if (pattern.startswith("/") and not is_inside) or first == "~" or first[1:] == ":":
        raise ValueError(f"The path {pattern[:80]} is outside the project: give it relative to {root or 'it'}.")
    return below


def _names(pattern: str) -> list[str]:
    names: list[str] = []
    for name in pattern.split("/"):
        if name == "..":
            raise ValueError(f"The path {pattern[:80]} contains '..': give it relative to the project's folder.")
        if name not in ("", ".") and not (name == "**" and names and names[-1] == "**"):
            names.append(name)
    return names


@functools.lru_cache(maxsize=4096)
def _parsed(pattern: str) -> tuple[str, Pattern]:
    """The literal beginning of every covered path, and the parsed pattern."""
    clean = normalised(pattern)
    names = _names(clean)
    parsed: list[Name | None] = [_STAR if name == "**" else _readings(name) for name in names]
    if parsed[-1] is not _STAR and covers_below(clean):
        parsed.append(_STAR)
    wild = min((at for at, character in enumerate(clean) if character in "*?["), default=len(clean))
    # Without the slash before a wildcard, because `src/**` covers `src`, too.
    return clean[:wild].rstrip("/"), tuple(parsed)


def _readings(name: str) -> Name:
    if not any(character in name for character in "*?["):
        return name
    readings = [_characters(name, brackets=True)]
    plain = _characters(name, brackets=False)
    return (*readings, plain) if plain != readings[0] else tuple(readings)


def _characters(name: str, *, brackets: bool) -> Reading:
    found: list[Character | None] = []
    at = 0
    while at < len(name):
        closing = _closing(name, at) if brackets and name[at] == "[" else -1
        if closing > 0:
            found.append(_class(name[at + 1 : closing]))
            at = closing
        elif name[at] == "*":
            if not found or found[-1] is not _STAR:
                found.append(_STAR)
        else:
            found.append(_ANY_CHARACTER if name[at] == "?" else ((ord(name[at]), ord(name[at])),))
        at += 1
    return tuple(found)


def _closing(name: str, opening: int) -> int:
    """The end of the character class that begins here, -1 without one. A ``]`` at its beginning is part of it."""
    first = opening + 1
    if name[first : first + 1] in ("!", "^"):
        first += 1
    return name.find("]", first + 1)


def _class(inside: str) -> Character:
    negated = inside[0] in "!^"
    members = inside[1:] if negated else inside
    ranges: list[tuple[int, int]] = []
    at = 0
    while at < len(members):
        last = at + 2 if members[at + 1 : at + 2] == "-" and at + 2 < len(members) else at
        if members[at] <= members[last]:
            ranges.append((ord(members[at]), ord(members[last])))
        at = last + 1
    return _others(ranges) if negated else tuple(ranges)


def _others(ranges: Sequence[tuple[int, int]]) -> Character:
    left: list[tuple[int, int]] = []
    after = 1
    for first, last in sorted((*ranges, (_SLASH, _SLASH), (_LAST + 1, _LAST + 1))):
        left.append((after, first - 1))
        after = max(after, last + 1)
    return tuple((first, last) for first, last in left if first <= last)


def _meet(a: Sequence[Any], b: Sequence[Any], compatible: Callable[[Any, Any], bool]) -> bool:
    """True when two sequences, in which ``_STAR`` is any number of elements, have a common instance.

    ``b`` is simulated as a nondeterministic automaton whose active states are the bits of a number.
    """
    stars = sum(1 << at for at, element in enumerate(b) if element is _STAR)
    everything = (2 << len(b)) - 1
    hits: dict[Any, int] = {}
    states = 1 | (stars & 1) << 1
    for element in a:
        if element is _STAR:
            states = everything & -(states & -states)  # the lowest active state and all later ones
            continue
        if element not in hits:
            hits[element] = sum(1 << at for at, o in enumerate(b) if o is not _STAR and compatible(element, o))
        states = states & stars | (states & hits[element]) << 1
        states |= (states & stars) << 1  # a star may be empty; there are never two in a row
        if not states:
            return False
    return bool(states >> len(b) & 1)


def _is_instance(pattern: Sequence[Any], sequence: Sequence[str], covers: Callable[[Any, str], bool]) -> bool:
    """True when the pattern covers a sequence without stars. Backtracks only to the latest star, as globbing does."""
    at = here = 0
    star = tried = -1
    while here < len(sequence):
        element = pattern[at] if at < len(pattern) else ()
        if element is _STAR:
            star, tried, at = at, here, at + 1
        elif element and covers(element, sequence[here]):
            at, here = at + 1, here + 1
        elif star >= 0:
            tried += 1
            at, here = star + 1, tried
        else:
            return False
    return all(element is _STAR for element in pattern[at:])


def _names_meet(a: Name, b: Name) -> bool:
    if isinstance(a, str):
        return a == b if isinstance(b, str) else _name_matches(b, a)
    if isinstance(b, str):
        return _name_matches(a, b)
    return any(_meet(one, other, _characters_meet) for one in a for other in b)


def _name_matches(pattern: Name, name: str) -> bool:
    if isinstance(pattern, str):
        return pattern == name
    return any(_is_instance(reading, name, _covers) for reading in pattern)


def _characters_meet(a: Character, b: Character) -> bool:
    return any(first <= others and other <= last for first, last in a for other, others in b)


def _covers(ranges: Character, character: str) -> bool:
    code = ord(character)
    for first, last in ranges:  # noqa: SIM110 - asked for every character; a generator takes twice the time
        if first <= code <= last:
            return True
    return False
