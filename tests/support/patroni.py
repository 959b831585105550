"""Three PostgreSQL under Patroni, with etcd beside them: each node with a folder and ports of its own, as on a machine
of its own.
"""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.request import urlopen

import psycopg
import yaml
from support.needs import lacks
from support.ports import free_port
from support.postgres import as_its_user, folder_of_its_own, kill_server, programs
from support.waiting import PATIENCE

__all__ = ["LACKING", "Node", "Nodes", "documented_rules", "is_installed", "started_nodes"]

LACKING: Final = lacks("no Patroni, etcd or PostgreSQL", "apt-get install patroni etcd-server postgresql")
_T = TypeVar("_T")

_USER: Final = "postgres"
_SCOPE: Final = "transcripts"
_ETCD: Final = "etcd"
_GLANCE: Final = 0.1
_PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "en" / "postgres.md"
_STREAMING: Final = """
SELECT count(*) FILTER (WHERE sync_state = 'sync'), count(*) FROM pg_stat_replication WHERE state = 'streaming'
"""


def documented_rules() -> dict[str, Any]:
    """What the documentation tells Patroni."""
    block = re.search(r"```yaml\n(ttl: .*?)```", _PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    return yaml.safe_load(block[1])


def is_installed() -> bool:
    """Whether all programs are here."""
    return programs() is not None and None not in map(shutil.which, ("patroni", _ETCD))


class Node:
    """One machine: Patroni, and the server that it starts."""

    def __init__(self, folder: Path, name: str, etcd: int) -> None:
        self.name: str = name
        self.port: int = free_port()
        self._rest: int = free_port()
        self._folder: Path = folder / name
        self._etcd: int = etcd
        self._patroni: subprocess.Popen[bytes] | None = None

    @property
    def is_up(self) -> bool:
        """Whether it was started, and not killed since then."""
        return self._patroni is not None

    def start(self) -> None:
        """Switch it on."""
        if not self._folder.exists():
            self._folder.mkdir()
            if owner := as_its_user():
                shutil.chown(self._folder, **owner)
            self._configuration.write_text(json.dumps(self._settings()))
        with (self._folder / "log").open("ab") as log:
            command = ["patroni", self._configuration]
            self._patroni = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", **as_its_user())

    def kill(self) -> None:
        """kill -9 for all of its processes."""
        if self._patroni is not None:
            self._patroni.kill()
            with suppress(FileNotFoundError, ProcessLookupError):
                self._kill_server()
            self._patroni.wait(PATIENCE)
            self._patroni = None

    def _kill_server(self) -> None:
        data = self._folder / "data"
        pid = int((data / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        # The file of one that was killed before stays, and its number may be somebody else's by now.
        if str(data).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            kill_server(pid)

    def members(self) -> dict[str, str]:
        """What Patroni here knows: the role of each node that runs."""
        with urlopen(f"http://127.0.0.1:{self._rest}/cluster", timeout=PATIENCE) as answer:
            told = json.load(answer)["members"]
        return {each["name"]: each["role"] for each in told if each["state"] in ("running", "streaming")}

    @property
    def _configuration(self) -> Path:
        return self._folder / "patroni.json"  # which is YAML

    def _settings(self) -> dict[str, Any]:
        rest, server = f"127.0.0.1:{self._rest}", f"127.0.0.1:{self.port}"
        binaries = programs()
        assert binaries is not None, LACKING
        return {
            "scope": _SCOPE,
            "name": self.name,
            "restapi": {"listen": rest, "connect_address": rest},
            "etcd3": {"host": f"127.0.0.1:{self._etcd}"},
            "bootstrap": {
                "dcs": documented_rules(),
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums"],
            },
            "postgresql": {
                "listen": server,
                "connect_address": server,
                "data_dir": str(self._folder / "data"),
                "bin_dir": str(binaries),
                "pgpass": str(self._folder / "pgpass"),
                "authentication": {"superuser": {"username": _USER}, "replication": {"username": _USER}},
                "pg_hba": ["local all all trust", "host all,replication all 127.0.0.1/32 trust"],
                "parameters": {"unix_socket_directories": str(self._folder)},
            },
        }


class Nodes:
    """All of them. ``url`` names all hosts; which one takes writes is for who connects to find out."""

    def __init__(self, folder: Path) -> None:
        self._folder: Path = folder
        self._port: int = free_port()
        self._etcd: subprocess.Popen[bytes] | None = None
        self.all: list[Node] = [Node(folder, f"db{number}", self._port) for number in (1, 2, 3)]

    @property
    def url(self) -> str:
        """As the documentation writes it."""
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.all)
        return f"postgresql://{_USER}@{hosts}/postgres"

    def start(self) -> None:
        """Switch all on."""
        mine, peers = (f"http://127.0.0.1:{port}" for port in (self._port, free_port()))
        named = {
            "data-dir": self._folder / "etcd",
            "listen-client-urls": mine,
            "advertise-client-urls": mine,
            "listen-peer-urls": peers,
            "initial-advertise-peer-urls": peers,
            "initial-cluster": f"default={peers}",
        }
        command = [_ETCD, *(f"--{name}={value}" for name, value in named.items())]
        with (self._folder / "etcd.log").open("wb") as log:
            self._etcd = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", **as_its_user())
        for node in self.all:
            node.start()
        self.become_whole()

    def stop(self) -> None:
        """End all at once."""
        for node in self.all:
            node.kill()
        if self._etcd is not None:
            self._etcd.kill()
            self._etcd.wait(PATIENCE)

    def primary(self) -> Node:
        """The one that takes writes, as soon as there is one."""
        return _found(self._primary)

    def become_whole(self) -> None:
        """Return when one more may be killed: both standbys stream, and Patroni knows which of them has everything."""
        _found(self._is_whole)

    def _primary(self) -> Node | None:
        with suppress(psycopg.OperationalError), self._connected() as connection:
            port = connection.info.port
            return next(node for node in self.all if node.port == port)
        return None

    def _is_whole(self) -> bool:
        with suppress(psycopg.OperationalError, OSError), self._connected() as connection:
            roles = sorted(next(node for node in self.all if node.is_up).members().values())
            streaming = connection.execute(_STREAMING).fetchone()
            return roles == ["leader", "replica", "sync_standby"] and streaming == (1, 2)
        return False

    def _connected(self) -> psycopg.Connection[Any]:
        wanted = {"target_session_attrs": "read-write", "connect_timeout": 5}
        return psycopg.connect(self.url, autocommit=True, **wanted)


def _found(look: Callable[[], _T | None]) -> _T:
    """What ``look`` finds in the end. Looks are seldom: the servers need this machine, too."""
    deadline = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < deadline, "nothing changes"
        time.sleep(_GLANCE)
    return found


@contextmanager
def started_nodes() -> Iterator[Nodes]:
    """Nodes that end with the ``with``."""
    folder = folder_of_its_own()
    nodes = Nodes(folder)
    try:
        nodes.start()
        yield nodes
    finally:
        nodes.stop()
        shutil.rmtree(folder, ignore_errors=True)
