"""Whether a file has changed, for pages that show what is in it."""

from pathlib import Path

from transcript_mcp.page import stamp


def test_a_file_has_another_stamp_once_it_is_there_written_to_or_another_one(tmp_path: Path) -> None:
    path = tmp_path / "inbox.md"
    seen = [stamp(path), stamp(path / "below")]
    path.write_text("one")
    seen.append(stamp(path))
    path.write_text("two, and longer")
    seen.append(stamp(path))
    path.unlink()
    (tmp_path / "other").write_text("two, and longer")
    (tmp_path / "other").rename(path)
    seen.append(stamp(str(path)))
    assert seen[:2] == [None, None]
    assert None not in seen[2:]
    assert len(set(seen[2:])) == 3
