"""What a claim covers, and when two claims meet."""

import ast
import functools
import itertools
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.examples import examples

from transcript_mcp.mail.claims import patterns as matching
from transcript_mcp.mail.claims.overlaps import meetings
from transcript_mcp.mail.claims.patterns import matches, normalised, overlap

MANY = examples(500, 2500)

# -- the reference: every path of a small world is tried, one pattern at a time

WORLD = ("a", "b", "x.c")
FOLDERS = ["/".join(names) for depth in range(1, 6) for names in itertools.product(WORLD, repeat=depth)]
NAMES = ["".join(letters) for length in range(1, 7) for letters in itertools.product("abc", repeat=length)]
TOKENS = st.lists(st.sampled_from(["a", "b", "x.c", "*", "**", "?", "[ab]", "*.c"]), min_size=1, max_size=3)
STRUCTURES = st.tuples(TOKENS.map("/".join), st.sampled_from(["", "/"])).map("".join)
GLOBS = st.lists(st.sampled_from(["a", "b", "*", "?", "[ab]", "[!a]", "[b-c]"]), min_size=1, max_size=4)


def covers(pattern: str, path: str) -> bool:
    """By the definition, trying everything."""
    *names, after = pattern.split("/")
    names += ["**"] if not after else [after] if "*" in after or "?" in after or after == "x.c" else [after, "**"]
    return _tried(names, path.split("/"))


def _tried(names: list[str], parts: list[str]) -> bool:
    if not names:
        return not parts
    if names[0] == "**":
        return any(_tried(names[1:], parts[start:]) for start in range(len(parts) + 1))
    return bool(parts) and _is_called(names[0], parts[0]) and _tried(names[1:], parts[1:])


def _is_called(name: str, part: str) -> bool:
    return _expression(name).fullmatch(part) is not None


@functools.cache
def _expression(name: str) -> re.Pattern[str]:
    with_classes = "".join(_regex(token) for token in re.findall(r"\[!?[^]]+\]|.", name))
    without = "".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in name)
    return re.compile(f"{with_classes}|{without}")


def _regex(token: str) -> str:
    if token.startswith("[") and len(token) > 1:
        return token.replace("[!", "[^")
    return {"*": ".*", "?": "."}.get(token, re.escape(token))


@functools.cache
def covered(pattern: str) -> frozenset[str]:
    """All paths of the world that the pattern covers."""
    return frozenset(path for path in FOLDERS if covers(pattern, path))


@functools.cache
def called(name: str) -> frozenset[str]:
    """All names of the world that a name with wildcards stands for."""
    return frozenset(filter(_expression(name).fullmatch, NAMES))


