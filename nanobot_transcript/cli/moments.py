"""Points in time as people write them."""

import re
from datetime import datetime, timedelta
from typing import Annotated, Final, TypeAlias

import typer

from nanobot_transcript.cli.problems import UsageError

__all__ = ["SinceOption", "UntilOption", "local", "moment_ms"]

_AGE: Final = re.compile(r"(\d+)\s*(m|min|h|d|w)")
_UNIT: Final = {"m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_CLOCK: Final = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")

SinceOption: TypeAlias = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="From then on: 2h, 3d, 20:30, 2025-11-20 or with a time.")
]
UntilOption: TypeAlias = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Before then.")]


def moment_ms(text: str | None) -> float | None:
    """Milliseconds since 1970 of an age (``30m``, ``2h``, ``3d``, ``1w``), ``now``, a time of today, a day, or a day
    and time.

    Without a zone it is local time. Raises UsageError.
    """
    if text is None:
        return None
    age = _AGE.fullmatch(text.strip())
    now = datetime.now().astimezone()
    try:
        if text.strip() == "now":
            moment = now
        elif age:
            moment = now - timedelta(**{_UNIT[age[2]]: int(age[1])})
        elif _CLOCK.fullmatch(text.strip()):
            hour, _, rest = text.strip().partition(":")
            moment = datetime.fromisoformat(f"{now.date()}T{hour:0>2}:{rest}").astimezone()
        else:
            moment = datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{text!r} is no point in time.", hint="Write now, 30m, 2h, 3d, 20:30, 2025-11-20 or 2025-11-20T20:30."
        ) from error
    return moment.timestamp() * 1000


def local(ts: float) -> datetime:
    """The local time of an entry; what no calendar holds becomes 1970."""
    try:
        return datetime.fromtimestamp(ts / 1000).astimezone()
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0).astimezone()
