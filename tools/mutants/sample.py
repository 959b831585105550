"""Mutants as fragments of source: chosen by a seed, kept in ``tests/mutants.yaml``, found again wherever they moved to.

A mutant names the function it is in and the statement before and after. Its file is a hint: code moves, and a statement
that stands in one place only is found there.
"""

import ast
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

import yaml

from tools.mutants.operators import BODIES, Statement, breaks, source_of

__all__ = ["Mutant", "Place", "Product", "choose", "load", "places_in", "room_of", "save"]

PACKAGES = ("nanobot_transcript", "channels/transcript_channels", "mcp_tools/transcript_mcp")
UNREACHED = ("mcp_tools/transcript_mcp/sdk/_v2.py",)
"""Files that run in another environment only."""

LONGEST = 400
"""Characters of a statement in the sample; longer ones change too often to be found again."""

HEADER = """\
# The mutants of `make mutants`: small breaks of the product that some test should notice. Written by
# `make mutants ARGS="--sample 300 --seed 15"`; a mutant is found by its function and statement, its file is a hint.
# `harmless` is written by hand, for a mutant that survives because nobody can notice it: why.
"""


@dataclass(frozen=True)
class Mutant:
    """One break. ``function`` is empty at the top of a module; of a method it is ``Class.method``."""

    id: str
    operator: str
    room: str
    file: str
    before: str
    after: str
    function: str = ""
    harmless: str = ""


@dataclass(frozen=True)
class Place:
    """A statement of the product: ``first`` to ``last`` are the lines (from 1) that a test must execute to notice."""

    file: str
    function: str
    statement: Statement = field(compare=False, repr=False)
    runs_on_import: bool = False
    """Outside of all functions, in a module or a class: coverage says of no test that it executes it."""

    @cached_property
    def before(self) -> str:
        return source_of(self.statement)

    @property
    def first(self) -> int:
        return self.statement.lineno

    @property
    def last(self) -> int:
        """The last line; of a statement with a body the last one before it."""
        body = getattr(self.statement, "body", None) or getattr(self.statement, "cases", None)
        if not body or isinstance(self.statement, ast.ExceptHandler):
            return self.statement.end_lineno or self.first
        start = getattr(body[0], "decorator_list", None) or [getattr(body[0], "pattern", body[0])]
        return max(self.first, start[0].lineno - 1)

    def broken(self, source: str, after: str) -> str:
        """The module's source with this statement replaced; all other lines keep their numbers."""
        lines = source.splitlines(keepends=True)
        column = len(lines[self.first - 1].encode()[: self.statement.col_offset].decode())
        indent, old = lines[self.first - 1][:column], lines[self.first - 1][column:]
        if old.startswith("elif"):
            after = "el" + after
        new = [indent + line + "\n" for line in after.split("\n")]
        new += ["\n"] * (self.last - self.first + 1 - len(new))
        return "".join(lines[: self.first - 1] + new + lines[self.last :])


class Product:
    """All statements under a root, by room."""

    def __init__(self, root: Path) -> None:
        files = (path.relative_to(root) for package in PACKAGES for path in sorted((root / package).rglob("*.py")))
        self.files = [str(path) for path in files if str(path) not in UNREACHED and "node_modules" not in path.parts]
        self._root = root
        self._places: dict[str, list[Place]] = {}

    @property
    def modules(self) -> list[str]:
        """The names under which the files are imported; programs (``__main__``) are not."""
        named = (re.sub("^(channels|mcp_tools)/", "", file) for file in self.files if "__main__" not in file)
        return [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in named]

    @property
    def places(self) -> Iterator[Place]:
        return (place for file in self.files for place in self.places_in(file))

    def places_in(self, file: str) -> list[Place]:
        if file not in self._places:
            self._places[file] = list(places_in(self._root, file)) if file in self.files else []
        return self._places[file]

    def find(self, mutant: Mutant) -> Place | None:
        """Where the mutant's statement is now: in its file, else in a function of that name, else the only one."""
        here = [place for place in self.places_in(mutant.file) if place.function == mutant.function]
        here = [place for place in here if place.before == mutant.before]
        if len(here) == 1:
            return here[0]
        same = [place for place in self.places if place.before == mutant.before]
        name = mutant.function.rpartition(".")[2]
        for fits in (
            [place for place in same if place.function == mutant.function],
            [place for place in same if place.function.rpartition(".")[2] == name],
            same,
        ):
            if len(fits) == 1:
                return fits[0]
        return None


