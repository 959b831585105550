"""What lies among the files of processes and is none of theirs."""

from pathlib import Path

from nanobot_transcript.coordination.files.processes import FileProcesses

NOBODY = "0123456789abcdef0123456789abcdef"


def test_a_link_or_a_folder_among_them_hinders_nobody_from_joining(tmp_path: Path) -> None:
    folder, outside = tmp_path / "processes", tmp_path / "outside"
    folder.mkdir()
    outside.write_text("kept")
    (folder / NOBODY).symlink_to(outside)
    (folder / "folder").mkdir()
    (folder / NOBODY[::-1]).touch()
    processes = FileProcesses(folder.parent, folder.name)
    name = processes.join()
    assert FileProcesses(folder.parent, folder.name).alive(name)
    assert outside.read_text() == "kept"
    assert not (folder / NOBODY[::-1]).exists()
    processes.leave()
