"""Where a hub is found that listens at an address."""

import pytest

from nanobot_transcript.settings.hub_address import is_everywhere, url_of


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8765"),
        ("localhost", "http://localhost:8765"),
        ("hub.example", "http://hub.example:8765"),
        ("::1", "http://[::1]:8765"),
        ("[::1]", "http://[::1]:8765"),
        ("", "http://127.0.0.1:8765"),
        ("0.0.0.0", "http://127.0.0.1:8765"),
        ("::", "http://[::1]:8765"),
        ("[::]", "http://[::1]:8765"),
    ],
)
def test_a_program_on_the_same_machine_gets_an_address_that_it_can_call(host: str, url: str) -> None:
    assert url_of(host, 8765) == url


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "[::]"])
def test_some_addresses_stand_for_all_of_a_machine(host: str) -> None:
    assert is_everywhere(host)
    assert not is_everywhere("127.0.0.1")
    assert not is_everywhere("[::1]")
