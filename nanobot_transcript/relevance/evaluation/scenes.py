"""Reads everyday scenes: short pieces of group chats with several bots, and who is expected to answer each line.

A file is one group, in YAML: its ``bots`` with descriptions, its ``people``, and ``scenes`` in order of time. A line
says who wrote what, how many seconds after the line before, and ``expect``: ``nobody``, a list of bots that should each
answer, ``{one_of: [...]}`` when exactly one of them should, or ``unclear``, which is not judged.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import ImportFormatError, NothingFoundError
from nanobot_transcript.identity import AgentProfile

__all__ = ["KINDS", "Expected", "Group", "LabelledLine", "labelled_lines", "read_groups"]

KINDS: Final = (
    "address",
    "follow-up",
    "correction",
    "courtesy",
    "talk-about",
    "open-question",
    "expert-question",
    "people",
    "announcement",
)
"""The kinds of lines of a person, in the order of the report."""

_FORM: Final = "docs/en/gate.md describes the files."
_BETWEEN_SCENES: Final = 6 * 3600
_BEGINNING: Final = 1_767_000_000
_HISTORY: Final = 200
_ODD_VALUES: Final = (ValueError, ArithmeticError, LookupError, AttributeError)
"""What PyYAML raises for dates, numbers and switches that are none."""


_Name = Annotated[str, msgspec.Meta(min_length=1)]


class _OneOf(msgspec.Struct, forbid_unknown_fields=True):
    one_of: list[str]


class _Bot(msgspec.Struct, forbid_unknown_fields=True):
    name: _Name
    aliases: list[str] = []
    description: str = ""


class _Line(msgspec.Struct, forbid_unknown_fields=True, rename={"by": "from"}):
    by: str
    text: str
    after: Annotated[float, msgspec.Meta(ge=0, le=86_400)] = 0.0
    reply: int | None = None
    expect: str | list[str] | _OneOf = "unclear"
    kind: str = ""


class _Scene(msgspec.Struct, forbid_unknown_fields=True):
    lines: list[_Line]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    group: str
    bots: Annotated[list[_Bot], msgspec.Meta(min_length=1)]
    people: list[_Name]
    scenes: list[_Scene]
    language: str = ""


class Expected(NamedTuple):
    """Who should answer: each of ``bots``, or with ``one`` exactly one of them. No bots: nobody."""

    bots: frozenset[str]
    one: bool = False

    def is_met(self, answered: frozenset[str]) -> bool:
        """True when those who answered are those who should."""
        return len(answered) == 1 and answered <= self.bots if self.one else answered == self.bots


class Group(NamedTuple):
    """A group and its scenes, as entries of a transcript. ``expected`` and ``kind`` are by message id."""

    name: str
    language: str
    members: list[AgentProfile]
    scenes: list[list[Entry]]
    expected: dict[str, Expected]
    kind: dict[str, str]

    @property
    def bots(self) -> list[AgentProfile]:
        """The members that could answer."""
        return [member for member in self.members if member.kind == "bot"]


class LabelledLine(NamedTuple):
    """A line to decide about, what was said before it, and who is expected to answer."""

    group: Group
    message: Entry
    history: Sequence[Entry]
    expected: Expected
    kind: str


def read_groups(folder: Path) -> list[Group]:
    """The groups of all ``.yaml`` files of a folder, by name.

    Raises ImportFormatError when one cannot be read, NothingFoundError when there is none, or no line is judged.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))
        groups = [_group(path, _bytes(path)) for path in paths]
    except OSError as error:
        raise ImportFormatError(f"{error.filename or folder} cannot be read: {error.strerror}.", hint=_FORM) from error
    if not any(group.expected for group in groups):
        what = "There is no group" if not groups else "No line says who is expected to answer"
        raise NothingFoundError(f"{what} in {folder}.", hint=_FORM)
    return groups


def labelled_lines(group: Group, *, warm: bool) -> Iterator[LabelledLine]:
    """The judged lines of a group. ``warm``: after the earlier scenes, hours ago; else each scene is the first one
    ever.
    """
    earlier: list[Entry] = []
    for scene in group.scenes:
        before = list(earlier) if warm else []
        for entry in scene:
            message_id = entry["message_id"]
            if message_id in group.expected:
                expected, kind = group.expected[message_id], group.kind[message_id]
                yield LabelledLine(group, entry, before[-_HISTORY:], expected, kind)
            before.append(entry)
        earlier += scene


