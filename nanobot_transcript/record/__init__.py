"""The record of a group's bots with all its parts, wherever they lie: ``Record.open(place)``."""

from nanobot_transcript.record.contract import Record

__all__ = ["Record"]
