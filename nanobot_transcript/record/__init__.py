"""The record that the bots of a group share, in a folder or a database: ``Record.open(place)``."""

from nanobot_transcript.record.contract import Record

__all__ = ["Record"]
