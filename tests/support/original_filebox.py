"""The original FileBox program (npm), run as an MCP server over stdio, to see whether its mail and ours agree."""

import json
import os
import select
import shutil
import subprocess
import tarfile
import time
from pathlib import Path
from typing import Any, Self

import pytest
from support.needs import lacks
from support.waiting import PATIENCE

__all__ = ["OriginalFileBox", "fetch"]

PACKAGE = "@openkitchen/filebox-mcp@1.1.2"


def fetch(folder: Path) -> Path:
    """The program's file, unpacked into ``folder`` once; skips the test, saying why, when it cannot be had."""
    program = folder / "package" / "build" / "index.js"
    if program.is_file():
        return program
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            pytest.skip(lacks(f"no {tool}, which runs the original FileBox", "apt-get install nodejs npm"))
    command = ["npm", "pack", PACKAGE, "--pack-destination", str(folder), "--silent"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, cwd=folder, check=True)
    except (subprocess.SubprocessError, OSError) as error:
        said = getattr(error, "stderr", "") or str(error)
        pytest.skip(f"the original FileBox is not tested against: npm cannot fetch it: {said.strip()[-200:]}")
    with tarfile.open(folder / done.stdout.split()[-1]) as archive:
        if hasattr(tarfile, "data_filter"):  # not before Python 3.11.4
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(folder)
    return program


class OriginalFileBox:
    """One server process of the original program; use it in a ``with`` block."""

    def __init__(self, program: Path, home: Path, cwd: Path, timezone: str = "UTC") -> None:
        env = {**os.environ, "HOME": str(home), "TZ": timezone}
        self._process = subprocess.Popen(
            ["node", str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            cwd=cwd,
        )
        self._buffer = b""
        self._number = 0
        hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        self._request("initialize", hello)
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(PATIENCE)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def call(self, tool: str, **arguments: str) -> str:
        """Call a tool; the text of its answer. Raises RuntimeError for a tool error."""
        answer = self._request("tools/call", {"name": tool, "arguments": arguments})
        text: str = answer["content"][0]["text"]
        if answer.get("isError"):
            raise RuntimeError(text)
        return text

    def send(self, receiver: str, kind: str, title: str, content: str, original: str = "") -> None:
        """``filebox_send_message``."""
        more = {"original_message_id": original} if original else {}
        arguments = {"receiver_id": receiver, "msg_type": kind, "title": title, "content": content}
        assert self.call("filebox_send_message", **arguments, **more) == "Message sent successfully"

    def names(self, box: str) -> list[str]:
        """``filebox_list_messages``."""
        return json.loads(self.call("filebox_list_messages", box_type=box))

    def read(self, box: str, name: str) -> str:
        """``filebox_read_message``."""
        return self.call("filebox_read_message", box_type=box, filename=name)

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._write({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(str(answer["error"]))
                return answer["result"]

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        descriptor, deadline = self._process.stdout.fileno(), time.monotonic() + PATIENCE
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            assert left > 0, "the original program said nothing in time"
            if select.select([descriptor], [], [], left)[0]:
                chunk = os.read(descriptor, 1 << 16)
                assert chunk, "the original program has ended"
                self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)
