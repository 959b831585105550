"""A store in which three agents of two projects have mail."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.letterbox import Letterbox


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Letterbox]:
    """GreenCastle and RedStone in one project, BlueLake in another."""
    made = Letterbox(tmp_path / "store")
    with made.mail:
        yield made
