"""``nanobot-transcript serve`` with the mail of one store, as a process or in a thread, and what curl would say."""

import json
import os
import select
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx
from support.forking import HUB, Forked, preload
from support.waiting import PATIENCE

__all__ = ["HubClient", "HubProcess", "StartHub", "processes_of", "served"]

preload(*HUB)


class HubClient:
    """What curl would say to the hub at ``root``."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.url = f"{root}/mcp/"

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """One JSON-RPC request without anything before it; the whole answer."""
        payload = {"jsonrpc": "2.0", "id": "1", "method": method, "params": params}
        return httpx.post(self.url, json=payload, timeout=PATIENCE).raise_for_status().json()

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """The data of a tool's answer; fails with its sentence."""
        result = self.request("tools/call", name=tool, arguments=arguments)["result"]
        assert not result["isError"], result
        return json.loads(result["content"][0]["text"])

    def refused(self, tool: str, /, **arguments: Any) -> str:
        """The sentence of a tool that fails."""
        result = self.request("tools/call", name=tool, arguments=arguments)["result"]
        assert result["isError"], result
        return result["content"][0]["text"]

    def read(self, uri: str) -> Any:
        """The data of a resource."""
        return json.loads(self.request("resources/read", uri=uri)["result"]["contents"][0]["text"])


class HubProcess(HubClient):
    """A hub on a free port. ``home`` becomes its HOME and its working directory, ``store`` the root of the mail."""

    def __init__(self, home: Path, store: Path, **variables: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("NANOBOT_", "MCP_"))}
        self.process = Forked(
            *("nanobot_transcript.cli", "serve", "--port", "0", "--jsonl"),
            env=kept | {"HOME": str(home), "MCP_MAIL_STORE": str(store)} | variables,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], 2 * PATIENCE)[0]:
            self.kill()
        line = self.process.stdout.readline()
        assert line, "the hub does not start"
        super().__init__(json.loads(line)["url"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def served(home: Path, store: Path, **archive: Any) -> Iterator[HubClient]:
    """The same hub in a thread of this process, without the seconds that a process takes to start."""
    from support.hubs import Served, listening  # here, as most tests of a process need nothing of it

    from nanobot_transcript.settings import Settings
    from transcript_mcp.hub import create_app

    document = {
        "hub": {"data_dir": home / "hub"},
        "store": {"dir": home / "groups"},
        "mail": {"store": store, "archive": archive},
    }
    with Served(listening(create_app(Settings.model_validate(document)))) as hub:
        yield HubClient(hub.address)


StartHub = Callable[..., HubProcess]


def processes_of(store: Path) -> list[int]:
    """The processes that have the store's folder among their arguments."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.fsencode(store) in (entry / "cmdline").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue  # it has ended meanwhile
    return found
