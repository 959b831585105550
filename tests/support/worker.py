"""What a test lets another process do: ``python -m support.worker ACTION '{"option": ...}'``.

An action says {"ready": true} and waits for a line on stdin, works, and says its result as the last line.
"""

import asyncio
import json
import os
import random
import resource
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.places import open_record
from support.transcripts import body

from nanobot_transcript import GroupTranscriptStore, StoreBusyError, TranscriptError

KEY = "feishu:oc_shared"
_SHARED_FD = 1


def main(argv: list[str]) -> None:
    """Run one action."""
    action, options = ACTIONS[argv[1]], json.loads(argv[2])
    say(action(**options))


def say(value: object) -> None:
    """One JSON line to the parent."""
    os.write(_SHARED_FD, json.dumps(value).encode() + b"\n")


def fill_disk_at(size: int) -> None:
    """Let no file that this process writes grow beyond ``size`` bytes: what does not fit is refused."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # where the tests' output goes may be a file that is longer already
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def ready() -> None:
    """Wait for the start signal, so that all workers begin together."""
    say({"ready": True})
    sys.stdin.buffer.raw.readline()  # type: ignore[attr-defined]


def told_to_stop(within: float = 0) -> bool:
    """True once the parent has written or gone away, waited for so many seconds."""
    return bool(select.select([0], [], [], within)[0])


def open_store(place: str, store: dict[str, Any] | None = None) -> GroupTranscriptStore:
    """The store of the record at a place, with the test's options."""
    return open_record(place, **(store or {})).store


