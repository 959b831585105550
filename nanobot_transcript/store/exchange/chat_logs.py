"""Understanding other programs' chat logs, line by line: IRC logs and plain text.

IRC: ``[12:18] <nick> text``, ``12:18:03 <@nick> text``, ``2004-11-15 12:18 <nick> text``, ``[12:18]  * nick waves``.
Plain text: ``name: text``, ``[2024-05-01 12:00:05] name: text``, ``2024-05-01T12:00Z name: text``.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Final, Literal, TypeAlias

__all__ = ["Clock", "LogLine", "Parser", "irc_line", "text_line"]


@dataclass(frozen=True, slots=True)
class LogLine:
    """One understood line. ``skip`` is a notice that nobody said, ``more`` continues the message before it.

    ``when`` tells the line's time from others' (a local time, or one with its zone); "" without a time.
    """

    kind: Literal["message", "skip", "more"]
    sender: str = ""
    text: str = ""
    when: datetime | None = None


class Clock:
    """Adds days to the times of a log: one that says ``23:59`` and then ``00:01`` has passed midnight.

    ``latest`` is the last time before the log named a day itself; None when it named one first.
    """

    def __init__(self, day: date) -> None:
        self.day = day
        self.latest: datetime | None = None
        self._told = False
        self._last: time | None = None

    def at(self, match: "re.Match[str]") -> datetime | None:
        """The time of a line that has the groups ``date``, ``hour``, ``minute``, ``second``, ``zone``."""
        parts = match.groupdict()
        if not parts.get("hour"):
            return None
        try:
            moment = time(int(parts["hour"]), int(parts["minute"]), int(parts.get("second") or 0))
            day = _day(parts.get("date"))
        except ValueError:
            return None
        if day is not None:
            self.day, self._told = day, True
        elif self._last is not None and _half_a_day_back(self._last, moment):
            self.day += timedelta(days=1)
        self._last = moment
        when = datetime.combine(self.day, moment, _zone(parts.get("zone")))
        if not self._told and (self.latest is None or when.replace(tzinfo=None) > self.latest.replace(tzinfo=None)):
            self.latest = when
        return when

    def turn_to(self, day: date) -> None:
        """A line of the log announced a new day."""
        self.day, self._last, self._told = day, None, True


Parser: TypeAlias = Callable[[str, Clock], LogLine | None]

_DATE: Final = r"(?P<date>\d{4}[-/.]\d{1,2}[-/.]\d{1,2})"
_TIME: Final = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?"
_ZONE: Final = r"(?P<zone>Z|[+-]\d{2}:?\d{2})?"
_STAMP: Final = rf"\[?(?:{_DATE}[T ,]+)?{_TIME}\s?{_ZONE}\]?"
_IRC: Final = re.compile(rf"{_STAMP}\s+<[ @+%&~!]?(?P<name>[^>\s]+)>(?:\s(?P<text>.*))?", re.DOTALL)
_IRC_ACTION: Final = re.compile(rf"{_STAMP}\s+\*\s(?P<name>\S+)(?:\s(?P<text>.*))?", re.DOTALL)
_IRC_NOTICE: Final = re.compile(rf"{_STAMP}\s+-(?P<name>[^:\s]+):[#&]\S+-\s(?P<text>.*)", re.DOTALL)
_IRC_SERVER: Final = re.compile(rf"(?:{_STAMP}\s+)?(?:===|---|-!-|\*\*\*|-->|<--|<->|-[^\s:]+-)(?:\s.*|$)", re.DOTALL)
_IRC_DAY: Final = re.compile(
    r"--- (?:Day changed|Log opened) \w{3} (?P<month>\w{3}) (?P<day>\d{1,2})(?: [\d:]+)? (?P<year>\d{4})"
)
_NAME: Final = r"(?P<name>[^\s:：<>\[\]{}\"*#/-][^:：<>\[\]]{0,39}?)\s*(?::(?:\s+|$)|：\s*)(?P<text>.*)"
_STAMPED: Final = re.compile(rf"{_STAMP}(?:\s*[-,|]\s*|\s+){_NAME}", re.DOTALL)
_NAMED: Final = re.compile(_NAME, re.DOTALL)
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def irc_line(line: str, clock: Clock) -> LogLine | None:
    """A line of an IRC log; None when it is not one."""
    for pattern in (_IRC, _IRC_NOTICE):
        match = pattern.fullmatch(line)
        if match:
            return LogLine("message", match["name"], match["text"] or "", clock.at(match))
    match = _IRC_ACTION.fullmatch(line)
    if match:
        return LogLine("message", match["name"], f"* {match['name']} {match['text'] or ''}".rstrip(), clock.at(match))
    match = _IRC_DAY.match(line)
    if match and match["month"] in _MONTHS:
        clock.turn_to(date(int(match["year"]), _MONTHS.index(match["month"]) + 1, int(match["day"])))
    return LogLine("skip") if _IRC_SERVER.fullmatch(line) else None


def text_line(line: str, clock: Clock) -> LogLine | None:
    """A line of a plain log; None when it is not one. An indented line continues the message before it."""
    match = _STAMPED.fullmatch(line)
    if match:
        return LogLine("message", match["name"].strip(), match["text"], clock.at(match))
    if line[:1].isspace():
        return LogLine("more", text=line.strip())
    match = _NAMED.fullmatch(line)
    return LogLine("message", match["name"].strip(), match["text"]) if match else None


def _day(text: str | None) -> date | None:
    if not text:
        return None
    year, month, day = re.split(r"[-/.]", text)
    return date(int(year), int(month), int(day))


def _zone(text: str | None) -> timezone | None:
    if not text:
        return None
    if text == "Z":
        return UTC
    sign = -1 if text[0] == "-" else 1
    digits = text[1:].replace(":", "")
    return timezone(sign * timedelta(hours=int(digits[:2]), minutes=int(digits[2:])))


def _half_a_day_back(last: time, now: time) -> bool:
    return (last.hour * 60 + last.minute) - (now.hour * 60 + now.minute) > 12 * 60
