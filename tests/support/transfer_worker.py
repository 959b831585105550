"""What a test of moving lets another process do: ``python -m support.transfer_worker ACTION '{"option": ...}'``.

``killed_after`` is in seconds of this process's own processor time, so that a busy machine makes no difference.
"""

import json
import os
import resource
import signal
import sys
from typing import Any

from support.places import open_record
from support.worker import fill_disk_at, ready, say, told_to_stop

from nanobot_transcript import TranscriptError
from nanobot_transcript.record.transfer.move import Progress, move


def main(argv: list[str]) -> None:
    """Run one action."""
    say(ACTIONS[argv[1]](**json.loads(argv[2])))


def carry(
    source: str, target: str, killed_after: float = 0, limit: int | None = None, tells: bool = False
) -> dict[str, Any]:
    """Move, and say what came of it: ``peak_mb`` is the most memory that it had. With ``limit`` no file may become
    longer; ``tells`` says how far it is.
    """
    with open_record(source) as here, open_record(target) as there:
        for record in (here, there):
            record.store.chats()  # connect, and import what is needed
        ready()
        if limit is not None:
            fill_disk_at(limit)
        if killed_after:
            signal.setitimer(signal.ITIMER_VIRTUAL, killed_after)  # nobody handles SIGVTALRM: it kills

        def advance(progress: Progress) -> None:
            if tells:
                say({"lines": progress.lines, "bytes": progress.bytes, "of": progress.bytes_in_all})

        try:
            report = move(here, there, advance)
        except TranscriptError as error:
            return {"error": type(error).__name__, "hint": error.hint}
        moved, most = sum(chat.moved for chat in report.chats), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return {"fine": report.is_fine, "moved": moved, "seconds": report.seconds, "peak_mb": most >> 10}


def chatter(
    place: str, ack: str, name: str, chats: int = 2, pause: float = 0.005, posts: bool = False
) -> dict[str, int]:
    """Talk until told to stop: with ids and without, editing and taking back. Each text that was accepted is noted;
    ``pause`` is in seconds. With ``posts``, something is put into the outbox now and then.
    """
    notes = os.open(ack, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    count = 0
    with open_record(place) as record:
        store = record.store
        ready()
        while not told_to_stop(pause):
            key, text = f"feishu:oc_{count % chats}", f"{name} {count}"
            message_id = f"om_{name}_{count}" if count % 3 else None
            store.append(key, "user", text, name, message_id, max_wait=10)
            os.write(notes, f"{text}\n".encode())
            if message_id and count % 10 == 1:
                store.edit(key, message_id, f"{text} edited", name)
            if message_id and count % 10 == 5:
                store.recall(key, message_id, name)
            if posts and count % 10 == 7:
                record.outbox.post(key, text)
            count += 1
    return {"count": count}


ACTIONS = {"carry": carry, "chatter": chatter}

if __name__ == "__main__":
    main(sys.argv)
