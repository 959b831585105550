"""What went wrong at an address, in the system's words."""

import errno
import socket

import pytest

from nanobot_transcript.files.os_errors import reason


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.EADDRINUSE, "error while attempting to bind on address"), "Address already in use"),
        (socket.gaierror(8, "nodename nor servname provided"), "nodename nor servname provided"),
        (OSError("no number"), "no number"),
    ],
)
def test_the_systems_words_are_told(error: OSError, words: str) -> None:
    assert reason(error) == words
