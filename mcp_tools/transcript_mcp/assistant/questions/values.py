"""The values of this room: questions with choices, answers, inquiries, and queries of the history."""

from typing import Final, Literal, TypeAlias

import msgspec

from nanobot_transcript.coordination.clock import Moment

__all__ = [
    "AnswerContent",
    "AnswerOutcome",
    "Choices",
    "Ending",
    "GivenAnswer",
    "HistoryPage",
    "HistoryQuery",
    "Inquiry",
    "Kind",
    "Option",
    "Question",
    "QuestionEvent",
    "State",
    "text_of",
]

Kind: TypeAlias = Literal["question", "report", "message"]
"""An agent's question, an agent's report, or what a person wrote to an agent unasked."""

State: TypeAlias = Literal[
    "waiting", "answered", "refused", "timeout", "cancelled", "withdrawn", "notified", "picked_up"
]
"""``refused``: a person declined to answer. ``cancelled``: nobody waits for the answer any more. ``withdrawn``: taken
back by the asker. ``notified``: a report that wants no answer. ``picked_up``: a message that reached its agent."""


class AnswerContent(msgspec.Struct, frozen=True, omit_defaults=True):
    """A piece of an answer. ``data`` are the bytes of all but text, ``uri`` the name of a file."""

    kind: Literal["text", "image", "audio", "file"]
    text: str = ""
    data: bytes = b""
    mime_type: str = ""
    uri: str = ""


class Option(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of the choices."""

    label: str
    description: str = ""


class Choices(msgspec.Struct, frozen=True, omit_defaults=True):
    """One set of options: choose one, or several with ``multiple``; ``custom`` also allows free text."""

    question: str
    header: str = ""
    options: tuple[Option, ...] = ()
    multiple: bool = False
    custom: bool = True


class Question(msgspec.Struct, frozen=True):
    """A question or report of an agent, or a message to it; see ``Kind``.

    ``scope`` separates the owners of different tokens. ``timeout`` is in seconds. ``expects`` is False for what needs
    no answer. ``fetched``: the asker will come back for the answer by the id; otherwise the question is cancelled some
    time after the last waiting caller has left. ``said_as``: its command in the wire protocol. ``chat``: the session
    key of a group in which to ask as well; "" for none, None for the one in the settings.
    """

    scope: str
    id: str
    kind: Kind
    text: str
    said_as: str = ""
    project: str = ""
    agent: str = ""
    model: str = ""
    client: str = ""
    choices: tuple[Choices, ...] = ()
    timeout: int = 600
    expects: bool = True
    fetched: bool = False
    chat: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Scope and id, which identify it."""
        return self.scope, self.id


class Ending(msgspec.Struct, frozen=True):
    """How a question ends: its final state, and by whom, where and with which contents it was answered."""

    state: State
    by: str = ""
    where: str = ""
    contents: tuple[AnswerContent, ...] = ()


class Inquiry(msgspec.Struct, frozen=True):
    """A question with its state and answer. Times are seconds since 1970; ``seq`` grows with each inquiry.

    ``shown``: how many clients were sent it. Of a message, ``by`` is its author, ``contents`` its attachments, and
    ``taken_by`` the id of the question with whose answer the agent got it. ``has_messages`` is False if certainly no
    message waited for the agent when its question ended. ``asked_at`` is the time of ``asked_ts`` by the uptime.
    """

    question: Question
    seq: int
    asked_ts: float
    state: State
    shown: int = 0
    ended_ts: float | None = None
    by: str = ""
    where: str = ""
    taken_by: str = ""
    contents: tuple[AnswerContent, ...] = ()
    has_messages: bool = True
    asked_at: Moment = Moment()

    @property
    def is_replied_to(self) -> bool:
        """Whether a person has answered or refused it."""
        return self.state in ("answered", "refused")


class GivenAnswer(msgspec.Struct, frozen=True):
    """A person's answer to the question or report ``id`` of a scope. ``origin``: the connection that need not be told
    of it. With ``refuses`` it ends the question with an error, and may have no contents.
    """

    scope: str
    id: str
    contents: tuple[AnswerContent, ...]
    by: str
    where: str
    origin: str = ""
    refuses: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """Scope and id of the question."""
        return self.scope, self.id

    @property
    def ending(self) -> Ending:
        """How it ends the question."""
        return Ending("refused" if self.refuses else "answered", self.by, self.where, self.contents)


class AnswerOutcome(msgspec.Struct, frozen=True):
    """The result of an answer: whether it was the first, and the inquiry now."""

    accepted: bool
    record: Inquiry


class QuestionEvent(msgspec.Struct, frozen=True):
    """An event for listeners: a question was asked, answered (or refused) or closed without a reply; a message was
    written (``message``) or reached its agent (``picked_up``). ``origin``: the connection that caused it, if any.
    """

    kind: Literal["asked", "answered", "closed", "message", "picked_up"]
    record: Inquiry
    origin: str = ""

    @property
    def scope(self) -> str:
        """The scope whose clients may see it."""
        return self.record.question.scope


DEFAULT_LIMIT: Final = 50


class HistoryQuery(msgspec.Struct, frozen=True):
    """A query of the history: inquiries with these words, of this project and agent (None: any), older than ``before``
    (0: any), with one of the ``ids`` or ``keys`` (scope and id; none of both: any). ``words_only`` leaves out pictures
    and files.
    """

    text: str = ""
    project: str | None = None
    agent: str | None = None
    before: int = 0
    limit: int = DEFAULT_LIMIT
    ids: tuple[str, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()
    words_only: bool = False

    @property
    def named(self) -> tuple[str, ...]:
        """All ids in ``ids`` and ``keys``."""
        return (*self.ids, *(each for _, each in self.keys))


class HistoryPage(msgspec.Struct, frozen=True):
    """Inquiries, the newest first. ``next_before``: the ``before`` of the next page, 0 at the end. ``size``: bytes,
    roughly.
    """

    records: tuple[Inquiry, ...]
    next_before: int = 0
    size: int = 0


def text_of(contents: tuple[AnswerContent, ...]) -> str:
    """The text parts of an answer."""
    return "\n".join(each.text for each in contents if each.kind == "text")
