"""What a test of faults lets another process do with a record whose engine fails: ``python -m support.engine_worker``.

Each action goes on until it is told to stop, asks again whenever it is refused, and says then what it met.
"""

import asyncio
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from support.places import open_record
from support.transcripts import body
from support.waiting import PATIENCE
from support.worker import KEY, ready, say, told_to_stop

from nanobot_transcript import StoreError

PAUSE: Final = 0.02
"""Seconds between two attempts of who was refused."""


def main(argv: list[str]) -> None:
    """Run one action. What goes wrong is looked for, and need not be logged. ``clock_off`` is by how many seconds the
    clock of this process's machine is wrong.
    """
    logging.disable(logging.WARNING)
    options = json.loads(argv[2])
    put_clock_off(options.pop("clock_off", 0))
    say(ACTIONS[argv[1]](**options))


def put_clock_off(seconds: int) -> None:
    """Let this process have a wrong time."""
    right, right_ns = time.time, time.time_ns
    time.time = lambda: right() + seconds
    time.time_ns = lambda: right_ns() + seconds * 1_000_000_000


class Refusals:
    """What was refused while an action ran, and for how long at most."""

    def __init__(self) -> None:
        self.count: int = 0
        self.longest: float = 0.0
        self.kinds: set[str] = set()
        self._since: float | None = None

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Swallow a StoreError, and pause before the next attempt."""
        began = time.monotonic()
        try:
            yield
        except StoreError as error:
            self.count += 1
            self.kinds.add(error.code)
            self._since = began if self._since is None else self._since
            self.longest = max(self.longest, time.monotonic() - self._since)
            if not error.hint:
                raise
            time.sleep(PAUSE)
        else:
            now = time.monotonic()
            self.longest = max(self.longest, now - (began if self._since is None else self._since))
            self._since = None

    @property
    def told(self) -> dict[str, Any]:
        """For the test."""
        return {"refused": self.count, "longest": round(self.longest, 2), "kinds": sorted(self.kinds)}


def write_on(
    place: str,
    prefix: str,
    ack: str,
    pause: float = 0.0,
    size: int = 100,
    key: str = KEY,
    spool: str | None = None,
) -> dict[str, Any]:
    """Append one message after the other, each until it is acknowledged; ids are noted in ``ack`` then. What goes by a
    ``spool`` is handed on in the end.
    """
    notes = os.open(ack, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    store, refusals = open_record(place, **({"spool_dir": spool} if spool else {})).store, Refusals()
    number = again = 0
    ready()
    while not told_to_stop():
        message_id, done = f"{prefix}{number}", False
        while not done:
            with refusals.noted():
                again += not store.append(key, "user", body(message_id, size), "on_ada", message_id)
                done = True
            if not done and told_to_stop():
                return {"written": number, "found_there": again, **refusals.told}
        os.write(notes, f"{message_id}\n".encode())
        number += 1
        time.sleep(pause)
    assert store.flush(key, PATIENCE)
    return {"written": number, "found_there": again, **refusals.told}


def follow_on(place: str, ack: str, key: str = KEY) -> dict[str, int]:
    """Follow a chat from its beginning, and note each id in ``ack``."""
    notes = os.open(ack, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    store, seen = open_record(place).store, 0

    async def watch(after: str) -> None:
        nonlocal seen
        async for entry in store.follow(key, after):
            os.write(notes, f"{entry['message_id']}\n".encode())
            seen += 1

    async def until_told() -> None:
        following = asyncio.create_task(watch(store.end(key)))
        ready()
        while not told_to_stop():
            await asyncio.sleep(PAUSE)
            if following.done():
                await following
        following.cancel()

    asyncio.run(until_told())
    return {"seen": seen}


def live_on(place: str) -> dict[str, bool]:
    """Join, say the id, and live."""
    record = open_record(place)
    say({"id": record.processes.join()})
    ready()
    while not told_to_stop():
        time.sleep(PAUSE)
    return {"left": True}


def look_on(place: str, others: list[str]) -> dict[str, Any]:
    """Look again and again whether others live; how often each was seen as dead."""
    processes, refusals, looks = open_record(place).processes, Refusals(), 0
    dead = dict.fromkeys(others, 0)
    ready()
    while not told_to_stop():
        for other in others:
            with refusals.noted():
                dead[other] += not processes.alive(other)
                looks += 1
        time.sleep(PAUSE)
    return {"dead": dead, "looks": looks, **refusals.told}


def claim_on(place: str, holder: str, ttl: float, notes: str) -> dict[str, Any]:
    """Acquire the same lease again and again, renew it now and then, and note while it was surely held: token, from,
    to, in seconds of the machine.
    """
    file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    leases, refusals = open_record(place).leases, Refusals()
    held = renewed = 0
    ready()
    while not told_to_stop():
        grant, asked = None, time.monotonic()
        with refusals.noted():
            grant = leases.acquire("claim", holder, ttl)
        if grant is None:
            time.sleep(PAUSE / 4)
            continue
        began, until, token = time.monotonic(), asked + ttl, grant.token
        with refusals.noted():
            asked = time.monotonic()
            if (longer := leases.renew(grant, ttl)) is not None:
                assert longer.token == token
                until, renewed = asked + ttl, renewed + 1
        ended = min(time.monotonic(), until)
        if ended > began:
            os.write(file, f"{token} {began:.6f} {ended:.6f} {holder}\n".encode())
            held += 1
        with refusals.noted():
            leases.release(grant)
    return {"held": held, "renewed": renewed, **refusals.told}


def migrate_on(place: str, message_id: str, killed_after: float = 0) -> dict[str, bool]:
    """Be the first to write, perhaps; killed after so many seconds, if that is not done then."""
    record = open_record(place)
    with record.engine.connection():
        ready()
    if killed_after:
        signal.setitimer(signal.ITIMER_REAL, killed_after)  # nobody handles SIGALRM: it kills
    with Refusals().noted():
        record.store.append(KEY, "user", message_id, "on_ada", message_id)
        return {"done": True}
    return {"done": False}


def check_on(place: str) -> list[tuple[str, str, str]]:
    """What `doctor` finds: the check, how bad it is, and what it says."""
    return [(found.check, found.severity, found.message) for found in open_record(place).check()]


def claim_each_on(place: str, holder: str, notes: str) -> dict[str, Any]:
    """Claim one message after the other, as bots do that all have heard it, and note those that were given to us. A
    claim whose answer was lost is asked for again, and may have been given to us then: that is nobody's.
    """
    file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    leases, refusals = open_record(place).leases, Refusals()
    number = 0
    ready()
    while not told_to_stop():
        with refusals.noted():
            if leases.acquire(f"om_{number}", holder, 3600) is not None:
                os.write(file, f"om_{number}\n".encode())
            number += 1
        time.sleep(PAUSE)
    return {"asked": number, **refusals.told}


ACTIONS: dict[str, Callable[..., Any]] = {
    action.__name__: action
    for action in (check_on, claim_each_on, claim_on, follow_on, live_on, look_on, migrate_on, write_on)
}

if __name__ == "__main__":
    main(sys.argv)