def append(
    place: str,
    count: int,
    prefix: str = "om_",
    start: int = 0,
    size: int = 100,
    ack: str | None = None,
    key: str = KEY,
    shuffle: int | None = None,
    store: dict[str, Any] | None = None,
) -> dict[str, int]:
    """Append ``count`` messages; note each id in ``ack`` once append has returned."""
    notes = os.open(ack, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if ack else None
    numbers = list(range(start, start + count))
    if shuffle is not None:
        random.Random(shuffle).shuffle(numbers)
    written = 0
    slowest = 0.0
    transcript = open_store(place, store)
    transcript.get_recent(key)
    ready()
    for number in numbers:
        message_id = f"{prefix}{number}"
        began = time.perf_counter()
        written += transcript.append(key, "user", body(message_id, size), "on_ada", message_id)
        slowest = max(slowest, time.perf_counter() - began)
        if notes is not None:
            os.write(notes, f"{message_id}\n".encode())
    transcript.close()
    return {"written": written, "refused": count - written, "slowest_us": round(slowest * 1e6)}


def follow(
    place: str, after: str | None, until: str, key: str = KEY, store: dict[str, Any] | None = None
) -> dict[str, int]:
    """Say every entry that comes until the message with id ``until`` comes."""

    async def watch() -> int:
        seen = 0
        async for entry in transcript.follow(key, after):
            seen += 1
            say({name: entry.get(name) for name in ("message_id", "op", "target", "content")})
            if entry.get("message_id") == until:
                return seen
        raise AssertionError("follow ended by itself")

    transcript = open_store(place, store)
    ready()
    return {"seen": asyncio.run(watch())}


def maintain(
    place: str, verify: bool = False, pause: float = 0.005, store: dict[str, Any] | None = None
) -> dict[str, int]:
    """Run maintenance in circles until told to stop."""
    transcript = open_store(place, store)
    ready()
    rounds = busy = 0
    while not told_to_stop():
        try:
            transcript.maintain([KEY])
        except StoreBusyError:
            busy += 1
        if verify and rounds % 10 == 0:
            transcript.verify(KEY)
        rounds += 1
        time.sleep(pause)
    return {"rounds": rounds, "busy": busy}


def hide(place: str, ids: list[str], how: str, ack: str | None = None, store: dict[str, Any] | None = None) -> int:
    """Recall or redact messages one after the other; note each id in ``ack`` once the call has returned."""
    notes = os.open(ack, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if ack else None
    transcript = open_store(place, store)
    ready()
    hidden = 0
    for message_id in ids:
        try:
            hidden += getattr(transcript, how)(KEY, message_id)
        except StoreBusyError:
            continue
        if notes is not None:
            os.write(notes, f"{message_id}\n".encode())
    return hidden


def purge_sender(place: str, sender: str, store: dict[str, Any] | None = None) -> int:
    """Purge one person everywhere."""
    transcript = open_store(place, store)
    ready()
    return len(transcript.purge(sender=sender))


def read_in_circles(place: str, store: dict[str, Any] | None = None) -> dict[str, int]:
    """Read with every reading call until told to stop; whatever raises ends the process with an error."""
    transcript = open_store(place, store)
    ready()
    rounds = 0
    while not told_to_stop():
        for message in transcript.get_recent(KEY, 30):
            message_id = message["content"].partition("|")[0]
            assert message["content"].endswith(f"|{message_id}"), "half a line was read"
        transcript.search("om_", KEY, 3)
        transcript.read(KEY, None, 5)
        rounds += 1
    return {"rounds": rounds}


def append_until_error(
    place: str,
    size: int = 1000,
    limit: int | None = None,
    count: int = 100_000,
    prefix: str = "om_",
    key: str = KEY,
    store: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Append until the store refuses; ``limit`` bounds the size of any file this process may write."""
    transcript = open_store(place, store)
    ready()
    if limit is not None:
        fill_disk_at(limit)
    acked: list[str] = []
    for number in range(count):
        message_id = f"{prefix}{number}"
        try:
            transcript.append(key, "user", body(message_id, size), "on_ada", message_id)
        except TranscriptError as error:
            return {"acked": acked, "error": type(error).__name__, "hint": error.hint, "refused": message_id}
        acked.append(message_id)
    return {"acked": acked, "error": None, "refused": None}


def read_and_append_as(place: str, uid: int, key: str = KEY) -> dict[str, Any]:
    """Read and append as another user of the machine."""
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    transcript = open_store(place)
    result: dict[str, Any] = {}
    calls: dict[str, Callable[[], object]] = {
        "get_recent": lambda: [message["content"] for message in transcript.get_recent(key)],
        "search": lambda: len(transcript.search("om_", key)),
        "append": lambda: transcript.append(key, "user", "new", "on_bo", "om_new"),
        "maintain": lambda: len(transcript.maintain([key])),
    }
    for name, call in calls.items():
        try:
            result[name] = call()
        except TranscriptError as error:
            result[name] = type(error).__name__
    return result


def append_with_umask(place: str, umask: int) -> None:
    """Make everything a store makes, under a given umask."""
    os.umask(umask)
    with open_store(place, {"segment_bytes": 400}) as transcript:
        for number in range(20):
            transcript.append(KEY, "user", "text", "on_ada", f"om_{number}")
        transcript.members.remember_person("on_ada", "Ada")
        transcript.recall(KEY, "om_3")
        transcript.maintain()


def fork_and_append(place: str, children: int, count: int) -> dict[str, int]:
    """Use a store, fork, and let parent and children append the same and their own ids at once."""
    transcript = open_store(place)
    transcript.append(KEY, "user", body("om_before", 10), "on_ada", "om_before")
    ready()
    pids: list[int] = []
    for child in range(children):
        pid = os.fork()
        if pid == 0:
            _append_own_and_common(transcript, f"child{child}_", count)
            os._exit(0)
        pids.append(pid)
    _append_own_and_common(transcript, "parent_", count)
    statuses = [os.waitpid(pid, 0)[1] for pid in pids]
    return {"failed": sum(status != 0 for status in statuses)}


def _append_own_and_common(transcript: GroupTranscriptStore, prefix: str, count: int) -> None:
    for number in range(count):
        for message_id in (f"{prefix}{number}", f"common_{number}"):
            transcript.append(KEY, "user", body(message_id, 10), "on_ada", message_id)


def append_from_threads(place: str, threads: int, count: int, store: dict[str, Any] | None = None) -> dict[str, Any]:
    """Many threads on one store object."""
    transcript = open_store(place, store)
    errors: list[str] = []

    def work(number: int) -> None:
        try:
            _append_own_and_common(transcript, f"thread{number}_", count)
        except TranscriptError as error:
            errors.append(repr(error))

    ready()
    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return {"errors": errors}


def use_many_chats(place: str, threads: int, chats: int, rounds: int) -> dict[str, Any]:
    """Threads that write to and read from chats picked at random."""
    transcript = open_store(place)
    errors: list[str] = []

    def work(seed: int) -> None:
        dice = random.Random(seed)
        try:
            for number in range(rounds):
                key = f"feishu:oc_{dice.randrange(chats)}"
                transcript.append(key, "user", f"{key}|{number}", "on_ada", f"om_{seed}_{number}")
                transcript.get_recent(key, 3)
                transcript.read(key, None, 3)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test must see it
            errors.append(repr(error))

    ready()
    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return {"errors": errors, "files": len(list(Path("/proc/self/fd").iterdir()))}


def measure_appends(
    place: str,
    count: int,
    prefix: str,
    max_wait: float | None = None,
    store: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Append and say how long the first and the others took (ms)."""
    transcript = open_store(place, store)
    ready()
    took: list[float] = []
    for number in range(count):
        message_id = f"{prefix}{number}"
        began = time.perf_counter()
        transcript.append(KEY, "user", body(message_id, 10), "on_bo", message_id, max_wait=max_wait)
        took.append((time.perf_counter() - began) * 1000)
    rest = sorted(took[1:]) or [0.0]
    return {"first_ms": took[0], "rest_p50_ms": rest[len(rest) // 2], "rest_max_ms": rest[-1]}


def append_forever(
    place: str, size: int, prefix: str, ack: str, pause: float = 0.0, store: dict[str, Any] | None = None
) -> None:
    """Append until killed, going on behind the last id that was acknowledged."""
    notes = os.open(ack, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    transcript = open_store(place, store)
    number = len(Path(ack).read_text(encoding="utf-8").split())
    text = "x" * size
    ready()
    while True:
        message_id = f"{prefix}{number}"
        content = f"{message_id}|{text}|{message_id}"
        transcript.append(KEY, "user", content, "on_ada", message_id)
        os.write(notes, f"{message_id}\n".encode())
        number += 1
        time.sleep(pause)


ACTIONS: dict[str, Callable[..., Any]] = {
    action.__name__: action
    for action in (
        append,
        append_forever,
        append_from_threads,
        append_until_error,
        append_with_umask,
        follow,
        fork_and_append,
        hide,
        maintain,
        measure_appends,
        purge_sender,
        read_and_append_as,
        read_in_circles,
        use_many_chats,
    )
}

if __name__ == "__main__":
    main(sys.argv)
