import socket

import pytest
from support.qr import modules, read

from nanobot_transcript.cli.commands.serve.phone import drawn, network_address, with_token

PAGE = "http://192.168.1.20:8765/"


@pytest.mark.parametrize("token", ["0123456789abcdef" * 2, "short-one", "令牌 & 100%"])
def test_a_camera_reads_the_address_that_was_drawn(token: str) -> None:
    address = with_token(PAGE, token)
    assert read(drawn(address)) == address


def test_a_code_for_a_usual_token_fits_the_smallest_usual_terminal() -> None:
    code = drawn(with_token(PAGE, "0123456789abcdef" * 2))
    assert (len(code[0]), len(code)) == (41, 21)
    assert len(modules(code)) == 33, "the rest is white on all sides"


@pytest.mark.parametrize(
    ("host", "told"),
    [
        ("127.0.0.1", None),
        ("127.0.0.5", None),
        ("::1", None),
        ("192.168.1.20", "192.168.1.20"),
        ("fd00::2", "fd00::2"),
    ],
)
def test_a_hub_is_found_where_it_listens(host: str, told: str | None) -> None:
    assert network_address(host) == told


@pytest.mark.parametrize("everywhere", ["0.0.0.0", "::"])
def test_who_listens_everywhere_is_reached_at_the_address_that_is_told(everywhere: str) -> None:
    told = network_address(everywhere)
    if told is None:
        return  # this machine is in no network of that kind
    family = socket.AF_INET6 if ":" in everywhere else socket.AF_INET
    with socket.create_server((everywhere, 0), family=family) as server:
        port = server.getsockname()[1]
        with socket.create_connection((told, port)) as client:
            assert client.getsockname()[0] == told
