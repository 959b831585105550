"""Points in time as people write them, in English and Chinese."""

import re
from datetime import date, datetime, time, timedelta
from typing import Annotated, Final, TypeAlias

import typer

from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.cli.terminal.language import said

__all__ = ["SinceOption", "UntilOption", "day_called", "local", "moment_ms"]

_UNITS: Final = {
    "minutes": ("m", "min", "mins", "minute", "minutes", "分钟"),
    "hours": ("h", "hr", "hrs", "hour", "hours", "小时", "个小时"),
    "days": ("d", "day", "days", "天"),
    "weeks": ("w", "week", "weeks", "周", "星期"),
}
_UNIT: Final = {word: unit for unit, words in _UNITS.items() for word in words}
_AGE: Final = re.compile(rf"(\d+)\s*({'|'.join(_UNIT)})(?:\s*(?:ago|前|以前|之前))?")
_DAY_AND_CLOCK: Final = re.compile(r"(?P<day>.*?)\s*(?P<clock>\d{1,2}:\d{2}(?::\d{2})?)?", re.DOTALL)
_NOW: Final = frozenset({"now", "现在"})
_DAYS_AGO: Final = {"today": 0, "yesterday": 1, "今天": 0, "昨天": 1, "前天": 2}
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ZH_WEEKDAY: Final = re.compile(r"(?:周|星期|礼拜)([一二三四五六日天])")
_EXAMPLES: Final = "Write now, 30m, 2h, 3d, yesterday, monday, 20:30, 2025-11-20 or 2025-11-20T20:30."

SinceOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        help="Only from then on: 2h, 3d, 20:30, yesterday, monday, 2025-11-20 or with a time.",
    ),
]
UntilOption: TypeAlias = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Only before then.")]


def moment_ms(text: str | None, now: datetime | None = None) -> float | None:
    """Milliseconds since 1970 of an age (``30m``, ``2 hours ago``, ``3天前``), of ``now``, or of a day, a time of it
    (today, where no day is named), or both: ``yesterday``, ``20:30``, ``monday 9:00``, ``昨天 20:30``, ``2025-11-20``.

    A day means its beginning; a weekday is the latest one, today included. Without a zone it is local time; ``now``
    has one. Raises UsageError.
    """
    if text is None:
        return None
    try:
        return _moment(text.strip(), now or datetime.now().astimezone()).timestamp() * 1000
    except (ValueError, OverflowError) as error:
        raise UsageError(said("{text} is not a time.", text=repr(text)), hint=said(_EXAMPLES)) from error


def day_called(text: str) -> date:
    """The day that is called so: ``yesterday``, ``monday``, ``2025-11-20``. Raises UsageError."""
    try:
        return _day(text.strip(), datetime.now().astimezone().date())
    except (ValueError, OverflowError) as error:
        raise UsageError(said("{text} is not a day.", text=repr(text)), hint=said("Write it as 2025-11-20.")) from error


def _moment(said: str, now: datetime) -> datetime:
    """Raises ValueError and OverflowError."""
    if said.lower() in _NOW:
        return now
    if age := _AGE.fullmatch(said.lower()):
        return now - timedelta(**{_UNIT[age[2]]: int(age[1])})
    parts = _DAY_AND_CLOCK.fullmatch(said)
    if not said or parts is None:
        raise ValueError("no time is given")
    try:
        day = _day(parts["day"] or "today", now.date())
    except ValueError:
        return datetime.fromisoformat(said).astimezone()  # a day with T and a time, or with a zone
    hour, _, rest = (parts["clock"] or "0:00").partition(":")
    return datetime.combine(day, time.fromisoformat(f"{hour:0>2}:{rest}")).astimezone()


def _day(said: str, today: date) -> date:
    """Raises ValueError and OverflowError."""
    word = said.lower()
    if word in _DAYS_AGO:
        return today - timedelta(days=_DAYS_AGO[word])
    weekday = _weekday(word)
    if weekday is not None:
        return today - timedelta(days=(today.weekday() - weekday) % 7)
    return date.fromisoformat(said)


def _weekday(word: str) -> int | None:
    """The number of a weekday, in full or in three letters; None for another word."""
    if found := _ZH_WEEKDAY.fullmatch(word):
        return min("一二三四五六日天".index(found[1]), 6)
    return next((number for number, name in enumerate(_WEEKDAYS) if word in (name, name[:3])), None)


def local(ts: float) -> datetime:
    """The local time of an entry; what no calendar holds becomes 1970."""
    try:
        return datetime.fromtimestamp(ts / 1000).astimezone()
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0).astimezone()
