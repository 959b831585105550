"""Look through the committed Python files for functions, and the product's for modules, that have become too long.

    python tools/check_lengths.py [FILE ...]        default: every Python file git knows

A function counts from ``def`` to its last line, docstring and inner functions included; a module with all its lines.
Prints ``file:line: reason`` for each finding and exits with 1 when there is one.
"""
# ruff: noqa: INP001, T201 - a script that talks to the terminal, not a package

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST_FUNCTION = 60
LONGEST_MODULE = 450
PRODUCT = ("nanobot_transcript/", "channels/", "mcp_tools/")


def main(arguments: list[str]) -> int:
    findings = [finding for name in arguments or committed() for finding in look_at(name, read(name))]
    for finding in findings:
        print(finding)
    print(f"{len(findings)} function(s) or module(s) too long" if findings else "Lengths: nothing too long")
    return 1 if findings else 0


def committed() -> list[str]:
    done = subprocess.run(["git", "ls-files", "-z", "*.py"], cwd=ROOT, capture_output=True, check=True)
    return [name for name in done.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def look_at(name: str, text: str) -> Iterator[str]:
    if name.startswith(PRODUCT):
        yield from whole(name, len(text.splitlines()))
    for node in ast.walk(ast.parse(text, name)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > LONGEST_FUNCTION:
                yield f"{name}:{node.lineno}: {node.name} has {lines} lines; split it below {LONGEST_FUNCTION + 1}"


def whole(name: str, lines: int) -> Iterator[str]:
    if lines > LONGEST_MODULE:
        yield f"{name}:1: {lines} lines; split it below {LONGEST_MODULE + 1}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
