"""The way of a message can be counted in each host; how long it is, `make bench ARGS=way` says."""

from pathlib import Path

import pytest

from benchmarks.way.part import counted

pytest.importorskip("nanobot")


HOSTS = [("run", "runner"), pytest.param("nanobot", "nanobot_host", marks=pytest.mark.soak)]


@pytest.mark.parametrize(("host", "room"), HOSTS)
def test_a_message_runs_from_the_platform_through_the_host_into_the_record(
    host: str, room: str, tmp_path: Path
) -> None:
    rooms = counted(tmp_path, "hosts", host)
    assert {"feishu", room, "store"} <= rooms.keys()
    assert "simulator" not in rooms
    assert "store/front.py" in rooms["store"]["files"]
    assert all(told["functions"] >= len(told["files"]) > 0 for told in rooms.values())
