"""What the store is measured against. Each baseline writes or reads the same messages in a simpler way.

naive      as the seed describes it: open, write and close for each append; read the whole file, drop repeated ids, sort
raw        one ``os.write`` of a line that lies ready, into a file that stays open
raw-json   the same with ``json.dumps`` for each line
raw-sync   ``raw`` and ``os.fdatasync`` after each line
sqlite     sqlite3 in WAL mode, synchronous=NORMAL, a unique index over (chat, message_id), a commit per message
stat+copy  one ``os.stat`` and a copy of twenty dicts: the least an answer from memory can cost
tail       the last 64 KiB of a file, decoded line by line
scan       ``mmap.find`` over whole files
poll       ``os.stat`` every 20 milliseconds
"""

import contextlib
import json
import mmap
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.samples import KEY, Message, message
from nanobot_transcript import GroupTranscriptStore

__all__ = ["APPENDERS", "Appender", "naive_recent", "naive_search", "scan", "stat_and_copy", "tail"]

Appender = Callable[[Message], object]
"""Appends one message; made per process and directory."""


def _line(m: Message) -> dict[str, Any]:
    return {
        "role": m.role,
        "content": m.content,
        "sender": m.sender,
        "message_id": m.message_id,
        "ts": m.timestamp_ms,
    }


def _naive(folder: Path) -> Appender:
    path = folder / "naive.jsonl"

    def append(m: Message) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(_line(m), ensure_ascii=False) + "\n")

    return append


def _open(folder: Path, name: str) -> int:
    return os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def _raw(folder: Path) -> Appender:
    descriptor = _open(folder, "raw.jsonl")
    ready = json.dumps(_line(message(0)), ensure_ascii=False).encode() + b"\n"
    return lambda m: os.write(descriptor, ready)


def _raw_json(folder: Path) -> Appender:
    descriptor = _open(folder, "raw-json.jsonl")
    return lambda m: os.write(descriptor, (json.dumps(_line(m), ensure_ascii=False) + "\n").encode())


def _raw_sync(folder: Path) -> Appender:
    descriptor = _open(folder, "raw-sync.jsonl")
    ready = json.dumps(_line(message(0)), ensure_ascii=False).encode() + b"\n"

    def append(m: Message) -> None:
        os.write(descriptor, ready)
        os.fdatasync(descriptor)

    return append


def _sqlite(folder: Path) -> Appender:
    connection = sqlite3.connect(folder / "messages.sqlite", timeout=30, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS message (chat, message_id, role, content, sender, ts, UNIQUE (chat, message_id))"
    )
    insert = "INSERT OR IGNORE INTO message VALUES (?, ?, ?, ?, ?, ?)"

    def append(m: Message) -> None:
        connection.execute(insert, (KEY, m.message_id, m.role, m.content, m.sender, m.timestamp_ms))

    return append


def _store(folder: Path) -> Appender:
    store = GroupTranscriptStore(folder / "store")
    return lambda m: store.append(KEY, *m)


def _store_sync(folder: Path) -> Appender:
    store = GroupTranscriptStore(folder / "store-sync", fsync="always")
    return lambda m: store.append(KEY, *m)


APPENDERS: dict[str, Callable[[Path], Appender]] = {
    "naive": _naive,
    "raw": _raw,
    "raw-json": _raw_json,
    "raw-sync": _raw_sync,
    "sqlite": _sqlite,
    "store": _store,
    "store-sync": _store_sync,
}


def naive_recent(path: Path, count: int) -> list[dict[str, str]]:
    """The newest messages the seed's way: the whole file for every question."""
    seen: set[str] = set()
    entries = []
    with path.open(encoding="utf-8") as file:
        for line in file.readlines():
            entry = json.loads(line)
            if entry["message_id"] not in seen:
                seen.add(entry["message_id"])
                entries.append(entry)
    entries.sort(key=lambda entry: entry["ts"])
    return [{name: entry[name] for name in ("role", "content", "sender")} for entry in entries[-count:]]


def naive_search(paths: list[Path], query: str, count: int) -> list[dict[str, Any]]:
    """Every line decoded and looked at."""
    hits: list[dict[str, Any]] = []
    for path in paths:
        with path.open(encoding="utf-8") as file:
            hits += [entry for line in file if query in (entry := json.loads(line))["content"]]
    return hits[-count:][::-1]


def stat_and_copy(path: str, messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """What an answer costs at least when nothing has changed."""
    os.stat(path)  # noqa: PTH116 - the cheapest way to ask
    return [dict(m) for m in messages]


def tail(path: Path) -> list[Any]:
    """The end of a file without knowing anything of what is before."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - (1 << 16)))
        return [json.loads(line) for line in file.read().splitlines()[1:]]


def scan(paths: list[Path], query: str) -> int:
    """How often a text occurs, without decoding anything."""
    found, needle = 0, query.encode()
    for path in paths:
        with path.open("rb") as file, contextlib.closing(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) as data:
            at = data.find(needle)
            while at >= 0:
                found += 1
                at = data.find(needle, at + 1)
    return found
