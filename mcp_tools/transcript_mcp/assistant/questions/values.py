"""What is asked, what is answered, and what becomes of it."""

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
"""``refused``: whoever was asked said that there is no answer. ``cancelled``: nobody waits for the answer any more.
``withdrawn``: taken back by whoever asked. ``notified``: a report that wants no answer. ``picked_up``: a message that
its agent has got."""


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
    """What may be chosen: one of the options or several (``multiple``), in own words too with ``custom``."""

    question: str
    header: str = ""
    options: tuple[Option, ...] = ()
    multiple: bool = False
    custom: bool = True


class Question(msgspec.Struct, frozen=True):
    """What an agent asks or reports (or what it is told, see ``Kind``), and on whose behalf.

    ``scope`` separates the holders of different tokens. ``timeout`` is in seconds. ``expects`` is False for what nobody
    has to answer. ``fetched`` says that the asker comes back for the answer by the id; otherwise the question is
    cancelled some time after the last one who waited for it has gone. ``said_as`` is the command of the wire. ``chat``
    is the session key of a group in which it is asked, too; "" for none, None for the one of the settings.
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
        """What it is known by: scope and id."""
        return self.scope, self.id


class Ending(msgspec.Struct, frozen=True):
    """How it ends: ``by`` whom and ``where`` it was answered, with what."""

    state: State
    by: str = ""
    where: str = ""
    contents: tuple[AnswerContent, ...] = ()


class Inquiry(msgspec.Struct, frozen=True):
    """A question and what has become of it. Times are seconds since 1970; ``seq`` grows with each of them.

    ``shown`` counts the clients that were sent it. For a message, ``by`` is who wrote it and ``contents`` what came
    with it, and ``taken_by`` is the id of the question with whose answer the agent got it. ``has_messages`` is False
    where certainly none waited for the agent when its question ended. ``asked_at`` is ``asked_ts`` by another clock.
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
        """Whether somebody has ended it with what they said."""
        return self.state in ("answered", "refused")


class GivenAnswer(msgspec.Struct, frozen=True):
    """What somebody says to the question or report ``id`` of a scope. ``origin`` is the connection that needs not be
    told of it. With ``refuses`` it is an error in place of an answer, and may have no content.
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
        """Scope and id of what is answered."""
        return self.scope, self.id

    @property
    def ending(self) -> Ending:
        """What it makes of the question."""
        return Ending("refused" if self.refuses else "answered", self.by, self.where, self.contents)


class AnswerOutcome(msgspec.Struct, frozen=True):
    """What came of an answer: whether it was the first, and how the question stands now."""

    accepted: bool
    record: Inquiry


class QuestionEvent(msgspec.Struct, frozen=True):
    """News for listeners: a record was asked, answered (or refused), closed without a reply, written to an agent
    (``message``) or got by it (``picked_up``). ``origin`` is the connection that caused it, if one did.
    """

    kind: Literal["asked", "answered", "closed", "message", "picked_up"]
    record: Inquiry
    origin: str = ""

    @property
    def scope(self) -> str:
        """Whose eyes it is for."""
        return self.record.question.scope


DEFAULT_LIMIT: Final = 50


class HistoryQuery(msgspec.Struct, frozen=True):
    """Which records: those with these words, of this project and agent (None: any), older than ``before`` (0: any),
    with one of these ids, or of these scopes and ids (none of both: any). ``words_only`` leaves pictures and files of
    answers out.
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
        """All ids that are asked for, in whatever scope; empty where none is."""
        return (*self.ids, *(each for _, each in self.keys))


class HistoryPage(msgspec.Struct, frozen=True):
    """Records, the newest first. ``next_before`` is where the next page begins, 0 at the end; ``size`` is about how
    many bytes it has.
    """

    records: tuple[Inquiry, ...]
    next_before: int = 0
    size: int = 0


def text_of(contents: tuple[AnswerContent, ...]) -> str:
    """The words of an answer."""
    return "\n".join(each.text for each in contents if each.kind == "text")
