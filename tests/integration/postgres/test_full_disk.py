"""The database's disk is full: it is said so, nothing is half there, and all goes on when there is space again."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.engine_work import Work
from support.places import open_record
from support.postgres import MISSING, Cluster, folder_of_its_own, programs, started_cluster
from support.procs import until
from support.spawning import SpawnAction
from support.transcripts import body
from support.worker import KEY

from nanobot_transcript.errors import StoreError, StoreFullError
from nanobot_transcript.record import Record

pytestmark = pytest.mark.soak

TABLES, EVERYTHING = 48 << 20, 200 << 20
"""Bytes of a disk for tables alone, and of one for a whole server."""
BALLAST = 12 << 20
"""Bytes that are removed when there is to be space again."""
BIG = 700_000


class Disk:
    """One that can be filled, at ``folder``, with something on it that can be removed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast: Path = folder / "ballast"
        self._ballast.write_bytes(bytes(BALLAST))

    def free(self) -> None:
        self._ballast.unlink()


@pytest.fixture
def disk(request: pytest.FixtureRequest) -> Iterator[Disk]:
    """Of ``request.param`` bytes."""
    if programs() is None:
        pytest.skip(MISSING)
    if os.getuid() != 0:
        pytest.skip("only root may mount a small disk")
    folder = folder_of_its_own()
    owner, mode = folder.stat(), f"size={request.param},mode=700"
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"{mode},uid={owner.st_uid},gid={owner.st_gid}", "t", folder], check=True
    )
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        shutil.rmtree(folder)


def filled(record: Record, kind: type[StoreError]) -> StoreError:
    """Say long things until there is no more space."""
    try:
        for number in range(1000):
            record.store.append(KEY, "user", body(f"om_big{number}", BIG), "on_ada", f"om_big{number}")
    except kind as error:
        return error
    raise AssertionError("there was space enough")


@pytest.mark.parametrize("disk", [TABLES], indirect=True)
def test_tables_that_cannot_grow_refuse_what_is_new_until_there_is_space(
    server: Cluster, disk: Disk, tmp_path: Path, spawn_on: SpawnAction, soak_row: Any
) -> None:
    small = disk.folder / "tables"
    small.mkdir()
    shutil.copystat(disk.folder, small)
    shutil.chown(small, disk.folder.owner(), disk.folder.group())
    server.execute(f"CREATE TABLESPACE small LOCATION '{small}'", "CREATE DATABASE small TABLESPACE small")
    place = f"{server.url.removesuffix('postgres')}small#full"
    work = Work(place, tmp_path, spawn_on, spooled=1, pause=0.005)
    with open_record(place) as record:
        work.goes_on()
        full = filled(record, StoreFullError)
        assert "No space left on device" in str(full)
        assert full.hint == "Free space on the database's disk, then try again."
        assert record.store.get_recent(KEY, 5)
        assert record.store.verify(KEY).duplicates == 0
        until(lambda: _is_refused(record), "small things are refused, too")
        disk.free()
        work.goes_on()
    told = work.ends()
    assert told["kinds"] == [StoreFullError.code]
    soak_row(**told)
    server.execute("DROP DATABASE small WITH (FORCE)", "DROP TABLESPACE small")


def _is_refused(record: Record) -> bool:
    try:
        record.store.append(KEY, "user", "om_more|" + "x" * 5000 + "|om_more", "on_ada", "om_more")
        record.store.redact(KEY, "om_more")
    except StoreFullError:
        return True
    return False


@pytest.mark.parametrize("disk", [EVERYTHING], indirect=True)
def test_a_server_whose_whole_disk_is_full_keeps_what_was_acknowledged(
    disk: Disk, tmp_path: Path, spawn_on: SpawnAction, soak_row: Any
) -> None:
    settings = ("max_wal_size=32MB", "min_wal_size=32MB", "checkpoint_timeout=30s")
    with started_cluster(settings, disk.folder) as server:
        place = f"{server.url}#full"
        work = Work(place, tmp_path, spawn_on, spooled=1, pause=0.005)
        with open_record(place) as record:
            work.goes_on()
            full = filled(record, StoreError)
            disk.free()
            server.stop()
            server.start()
            work.goes_on()
        soak_row(said=type(full).__name__, **work.ends())
