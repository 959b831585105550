"""Marks in files, seen from the disk."""

import json
from pathlib import Path

import pytest

from nanobot_transcript.coordination.files.marks import FileMarks


@pytest.mark.parametrize("kind", ["session", "private", "relay"])
def test_what_a_newer_version_has_written_stays_as_it_is(tmp_path: Path, kind: str) -> None:
    marks = FileMarks(tmp_path)
    marks.put(kind, {"cursor": "c1"}, "a")
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    newer = json.dumps(json.loads(file.read_text(encoding="utf-8")) | {"v": 99, "and": "more"})
    file.write_text(newer, encoding="utf-8")
    marks.put(kind, {"cursor": "c2"}, "a")
    assert file.read_text(encoding="utf-8") == newer
    assert (marks.get(kind, "a"), marks.has(kind, "a"), list(marks.each(kind))) == (None, True, [])
