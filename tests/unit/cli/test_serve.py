import pytest

from nanobot_transcript.cli.serve import listening_at, url_of


@pytest.mark.parametrize(
    ("address", "told", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8765/mcp", "http://127.0.0.1:8765"),
        ("::1", "http://[::1]:8765/mcp", "http://[::1]:8765"),
        ("0.0.0.0", "port 8765 of every address of this machine, path /mcp", "http://127.0.0.1:8765"),
        ("::", "port 8765 of every address of this machine, path /mcp", "http://[::1]:8765"),
    ],
)
def test_no_address_is_told_that_no_client_can_use(address: str, told: str, url: str) -> None:
    assert listening_at(address, 8765) == told
    assert url_of(address, 8765) == url
