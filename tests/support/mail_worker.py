"""What a test of Agent Mail lets another process do: ``python -m support.mail_worker ACTION '{"option": ...}'``."""

import json
import os
import sys
import threading
from pathlib import Path

from support.mail_archive import MailArchive
from support.worker import fill_disk_at, ready, say, told_to_stop

from nanobot_transcript.errors import ArchiveError, StoreError
from nanobot_transcript.sql.location import Shelf
from transcript_mcp.mail.archive.archiver import ArchiverProcess
from transcript_mcp.mail.archive.rounds import Archiving
from transcript_mcp.mail.store import MailStore


def send_forever(
    store: str, slugs: list[str], prefix: str, ack: str, pause: float = 0.0, address: str | None = None
) -> dict[str, int]:
    """Put down jobs of messages until told to stop; note each id once its transaction is over."""
    archive = MailArchive(Path(store), *slugs, address=address)
    notes = os.open(ack, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    stopped = threading.Event()
    ready()
    count = 0
    while not told_to_stop():
        slug = slugs[count % len(slugs)]
        archive.send(slug, f"{prefix}{count}")
        os.write(notes, f"{slug} {prefix}{count}\n".encode())
        count += 1
        stopped.wait(pause)
    return {"sent": count}


def host(store: str, address: str | None = None) -> None:
    """Hold an archiver until told to stop, as a server does; say its process id, and each new one's."""
    with ArchiverProcess(MailStore.on(Shelf.at(Path(store), address))) as archiver:
        known = None
        ready()
        while not told_to_stop():
            if archiver.pid not in (None, known):
                known = archiver.pid
                say({"pid": known})
            threading.Event().wait(0.01)
    say({"alive": archiver.alive})


def archive_within(store: str, limit: int | None = None, address: str | None = None) -> dict[str, object]:
    """Archive what waits in this process, when no file may grow beyond ``limit`` bytes."""
    Path(store).mkdir(exist_ok=True)  # as the lock of the archiver's process does
    archive = MailArchive(Path(store), address=address)
    archiving = Archiving(archive.store, archive.database)
    ready()
    if limit is not None:
        fill_disk_at(limit)
    try:
        archiving.round()
    except (ArchiveError, StoreError) as error:
        return {"done": archiving.done, "error": type(error).__name__}
    return {"done": archiving.done, "error": None}


ACTIONS = {action.__name__: action for action in (send_forever, host, archive_within)}

if __name__ == "__main__":
    say(ACTIONS[sys.argv[1]](**json.loads(sys.argv[2])))
