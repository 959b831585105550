"""Look through the committed files for what ties them to one machine or must stay secret.

    python tools/check_committed.py [FILE ...]        default: every file git knows

Prints ``file:line: reason`` for each finding and exits with 1 when there is one.
"""
# ruff: noqa: INP001, T201 - a script that talks to the terminal, not a package

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SELF = Path(__file__).name

ANYWHERE = {
    "a home folder of one machine": re.compile(r"(?:/home/(?!you/|user/)|/Users/(?!you/)|/root/)\w[\w.-]*/"),
    "a folder of one machine": re.compile(r"(?<![\w./~-])/(?:work|root|workspace|builds)/\w"),
    "a private key": re.compile(r"-----BEGIN (?:\w+ )?PRIVATE KEY-----"),
    "an access token": re.compile(r"\b(?:sk-[A-Za-z0-9]{32,}|gh[pousr]_[A-Za-z0-9]{36}|xox[bp]-[\w-]{20,})"),
}
IN_PINS = {
    "an address among the pins": re.compile(r"://|--(?:extra-)?index-url|--find-links|--trusted-host"),
    "a lock file's source": re.compile(r'"resolved":|^source = '),
}
PINS = re.compile(r"(?:^|/)(?:requirements/.*\.txt|package-lock\.json|.*\.lock)$")
LONGEST_FILE = 4 * 1024 * 1024


def main(arguments: list[str]) -> int:
    findings = [finding for name in arguments or committed() for finding in look_at(name)]
    for finding in findings:
        print(finding)
    print(f"{len(findings)} finding(s) in the committed files" if findings else "Committed files: nothing found")
    return 1 if findings else 0


def committed() -> list[str]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    return [name for name in done.stdout.decode().split("\0") if name]


def look_at(name: str) -> Iterator[str]:
    path = ROOT / name
    if path.name == SELF or path.is_symlink() or not path.is_file():
        return
    content = path.read_bytes()
    if len(content) > LONGEST_FILE:
        yield f"{name}:1: {len(content)} bytes are too many for a source file"
    if b"\0" in content[:8192]:
        return
    patterns = ANYWHERE | IN_PINS if PINS.search(name) else ANYWHERE
    for number, line in enumerate(content.decode("utf-8", "replace").split("\n"), start=1):
        for reason, pattern in patterns.items():
            if pattern.search(line):
                yield f"{name}:{number}: {reason}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
