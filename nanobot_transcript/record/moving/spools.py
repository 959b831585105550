"""What was accepted on this machine for a database and is not in it yet."""

from pathlib import Path

from nanobot_transcript.record.spool.folder import Folder
from nanobot_transcript.record.spool.slot import folders_in, slots_in

__all__ = ["waiting_in"]


def waiting_in(spool_dir: Path) -> int:
    """How many lines wait in a spool. Raises StoreError kinds."""
    count = 0
    for path in (path for slot in slots_in(spool_dir) for path in folders_in(slot)):
        folder = Folder(path)
        count += sum(folder.behind(key)[0] for key in folder.chats())
        folder.close()
    return count
