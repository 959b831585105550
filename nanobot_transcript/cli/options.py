"""Options that several commands share, and opening the store they name."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nanobot_transcript.settings import LoadedSettings
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = [
    "ChatArgument",
    "ConfigOption",
    "JsonOption",
    "JsonlOption",
    "StoreOption",
    "opened_store",
    "read_settings",
]

ChatArgument: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="CHAT", help="Session key, chat id, or the beginning of one.", show_default=False),
]
StoreOption: TypeAlias = Annotated[
    Path | None, typer.Option("--store", metavar="DIR", help="Directory of the transcripts, instead of store.dir.")
]
ConfigOption: TypeAlias = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Configuration file, instead of the usual places.")
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
JsonlOption: TypeAlias = Annotated[bool, typer.Option("--jsonl", help="Print one JSON object per line, as it comes.")]


def read_settings(config: Path | None, store: Path | None) -> "LoadedSettings":
    """The settings of this command; ``store`` goes before ``store.dir``."""
    from nanobot_transcript.settings import load_settings

    overrides = {"store": {"dir": str(store.expanduser().absolute())}} if store is not None else None
    return load_settings(config, overrides=overrides)


@contextmanager
def opened_store(config: Path | None, store: Path | None) -> "Iterator[GroupTranscriptStore]":
    """The store that the settings name, closed at the end."""
    with read_settings(config, store).store.open() as opened:
        yield opened
