"""What is wrong with a YAML file, and in which line a person sees it: the parser notices many things a line later."""

from collections.abc import Iterator
from typing import Final

import yaml

__all__ = ["Repeated", "reason", "repeated"]

Repeated = tuple[str, int, int]
"""A dotted key, and the two lines in which it stands."""

_COLON: Final = "mapping values are not allowed here"


def reason(error: yaml.YAMLError, text: str) -> str:
    """The line, counted from 1, and what is wrong there."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return str(error).replace("\n", " ")
    problem, context = error.problem or "", error.context or ""
    found = error.problem_mark.line
    begun = error.context_mark.line if error.context_mark is not None else found
    if "expected ':'" in problem:
        return _at(begun, "a colon is missing after the name")
    if "quoted scalar" in context:
        return _at(begun, "the quotation mark that opens here is not closed")
    if context.startswith("while parsing a flow"):
        opened = "{" if "mapping" in context else "["
        return _at(begun, f"the {opened} here is not closed, or a comma is missing")
    above = _without_a_colon(text, found)
    if problem == _COLON:
        if above is not None:
            return _at(above, "a colon is missing after the name")
        return _at(
            found,
            "a colon is not allowed here; put a text that contains one in quotes, and indent like the lines above",
        )
    if problem.startswith("expected <block end>"):
        if above is not None and _indentation(text, above) == _indentation(text, found):
            return _at(above, "a colon is missing after the name")
        return _at(found, "this line is not indented like the lines it belongs to")
    if r"'\t'" in problem:
        return _at(found, "a tab; indent with spaces")
    return _at(found, problem or context)


def repeated(node: yaml.MappingNode, prefix: str = "") -> Iterator[Repeated]:
    """Names that stand twice in one section: YAML's own reader takes the last one without a word."""
    seen: dict[str, int] = {}
    for name, value in node.value:
        key, line = f"{prefix}{name.value}", name.start_mark.line + 1
        if key in seen and name.value != "<<":
            yield key, seen[key], line
        seen[key] = line
        if isinstance(value, yaml.MappingNode):
            yield from repeated(value, f"{key}.")


def _at(line: int, what: str) -> str:
    return f"line {line + 1}: {what}"


def _without_a_colon(text: str, line: int) -> int | None:
    """The nearest line above that says something, when it has no colon: the parser took it for the text's beginning."""
    lines = text.splitlines()
    for number in range(min(line, len(lines)) - 1, -1, -1):
        said = lines[number].split(" #")[0].strip()
        if said and not said.startswith("#"):
            return None if ":" in said or said.startswith("-") else number
    return None


def _indentation(text: str, line: int) -> int:
    said = text.splitlines()[line]
    return len(said) - len(said.lstrip())
