"""What somebody who claims files may say: paths, how long, why."""

import math
from collections.abc import Collection, Sequence
from typing import Any, Final, cast

from nanobot_transcript.errors import InvalidLetterError
from transcript_mcp.mail import matching
from transcript_mcp.mail.claim_values import ClaimOptions
from transcript_mcp.mail.texts import line

__all__ = ["bounded", "flag", "paths", "patterns", "reason", "ttl"]

_LONGEST_REASON: Final = 500


def ttl(ttl_seconds: Any, options: ClaimOptions) -> float:
    """Seconds within the bounds. Raises InvalidLetterError."""
    if ttl_seconds is None:
        return options.default_ttl
    number = isinstance(ttl_seconds, int | float) and not isinstance(ttl_seconds, bool)
    shortest, longest = options.shortest_ttl, options.longest_ttl
    if not number or math.isnan(ttl_seconds) or not shortest <= ttl_seconds <= longest:
        raise InvalidLetterError(
            f"A claim lasts from {shortest:,.0f} to {longest:,.0f} seconds, not {str(ttl_seconds)[:40]!r}.",
            hint="Take the time that the work needs; renew_claims makes it longer, release_claims ends it.",
        )
    return float(ttl_seconds)


def paths(given: Any, options: ClaimOptions) -> list[str]:
    """A path alone is what a list of one path is. Raises InvalidLetterError."""
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, Sequence) or isinstance(listed, bytes) or not listed:
        raise InvalidLetterError(
            f"The paths are a list of at least one path or pattern, not {str(given)[:40]!r}.",
            hint="For example: src/api/*.py",
        )
    if len(listed) > options.max_paths:
        raise InvalidLetterError(
            f"These are {len(listed):,} paths; {options.max_paths:,} are allowed.",
            hint="Name their folder, or use a pattern such as src/**.",
        )
    return list(cast("Sequence[str]", listed))


def patterns(given: Sequence[str], root: str) -> list[str]:
    """The paths as they are kept, each once. Raises InvalidLetterError."""
    try:
        return list(dict.fromkeys(matching.normalised(path, root) for path in given))
    except ValueError as error:
        raise InvalidLetterError(
            str(error), hint="Give paths relative to the project's folder: src/api, src/*.py, docs/**."
        ) from error


def bounded(wanted: Collection[str], own: Collection[str], in_project: int, options: ClaimOptions) -> None:
    """Raises InvalidLetterError when the agent, who has ``own``, or the project would have too many active claims."""
    new = sum(1 for path in wanted if path not in own)
    if not new:
        return
    if len(own) + new > options.max_of_agent:
        raise InvalidLetterError(
            f"You would hold {len(own) + new:,} paths; an agent has {options.max_of_agent:,} at most.",
            hint="Release what you are done with, or claim folders and patterns such as src/**.",
        )
    if in_project + new > options.max_in_project:
        raise InvalidLetterError(
            f"The project would have {in_project + new:,} claims; {options.max_in_project:,} are allowed.",
            hint="list_claims shows who holds them; wait, or ask their holders to release some.",
        )


def flag(exclusive: Any) -> bool:
    """Raises InvalidLetterError."""
    if not isinstance(exclusive, bool):
        raise InvalidLetterError(f"exclusive is true or false, not {str(exclusive)[:40]!r}.")
    return exclusive


def reason(given: Any) -> str:
    """One line, may be empty. Raises InvalidLetterError."""
    return line("reason", " ".join(str(given or "").split()), _LONGEST_REASON, empty=True)
