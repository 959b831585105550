"""A directory in which nothing can be changed for a while."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["read_only"]


@contextmanager
def read_only(place: Path) -> Iterator[None]:
    """Root, whom no mode stops, gets a read-only mount of the directory upon itself."""
    if os.geteuid() == 0:
        yield from _mounted(place)
        return
    modes = {path: path.stat().st_mode for path in [place, *place.rglob("*")]}
    for path, mode in modes.items():
        path.chmod(mode & 0o555)
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def _mounted(place: Path) -> Iterator[None]:
    if subprocess.run(["mount", "--bind", str(place), str(place)], capture_output=True, check=False).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True)
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
