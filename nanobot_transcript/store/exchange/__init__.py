"""Transcripts in and out: JSONL and Markdown out; JSONL, IRC logs and plain text in."""

from nanobot_transcript.store.exchange.exporter import export_chat
from nanobot_transcript.store.exchange.importer import import_file, session_key_of
from nanobot_transcript.store.exchange.report import ImportReport

__all__ = ["ImportReport", "export_chat", "import_file", "session_key_of"]
