"""``service`` and systemd: whether it understands the units, and what the processes tell it."""

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.forking import HUB, Forked, preload
from support.needs import lacks
from support.waiting import PATIENCE

from nanobot_transcript.cli.commands.service.unit import Unit

preload(*HUB)

BOT = """\
feishu: {base_url: 'http://127.0.0.1:9'}
agents:
  cli_1: {name: A, app_secret: a secret, encrypt_key: a key, responder: {kind: scripted, answers: [hello]}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a person works, with all that means something to systemd in its name."""
    found = tmp_path / 'my "bots" 100% $HOME'
    found.mkdir()
    return found


@pytest.mark.parametrize(
    "words", [("serve",), ("run", "--config", 'my "bots" 100% $HOME \\ ;.yaml', "--agent", "中文")]
)
@pytest.mark.parametrize("place", ["bin", "my programs", "100% h", "$HOME", "a $$b"])
def test_systemd_finds_nothing_wrong_in_a_unit(
    env: dict[str, str], folder: Path, tmp_path: Path, words: tuple[str, ...], place: str
) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip(lacks("no systemd-analyze", "apt-get install systemd"))
    program = tmp_path / place / "python"
    program.parent.mkdir()
    program.symlink_to(sys.executable)
    unit = Unit("serve", " ".join(words), (str(program), *words), folder, folder / "serve.env", "/usr/bin:/a b%")
    path = tmp_path / unit.file_name

    def verified(text: str) -> str:
        path.write_text(text)
        found = subprocess.run(
            ["systemd-analyze", "--user", "--man=no", "verify", str(path)],
            env=env | {"XDG_RUNTIME_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return found.stderr + found.stdout

    assert verified(unit.text()) == ""
    assert "on-Friday" in verified(unit.text().replace("on-failure", "on-Friday")), "else it looked at nothing"


@pytest.mark.parametrize("abstract", [False, True])
@pytest.mark.parametrize("command", ["serve", "run"])
def test_a_process_tells_systemd_when_its_work_begins(
    env: dict[str, str], tmp_path: Path, command: str, abstract: bool
) -> None:
    (tmp_path / "bot.yaml").write_text(BOT)
    arguments = {"serve": ("serve", "--port", "0"), "run": ("run", "-c", str(tmp_path / "bot.yaml"))}[command]
    address = f"@{tmp_path}" if abstract else str(tmp_path / "notified")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(address.replace("@", "\0", 1))
        notified.settimeout(PATIENCE)
        process = Forked("nanobot_transcript", *arguments, env=env | {"NOTIFY_SOCKET": address}, stderr=subprocess.PIPE)
        assert notified.recv(100) == b"READY=1"
        process.terminate()
        process.communicate()
