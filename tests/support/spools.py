"""Saying something by way of a spool, and waiting for what becomes of it."""

from pathlib import Path

from support.procs import until
from support.transcripts import occurs_on_disk
from support.waiting import PATIENCE

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.record.spool.backlog import waiting_in

__all__ = ["KEY", "flushed", "say", "until_empty", "until_gone"]

KEY = "feishu:oc_1"


def say(store: GroupTranscriptStore, *ids: str, key: str = KEY, sender: str = "on_ada") -> list[bool]:
    """Messages with these ids, and what the store said about each."""
    return [store.append(key, "user", f"text of {known}", sender, known) for known in ids]


def flushed(store: GroupTranscriptStore, key: str = KEY) -> None:
    """Wait until the record has what was said in a chat."""
    assert store.flush(key, PATIENCE)


def until_empty(spool: Path, lines: int = 0) -> None:
    """Wait until so many lines wait in a spool."""
    until(lambda: waiting_in(spool).lines == lines, f"{lines} lines wait")


def until_gone(folder: Path, text: str) -> None:
    """Wait until a text does not lie in a folder any more."""

    def is_gone() -> bool:
        try:
            return not occurs_on_disk(folder, text)
        except FileNotFoundError:  # something is being removed
            return False

    until(is_gone, f"{text!r} is gone")
