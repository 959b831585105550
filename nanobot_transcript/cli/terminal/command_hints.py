"""Commands in hints, ready to be copied: with the ``--config`` and ``--store`` that were given."""

import shlex
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple

from nanobot_transcript.cli.terminal.language import said

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["again", "elsewhere", "given"]


class _Given(NamedTuple):
    config: "Path | None" = None
    store: "Path | None" = None


_NOTHING: Final = _Given()
_GIVEN: ContextVar[_Given] = ContextVar("given", default=_NOTHING)


@contextmanager
def given(config: "Path | None", store: "Path | None") -> "Iterator[None]":
    """Within this block, ``again`` adds these options to commands."""
    token = _GIVEN.set(_Given(config, store))
    try:
        yield
    finally:
        _GIVEN.reset(token)


def again(command: str, *names: str) -> str:
    """A command of ours, quoted for a shell, with its arguments and the options of the command that runs now.

    >>> again("gate explain", "feishu:oc_1", "om_1")
    'nanobot-transcript gate explain feishu:oc_1 om_1'
    """
    options = [("--config", _GIVEN.get().config), ("--store", _GIVEN.get().store)]
    told = [word for name, path in options if path is not None for word in (name, str(path))]
    return " ".join(["nanobot-transcript", command, *map(shlex.quote, [*names, *told])])


def elsewhere() -> str:
    """A sentence about where else the record may be; empty where its place was given."""
    if _GIVEN.get() != _NOTHING:
        return ""
    return said("If it is somewhere else, pass its folder with --store DIR, or the bots' settings with --config FILE.")
