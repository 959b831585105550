"""A PostgreSQL of the tests' own: one server for each process of the run, a schema for each test."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select
from typing import IO, Any, Final
from uuid import uuid4

import pytest
from support.needs import lacks
from support.ports import free_port
from support.waiting import PATIENCE

__all__ = [
    "MISSING",
    "Cluster",
    "as_its_user",
    "cluster",
    "folder_of_its_own",
    "in_a_schema",
    "kill_server",
    "postgres_place",
    "programs",
    "started_cluster",
]

_DEBIAN: Final = Path("/usr/lib/postgresql")
_USER: Final = "postgres"
_QUICK: Final = ("fsync=off", "full_page_writes=off", "max_connections=200")
"""What is not written to the disk survives kill -9 all the same."""
MISSING: Final = lacks("no PostgreSQL server", "tools/system_packages.sh")


def programs() -> Path | None:
    """The folder of ``initdb`` and ``postgres``; None where they are not installed."""
    if found := shutil.which("postgres"):
        return Path(found).resolve().parent
    versions = sorted(_DEBIAN.glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    return versions[-1].parent if versions else None


class Cluster:
    """A server with its data in ``folder``, which listens on a port of loopback."""

    def __init__(self, folder: Path, settings: Sequence[str]) -> None:
        self.folder: Path = folder
        self.port: int = free_port()
        self._settings: Sequence[str] = settings
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is. It asks nobody for a password."""
        return f"postgresql://{_USER}@127.0.0.1:{self.port}/postgres"

    @property
    def pid(self) -> int:
        """The process from which all others of the server hang."""
        assert self._server is not None
        return self._server.pid

    def make(self) -> None:
        """Make the data."""
        options = ("--auth=trust", "--no-sync", "--no-instructions", "--encoding=UTF8", "--locale=C.UTF-8")
        command = [_program("initdb"), "-D", self.folder / "data", "-U", _USER, *options]
        subprocess.run(command, check=True, capture_output=True, cwd="/", **as_its_user())

    def start(self) -> None:
        """Start the server; it takes connections when this returns."""
        given = ("listen_addresses=127.0.0.1", f"port={self.port}", f"unix_socket_directories={self.folder}")
        command = [_program("postgres"), "-D", self.folder / "data"]
        command += [part for each in (*given, *self._settings) for part in ("-c", each)]
        self._server = server = subprocess.Popen(command, stderr=subprocess.PIPE, cwd="/", **as_its_user())
        assert server.stderr is not None
        said = b""
        while not said.endswith(b"ready to accept connections\n"):
            said = server.stderr.readline()
            assert said, f"see {self._log(server.stderr)}"
        threading.Thread(target=self._log, args=(server.stderr,), daemon=True).start()

    def stop(self) -> None:
        """End the server at once, as it is."""
        if self._server is not None:
            self.resume()
            self._server.send_signal(signal.SIGQUIT)
            self._server.wait(PATIENCE)
            self._server = None

    def kill(self) -> None:
        """kill -9, in the middle of whatever it does; all its processes have ended when this returns."""
        kill_server(self.pid)
        self._reaped()

    def pause(self) -> None:
        """SIGSTOP for all its processes: it keeps what is connected, and answers nobody."""
        os.kill(self.pid, signal.SIGSTOP)  # so that it starts no more of them
        for pid in _children(self.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        for pid in (*_children(self.pid), self.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """Each statement as the owner of the server; the rows of the last one."""
        import psycopg  # most runs of a few tests need none

        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description is not None else []

    def _reaped(self) -> None:
        assert self._server is not None
        self._server.wait(PATIENCE)
        self._server = None

    def _log(self, said: IO[bytes]) -> Path:
        path = self.folder / "log"
        with path.open("ab") as log, said:
            shutil.copyfileobj(said, log)
        return path


def kill_server(pid: int) -> None:
    """kill -9 for the first process of a server and all that hang from it; they have ended when this returns."""
    os.kill(pid, signal.SIGSTOP)  # so that it starts no more of them
    descriptors = list[int]()
    for each in (pid, *_children(pid)):
        with suppress(ProcessLookupError):
            descriptors.append(os.pidfd_open(each))
    for descriptor in descriptors:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    for descriptor in descriptors:
        select([descriptor], [], [], PATIENCE)
        os.close(descriptor)


def _children(pid: int) -> list[int]:
    told = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(each) for each in told.split()]


def _program(name: str) -> Path:
    folder = programs()
    assert folder is not None, MISSING
    return folder / name


def as_its_user() -> dict[str, Any]:
    """The programs refuse to run as root."""
    return {"user": _USER, "group": _USER} if os.getuid() == 0 else {}


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A server for all tests of this process. Whoever kills one, starts one: ``started_cluster``."""
    if programs() is None:
        pytest.skip(MISSING)
    with started_cluster() as started:
        yield started


@pytest.fixture
def postgres_place(cluster: Cluster) -> str:
    """An address with a schema of this test's own behind a ``#``: nothing is there yet."""
    return in_a_schema(cluster, f"t_{uuid4().hex[:12]}")


def in_a_schema(cluster: Cluster, name: str) -> str:
    """The address of a record in a schema of this name."""
    return f"{cluster.url}#{name}"


def folder_of_its_own() -> Path:
    """An empty folder for a server's data."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # the name of a socket is short
    if os.getuid() == 0:
        found = pwd.getpwnam(_USER)
        os.chown(folder, found.pw_uid, found.pw_gid)
    return folder


@contextmanager
def started_cluster(settings: Sequence[str] = _QUICK, folder: Path | None = None) -> Iterator[Cluster]:
    """A server that ends with the ``with``."""
    folder = folder or folder_of_its_own()
    cluster = Cluster(folder, settings)
    try:
        cluster.make()
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
