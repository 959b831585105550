"""Whether there is room is known by writing, and not more often than needed."""

import asyncio
import subprocess
import sys
from pathlib import Path

from support.loop_clock import later

from transcript_mcp.hub.free_space import EVERY, Disks

_CHILD = """
import asyncio, pathlib, resource, sys
from transcript_mcp.hub.free_space import Disks

async def look(size):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    print(await Disks([folder]).have_room(), list(folder.iterdir()))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

folder = pathlib.Path(sys.argv[1])
for size in (0, 1000, 1000000):
    asyncio.run(look(size))
"""


class Looked(Disks):
    """Counts its looks."""

    looks = 0

    def _all_have_room(self) -> bool:
        self.looks += 1
        return super()._all_have_room()


def test_what_cannot_be_written_is_known_and_nothing_is_left_behind(tmp_path: Path) -> None:
    """The kernel writes only what fits below a limit on the size of files: the sharpest form of a full disk."""
    ended = subprocess.run([sys.executable, "-c", _CHILD, str(tmp_path)], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines() == ["False []", "False []", "True []"]
    assert ended.stderr.count(f"No space left in {tmp_path}") == 2


async def test_it_is_looked_once_in_a_while_however_many_ask(tmp_path: Path) -> None:
    disks = Looked([tmp_path])
    assert all(await asyncio.gather(*(disks.have_room() for _ in range(50))))
    assert disks.looks == 1
    later(EVERY)
    assert await disks.have_room()
    assert disks.looks == 2


async def test_a_folder_that_is_not_there_or_that_only_others_write_to_is_not_full(tmp_path: Path) -> None:
    assert await Disks([tmp_path / "none", Path("/proc"), Path("/sys")]).have_room()
