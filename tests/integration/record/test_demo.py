"""The runner's demo with its record in another process: bots and pages as they are, and no folder."""

import site
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.demo import Demo
from support.far_away import Far, nobody_was_blocked
from support.forking import REMOTE
from support.remote_record import BLOCKED

TESTS = Path(__file__).resolve().parents[2]
BEGIN = """
import os
from support.remote_record import instead_of_folders
os.environ[{variable!r}] = {blocked!r}
instead_of_folders({remote!r})
import support.light_lark
"""


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.soak)], ids=["told", "accepted"])
def start(request: pytest.FixtureRequest, tmp_path: Path, far: Far) -> Iterator[Demo]:
    """A demo, each of whose processes has its records far away."""
    told = far(spooled=request.param)
    place = tmp_path / "environment"
    venv.create(place, symlinks=True)
    (packages,) = place.glob("lib/python*/site-packages")
    paths = [*site.getsitepackages(), str(TESTS), *sys.path]
    (packages / "everything.pth").write_text("\n".join([*paths, "import records_far_away"]), encoding="utf-8")
    begin = BEGIN.format(variable=BLOCKED, blocked=told[BLOCKED], remote=told[REMOTE])
    (packages / "records_far_away.py").write_text(begin, encoding="utf-8")
    demo = Demo(tmp_path, "--host", "runner", "--json", python=str(place / "bin" / "python"))
    yield demo
    demo.close()


@pytest.mark.soak  # `test_postgres` plays them with full repetitions, too
def test_all_scenes_play_over_a_record_that_is_far_away(start: Demo, tmp_path: Path) -> None:
    assert start.end() == 0, start.seen
    start.expect_all_scenes()
    nobody_was_blocked(tmp_path)
