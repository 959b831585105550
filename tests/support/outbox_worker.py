"""What a test of the outbox lets another process do: ``python -m support.outbox_worker ACTION '{"option": ...}'``.

The platform of these tests is a folder: a send makes the link ``<uuid>``, which leads to the text, unless it is there,
as Feishu delivers once under one uuid, and each send is noted in ``sends``. A link and its text are made at one stroke.
"""

import asyncio
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from support.worker import ready, say

from nanobot_transcript import TranscriptError
from nanobot_transcript.outbox import Action, Job, Outbox, OutboxLimits, OutboxServer

KEY = "feishu:oc_posts"
_UUID = 32


def post_same(base_dir: str, key: str) -> str:
    """Post the same as everybody else."""
    outbox = Outbox(base_dir)
    ready()
    return outbox.post(KEY, "text", idempotency_key=key)


def post_forever(base_dir: str, prefix: str, ack: str) -> None:
    """Post until killed; note each key and id once it was accepted."""
    outbox = Outbox(base_dir)
    ready()
    number = 0
    while True:
        key = f"{prefix}{number}"
        _note(ack, f"{key} {outbox.post(KEY, key, idempotency_key=key)}")
        number += 1


def take_forever(base_dir: str, holder: str) -> list[str]:
    """Take and settle until nothing is left; the ids that were had."""
    outbox = Outbox(base_dir)
    ready()
    had: list[str] = []
    while outbox.waiting() or outbox.take("nobody", []) is not None:
        job = outbox.take(holder, [KEY])
        if job is not None:
            had.append(job.id)
            outbox.sent(job, f"om_{job.id}")
    return had


def serve(base_dir: str, platform: str, lease: float = 0.6, die: str = "") -> None:
    """Serve until killed; ``die`` when a job was ``taken`` or ``delivered``."""

    async def send(job: Job) -> str:
        _die_if(die == "taken")
        message_id = deliver(Path(platform), job)
        _die_if(die == "delivered")
        return message_id

    outbox = Outbox(base_dir, OutboxLimits(lease=lease, max_attempts=1000))
    server = OutboxServer(outbox, send, agent=f"Bot{os.getpid()}", sits_in=KEY.__eq__, look_every=0.02)
    ready()
    asyncio.run(server.serve())


def answer_forever(base_dir: str, platform: str, ack: str) -> None:
    """Press on each message and reply to it as soon as it stands there; note its uuid and what the outbox said."""
    outbox = Outbox(base_dir)
    ready()
    done: set[str] = set()
    while True:
        for uuid in {name for name in os.listdir(platform) if len(name) == _UUID} - done:  # noqa: PTH208 - names alone
            said: Any = {"role": "user", "content": "Yes", "sender": "on_ada", "message_id": f"om_to_{uuid}", "ts": 1}
            taken = (
                outbox.offer_action(Action(f"om_{uuid}", {"ok": uuid}, "on_ada", session_key=KEY)),
                outbox.offer_reply({**said, "reply_to": f"om_{uuid}"}, KEY),
            )
            done.add(uuid)
            _note(ack, f"{uuid} {taken}")
        time.sleep(0.001)


def post_until_error(base_dir: str, limit: int, count: int = 2000) -> dict[str, Any]:
    """Post until the outbox refuses; ``limit`` bounds the size of any file this process may write."""
    outbox = Outbox(base_dir)
    outbox.post(KEY, "first", idempotency_key="first")
    ready()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    accepted = []
    for number in range(count):
        try:
            accepted.append(outbox.post(KEY, f"{number} " + "x" * 2000))
        except TranscriptError as error:
            return {"accepted": accepted, "error": error.code, "hint": error.hint}
    return {"accepted": accepted, "error": None, "hint": ""}


def deliver(platform: Path, job: Job) -> str:
    """What Feishu does: under one uuid the first send makes the message, the others are told its id."""
    _note(str(platform / "sends"), f"{job.uuid} {job.content}")
    with suppress(FileExistsError):
        (platform / job.uuid).symlink_to(job.content or "")
    return f"om_{job.uuid}"


def messages(platform: Path) -> list[str]:
    """The texts that have been sent, in any order."""
    return [str(path.readlink()) for path in platform.iterdir() if path.is_symlink()]


def _note(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, f"{text}\n".encode())
    os.close(descriptor)


def _die_if(now: bool) -> None:
    if now:
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)


ACTIONS: dict[str, Callable[..., Any]] = {
    action.__name__: action
    for action in (answer_forever, post_forever, post_same, post_until_error, serve, take_forever)
}

if __name__ == "__main__":
    say(ACTIONS[sys.argv[1]](**json.loads(sys.argv[2])))
