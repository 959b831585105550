"""Settings that refer to environment variables that are not set."""

from collections.abc import Sequence
from dataclasses import dataclass

from nanobot_transcript.errors import ConfigError

__all__ = ["Unset", "unset_error"]


@dataclass(frozen=True, slots=True)
class Unset:
    """A setting with the parts of its key, ``where`` it was set, how it is ``written`` (an item, if it is a list), and
    the ``variables`` that are missing. ``waits``: see ``Traits``.
    """

    path: tuple[str, ...]
    where: str
    written: str
    variables: tuple[str, ...]
    waits: bool

    @property
    def key(self) -> str:
        """Its dotted key."""
        return ".".join(self.path)

    def is_below(self, *keys: str) -> bool:
        """True for a setting at or below one of these keys."""
        return any(f"{self.key}.".startswith(f"{key}.") for key in keys)

    @property
    def sentence(self) -> str:
        """What is missing, and which setting refers to it."""
        named = _and([f"${{{name}}}" for name in self.variables])
        is_not = "which is not set" if len(self.variables) == 1 else "which are not set"
        return f"{self.key} ({self.where}) refers to {named}, {is_not}."


def unset_error(found: Sequence[Unset]) -> ConfigError:
    """One error for all of them, with a line for each setting."""
    names = list(dict.fromkeys(name for one in found for name in one.variables))
    several = len(names) > 1
    hint = (
        f"Set the environment variable{'s' if several else ''} {_and(names)}, "
        f"or write the value{'s themselves' if several else ' itself'}."
    )
    return ConfigError("\n".join(one.sentence for one in found), hint=hint)


def _and(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