def places_in(root: Path, file: str) -> Iterator[Place]:
    """The statements of one file that behaviour may depend on."""
    return _statements(ast.parse((root / file).read_text(encoding="utf-8")), file, "", on_import=True)


def _statements(node: ast.AST, file: str, function: str, *, on_import: bool) -> Iterator[Place]:
    for child in (child for name in BODIES for child in getattr(node, name, [])):
        if not isinstance(child, ast.match_case):
            if _is_left_alone(child):
                continue
            yield Place(file, function, child, on_import)
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        named = f"{function}.{child.name}".lstrip(".") if is_function or isinstance(child, ast.ClassDef) else function
        yield from _statements(child, file, named, on_import=on_import and not is_function)


def _is_left_alone(statement: ast.AST) -> bool:
    match statement:
        case ast.If(test=test):
            return ast.unparse(test) in {"TYPE_CHECKING", "__name__ == '__main__'"}
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name == "__all__"
        case ast.FunctionDef(decorator_list=decorators) | ast.AsyncFunctionDef(decorator_list=decorators):
            return any(ast.unparse(each).endswith(("overload", "abstractmethod")) for each in decorators)
        case ast.ClassDef(bases=bases):
            return any(ast.unparse(base).partition("[")[0] in {"Protocol", "TypedDict"} for base in bases)
        case _:
            return False


def room_of(file: str) -> str:
    """``mail`` of ``mcp_tools/transcript_mcp/mail/...``; what lies directly in a package is in the room of its name."""
    package = next(each for each in PACKAGES if file.startswith(each + "/"))
    room, _, rest = file[len(package) + 1 :].partition("/")
    return room if rest else package.rpartition("/")[2]


# -- choosing ----------------------------------------------------------------------------------------


def choose(product: Product, count: int, seed: int, least: int = 4) -> list[Mutant]:
    """``count`` mutants: each room has its share by its statements, none fewer than ``least``; one for a statement.

    Only statements that stand once in functions of their name, so that each is found again.
    """
    spelled = Counter((place.function, place.before) for place in product.places)
    rooms: dict[str, dict[str, list[tuple[Place, str]]]] = {}
    sizes: Counter[str] = Counter()
    for place in product.places:
        if spelled[place.function, place.before] > 1 or len(place.before) > LONGEST:
            continue
        room = room_of(place.file)
        for number, (operator, after) in enumerate(dict.fromkeys(breaks(place.statement))):
            sizes[room] += number == 0
            rooms.setdefault(room, {}).setdefault(operator, []).append((place, after))
    chosen: list[Mutant] = []
    for room, share in shares(sizes, count, least).items():
        chosen += _choose_in(room, rooms[room], share, random.Random(f"{seed} {room}"))
    return chosen


def shares(sizes: Counter[str], count: int, least: int) -> dict[str, int]:
    """How many of ``count`` each room gets, in proportion to its size."""
    total = sum(sizes.values())
    given = {room: min(sizes[room], max(least, round(count * sizes[room] / total))) for room in sorted(sizes)}
    while (over := sum(given.values()) - count) and (largest := max(given, key=lambda room: given[room])):
        given[largest] -= 1 if over > 0 else -1
    return given


def _choose_in(
    room: str, candidates: dict[str, list[tuple[Place, str]]], share: int, chance: random.Random
) -> Iterator[Mutant]:
    used: set[Place | tuple[str, int]] = set()
    while share:
        operator = chance.choice(sorted(candidates))
        place, after = candidates[operator].pop(chance.randrange(len(candidates[operator])))
        if not candidates[operator]:
            del candidates[operator]
        if (place.file, place.first) in used:
            continue
        used.add((place.file, place.first))
        share -= 1
        identity = f"{room}-{len(used):02d}"
        yield Mutant(identity, operator, room, place.file, place.before, after, place.function)


# -- the file ----------------------------------------------------------------------------------------


def load(path: Path) -> list[Mutant]:
    return [Mutant(**entry) for entry in yaml.safe_load(path.read_text(encoding="utf-8"))]


def save(path: Path, mutants: Sequence[Mutant]) -> None:
    entries = [{name: value for name, value in asdict(mutant).items() if value} for mutant in mutants]
    text = yaml.safe_dump(entries, allow_unicode=True, sort_keys=False, width=120)
    path.write_text(HEADER + text, encoding="utf-8")
