"""The fixture server of the suite, on both generations of the SDK."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.conformance import PYTHONS
from support.waiting import PATIENCE

FIXTURE = str(Path(__file__).with_name("fixture.py"))

Serve = Callable[[str], str]


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """``serve("SDK 1")`` starts the hub once and gives its address; at the end it must end in order and quietly."""
    running: dict[str, subprocess.Popen[str]] = {}
    urls: dict[str, str] = {}

    def start(sdk: str) -> str:
        if sdk not in running:
            pipe = subprocess.PIPE
            command = [str(PYTHONS[sdk]), FIXTURE, str(tmp_path_factory.mktemp("hub"))]
            running[sdk] = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
            output = running[sdk].stdout
            assert output is not None
            urls[sdk] = f"http://127.0.0.1:{int(output.readline())}"
        return urls[sdk]

    yield start
    errors = {sdk: process.communicate(timeout=PATIENCE)[1] for sdk, process in running.items()}
    assert [process.returncode for process in running.values()] == [0] * len(running)
    assert [text for text in errors.values() if "Traceback" in text] == []
