"""Under which names and from which pages a hub may be called."""

import pytest

from transcript_mcp.door.address import Addresses, is_loopback
from transcript_mcp.door.errors import RequestError


def status(addresses: Addresses, host: str | None, origin: str | None = None) -> int | None:
    """With which it is kept out; None when it is let in."""
    try:
        addresses.require(host, origin)
    except RequestError as error:
        return error.status
    return None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8765", "LOCALHOST:1", "[::1]:8765", "[::1]", "::1"])
def test_this_machine_may_be_addressed_by_its_own_names(host: str) -> None:
    assert status(Addresses("127.0.0.1"), host) is None


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "localhost.evil",
        "[",
        "[::1]evil",
        "[::1",
        "[::1]:x",
        "localhost:x@evil",
        "user@localhost",
        "localhost:",
        "localhost:1:2",
        "127.0.0.1 evil",
    ],
)
def test_another_name_is_refused(host: str | None) -> None:
    assert status(Addresses("127.0.0.1"), host) == 421


@pytest.mark.parametrize("host", ["127.0.0.2", "::1", "[::1]", "LocalHost"])
def test_the_configured_host_is_known(host: str) -> None:
    named = f"[{host.strip('[]')}]" if ":" in host else host
    assert status(Addresses(host), f"{named}:8765", f"http://{named}:8765".lower()) is None


def test_a_configured_name_is_known() -> None:
    assert status(Addresses("hub.example"), "hub.example:8765") is None


def test_names_from_the_settings_are_let_in_with_any_port_or_with_theirs() -> None:
    access = Addresses("127.0.0.1", hosts=["hub.example", "other.example:80"])
    assert status(access, "Hub.Example:9000") is None
    assert status(access, "other.example:80") is None
    assert status(access, "other.example:81") == 421


def test_a_hub_for_other_machines_may_be_addressed_by_number_but_not_by_any_name() -> None:
    access = Addresses("0.0.0.0")
    assert status(access, "192.168.1.5:8765") is None
    assert status(access, "[fe80::1]:8765") is None
    assert status(access, "evil.example:8765") == 421


def test_the_hubs_own_pages_may_call_it() -> None:
    access = Addresses("127.0.0.1")
    assert status(access, "localhost:8765", "http://localhost:8765") is None
    assert status(access, "localhost:8765") is None


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://evil.example",
        "http://localhost:3000",
        "file://",
        "http://[",
        "http://[x]:1",
        "//localhost:8765",
        "localhost:8765",
        "http://me@localhost:8765",
        "ftp://localhost:8765",
    ],
)
def test_pages_from_elsewhere_may_not(origin: str) -> None:
    assert status(Addresses("127.0.0.1"), "localhost:8765", origin) == 403


def test_a_page_may_call_when_the_settings_say_so() -> None:
    access = Addresses("127.0.0.1", origins=["https://App.Example/"])
    assert status(access, "localhost:8765", "https://app.example") is None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"])
def test_loopback_is_known_by_all_its_names(host: str) -> None:
    assert is_loopback(host)
