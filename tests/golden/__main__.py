"""``make golden LINE="Add hub.page_token"``: rewrites the snapshots that differ.

``LINE`` begins a line under “Unreleased” in CHANGELOG.md, which tells users of the difference; without one nothing is
written. It is kept beside each snapshot that it explains, so that the next difference needs another one.
"""
# ruff: noqa: T201 - talks to the terminal

import os
import sys
import tempfile
from pathlib import Path

from golden.ledger import Ledger, UnexplainedError
from golden.taking import take

__all__ = ["main"]


def main(words: str) -> int:
    """Write the differences down; 2 when nothing explains them."""
    ledger = Ledger(Path.cwd())
    with tempfile.TemporaryDirectory() as folder:
        taken = take(Path(folder))
    stale = [name for name, text in taken.items() if ledger.unsettled(name, text)]
    gone = sorted(ledger.recorded().keys() - taken.keys())
    if not stale and not gone:
        print("The snapshots are what they were.")
        return 0
    try:
        line = ledger.line(words)
        for name in stale:
            ledger.settle(name, taken[name], line)
            print(f"written: {ledger.path_of(name)}")
    except UnexplainedError as error:
        for name in [*stale, *gone]:
            print(ledger.difference(name, taken.get(name, "")))
        print(error, file=sys.stderr)
        return 2
    for name in gone:
        ledger.drop(name)
        print(f"removed: {ledger.path_of(name)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(os.environ.get("LINE", "")))
