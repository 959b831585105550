"""The life of questions: asking, waiting, answering, closing. Knows neither HTTP nor MCP.

Everything is written to the store before anybody is told. What is only in memory (waiting callers and timers) is built
again from the store after a restart.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from hashlib import sha256
from typing import Any, Final, Protocol, TypeVar
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from nanobot_transcript.errors import InvalidQuestionError, StoreError, TranscriptError, UnknownQuestionError
from transcript_mcp.assistant.questions.contract import End, Ended, QuestionStore
from transcript_mcp.assistant.questions.notes import WaitingNotes
from transcript_mcp.assistant.questions.open_questions import Key, OpenQuestions, TimeUp, seconds_left
from transcript_mcp.assistant.questions.option_check import check_answer
from transcript_mcp.assistant.questions.rules import checked, clean_name, group_chat
from transcript_mcp.assistant.questions.values import (
    AnswerContent,
    AnswerOutcome,
    Ending,
    GivenAnswer,
    HistoryPage,
    HistoryQuery,
    Inquiry,
    Question,
    QuestionEvent,
    text_of,
)

__all__ = ["Assistant", "Desk", "Listener"]

logger = logging.getLogger(__name__)

_AGAIN: Final = 5.0
"""Seconds until the end of a question that could not be written is tried again."""

_T = TypeVar("_T")

Listener = Callable[[QuestionEvent], None]
"""Called on the event loop with each event."""


class Desk(Protocol):
    """Where agents ask: the ``Assistant`` of this process, or a hub (``RemoteDesk``)."""

    async def ask(self, question: Question) -> Inquiry: ...

    async def wait(self, scope: str, id: str, seconds: float | None = None) -> Inquiry: ...

    async def answer(
        self, scope: str, id: str, contents: Sequence[AnswerContent], *, by: str, where: str
    ) -> AnswerOutcome | None: ...

    async def withdraw(self, scope: str, id: str) -> Inquiry: ...

    async def messages_for(self, record: Inquiry) -> Sequence[Inquiry]: ...

    def delivered(self, record: Inquiry, *, arrived: bool) -> None: ...


class Assistant:
    """The questions of all scopes, for one event loop.

    ``grace``: seconds that a question stays open after the last waiting caller has left, unless the asker said that it
    will come back. ``overdue``: seconds that a question stays open which timed out while no hub ran, so that answers
    from the meantime still count. ``chat``: the group in which to ask questions that name none. ``lease``: that of
    ``unasked``, in seconds.
    """

    def __init__(
        self,
        store: QuestionStore,
        *,
        grace: float = 60.0,
        overdue: float = 5.0,
        chat: str = "",
        lease: float = 60.0,
    ) -> None:
        self._store = store
        self._chat = chat
        self._overdue = overdue
        self._open = OpenQuestions(self._expire, grace=grace)
        self.unasked = WaitingNotes(store, self._load, self._tell, lease=lease)
        self._listeners: list[Listener] = [self.unasked.on_event]
        self._loading = asyncio.Lock()
        self._loaded = False
        self._tasks: set[asyncio.Task[Any]] = set()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call the listener with every event of all scopes. Returns a function that ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def ask(self, question: Question) -> Inquiry:
        """Ask, or join the open question with this id. Raises InvalidQuestionError and StoreError."""
        question = checked(question)
        chat = self._chat if question.chat is None else question.chat
        question = replace(question, chat=group_chat(chat) if question.expects else "")
        await self._load()
        return await self._to_the_end(self._put(question))

    async def wait(self, scope: str, id: str, seconds: float | None = None) -> Inquiry:
        """The inquiry once it has ended, or its current state after ``seconds``.

        Raises UnknownQuestionError, and StoreError when its time is over but that cannot be written: then the question
        stays open, and an answer still counts, until writing succeeds.
        """
        await self._load()
        held = self._open.get(scope, id)
        if held is None:
            record = await self._store.get(scope, id)
            if record is None or record.question.kind == "message":
                raise _unknown()
            return record
        caller: asyncio.Future[Inquiry] = asyncio.get_running_loop().create_future()
        self._open.join(held, caller)
        try:
            async with asyncio.timeout(seconds):
                return await caller
        except TimeoutError:
            return held.record if caller.cancelled() else caller.result()
        finally:
            self._open.leave(held, caller)

    async def answer(
        self,
        scope: str,
        id: str,
        contents: Sequence[AnswerContent],
        *,
        by: str,
        where: str,
        origin: str = "",
        refuses: bool = False,
    ) -> AnswerOutcome:
        """Answer a question or confirm a report. The first answer counts; the outcome says whether it was this one.

        With ``refuses`` it ends with an error instead of an answer; the contents may give the reason. An answer to a
        report that wants none becomes a message to its agent. ``origin``: the connection that need not be told. Raises
        UnknownQuestionError and InvalidQuestionError.
        """
        (outcome,) = await self.answer_all([GivenAnswer(scope, id, tuple(contents), by, where, origin, refuses)])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def answer_all(self, answers: Sequence[GivenAnswer]) -> Sequence[AnswerOutcome | Exception]:
        """Answer many at once. Where ``answer`` would raise, the outcome is the exception."""
        await self._load()
        wrong = [self._wrong(answer) for answer in answers]
        good = [answer for answer, error in zip(answers, wrong, strict=True) if error is None]
        ends = [self._end_of(*each.key, each.ending, each.origin) for each in good]
        ended = await self._end_all(ends) if ends else []
        found = list(map(_outcome, ended))
        late = [self._say(answer, ended) for answer, ended, found in zip(good, ended, found, strict=True) if not found]
        said = iter(await asyncio.gather(*late) if late else ())
        outcomes = iter([each or next(said) for each in found])
        return [error or next(outcomes) for error in wrong]

    async def withdraw(self, scope: str, id: str) -> Inquiry:
        """Withdraw a question. Returns its current state. Raises UnknownQuestionError."""
        await self._load()
        outcome = await self._end(scope, id, Ending("withdrawn"))
        if outcome is None:
            raise _unknown()
        return outcome[0]

    async def shown(self, scope: str, id: str, clients: int) -> None:
        """Count ``clients`` more that were sent the question."""
        held = self._open.get(scope, id)
        if held is not None:
            held.record = replace(held.record, shown=held.record.shown + clients)
        await self._store.shown(scope, id, clients)

    async def write(
        self, message: Question, contents: Sequence[AnswerContent] = (), *, by: str, where: str, origin: str = ""
    ) -> Inquiry:
        """Write to the agent with this project and name; it gets the message with its next answer."""
        message = checked(replace(message, kind="message", id=message.id or uuid4().hex, expects=False), bool(contents))
        record, new = await self._store.write(message, Ending("waiting", by, where, tuple(contents)))
        if record.question.kind != "message":
            raise InvalidQuestionError("This id belongs to a question.", hint="Give each message its own id.")
        if new:
            self._tell(QuestionEvent("message", record, origin))
        return record

    async def messages_for(self, record: Inquiry) -> Sequence[Inquiry]:
        """Messages for the agent that gets this answer; they are reserved for it until ``delivered`` is called."""
        return await self.unasked.bring(record.question) if record.has_messages else ()

    def delivered(self, record: Inquiry, *, arrived: bool) -> None:
        """Say whether an answer with its messages was written to the asker; if not, they go with a later answer."""
        self.unasked.brought(record.question, arrived=arrived)

    async def waiting(self, scope: str | None) -> Sequence[Inquiry]:
        """Open questions, the oldest first; of all scopes with None."""
        await self._load()
        return self._open.records(scope)

    async def ended(self, since: float) -> Sequence[tuple[str, str]]:
        """Scope and id of questions in groups that have ended since then (seconds since 1970), the newest first."""
        return await self._store.ended(since)

    async def history(self, scopes: tuple[str, ...], query: HistoryQuery) -> HistoryPage:
        """Inquiries of these scopes, the newest first."""
        return await self._store.history(scopes, query)

    async def key_of(self, scopes: tuple[str, ...], id: str) -> tuple[str, str]:
        """Scope and id of the only question with this id in these scopes. Raises UnknownQuestionError."""
        found = await self._store.history(scopes, HistoryQuery(ids=(id,), words_only=True))
        keys = [each.question.key for each in found.records if each.question.kind != "message"]
        if len(keys) != 1:
            raise _unknown()
        return keys[0]

    async def scope_of(self, scopes: tuple[str, ...], message: Question) -> str:
        """The scope of a message: where it is stored already, else where its agent waits, else where it last asked.

        Raises InvalidQuestionError if none of these is known.
        """
        if len(scopes) == 1:
            return scopes[0]
        message = replace(message, project=clean_name(message.project), agent=clean_name(message.agent))
        about = HistoryQuery(project=message.project, agent=message.agent, limit=1, words_only=True)
        sent = await self._store.history(scopes, replace(about, ids=(message.id,)))
        waits = [each for each in scopes if self.unasked.is_awaited(replace(message, scope=each))]
        heard = sent.records or (() if waits else (await self._store.history(scopes, about)).records)
        known = [each.question.scope for each in heard] or waits
        if not known:
            raise InvalidQuestionError(
                "It is not known yet which program this agent runs in.",
                hint="Write to it once it has asked or reported something, or is waiting in i_tool.",
            )
        return known[0]

    def close(self) -> None:
        """Close the store. Open questions stay open for the next process."""
        self._store.close()

    # -- what is kept, and what follows from it; whoever asked for it may be gone by then ----------------

    async def _put(self, question: Question) -> Inquiry:
        with self._open.room_for(question):
            record, new = await self._store.put(question, "waiting" if question.expects else "notified", self._opened)
        if (record.question.kind, record.question.text) != (question.kind, question.text):
            raise InvalidQuestionError("This id belongs to another question.", hint="Give each question its own id.")
        if new:
            await self.unasked.on_new_question(question)
        return record

    def _opened(self, kept: Sequence[Any]) -> None:
        (outcome,) = kept
        if isinstance(outcome, Exception):
            return
        record, new = outcome
        waits = record.state == "waiting" and record.question.kind != "message"
        if waits and self._open.get(*record.question.key) is None:
            self._open.add(record, record.question.timeout)
        if new:
            self._tell(QuestionEvent("asked", record))

    def _wrong(self, answer: GivenAnswer) -> InvalidQuestionError | None:
        """What is wrong with an answer."""
        if answer.refuses:
            return None
        try:
            if not answer.contents:
                raise InvalidQuestionError("An answer needs content.", hint="Send a text, a picture or a file.")
            held = self._open.get(answer.scope, answer.id)
            if held is not None and answer.where != "group":  # GroupQuestions has checked, and replied in the group
                check_answer(held.record.question, answer.contents)
        except InvalidQuestionError as error:
            return error
        return None

    async def _say(self, answer: GivenAnswer, report: Ended | Exception) -> AnswerOutcome | Exception:
        """Keep an answer to a report that wants none as a message to its agent."""
        assert isinstance(report, tuple)
        record, _ = report
        about, contents = record.question, answer.contents
        own = _id_of(about.id, answer.by, contents)  # repeated by the same person, it is the same message
        written = replace(about, id=own, kind="message", choices=(), text=text_of(contents))
        files = tuple(each for each in contents if each.kind != "text")
        try:
            await self.write(written, files, by=answer.by, where=answer.where)
        except TranscriptError as error:
            return error
        return AnswerOutcome(True, record)

    def _end_of(self, scope: str, id: str, ending: Ending, origin: str = "") -> End:
        held = self._open.get(scope, id)
        return End(scope, id, ending, held.record if held is not None else None, origin)

    async def _end(self, scope: str, id: str, ending: Ending, unless: Callable[[], bool] | None = None) -> Ended:
        (ended,) = await self._end_all([self._end_of(scope, id, ending)._replace(unless=unless)])
        if isinstance(ended, Exception):
            raise ended
        return ended

    async def _end_all(self, ends: Sequence[End]) -> Sequence[Ended | Exception]:
        """The outcome of each. Listeners are told of all that ended, even if the caller is gone."""

        def close(all_ended: Sequence[Ended | Exception]) -> None:
            for end, ended in zip(ends, all_ended, strict=True):
                if isinstance(ended, tuple):
                    record, first = ended
                    if record.state != "waiting":
                        self._close(record, end.origin if first else "")
                elif ended is None and end.known is not None:  # the database was replaced; the agent can ask again
                    self._close(replace(end.known, state="cancelled"))

        return await self._store.end_all(ends, close)

    async def _to_the_end(self, work: Coroutine[Any, Any, _T]) -> _T:
        """The result of the work, which goes on if the caller is cancelled: what was stored must be announced."""
        return await asyncio.shield(self._start(work))

    # -- the end of time, and news -----------------------------------------------------------------------------

    async def _load(self) -> None:
        """Load the open questions of the previous process, once."""
        if self._loaded:
            return
        async with self._loading:
            if not self._loaded:
                await self._store.free()
                for record in await self._store.waiting():
                    self._open.add(record, seconds_left(record, self._overdue))
                self._loaded = True

    def _expire(self, key: Key, state: TimeUp) -> None:
        self._start(self._expired(key, Ending(state)))

    async def _expired(self, key: Key, ending: Ending) -> None:
        held = self._open.get(*key)
        try:
            await self._end(*key, ending, held.is_wanted if held is not None and ending.state == "cancelled" else None)
            held = self._open.get(*key)
            if held is not None:  # a caller came back at the last moment
                self._open.keep_open(held)
        except StoreError as error:
            logger.warning("A question that has ended cannot be saved yet: %s", error)
            held = self._open.get(*key)
            if held is not None and ending.state == "timeout":
                self._open.expire_in(held, _AGAIN)
                held.fail(error)
            elif held is not None:  # a caller may come back
                self._open.keep_open(held)

    def _close(self, record: Inquiry, origin: str = "") -> None:
        """Close what has ended and tell everybody but ``origin``."""
        if self._open.close(record):
            self._tell(QuestionEvent("answered" if record.is_replied_to else "closed", record, origin))

    def _tell(self, event: QuestionEvent) -> None:
        for listener in list(self._listeners):
            try:
                listener(event)
            except Exception:
                logger.exception("A listener of the assistant failed")

    def _start(self, work: Coroutine[Any, Any, _T]) -> "asyncio.Task[_T]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)
        return task

    def _on_task_done(self, task: "asyncio.Task[Any]") -> None:
        """Log the error of a task: its caller may be gone."""
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, TranscriptError):
            logger.error("A task of the assistant failed", exc_info=error)


def _outcome(ended: Ended | Exception) -> AnswerOutcome | Exception | None:
    """The outcome of a valid answer; None if it still has to be stored as a message."""
    if isinstance(ended, Exception):
        return ended
    if ended is None or ended[0].question.kind == "message":
        return _unknown()
    record, first = ended
    return AnswerOutcome(first, record) if first or record.state != "notified" else None


def _id_of(*parts: Any) -> str:
    return sha256(msgspec.msgpack.encode(parts)).hexdigest()[:32]


def _unknown() -> UnknownQuestionError:
    return UnknownQuestionError(
        "There is no question with this id.",
        hint="Check the id, or ask again. An id is valid only with the token it was asked with.",
    )
