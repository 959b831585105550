"""Lets a phone open the hub's page: the hub's address in the network, and a QR code of it in the terminal.

The code may hold the token of people. It stands behind ``#`` there, which a browser sends to nobody, and the page takes
it out of the address at once. It is drawn for eyes alone: on a terminal, never into a pipe or a file.
"""

import ipaddress
import os
import shutil
import socket
import sys
from typing import Final
from urllib.parse import quote

from nanobot_transcript.settings.hub_address import is_everywhere

__all__ = ["drawn", "drawn_on_terminal", "network_address", "with_token"]

_QUIET: Final = 4
"""The white margin around a code, in modules, as the standard demands."""

_BLACK_ON_WHITE: Final = "\x1b[38;5;16;48;5;231m"
"""From the colour cube, which is the same in every terminal; the 16 named colours depend on the theme."""

_PLAIN: Final = "\x1b[0m"
_HALVES: Final = {(0, 0): " ", (1, 0): "\N{UPPER HALF BLOCK}", (0, 1): "\N{LOWER HALF BLOCK}", (1, 1): "\N{FULL BLOCK}"}

# Addresses reserved for documentation: no network has them, so the route to them is the default route.
_ELSEWHERE: Final = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}


def network_address(host: str) -> str | None:
    """The number by which other devices reach a hub that listens at ``host``, a number itself.

    None for a hub that only this machine reaches, and on a machine that is in no network. Of several networks it is the
    one through which the machine reaches the rest of the world.
    """
    host = host.strip("[]")
    if not is_everywhere(host):
        return None if ipaddress.ip_address(host).is_loopback else host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asked:
            asked.connect((_ELSEWHERE[family], 9))  # a UDP socket only chooses a route and sends nothing
            found = asked.getsockname()[0]
    except OSError:
        return None
    return None if ipaddress.ip_address(found).is_loopback else found


def with_token(page: str, token: str) -> str:
    """The address that opens a page with a token.

    >>> with_token("http://192.168.1.20:8765/", "a+b")
    'http://192.168.1.20:8765/#/?token=a%2Bb'
    """
    return f"{page}#/?token={quote(token, safe='')}"


def drawn_on_terminal(text: str) -> str | None:
    """A QR code of the text for standard output; None where no camera could read it: no terminal, or one that is too
    small or shows no colours or no blocks."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb":
        return None
    try:
        "".join(_HALVES.values()).encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return None
    code = drawn(text)
    columns, lines = shutil.get_terminal_size()
    height, width = len(code), len(code[0])
    if width > columns or height >= lines:
        return None
    return "\n".join(f"{_BLACK_ON_WHITE}{line}{_PLAIN}" for line in code)


def drawn(text: str) -> list[str]:
    """A QR code as lines of half blocks; each line is two rows of modules."""
    import segno

    rows = [tuple(row) for row in segno.make_qr(text, error="l").matrix_iter(border=_QUIET)]
    rows += [(0,) * len(rows[0])] * (len(rows) % 2)
    return ["".join(_HALVES[pair] for pair in zip(*rows[at : at + 2], strict=True)) for at in range(0, len(rows), 2)]
