"""Asks questions in group chats, too: posts them through the outbox, and passes on the answers given there.

Nothing is stored here. The id of a question's post is derived from the question, so a restarted hub finds it again.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final

from nanobot_transcript.coordination.contract import Ear
from nanobot_transcript.coordination.first_of import first_of
from nanobot_transcript.errors import InvalidPostError, PostConflictError, StoreError, TranscriptError, UnknownPostError
from nanobot_transcript.outbox import Answer, Postbox, post_id_for
from nanobot_transcript.sql.outage import level_of
from nanobot_transcript.store.members import MemberDirectory
from nanobot_transcript.threads import in_thread
from transcript_mcp.assistant.group_cards import chosen, closed_card, question_card, replied, wrong_choice
from transcript_mcp.assistant.questions.service import Assistant
from transcript_mcp.assistant.questions.values import Inquiry, Question, QuestionEvent

__all__ = ["GroupQuestions"]

logger = logging.getLogger(__name__)

_LOOK_EVERY: Final = 5.0
"""Seconds after which the outbox is checked for answers even without a signal."""

_AFTER_TROUBLE: Final = 5.0
_AT_THE_END: Final = 3.0
"""Seconds for updating cards when the hub stops; the next start updates the rest."""

_DAY: Final = 86_400.0
"""Seconds that a question may have ended before its card came into the outbox."""


class GroupQuestions:
    """``members`` gives the names of people who answer, and the bots of each chat."""

    def __init__(self, assistant: Assistant, outbox: Postbox, members: MemberDirectory) -> None:
        self._assistant = assistant
        self._outbox = outbox
        self._members = members
        self._news: deque[Inquiry] = deque()
        self._heard = asyncio.Event()
        self._asked: dict[str, Inquiry] = {}
        """Open questions by the id of their post."""
        self._seen = 0
        """The number of the newest answer that was handled."""
        self._taken_up = False
        self._edition: object = None
        """The outbox's database file, to which these numbers belong."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Post questions and listen for answers within the block."""
        stop = self._assistant.listen(self._hear)
        working = asyncio.create_task(self._work())
        try:
            yield
        finally:
            stop()
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            with suppress(TimeoutError, TranscriptError):
                async with asyncio.timeout(_AT_THE_END):
                    await self._tell_news()
            await in_thread(self._outbox.close)

    def _hear(self, event: QuestionEvent) -> None:
        if event.record.question.chat and event.kind in ("asked", "answered", "closed"):
            self._news.append(event.record)
            self._heard.set()

    async def _work(self) -> None:
        with self._outbox.listen() as ear:
            while True:
                try:
                    await self._take_up()
                    await self._take_news(ear)
                    await self._look()
                except TranscriptError as error:
                    level = level_of(error, logging.WARNING)
                    logger.log(level, "Questions cannot be asked in groups now: %s %s", error, error.hint)
                    await asyncio.sleep(_AFTER_TROUBLE)
                except Exception:
                    logger.exception("Asking in groups failed; trying again in %.0f s", _AFTER_TROUBLE)
                    await asyncio.sleep(_AFTER_TROUBLE)

    async def _take_up(self) -> None:
        """Post all open questions, at the start and when the outbox's file was replaced, and all posts lost with it."""
        edition = await in_thread(self._outbox.edition)
        if not self._taken_up or (self._edition is not None and edition != self._edition):
            self._seen = 0
            waiting = await self._waiting()
            self._asked |= {_post_id(record.question.scope, record.question.id): record for record in waiting}
            # First the answers that came while no hub ran: some of their questions time out in seconds.
            await self._look()
            self._news.extend([*await self._left_open(), *await self._waiting()])
            self._taken_up = True
        self._edition = edition

    async def _waiting(self) -> list[Inquiry]:
        return [record for record in await self._assistant.waiting(None) if record.question.chat]

    async def _left_open(self) -> list[Inquiry]:
        """Questions that have ended, but whose cards the last hub did not get to update."""
        posts = {post.id: post.created_ms for post in await in_thread(self._outbox.open_posts)}
        if not posts:
            return []
        ended = await self._assistant.ended(min(posts.values()) / 1000 - _DAY)
        return [await self._assistant.wait(*key, 0) for key in ended if _post_id(*key) in posts]

    async def _take_news(self, ear: Ear) -> None:
        """Show the changes so far, in order; if there are none, wait for a change or an answer."""
        if not self._news:
            self._heard.clear()
            await first_of(ear.wait(_LOOK_EVERY), self._heard.wait())
        await self._tell_news()

    async def _tell_news(self) -> None:
        while self._news:
            record = self._news[0]
            with _isolated("A question cannot be shown", record):
                await self._tell(record)
            self._news.popleft()

    async def _tell(self, record: Inquiry) -> None:
        """Show in the chat how a question stands."""
        post_id = _post_id(record.question.scope, record.question.id)
        if record.state == "waiting":
            await in_thread(self._post, record.question)
            self._asked[post_id] = record
        else:
            self._asked.pop(post_id, None)
            await in_thread(self._close, post_id, record)

    def _post(self, question: Question) -> None:
        """Put the question's card into its chat, once. An asking agent that is a bot in the chat posts it itself."""
        chat = question.chat or ""
        bots = [member.name for member in self._members.of_chat(chat) if member.kind == "bot"]
        agent = question.agent if question.agent in bots else None
        card, life, key = question_card(question), float(question.timeout), _key(question.scope, question.id)
        # A different card under the same key: another version posted it, or the bot has left the chat since.
        with suppress(PostConflictError):
            self._outbox.post(chat, card=card, agent=agent, idempotency_key=key, expires_in=life)

    def _close(self, post_id: str, record: Inquiry) -> None:
        # The card first: while the post is open for answers, a restarted hub knows that this is still to be done.
        try:
            self._outbox.revise(post_id, closed_card(record))
        except UnknownPostError:
            return  # its chat was erased
        except InvalidPostError:
            self._outbox.close_answers(post_id)
            raise
        self._outbox.close_answers(post_id)

    async def _look(self) -> None:
        """Pass on answers from the chats. If writing fails, ``_seen`` stays, and they are handled again."""
        while self._asked and (answers := await in_thread(self._outbox.news, self._seen)):
            found: dict[str, list[Answer]] = {}
            for post_id, answer in answers:
                if post_id in self._asked:
                    found.setdefault(post_id, []).append(answer)
            # Concurrently: answers to several questions then share one transaction.
            handing = [self._hand_on_in_turn(post_id, each) for post_id, each in found.items()]
            outcomes = await asyncio.gather(*handing, return_exceptions=True)
            for failure in filter(None, outcomes):
                raise failure
            self._seen = answers[-1][1].seq

    async def _hand_on_in_turn(self, post_id: str, answers: Sequence[Answer]) -> None:
        record = self._asked[post_id]
        for answer in answers:
            with _isolated("An answer cannot be saved", record):
                await self._hand_on(record.question, post_id, answer)

    async def _hand_on(self, question: Question, post_id: str, answer: Answer) -> None:
        if answer.kind == "action":
            contents = chosen(question, answer.value, answer.form)
        else:
            contents = replied(question, answer.text)
        if contents:
            by = answer.sender_name or await in_thread(self._members.name_of, answer.sender) or answer.sender
            await self._assistant.answer(question.scope, question.id, contents, by=by, where="group")
        elif answer.kind == "reply":
            await in_thread(
                self._outbox.post,
                question.chat or "",
                wrong_choice(question),
                reply_to=answer.message_id,
                wants_answers=False,
                idempotency_key=f"wrong choice\0{post_id}\0{answer.message_id}",
            )


def _key(scope: str, id: str) -> str:
    """The idempotency key of a question's post."""
    return f"question\0{scope}\0{id}"


def _post_id(scope: str, id: str) -> str:
    return post_id_for(_key(scope, id))


@contextmanager
def _isolated(failed: str, record: Inquiry) -> Iterator[None]:
    """Log an error that concerns one question, so that the others go on. Raises StoreError, which concerns all."""
    try:
        yield
    except StoreError:
        raise
    except TranscriptError as error:
        logger.warning("%s (%s): %s", failed, record.question.chat, error)
    except Exception:
        logger.exception("%s (%s)", failed, record.question.chat)
