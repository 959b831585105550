"""Where settings come from: each source as a plain nested dictionary that knows where it got its values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from nanobot_transcript.settings.unset_variables import Unset

__all__ = ["REFERENCE", "Origin", "Source", "command_line", "origin_of"]

REFERENCE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""``${VAR}`` in a file: its group is the name of the variable."""

_Kind: TypeAlias = Literal["command line", "environment", "file", "default"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from; ``written`` is the text before ``${VAR}`` was filled in, when it was."""

    kind: _Kind
    where: str = ""
    written: str | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.where}".rstrip()

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that the value is made of."""
        if self.kind == "environment":
            return (self.where,)
        return tuple(REFERENCE.findall(self.written or ""))


@dataclass(frozen=True, slots=True)
class Source:
    """The values of one source and the origin of each by dotted key; a section's serves what is in it."""

    values: dict[str, Any]
    kind: _Kind
    origins: dict[str, Origin] = field(default_factory=dict)
    unset: dict[str, Unset] = field(default_factory=dict)
    """By key: what refers to a variable that is not set. Its value is None, in a list one of its items."""

    def holds(self, path: Sequence[str]) -> bool:
        """True when it says something about the setting or section behind these parts of a key."""
        values: Any = self.values
        for part in path:
            if not isinstance(values, dict) or part not in values:
                return False
            values = values[part]
        return True

    def origin(self, key: str) -> Origin:
        """The origin of a value, of the nearest section around it, or of something in it."""
        around = key
        while around:
            if around in self.origins:
                return self.origins[around]
            around = around.rpartition(".")[0]
        below = (origin for inner, origin in self.origins.items() if inner.startswith(f"{key}."))
        return next(below, Origin(self.kind))


def origin_of(key: str, sources: Sequence[Source]) -> Origin:
    """Where the value of a dotted key comes from: the first of the sources that has it."""
    for source in sources:
        if source.holds(key.split(".")):
            return source.origin(key)
    return Origin("default")


def command_line(overrides: dict[str, Any]) -> Source:
    """The options of a command, nested; None stands for an option that was not given."""
    return Source(_without_none(overrides), "command line")


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    nested = {key: _without_none(value) if isinstance(value, dict) else value for key, value in values.items()}
    return {key: value for key, value in nested.items() if value is not None}