def _bytes(path: Path) -> bytes:
    """What a file holds; refuses pipes, which would block."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ImportFormatError(f"{path} is not a file.", hint=_FORM)
    return path.read_bytes()


def _group(path: Path, data: bytes) -> Group:
    import yaml

    try:
        read = msgspec.convert(yaml.safe_load(data), _File)
    except (yaml.YAMLError, msgspec.ValidationError, RecursionError, *_ODD_VALUES) as error:
        reason = " ".join(str(error).split())
        raise ImportFormatError(f"{path} is not a group with scenes: {reason}.", hint=_FORM) from error
    return _Reader(path, read).group()


class _Reader:
    """Turns a file into a group, and checks what the schema alone cannot."""

    def __init__(self, path: Path, read: _File) -> None:
        self._path = path
        self._read = read
        bots = [
            AgentProfile(bot.name, tuple(bot.aliases), bot.description, frozenset({f"bot {bot.name}"}))
            for bot in read.bots
        ]
        people = [AgentProfile(name, ids=frozenset({f"on {name}"}), kind="human") for name in read.people]
        self._members: dict[str, AgentProfile] = {member.name: member for member in (*bots, *people)}
        if len(self._members) < len(bots) + len(people):
            raise self._wrong("two members have the same name")
        names = sorted(map(re.escape, self._members), key=len, reverse=True)
        self._mention: re.Pattern[str] = re.compile("@(" + "|".join(names or ["(?!)"]) + ")")
        self._expected: dict[str, Expected] = {}
        self._kinds: dict[str, str] = {}

    def group(self) -> Group:
        """The group. Raises ImportFormatError."""
        scenes: list[list[Entry]] = []
        ended = 0.0
        for number, scene in enumerate(self._read.scenes, 1):
            begins = max(_BEGINNING + number * _BETWEEN_SCENES, ended + _BETWEEN_SCENES / 2)
            entries, ended = self._scene(number, scene, begins)
            scenes.append(entries)
        members = list(self._members.values())
        return Group(self._read.group, self._read.language, members, scenes, self._expected, self._kinds)

    def _scene(self, number: int, scene: _Scene, seconds: float) -> tuple[list[Entry], float]:
        """The scene that begins then, and when it ends."""
        entries: list[Entry] = []
        for at, line in enumerate(scene.lines, 1):
            seconds += line.after
            message_id = f"{self._path.stem} {number}.{at}"
            entry = self._entry(message_id, line, seconds)
            if line.reply is not None:
                if not 1 <= line.reply < at:
                    raise self._wrong(f"line {number}.{at} replies to line {line.reply}, which is not before it")
                entry["reply_to"] = f"{self._path.stem} {number}.{line.reply}"
            entries.append(entry)
            if line.expect != "unclear":
                self._judge(message_id, line)
        return entries, seconds

    def _entry(self, message_id: str, line: _Line, seconds: float) -> Entry:
        writer = self._members.get(line.by)
        if writer is None:
            raise self._wrong(f"{message_id} is by {line.by}, who is not a member")
        mentioned = [self._members[name] for name in self._mention.findall(line.text)]
        entry: Any = {
            "role": "user",
            "content": line.text,
            "sender": min(writer.ids),
            "message_id": message_id,
            "ts": 1000 * seconds,
            "sender_name": writer.name,
            "mentions": [{"name": member.name, "id": min(member.ids)} for member in mentioned],
        }
        if writer.kind == "bot":
            entry.update(role="assistant", sender=writer.name, agent=writer.name)
        return entry

    def _judge(self, message_id: str, line: _Line) -> None:
        expected = self._expect(message_id, line.expect)
        if strangers := expected.bots - {bot.name for bot in self._read.bots}:
            raise self._wrong(f"{message_id} expects {min(strangers)}, which is not a bot of the group")
        if line.kind not in KINDS:
            has = f"is of the kind {line.kind}" if line.kind else "has no kind"
            raise self._wrong(f"{message_id} {has}; kinds are {', '.join(KINDS)}")
        self._expected[message_id], self._kinds[message_id] = expected, line.kind

    def _expect(self, message_id: str, expect: str | list[str] | _OneOf) -> Expected:
        if expect == "nobody":
            return Expected(frozenset())
        if isinstance(expect, str):
            forms = "nobody, unclear, a list such as [Alpha], or {one_of: [Alpha, Beta]}"
            raise self._wrong(f"{message_id} expects {expect!r}; write {forms}")
        if isinstance(expect, list):
            return Expected(frozenset(expect))
        if not expect.one_of:
            raise self._wrong(f"{message_id} has a one_of without bots; write nobody where no bot is to answer")
        return Expected(frozenset(expect.one_of), one=True)

    def _wrong(self, what: str) -> ImportFormatError:
        return ImportFormatError(f"{self._path} cannot be used: {what}.", hint=_FORM)
