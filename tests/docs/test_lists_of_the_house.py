"""Commands of make, sets of requirements, rooms and pages: what stands in two places is the same in both."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.listed import LANGUAGES, ROOT, differing, first_column, page, spans, table

from transcript_channels.nanobot_host.seams import SUPPORTED

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LAYERS: list[str] = PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
SETS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "requirements").glob("*.txt")}
SOURCES = {Path(path).name: ROOT / path for path in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]}
"""The top-level packages by name."""


def test_the_commands_of_make_are_those_that_are_explained() -> None:
    commands = set(re.findall(r"^([a-z][a-z0-9.-]*):.*##", MAKEFILE, flags=re.MULTILINE)) - {"help"}
    shown = {name.removeprefix("make ") for name in first_column(CONTRIBUTING, "make test")} - {"bash .ci/run"}
    assert differing({"CONTRIBUTING.md": shown, "Makefile": commands}) == {}


# -- requirements


def test_every_set_of_requirements_is_written_by_make_lock_and_explained() -> None:
    written = re.findall(r"-o requirements/(\S+)\.txt", MAKEFILE)
    (explained,) = re.findall(r"^`requirements/\*\.txt` .*?(?=\n\n)", CONTRIBUTING, flags=re.MULTILINE | re.DOTALL)
    shown = set(spans(explained)) - {"requirements/*.txt", "pyproject.toml"}
    assert differing({"requirements/": SETS, "Makefile": written, "CONTRIBUTING.md": shown}) == {}


def test_a_set_that_counts_as_installed_with_another_one_is_part_of_it() -> None:
    source = ast.parse((ROOT / "tools" / "bootstrap.py").read_text(encoding="utf-8"))
    (includes,) = [
        ast.literal_eval(node.value)
        for node in source.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "INCLUDES"
    ]
    assert includes
    for larger, smaller_ones in includes.items():
        for smaller in smaller_ones:
            assert pins(SETS[smaller]) - pins(SETS[larger]) == set(), f"{smaller} is not part of {larger}"


def pins(text: str) -> set[str]:
    return set(re.findall(r"^[a-zA-Z0-9._-]+==\S+", text, flags=re.MULTILINE))


def test_every_group_of_dependencies_is_in_a_set() -> None:
    used = re.findall(r"--(?:only-)?group (\S+)", MAKEFILE)
    assert differing({"Makefile": used, "pyproject.toml": PROJECT["dependency-groups"]}) == {}


def test_the_supported_nanobot_is_the_same_everywhere() -> None:
    assert SUPPORTED in PROJECT["project"]["optional-dependencies"]["nanobot"]
    lowest, below = re.findall(r"[0-9.]+", SUPPORTED)
    for name in ("README.md", "README.zh-CN.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert re.search(f"[(（]>= {re.escape(lowest)}[,、] ?< {re.escape(below)}[)）]", text), name
    assert f"nanobot-ai=={lowest}" in PROJECT["dependency-groups"]["host-0-3-0"]


def test_every_python_that_is_promised_is_tried() -> None:
    promised = [
        each.rpartition(" ")[2] for each in PROJECT["project"]["classifiers"] if re.search(r"Python :: 3\.", each)
    ]
    (tried,) = re.findall(r"^SUPPORTED = (.*)", (ROOT / "tools/test_pythons.py").read_text("utf-8"), re.MULTILINE)
    looked_for = re.findall(r"python(3\.[0-9]+)", (ROOT / "tools/setup.sh").read_text("utf-8"))
    assert promised[0] == PROJECT["project"]["requires-python"].removeprefix(">=")
    assert set(promised) <= set(ast.literal_eval(tried)) == set(looked_for)


# -- rooms


def rooms() -> Iterator[str]:
    """Each package or module below a top-level package: what holds code of its own. Of a package whose parts have
    layers of their own, such as ``cli``, those parts.
    """
    parted = {name.rpartition(".")[0] for layer in layered() for name in layer}
    for name, folder in SOURCES.items():
        for room, path in within(name, folder):
            yield from [part for part, _ in within(room, path)] if room in parted else [room]


def within(name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    for path in folder.iterdir():
        if (path / "__init__.py").exists() or (path.suffix == ".py" and not path.stem.startswith("__")):
            yield f"{name}.{path.stem}", path


def layered() -> Iterator[set[str]]:
    for layer in LAYERS:
        yield set(re.findall(r"[a-z_]+(?:\.[a-z_]+)+", layer))


def test_every_room_has_its_layer_and_its_row() -> None:
    explained = {name for row in table(CONTRIBUTING, "nanobot_transcript/errors.py") for name in named(row[0])}
    layers = set().union(*layered())
    assert differing({"the packages": rooms(), "import-linter": layers, "CONTRIBUTING.md": explained}) == {}


def named(cell: str) -> Iterator[str]:
    """The rooms in a cell, as modules. In ``a/b.py`` and ``c.py`` the second one lies beside the first."""
    folder = ""
    for span in spans(cell):
        path = span.rstrip("/").removesuffix(".py")
        folder = path.rpartition("/")[0] if "/" in path else folder
        parts = Path(folder, Path(path).name).parts
        if found := [part for part in parts if part in SOURCES]:
            yield ".".join(parts[parts.index(found[0]) :])


def test_the_drawing_of_the_house_has_the_layers_of_import_linter() -> None:
    layers = [{within_its_source(name) for name in layer} for layer in layered()]
    for language in LANGUAGES:
        (drawing,) = re.findall(r"```text\n([^`]*│ cli\..*?)```", page(language, "architecture"), re.DOTALL)
        assert list(drawn(drawing)) == layers, language


def within_its_source(name: str) -> str:
    """A room as the drawing calls it, without its top-level package."""
    return name.partition(".")[2]


def drawn(drawing: str) -> Iterator[set[str]]:
    """The rooms of each row: they begin right behind the line beside the floors' names, and what they hold follows."""
    for row in drawing.splitlines():
        _, line, rooms_of_row = row.partition("│ ")
        if line and (names := re.match(r"\S+(?: \| \S+)*", rooms_of_row)):
            yield set(names[0].split(" | "))


def test_every_tool_looks_at_every_package() -> None:
    tools = PROJECT["tool"]
    checked = {Path(path).name for path in tools["basedpyright"]["include"]}
    roots = {path.parent.name if path.parent != ROOT else path.name for path in SOURCES.values()}
    assert tools["importlinter"]["root_packages"] == list(SOURCES)
    assert differing({"the wheel": roots, "basedpyright": checked - {"benchmarks"}}) == {}


# -- pages


def test_every_page_is_in_the_index() -> None:
    for language in LANGUAGES:
        pages = {path.name for path in (ROOT / "docs" / language).glob("*.md")} - {"index.md"}
        linked = set(re.findall(r"\]\(([a-z-]+\.md)(?:#[^)]*)?\)", page(language, "index")))
        assert differing({f"docs/{language}/index.md": linked, f"docs/{language}/": pages}) == {}
