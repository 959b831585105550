"""Looking at a record that is moved: what readers are shown, and what became of a move."""

import time
from collections.abc import Sequence
from typing import Any, Final

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.entry import Entry
from nanobot_transcript.record import Record
from nanobot_transcript.record.postgres.transcripts import PostgresTranscripts
from nanobot_transcript.record.transfer.carrier import ChatReport
from nanobot_transcript.record.transfer.move import MoveReport, check, move

__all__ = ["KEY", "NOW", "all_equal", "chat_of", "line", "moved", "outcomes", "say", "shown", "texts", "write"]

KEY: Final = "feishu:oc_team"
NOW: Final = int(time.time() * 1000)


def say(store: GroupTranscriptStore, text: str, message_id: str | None = None, **fields: Any) -> bool:
    """Record what Ada says."""
    return store.append(fields.pop("key", KEY), "user", text, fields.pop("sender", "on_ada"), message_id, NOW, **fields)


def line(text: str, message_id: str | None) -> Entry:
    """A line of Ada's, for ``write``."""
    return {"role": "user", "content": text, "sender": "on_ada", "message_id": message_id, "ts": NOW, "rts": NOW}


def write(record: Record, key: str, lines: Sequence[Entry]) -> None:
    """Record many lines of a chat, quickly."""
    backend: Any = record.store.backend
    if not isinstance(backend, PostgresTranscripts):
        backend.write_each(key, lines)
        return
    for batch in (lines[start : start + 500] for start in range(0, len(lines), 500)):
        backend.write_many(key, batch, time.time() * 1000)


def shown(record: Record, key: str = KEY) -> list[Any]:
    """Every message of a chat with all that a reader is given of it."""
    return list(record.store.scan(key))


def texts(record: Record, key: str = KEY) -> list[str]:
    """The texts alone."""
    return [entry["content"] for entry in shown(record, key)]


def outcomes(report: MoveReport) -> dict[str, str]:
    """What became of each chat."""
    return {chat.chat: chat.outcome for chat in report.chats}


def chat_of(report: MoveReport, key: str = KEY) -> ChatReport:
    """What became of one chat."""
    return next(chat for chat in report.chats if chat.chat == key)


def moved(report: MoveReport) -> int:
    """How many lines a run has carried."""
    return sum(chat.moved for chat in report.chats)


def all_equal(source: Record, target: Record) -> None:
    """Move, and see that nothing differs for any reader, by hash and by hand."""
    report = move(source, target)
    assert report.is_fine, report
    compared = check(source, target)
    assert set(outcomes(compared).values()) <= {"equal"}, compared
    assert all(chat.hash == chat.hash_there and chat.readers == chat.readers_there for chat in compared.chats)
    for chat in source.store.chats():
        assert shown(target, chat.session_key) == shown(source, chat.session_key)
