"""A PgBouncer before a server of the tests' own."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from support.needs import lacks
from support.ports import free_port
from support.postgres import Cluster, as_its_user, folder_of_its_own
from support.procs import until
from support.waiting import PATIENCE

__all__ = ["LACKING", "program", "started_pooler"]

LACKING: Final = lacks("no PgBouncer", "tools/system_packages.sh")
_SETTINGS: Final = """
[databases]
* = host=127.0.0.1 port={server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = {mode}
default_pool_size = {connections}
max_client_conn = {clients}
"""


def program() -> str | None:
    """Where it is; None where it is not installed."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


@contextmanager
def started_pooler(
    cluster: Cluster, mode: str = "transaction", connections: int = 4, clients: int = 100
) -> Iterator[str]:
    """The address of the server's database by way of a PgBouncer, which holds so many connections to it at most, and
    takes so many clients.
    """
    folder, port, found = folder_of_its_own(), free_port(), program()
    assert found is not None, LACKING
    told = {"mode": mode, "connections": connections, "clients": clients}
    (folder / "settings").write_text(_SETTINGS.format(server=cluster.port, port=port, folder=folder, **told))
    (folder / "users").write_text('"postgres" ""\n')
    with (folder / "log").open("wb") as log:
        running = subprocess.Popen([found, folder / "settings"], stderr=log, cwd="/", **as_its_user())
    try:
        until(lambda: _listens(port), f"see {folder / 'log'}")
        yield cluster.url.replace(f":{cluster.port}/", f":{port}/")
    finally:
        running.kill()
        running.wait(PATIENCE)
        shutil.rmtree(folder)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
