"""Options that several commands share, and opening the store they name."""

import logging
import os
import stat
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from nanobot_transcript.cli.problems import UsageError
from nanobot_transcript.errors import ConfigError, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nanobot_transcript.record import Record
    from nanobot_transcript.settings import LoadedSettings
    from nanobot_transcript.settings.plain_names import DotenvUse
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = [
    "ChatArgument",
    "ConfigOption",
    "JsonOption",
    "JsonlOption",
    "StoreOption",
    "one_form",
    "opened_record",
    "opened_store",
    "read_settings",
    "require_directory",
    "warn_of_directory",
]

logger = logging.getLogger(__name__)

ChatArgument: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="CHAT", help="Session key, chat id, or the beginning of one.", show_default=False),
]
StoreOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--store", metavar="DIR", help="Directory of the transcripts, instead of store.dir.", readable=False
    ),  # whether it can be read is for us to say, and for doctor
]
ConfigOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Configuration file, instead of the usual places.", readable=False),
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
JsonlOption: TypeAlias = Annotated[bool, typer.Option("--jsonl", help="Print one JSON object per line, as it comes.")]


def read_settings(
    config: Path | None,
    store: Path | None,
    overrides: "Mapping[str, Any] | None" = None,
    *,
    dotenv: "DotenvUse" = "ours",
) -> "LoadedSettings":
    """The settings of this command; ``store`` goes before ``store.dir``, ``overrides`` before all else.

    ``dotenv`` is ``none`` for clients of the hub: a stranger's file must not say where a token is sent.
    """
    from nanobot_transcript.settings import load_settings

    place = {"store": {"dir": str(_expanded(store).absolute())}} if store is not None else {}
    return load_settings(config, overrides={**place, **(overrides or {})} or None, dotenv=dotenv)


@contextmanager
def opened_store(
    config: Path | None, store: Path | None, *, may_begin: bool = False, written: bool = False
) -> "Iterator[GroupTranscriptStore]":
    """The store that the settings name, closed at the end.

    Raises StoreUnavailableError when its directory cannot be read, or was named and is missing, unless the command
    ``may_begin`` a store; and when it is to be ``written`` and cannot be.
    """
    with opened_record(config, store, may_begin=may_begin, written=written) as record:
        yield record.store


@contextmanager
def opened_record(
    config: Path | None, store: Path | None, *, may_begin: bool = False, written: bool = False
) -> "Iterator[Record]":
    """The same for the whole record."""
    settings = read_settings(config, store)
    named = settings.origin_of("store.dir").kind != "default"
    require_directory(settings.store.dir, must_exist=named and not may_begin, written=written)
    with settings.open_record() as record:
        yield record


def one_form(*, json: bool, jsonl: bool) -> None:
    """Raise UsageError when both forms of output are asked for."""
    if json and jsonl:
        raise UsageError("--json prints one document, --jsonl one per line.", hint="Give one of them.")


def _expanded(store: Path) -> Path:
    try:
        return store.expanduser()
    except RuntimeError as error:
        raise ConfigError(f"There is no home for {store}.", hint="Write the whole path.") from error


def require_directory(
    base: Path, *, must_exist: bool = False, written: bool = False, setting: str = "store.dir"
) -> None:
    """Raise StoreUnavailableError when the directory of a setting cannot be read, or, if it is to be ``written``, not
    written or not made. Leaves nothing behind.
    """
    hint = f"Correct --store or {setting}; `nanobot-transcript doctor` says what is wrong with the directory."
    try:
        found = base.stat()
    except FileNotFoundError as error:
        if must_exist:
            raise StoreUnavailableError(f"There is no directory {base}.", hint=hint) from error
        if written:
            parent = next(folder for folder in base.parents if folder.exists())
            _try_to_write(parent, f"{base} does not exist and cannot be made in {parent}", hint)
        return
    except OSError as error:
        raise StoreUnavailableError(f"{base} cannot be read: {error.strerror}.", hint=hint) from error
    if not stat.S_ISDIR(found.st_mode):
        raise StoreUnavailableError(f"{base} is not a directory.", hint=hint)
    if not os.access(base, os.R_OK | os.X_OK):
        raise StoreUnavailableError(f"{base} cannot be read: Permission denied.", hint=hint)
    if written:
        _try_to_write(base, f"{base} cannot be written", hint)


def warn_of_directory(base: Path) -> None:
    """Say in one WARNING why a directory of transcripts cannot be read, for what can do without it."""
    try:
        require_directory(base)
    except StoreUnavailableError as error:
        logger.warning("%s %s", error, error.hint)


def _try_to_write(folder: Path, sentence: str, hint: str) -> None:
    try:
        tempfile.TemporaryDirectory(dir=folder, prefix=".probe-").cleanup()
    except OSError as error:
        raise StoreUnavailableError(f"{sentence}: {error.strerror}.", hint=hint) from error
