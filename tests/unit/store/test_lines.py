"""Reading whole lines from a part of a file, whatever the size of the pieces."""

import os
from pathlib import Path

import pytest

from nanobot_transcript.store.jsonl.lines import blocks_forward

LINES = [b"one\n", b"\n", b"a line that fits into no piece\n", b"two\n", b"three\n"]


@pytest.mark.parametrize("size", [1, 3, 4, 5, 10, 1000])
def test_a_range_of_lines_is_read_whole_and_nothing_beside_it(tmp_path: Path, size: int) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"".join(LINES))
    ends = [sum(map(len, LINES[:count])) for count in range(len(LINES) + 1)]
    descriptor = os.open(path, os.O_RDONLY)
    try:
        for first, start in enumerate(ends):
            for last, end in enumerate(ends[first:], start=first):
                at, found = start, b""
                for offset, block in blocks_forward(descriptor, start, end, size):
                    assert offset == at
                    at, found = at + len(block), found + block
                assert found == b"".join(LINES[first:last])
    finally:
        os.close(descriptor)
