"""A hub whose disk is full says that it is not ready, and is ready again when there is room."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import ClientSession
from support.hubs import listening, small_server
from support.loop_clock import later

from nanobot_transcript.settings import Settings
from transcript_mcp.hub import create_app
from transcript_mcp.hub.free_space import EVERY
from transcript_mcp.room import OpenRoom
from transcript_mcp.rooms import open_rooms


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "none", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root and the right to mount")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("kept", ["hub", "mail", "store"])
async def test_a_hub_is_not_ready_while_a_disk_with_its_data_is_full(disk: Path, tmp_path: Path, kept: str) -> None:
    place = {name: tmp_path / name for name in ("hub", "mail", "store")} | {kept: disk / kept}
    place[kept].mkdir()
    folders = {"hub": {"data_dir": place["hub"]}, "mail": {"store": place["mail"]}, "store": {"dir": place["store"]}}
    filler = disk / "filler"
    app = create_app(
        Settings.model_validate(folders), {"small": OpenRoom(small_server(), writes_in=(place["mail"], place["store"]))}
    )
    async with listening(app) as url, ClientSession() as http:

        async def ready() -> tuple[int, str]:
            async with http.get(f"{url}/readyz") as answer:
                return answer.status, (await answer.json()).get("reason", "")

        assert await ready() == (200, "")
        free = os.statvfs(disk)
        filler.write_bytes(b"\0" * (free.f_bavail * free.f_frsize - 16_384))
        later(EVERY)
        assert await ready() == (503, "No space is left for the hub's data.")
        async with http.get(f"{url}/healthz") as answer:
            assert answer.status == 200
        filler.unlink()
        later(EVERY)
        assert await ready() == (200, "")
        assert list(place[kept].iterdir()) == []


async def test_rooms_say_where_they_write(tmp_path: Path) -> None:
    settings = Settings.model_validate({"mail": {"store": tmp_path / "mail"}, "store": {"dir": tmp_path / "store"}})
    rooms = open_rooms(settings, ["mail", "transcript"])
    assert [list(room.writes_in) for room in rooms.values()] == [[tmp_path / "mail"], [tmp_path / "store"]]
    for room in rooms.values():
        room.server.close()
