"""Options that several commands share, and opening the store they name."""

import logging
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from nanobot_transcript.cli.terminal.command_hints import given
from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.errors import ConfigError, StoreUnavailableError
from nanobot_transcript.files.access import refuse_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nanobot_transcript.record import Record
    from nanobot_transcript.settings import LoadedSettings
    from nanobot_transcript.settings.environment import DotenvUse
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = [
    "ChatArgument",
    "ConfigOption",
    "ConfigOrCOption",
    "IdsOption",
    "JsonOption",
    "JsonlOption",
    "NeededChat",
    "StoreOption",
    "expanded",
    "one_form",
    "opened_record",
    "opened_store",
    "read_settings",
    "warn_of_record",
]

logger = logging.getLogger(__name__)

_CHAT: Final = typer.Argument(
    metavar="CHAT", help="Session key, chat id, or the beginning or end of one.", show_default=False
)
ChatArgument: TypeAlias = Annotated[str | None, _CHAT]
NeededChat: TypeAlias = Annotated[str, _CHAT]
"""The same where a chat has to be named."""
StoreOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="DIR",
        help="Directory of the transcripts, instead of record.url and store.dir.",
        readable=False,
    ),  # not checked by the parser: our own error, and doctor, say more
]
ConfigOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Configuration file, instead of the usual places.", readable=False),
]
ConfigOrCOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "-c", "--config", metavar="FILE", help="Configuration file, instead of the usual places.", readable=False
    ),
]
IdsOption: TypeAlias = Annotated[
    bool, typer.Option("--ids", help="Show the short id of each message, which `gate explain` understands.")
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
JsonlOption: TypeAlias = Annotated[bool, typer.Option("--jsonl", help="Print one JSON object per line, as it comes.")]


def read_settings(
    config: Path | None,
    store: Path | None,
    overrides: "Mapping[str, Any] | None" = None,
    *,
    dotenv: "DotenvUse" = "ours",
    later: bool = False,
) -> "LoadedSettings":
    """The settings of this command; ``store`` overrides ``store.dir`` and ``record.url``, ``overrides`` everything.

    ``dotenv`` is ``none`` for clients of the hub: a ``.env`` in somebody else's folder must not decide where a token is
    sent. ``later``: see ``load_settings``.
    """
    from nanobot_transcript.settings import load_settings

    place: dict[str, Any] = {}
    if store is not None:
        place = {"store": {"dir": str(expanded(store).absolute())}, "record": {"url": ""}}
    return load_settings(config, overrides={**place, **(overrides or {})} or None, dotenv=dotenv, later=later)


@contextmanager
def opened_store(
    config: Path | None, store: Path | None, *, may_begin: bool = False, written: bool = False, spooled: bool = True
) -> "Iterator[GroupTranscriptStore]":
    """The store that the settings name, closed at the end. Only without a spool (``spooled`` false) it can tell of each
    message whether it is new to the record.

    Raises StoreUnavailableError when the record cannot be read; when it was named and does not exist, unless the
    command ``may_begin`` one; and when it has to be ``written`` and cannot be.
    """
    with opened_record(config, store, may_begin=may_begin, written=written, spooled=spooled) as record:
        yield record.store


@contextmanager
def opened_record(
    config: Path | None, store: Path | None, *, may_begin: bool = False, written: bool = False, spooled: bool = True
) -> "Iterator[Record]":
    """The same for the whole record. Commands in hints have ``config`` and ``store`` meanwhile, see ``again``."""
    settings = read_settings(config, store)
    with settings.open_record(spooled=spooled) as record, given(config, store):
        record.require(exists=settings.names_record and not may_begin, written=written)
        yield record


def one_form(*, json: bool, jsonl: bool) -> None:
    """Raise UsageError when both forms of output are asked for."""
    if json and jsonl:
        raise UsageError(said("--json prints one document, --jsonl one per line."), hint=said("Give one of them."))


def expanded(store: Path) -> Path:
    """A path with the home directory for ``~``. Raises ConfigError where there is none, and for an address."""
    refuse_address(store)
    try:
        return store.expanduser()
    except RuntimeError as error:
        raise ConfigError(
            said("There is no home directory for {store}.", store=store), hint=said("Write the full path.")
        ) from error


def warn_of_record(settings: "LoadedSettings") -> None:
    """Log one warning if the record cannot be read, for commands that also work without it."""
    with settings.open_record() as record:
        try:
            record.require()
        except StoreUnavailableError as error:
            logger.warning("%s %s", error, error.hint)
