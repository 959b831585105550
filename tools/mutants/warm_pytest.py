"""A process that has imported everything but the product, and forks for each run of pytest: half a run is importing.

    python warm_pytest.py MODULE...     the product's modules

It reads ``{"arguments": [...], "output": path}`` from standard input, a line each, and answers with the process id of
that run and, when it has ended, its exit code. The run leads a process group of its own.
"""
# ruff: noqa: T201 - answers go to standard output

import contextlib
import importlib
import json
import os
import sys
from collections.abc import Iterable

import pytest


def others_needed_by(modules: Iterable[str]) -> list[str]:
    """What importing ``modules`` imports besides; found out in a child, so that this process does not import them."""
    read, write = os.pipe()
    if not os.fork():
        for name in modules:
            with contextlib.suppress(BaseException):
                importlib.import_module(name)
        with os.fdopen(write, "w") as pipe:
            json.dump(list(sys.modules), pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        imported = json.load(pipe)
    os.wait()
    ours = {name.partition(".")[0] for name in modules} | {"__main__"}
    return [name for name in imported if name.partition(".")[0] not in ours]


def run(arguments: list[str], output: str) -> None:
    """pytest in a child; says its process id and later its exit code."""
    pid = os.fork()
    if not pid:
        os.setsid()
        nothing, file = os.open(os.devnull, os.O_RDONLY), os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for source, target in ((nothing, 0), (file, 1), (file, 2)):
            os.dup2(source, target)
        code = int(pytest.main(arguments))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def main(modules: list[str]) -> None:
    for name in others_needed_by(modules):
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    print("ready", flush=True)
    for line in sys.stdin:
        run(**json.loads(line))


if __name__ == "__main__":
    sys.path[0] = os.getcwd()  # noqa: PTH109 - as `python -m pytest` has it
    main(sys.argv[1:])
