"""Lists that stand in two places: reading those of documents, and saying what is missing where."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["LANGUAGES", "ROOT", "differing", "first_column", "page", "spans", "table"]

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = ("en", "zh")


def page(language: str, name: str) -> str:
    """A page of the documents."""
    return (ROOT / "docs" / language / f"{name}.md").read_text(encoding="utf-8")


def table(text: str, member: str, column: int = 0) -> list[list[str]]:
    """The cells of the one table of a Markdown text that has ``member`` in this column, without its head."""
    blocks = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    tables = [[_cells(line) for line in block.splitlines()[2:]] for block in blocks]
    found = [rows for rows in tables if any(member in spans(row[column]) for row in rows if len(row) > column)]
    assert len(found) == 1, f"{len(found)} tables with {member!r}"
    return found[0]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def spans(text: str) -> list[str]:
    """What stands between backquotes."""
    return re.findall(r"`([^`]+)`", text)


def first_column(text: str, member: str) -> set[str]:
    """The names in the first column of the table that has ``member`` there."""
    return {name for row in table(text, member) for name in spans(row[0])}


def differing(places: Mapping[str, Iterable[object]]) -> dict[str, list[object]]:
    """By place: what stands in another one and not there. Empty when all hold the same."""
    lists = {place: set(members) for place, members in places.items()}
    whole = set().union(*lists.values())
    assert whole, "lists of nothing: what reads them is wrong"
    return {f"missing in {place}": sorted(whole - held, key=str) for place, held in lists.items() if whole - held}