def _readings(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Brackets are a class, or stand for themselves."""
    return tuple(re.findall(r"\[!?[^]]+\]|.", name)), tuple(name)


@functools.cache
def _have_a_name(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """A star is nothing, or takes what comes next on the other side."""
    if "*" in (a[:1] + b[:1]):
        a, b = (a, b) if a[:1] == ("*",) else (b, a)
        return _have_a_name(a[1:], b) or (bool(b) and _have_a_name(a, b[1:]))
    if not (a and b):
        return not (a or b)
    both = (re.fullmatch(_regex(a[0]), letter) and re.fullmatch(_regex(b[0]), letter) for letter in "abc[]-!")
    return any(both) and _have_a_name(a[1:], b[1:])


@MANY
@given(STRUCTURES, STRUCTURES)
def test_two_patterns_of_folders_meet_exactly_where_some_path_is_covered_by_both(a: str, b: str) -> None:
    expected = bool(covered(a) & covered(b))
    assert overlap(a, b) is overlap(b, a) is expected


@MANY
@given(GLOBS.map("".join), GLOBS.map("".join))
def test_two_patterns_of_one_name_meet_exactly_where_some_name_is_covered_by_both(a: str, b: str) -> None:
    expected = any(_have_a_name(one, other) for one in _readings(a) for other in _readings(b))
    assert overlap(a, b) is overlap(b, a) is expected
    assert expected or called(a).isdisjoint(called(b))


@MANY
@given(STRUCTURES | GLOBS.map("".join), st.sampled_from(FOLDERS[:400] + NAMES[:400]))
def test_a_pattern_covers_exactly_the_paths_of_its_definition(pattern: str, path: str) -> None:
    assert matches(pattern, path) is covers(pattern, path)


@MANY
@given(st.text("abp/*?[]!^-.\\~ \x00é中", max_size=14), st.text("abp/*?[]!^-.中", max_size=14))
@example("[", "[!")
@example(" /", "./ ")
@example("[z-a]", "?")
@example("./~/?", "?")
@example("./C:/?", "?")
@example("[!\x01-\U0010ffff]", "*")
@example("/p/~/x", "?")
@example("/p/C:", "?")
@example("/p/a.b/.", "a.b/")
@example("\N{DEVANAGARI LETTER QA}" * 600, "?")
def test_any_text_is_answered_or_refused_with_a_value_error(a: str, b: str) -> None:
    try:
        first, second = normalised(a, "/p"), normalised(b, "/p")
    except ValueError:
        return
    assert normalised(first) == normalised(first, "/p") == first
    assert overlap(first, second) is overlap(second, first)
    assert overlap(first, first) or "[" in a
    assert matches(first, second) in (True, False)
    if not a.startswith("/"):
        assert normalised(a) == first
        assert overlap(a, second) is overlap(first, second)


# -- what people write


@pytest.mark.parametrize(
    ("pattern", "path", "covered_by_it"),
    [
        ("src", "src/a/b.py", True),
        ("src/", "src/a/b.py", True),
        ("src", "src2/a.py", False),
        ("src/*", "src/a.py", True),
        ("src/*", "src/a/b.py", False),
        ("src/*/", "src/a/b.py", True),
        ("src/**", "src/a/b.py", True),
        ("**/*.py", "setup.py", True),
        ("**/migrations", "app/db/migrations/1.sql", True),
        ("packages/*/src", "packages/ui/src/x.ts", True),
        ("*.md", "docs/a.md", False),
        (".", "anything/at/all", True),
        ("**", "anything/at/all", True),
        ("README.md", "readme.md", False),
        ("app/[id]/page.tsx", "app/[id]/page.tsx", True),
        ("app/[id]/page.tsx", "app/i/page.tsx", True),
        ("app/[...slug]", "app/[...slug]/page.tsx", True),
        ("v[0-9].txt", "v7.txt", True),
        ("v[!0-9].txt", "v7.txt", False),
        ("v[]x].txt", "v].txt", True),
        ("*.[ch]", "main.c", True),
        ("文档/*.md", "文档/说明.md", True),
        ("./src//api/./x.py", "src/api/x.py", True),
        ("README.md", "README.md/x.py", False),
        ("README.md/", "README.md/x.py", True),
        ("conf.d/", "conf.d", True),
        ("Makefile", "Makefile/x", False),
        (".gitignore", ".gitignore/x", False),
        (".github", ".github/workflows/ci.yml", True),
        ("readme", "readme/a.md", True),
        ("v1.2", "v1.2/a.py", True),
        ("docs/1.文档", "docs/1.文档/a.md", True),
        ("v[0-9].txt", "v7.txt/a", False),
        ("main.[ch]", "main.c/a", True),
        ("*", "a\\b", True),
    ],
)
def test_patterns_mean_what_people_expect(pattern: str, path: str, covered_by_it: bool) -> None:
    assert matches(pattern, path) is covered_by_it


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [
        ("./src//api/", "src/api"),
        ("src/*/", "src/*/"),
        ("conf.d", "conf.d"),
        ("./conf.d//", "conf.d/"),
        ("conf.d/.", "conf.d/"),
        ("/repo/Makefile/", "Makefile/"),
        ("src/**/", "src/**"),
        ("**/**/x", "**/x"),
        (".", "**"),
        ("/repo", "**"),
        ("/repo/", "**"),
        ("/repo/src/x.py", "src/x.py"),
        ("/repo//src", "src"),
        (" a", " a"),
    ],
)
def test_one_thing_is_kept_in_one_way(pattern: str, kept: str) -> None:
    assert normalised(pattern, "/repo") == kept


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "  ",
        "../x",
        "a/../b",
        "/etc/passwd",
        "/repository/x",
        "~/x",
        "C:/x",
        "src\\x.py",
        "a\nb",
        "a\x00",
        "\ud800",
        "x" * 1001,
        "a/" * 65,
        "/repo/../x",
        "/repo/~/x",
        "\N{DEVANAGARI LETTER QA}" * 600,
    ],
)
def test_what_leaves_the_project_or_is_no_path_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="path"):
        normalised(pattern, "/repo")


@pytest.mark.parametrize(
    ("held", "path"),
    [("src/**/*.py", "src/README.md"), ("**/*.py", "README.md"), ("**/Makefile", "docs/en/mail.md")],
)
def test_a_file_is_no_folder_in_which_others_could_lie(held: str, path: str) -> None:
    assert not overlap(held, path)
    assert not meetings([path], [held]).found
    assert overlap(held, f"{path}/")


def test_hostile_patterns_are_answered_all_the_same() -> None:
    assert overlap("*a" * 499, "*b" * 499) is False
    assert overlap("/".join(["*a*b*[!x]*"] * 60), "/".join(["*q*[abc]*?*"] * 60)) is True
    assert matches("*a" * 499 + "b", "a" * 4000) is False
    assert matches("/".join(["**", "*a*"] * 32), "/".join(["b" * 60] * 60)) is False


@examples(50, 500)
@given(
    st.lists(STRUCTURES | GLOBS.map("".join) | st.just("../x"), max_size=6),
    st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=4).map("/".join), max_size=6),
)
def test_many_patterns_on_many_paths_are_what_each_is_on_each(patterns: list[str], paths: list[str]) -> None:
    usable = [(here, pattern) for here, pattern in enumerate(patterns) if ".." not in pattern]
    one_by_one = [
        (there, here) for there, path in enumerate(paths) for here, pattern in usable if matches(pattern, path)
    ]
    assert matching.covered(patterns, paths) == one_by_one


def test_of_many_patterns_few_are_parsed_and_each_of_them_once() -> None:
    """A project has 10,000 claims at the most, more than are remembered; a commit may have as many files."""
    patterns = [f"src/m{number}/**/*x{number}?.py" for number in range(5000)]
    parsed = matching._parsed.cache_info  # pyright: ignore[reportPrivateUsage]
    before = parsed().misses
    found = matching.covered(patterns, [f"src/m{number}/a/x{number}_.py" for number in range(500)])
    assert found == [(number, number) for number in range(500)]
    assert parsed().misses - before <= len(patterns) + len(found)


def test_an_accented_letter_is_one_however_it_is_written() -> None:
    one, two = "caf\N{LATIN SMALL LETTER E WITH ACUTE}/*.py", "cafe\N{COMBINING ACUTE ACCENT}/*.py"
    assert normalised(two) == one == normalised(f"/p/\N{HANGUL CHOSEONG KIYEOK}\N{HANGUL JUNGSEONG A}/{two}", "/p/가")
    assert overlap(one, two)
    assert matches(one, "cafe\N{COMBINING ACUTE ACCENT}/a.py")
    assert matches(two, "caf\N{LATIN SMALL LETTER E WITH ACUTE}/a.py")
    assert matching.covered([one], ["cafe\N{COMBINING ACUTE ACCENT}/a.py"]) == [(0, 0)]


def test_the_source_is_understood_by_the_oldest_python_the_guard_meets() -> None:
    source = Path(matching.__file__).read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 9))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= {"__future__", "collections.abc", "typing"}
