"""Questions that are asked in a group chat, too: put there through the outbox, answered there or anywhere else.

Nothing is kept here. A question's post is found again by the question itself, so that a hub that was killed goes on.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from nanobot_transcript.errors import AssistantError, InvalidPostError, PostConflictError, TranscriptError
from nanobot_transcript.outbox import Answer, Outbox
from nanobot_transcript.store.members import MemberDirectory
from transcript_mcp.assistant.group_cards import chosen, closed_card, question_card, replied, wrong_choice
from transcript_mcp.assistant.service import Assistant
from transcript_mcp.assistant.values import Event, Question, Record
from transcript_mcp.sdk.threads import in_thread

__all__ = ["GroupQuestions"]

logger = logging.getLogger(__name__)

_LOOK_EVERY: Final = 0.5
_AFTER_TROUBLE: Final = 5.0


@dataclass(slots=True)
class _Asked:
    record: Record
    post_id: str


class GroupQuestions:
    """``members`` of the chats say who answered, and which bots there are."""

    def __init__(self, assistant: Assistant, outbox: Outbox, members: MemberDirectory) -> None:
        self._assistant = assistant
        self._outbox = outbox
        self._members = members
        self._news: asyncio.Queue[Record] = asyncio.Queue()
        self._asked: dict[str, _Asked] = {}
        """By the id of the post."""
        self._seen = 0
        """The number of the newest answer that was looked at."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Ask and listen inside of this."""
        stop = self._assistant.listen(self._hear)
        working = asyncio.create_task(self._work())
        try:
            yield
        finally:
            stop()
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            self._outbox.close()

    def _hear(self, event: Event) -> None:
        if event.record.question.chat and event.kind in ("asked", "answered", "closed"):
            self._news.put_nowait(event.record)

    async def _work(self) -> None:
        taken_up = False
        while True:
            try:
                if not taken_up:
                    for record in await self._assistant.waiting(None):
                        await self._tell_if_possible(record)
                    taken_up = True
                await self._take_news()
                await self._look()
            except TranscriptError as error:
                logger.warning("Questions cannot be asked in groups now: %s %s", error, error.hint)
                await asyncio.sleep(_AFTER_TROUBLE)
            except Exception:
                logger.exception("Asking in groups failed; it goes on in %.0f s", _AFTER_TROUBLE)
                await asyncio.sleep(_AFTER_TROUBLE)

    async def _take_news(self) -> None:
        """Tell what happened until now; wait a moment when it was nothing."""
        try:
            async with asyncio.timeout(_LOOK_EVERY):
                record = await self._news.get()
        except TimeoutError:
            return
        while True:
            try:
                await self._tell_if_possible(record)
            except BaseException:
                self._news.put_nowait(record)
                raise
            if self._news.empty():
                return
            record = self._news.get_nowait()

    async def _tell_if_possible(self, record: Record) -> None:
        if not record.question.chat:
            return
        try:
            await self._tell(record)
        except InvalidPostError as error:
            logger.warning("A question cannot be asked in %s: %s", record.question.chat, error)

    async def _tell(self, record: Record) -> None:
        """Show in the chat how a question stands."""
        post_id = await in_thread(self._post, record.question)
        if record.state == "waiting":
            self._asked[post_id] = _Asked(record, post_id)
            return
        self._asked.pop(post_id, None)
        await in_thread(self._outbox.revise, post_id, closed_card(record))
        await in_thread(self._outbox.close_answers, post_id)

    def _post(self, question: Question) -> str:
        """Put the question's card into its chat, once. A bot that asks says it itself, where it sits in the chat."""
        chat, key = question.chat or "", f"question\0{question.scope}\0{question.id}"
        bots = [member.name for member in self._members.of_chat(chat) if member.kind == "bot"]
        agent = question.agent if question.agent in bots else None
        card, life = question_card(question), float(question.timeout)
        try:
            return self._outbox.post(chat, card=card, agent=agent, idempotency_key=key, expires_in=life)
        except PostConflictError:  # it stands there: as another version made it, or before the bot left the chat
            return self._outbox.id_for(key)

    async def _look(self) -> None:
        """Hand on what was answered in the chats. Nothing is lost when that fails: it is looked at again."""
        if not self._asked:
            return
        for post_id, answer in await in_thread(self._outbox.news, self._seen):
            asked = self._asked.get(post_id)
            if asked is not None:
                try:
                    await self._hand_on(asked, answer)
                except (AssistantError, InvalidPostError) as error:  # now or later; the others need not wait for that
                    logger.warning("An answer from %s could not be kept: %s", asked.record.question.chat, error)
            self._seen = answer.seq

    async def _hand_on(self, asked: _Asked, answer: Answer) -> None:
        question = asked.record.question
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
                idempotency_key=f"wrong choice\0{asked.post_id}\0{answer.message_id}",
            )
