"""Answers of a judge, recorded once and replayed as often as needed, so that the judge need not be asked again.

One JSON line for each answer: ``v``, ``key``, ``model``, ``respond`` (true, false, or null when the answer was
unclear), ``seconds``, and ``prompt_tokens`` and ``completion_tokens`` when the endpoint reports them. No line holds
text of a conversation or an answer: ``key`` is a SHA-256 of the prompt and the name of the model.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

import msgspec

from nanobot_transcript.errors import ImportFormatError, StoreBusyError, StoreFullError, StoreUnavailableError
from nanobot_transcript.files.descriptors import to_append, to_read
from nanobot_transcript.files.lock import acquire
from nanobot_transcript.files.os_errors import FULL
from nanobot_transcript.relevance.judge import Prompt

__all__ = ["FORMAT", "RecordedAnswer", "RecordedJudge", "Recording", "key_of"]

FORMAT: Final = 1
_HINT: Final = "Name a file that was written with --record, or a new one."
_AGAIN: Final = "Free some space; the same command continues where it stopped."
_BEGINNING: Final = b'{"v":'
_LONGEST_LINE: Final = 10_000

_Tokens = Annotated[int, msgspec.Meta(ge=0)]


class RecordedAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A judge's answer to one question. ``respond`` is None when it said neither yes nor no."""

    key: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    model: str
    respond: bool | None
    seconds: Annotated[float, msgspec.Meta(ge=0)]
    prompt_tokens: _Tokens | None = None
    completion_tokens: _Tokens | None = None


class _Line(msgspec.Struct):
    v: int


def key_of(prompt: Prompt, model: str) -> str:
    """The key (64 hex digits) of a model's answer to a prompt."""
    return hashlib.sha256(json.dumps([model, prompt.system, prompt.user]).encode()).hexdigest()


class Recording:
    """The recorded answers in the file ``path``, possibly of several models.

    With ``may_begin`` a missing file counts as an empty one. ``unread`` lines could not be read, ``foreign`` lines are
    of another version; ``kept`` counts the answers that were added. Of two answers with one key the later counts.
    Raises ImportFormatError when the file cannot be read, or holds something else.
    """

    def __init__(self, path: Path, *, may_begin: bool = False) -> None:
        self.path: Path = path
        self.unread: int = 0
        self.foreign: int = 0
        self.kept: int = 0
        self._known: dict[str, RecordedAnswer] = {}
        strange = False
        try:
            for line in _lines(path):
                strange |= not self._take(line)
        except FileNotFoundError as error:
            if not may_begin:
                raise ImportFormatError(f"There is no file {path}.", hint="Add --record to record answers.") from error
        except OSError as error:
            raise ImportFormatError(f"{path} cannot be read: {error.strerror}.", hint=_HINT) from error
        if not self._known and (strange or self.foreign):
            what = "is of another version" if self.foreign else "holds no recorded answers"
            raise ImportFormatError(f"{path} {what}.", hint=_HINT)

    def __len__(self) -> int:
        return len(self._known)

    @property
    def models(self) -> list[str]:
        """The models whose answers these are, by name."""
        return sorted({answer.model for answer in self._known.values()})

    def get(self, key: str) -> RecordedAnswer | None:
        """The recorded answer with a key."""
        return self._known.get(key)

    @contextmanager
    def recording(self) -> Iterator[Callable[[RecordedAnswer], None]]:
        """Yields a function that adds an answer to the file at once, so that it survives the process.

        Raises StoreBusyError while another process records into the file, StoreUnavailableError when it cannot be
        written, StoreFullError when there is no space left.
        """
        try:
            descriptor = to_append(str(self.path.resolve()))
        except OSError as error:
            raise self._unwritten(error) from error
        try:
            if not acquire(descriptor, 0.0):
                raise StoreBusyError(f"Another process is recording into {self.path}.", hint="Wait until it is done.")
            yield lambda answer: self._add(descriptor, answer)
        finally:
            os.close(descriptor)

    def _take(self, line: bytes) -> bool:
        """Add a line; False for one that is no record of ours, not even a cut one."""
        try:
            if msgspec.json.decode(line, type=_Line).v != FORMAT:
                self.foreign += 1
                return True
            answer = msgspec.json.decode(line, type=RecordedAnswer)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self.unread += 1
            return line.startswith(_BEGINNING) or _BEGINNING.startswith(line)
        self._known[answer.key] = answer
        return True

    def _add(self, descriptor: int, answer: RecordedAnswer) -> None:
        line = msgspec.json.encode({"v": FORMAT, **msgspec.to_builtins(answer)}) + b"\n"
        try:
            if _is_cut(descriptor):
                line = b"\n" + line
            written = os.write(descriptor, line)
        except OSError as error:
            raise self._unwritten(error) from error
        if written < len(line):
            raise StoreFullError(f"No space is left to write {self.path}.", hint=_AGAIN)
        self._known[answer.key] = answer
        self.kept += 1

    def _unwritten(self, error: OSError) -> StoreFullError | StoreUnavailableError:
        if error.errno in FULL:
            return StoreFullError(f"No space is left to write {self.path}.", hint=_AGAIN)
        return StoreUnavailableError(f"{self.path} cannot be written: {error.strerror}.", hint="Name another file.")


@dataclass(eq=False, slots=True)
class RecordedJudge:
    """A ``Judge`` of a ``model`` that replays recorded answers; nothing is asked.

    An answer that took longer than ``patience`` seconds, or is not recorded, is a TimeoutError, so the gate treats it
    like a late judge. ``told`` holds the answers in the order of the questions, None for a missing one; ``questions``
    all keys; ``missing`` the prompts without an answer, by key; ``unclear`` those whose answer said neither yes nor no.
    """

    _answers: Recording
    model: str
    patience: float
    told: list[RecordedAnswer | None] = field(default_factory=list, init=False)
    questions: set[str] = field(default_factory=set, init=False)
    missing: dict[str, Prompt] = field(default_factory=dict, init=False)
    unclear: dict[str, Prompt] = field(default_factory=dict, init=False)

    async def __call__(self, prompt: Prompt, /) -> str | bool:
        key = key_of(prompt, self.model)
        answer = self._answers.get(key)
        self.told.append(answer)
        self.questions.add(key)
        if answer is None:
            self.missing[key] = prompt
            raise TimeoutError("no answer to this was recorded")
        self.missing.pop(key, None)
        if answer.respond is None:
            self.unclear[key] = prompt
        if answer.seconds > self.patience:
            raise TimeoutError("the answer came too late")
        return "" if answer.respond is None else answer.respond


def _lines(path: Path) -> Iterator[bytes]:
    """Lines that are not blank; a line longer than any of ours comes in pieces."""
    with os.fdopen(to_read(str(path.resolve())), "rb") as file:
        while line := file.readline(_LONGEST_LINE):
            if stripped := line.strip():
                yield stripped


def _is_cut(descriptor: int) -> bool:
    """True when the last line has no newline: its writer lost power, or somebody edited the file by hand."""
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
