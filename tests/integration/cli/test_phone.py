"""What `serve` shows to phones: an address in the network, and on a terminal a code of it."""

import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from support.forking import HUB, Forked, preload
from support.qr import read
from support.waiting import PATIENCE
from support.watched import Watched

from nanobot_transcript.cli.commands.serve.phone import network_address

preload(*HUB)

OnTerminal = Callable[..., Any]

TOKEN = "a+long/token&of=mine"
PEOPLE = {"NANOBOT_TRANSCRIPT_HUB__PAGE_TOKEN": TOKEN}
ASKERS = {"NANOBOT_TRANSCRIPT_FILEBOX__TOKENS__QA": "token-of-qa", "NANOBOT_TRANSCRIPT_ASSISTANT__TOKENS__ADA": TOKEN}
EVERYWHERE = ("serve", "--host", "0.0.0.0", "--port", "0")
LINE_OF_CODE = re.compile(r"\x1b\[38;5;16;48;5;231m([^\x1b]*)\x1b\[0m")


@pytest.fixture(scope="module")
def address() -> str:
    """This machine's in its network; without one there is nothing to show."""
    found = network_address("0.0.0.0")
    if found is None:
        pytest.skip("this machine is in no network; `ip link` says which devices there are")
    return found


def ended(terminal: Any) -> str:
    """What it printed until it was stopped, which it hears after it has said all."""
    terminal.until("MCP servers at")
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.end() == 0
    return terminal.seen


def test_a_phone_is_brought_to_the_page_by_a_code_that_holds_the_token(on_terminal: OnTerminal, address: str) -> None:
    terminal = on_terminal(*EVERYWHERE, **PEOPLE)
    page = re.compile(r"From other devices in your network: (http://\S+:\d+/) asks for the token")
    terminal.until("asks for the token")
    found = page.search(terminal.seen)
    assert found is not None
    with urllib.request.urlopen(found[1], timeout=PATIENCE) as answer:
        assert "manifest" in answer.read().decode()
    seen = ended(terminal)
    assert found[1].startswith(f"http://{address}:")
    assert read(LINE_OF_CODE.findall(seen)) == f"{found[1]}#/?token=a%2Blong%2Ftoken%26of%3Dmine"
    assert TOKEN not in seen, "it is for cameras alone"


def test_the_code_of_a_hub_whose_people_have_tokens_of_their_own_holds_none(
    on_terminal: OnTerminal, address: str
) -> None:
    seen = ended(on_terminal(*EVERYWHERE, **ASKERS))
    assert re.fullmatch(rf"http://{re.escape(address)}:\d+/#/questions", read(LINE_OF_CODE.findall(seen)))


@pytest.mark.parametrize(
    "variables",
    [{"COLUMNS": "40"}, {"LINES": "20"}, {"NO_COLOR": "1"}, {"TERM": "dumb"}, {"PYTHONIOENCODING": "latin-1"}],
    ids="".join,
)
def test_no_code_is_drawn_that_no_camera_could_read(env: dict[str, str], variables: dict[str, str]) -> None:
    text = "http://192.168.1.20:8765/#/?token=0123456789abcdef0123456789abcdef"
    draw = (
        "import sys; from nanobot_transcript.cli.commands.serve import phone; "
        "print(phone.drawn_on_terminal(sys.argv[1]))"
    )
    for given, is_drawn in (({}, True), (variables, False)):
        terminal = Watched([sys.executable, "-c", draw, text], env | given, terminal=True)
        assert terminal.end() == 0
        terminal.close()
        assert (terminal.seen != "None\r\n") == is_drawn
        assert bool(LINE_OF_CODE.findall(terminal.seen)) == is_drawn


def said_to_a_pipe(env: dict[str, str], lines: int, host: str = "0.0.0.0") -> list[str]:
    """So many lines of a hub that starts, which has no more to say, and nothing on standard output."""
    process = Forked(
        *("nanobot_transcript", "serve", "--host", host, "--port", "0"),
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    said = [process.stderr.readline() for _ in range(lines)]
    process.terminate()
    assert process.communicate() == ("", "")
    return said


@pytest.mark.parametrize(
    ("host", "variables"),
    [("127.0.0.1", PEOPLE), ("0.0.0.0", {"NANOBOT_TRANSCRIPT_HUB__TOKENS__ME": TOKEN})],
    ids=["for this machine", "no page"],
)
def test_a_hub_whose_page_no_phone_can_open_says_nothing_of_other_devices(
    env: dict[str, str], host: str, variables: dict[str, str]
) -> None:
    assert "other devices" not in "".join(said_to_a_pipe(env | variables, 3, host))


def test_a_pipe_gets_the_address_and_no_code(env: dict[str, str], address: str) -> None:
    said = said_to_a_pipe(env | PEOPLE, 4)
    assert f"http://{address}:" in said[-1]
    assert TOKEN not in "".join(said)
