import pytest

from nanobot_transcript.cli.serve import listening_at


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
