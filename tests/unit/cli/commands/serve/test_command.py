from typing import Any

import pytest

from nanobot_transcript.cli import main
from nanobot_transcript.cli.commands.serve.command import _addresses, listening_at
from nanobot_transcript.settings import Settings


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("127.0.0.1", "http://127.0.0.1:8765/mcp"),
        ("::1", "http://[::1]:8765/mcp"),
        ("0.0.0.0", "port 8765 of every address of this machine, path /mcp"),
        ("::", "port 8765 of every address of this machine, path /mcp"),
    ],
)
def test_no_address_is_told_that_no_client_can_use(address: str, told: str) -> None:
    assert listening_at(address, 8765) == told


PAGE = "http://127.0.0.1:8765/"
PROGRAMS, MAILBOX = {"tokens": {"me": "secret-1"}}, {"tokens": {"qa_agent": "secret-2"}}
PEOPLE = {"page_token": "secret-4"}
ASKERS = {"tokens": {"ada": "secret-3"}}


@pytest.mark.parametrize(
    ("sections", "rooms", "opened"),
    [
        ({}, ("assistant",), [PAGE]),
        ({"hub": PEOPLE}, ("assistant",), [f"{PAGE}?token=TOKEN,"]),
        ({"hub": PROGRAMS | PEOPLE, "filebox": MAILBOX}, ("assistant",), [f"{PAGE}?token=TOKEN,"]),
        ({"hub": PROGRAMS}, ("assistant",), []),
        ({"filebox": MAILBOX}, ("assistant",), []),
        ({"filebox": MAILBOX, "assistant": ASKERS}, ("assistant",), [f"{PAGE}?token=TOKEN#/questions,"]),
        ({"assistant": ASKERS}, ("assistant",), [PAGE, f"{PAGE}?token=TOKEN#/questions,"]),
        ({"hub": {"servers": ["transcript"]}, "assistant": ASKERS}, ("transcript", "assistant"), [PAGE]),
        ({"assistant": ASKERS}, ("transcript",), [PAGE]),
    ],
    ids=[
        "open",
        "people",
        "all",
        "programs",
        "mailboxes",
        "mailboxes and askers",
        "askers",
        "no such server",
        "another hub has it",
    ],
)
def test_no_page_is_told_that_nobody_can_open(
    sections: dict[str, Any], rooms: tuple[str, ...], opened: list[str]
) -> None:
    said = " ".join(_addresses(PAGE, Settings.model_validate(sections), rooms))
    assert [word for word in said.split() if word.startswith(PAGE)] == opened


@pytest.mark.parametrize("section", ["hub", "filebox"])
def test_pages_that_are_closed_are_told_of_with_the_line_that_opens_them(section: str) -> None:
    (said,) = _addresses(PAGE, Settings.model_validate({section: {"tokens": {"me": "secret-1"}}}), ())
    assert said.endswith(" NANOBOT_TRANSCRIPT_HUB__PAGE_TOKEN=$(openssl rand -hex 16)")


def test_the_token_of_people_is_never_told() -> None:
    said = [*_addresses(PAGE, Settings.model_validate({"hub": PEOPLE}), ())]
    assert said == [f"The page for people: {PAGE}?token=TOKEN, with hub.page_token for TOKEN."]


def test_a_server_that_there_is_not_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_HUB__SERVERS", '["mial"]')
    assert main(["serve", "--port", "0"]) == 2
    assert "hub.servers names 'mial'" in capsys.readouterr().err
