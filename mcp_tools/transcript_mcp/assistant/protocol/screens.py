"""The clients with which people see and answer questions: what they are sent, and what they send.

Each frame is one WebsocketMessage. Nothing of a scope reaches a client that has not logged in to it. Sockets are
elsewhere (``sockets``): a screen takes bytes and gives bytes.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

from msgspec.structs import replace

from nanobot_transcript.errors import InvalidQuestionError, TokenRefusedError, TranscriptError
from transcript_mcp.assistant.protocol import frames, proto, wire
from transcript_mcp.assistant.protocol.offload import Offload
from transcript_mcp.assistant.protocol.shown_ids import ShownIds
from transcript_mcp.assistant.questions.rules import clean_name
from transcript_mcp.assistant.questions.service import Assistant
from transcript_mcp.assistant.questions.values import (
    DEFAULT_LIMIT,
    GivenAnswer,
    HistoryPage,
    HistoryQuery,
    Inquiry,
    Question,
    QuestionEvent,
)
from transcript_mcp.door.identity import Tokens

__all__ = ["REPLIES", "Screen", "Screens"]

logger = logging.getLogger(__name__)

_LONGEST_NAME: Final = 100
_SHORT_ID: Final = 8
"""Characters of a client's id in the name of a client that gave none."""

_LONGEST_CHAT: Final = 100_000
_AFTER_CALLERS: Final = 0.005
"""Seconds until pages hear that a question has ended: the agent that waits for the answer is served first."""

REPLIES: Final = {"AskQuestionReply": "question", "WorkReportReply": "report", "TaskFinishReply": "report"}


@dataclass(eq=False)
class Screen:
    """One client. ``send`` queues a frame and never waits; ``ready`` waits until the client has read nearly all.

    ``scopes`` is None until it has logged in. ``unshown``: open questions, by scope and id, that were not sent to it
    yet.
    """

    send: Callable[[bytes], None]
    ready: Callable[[], Awaitable[None]]
    id: str = field(default_factory=lambda: uuid4().hex)
    scopes: tuple[str, ...] | None = None
    nickname: str = ""
    since: float = field(default_factory=time.time)
    unshown: dict[tuple[str, str], Inquiry] = field(default_factory=dict)
    showing: asyncio.Task[None] | None = None


class Screens:
    """All clients of one hub."""

    def __init__(self, assistant: Assistant, tokens: Tokens) -> None:
        self._assistant = assistant
        self._tokens = tokens
        self._ids = ShownIds(tokens.shared)
        self._aside = Offload()
        self._screens: dict[str, Screen] = {}
        self._replies: list[tuple[Screen, str, GivenAnswer]] = []
        self._answering: asyncio.Task[None] | None = None
        self._endings: list[QuestionEvent] = []
        self._counting: set[asyncio.Task[None]] = set()
        self._commands: dict[str, Callable[[Screen, tuple[str, ...], proto.WebsocketMessage], Awaitable[None]]] = {
            "CheckMessageValidity": self._validity,
            "GetPendingMessages": self._pending,
            "GetOnlineUsers": self._users,
            "SendChatMessage": self._chat,
            "GetHistory": self._history,
            "AgentMessage": self._message,
        }
        assistant.listen(self._on_event)

    def connect(self, send: Callable[[bytes], None], ready: Callable[[], Awaitable[None]]) -> Screen:
        """A client that has not logged in yet; see ``Screen``."""
        screen = Screen(send, ready)
        self._screens[screen.id] = screen
        return screen

    def leave(self, screen: Screen) -> None:
        """The client has disconnected."""
        self._screens.pop(screen.id, None)
        if screen.showing is not None:
            screen.showing.cancel()
        self._presence(screen, "disconnected")

    async def handle(self, screen: Screen, frame: proto.WebsocketMessage) -> None:
        """Handle one frame of a client. Errors are answered with an Error frame."""
        with self._telling(screen, frame.Cmd):
            if frame.Cmd == "UserLogin":
                await self._login(screen, frame)
            elif screen.scopes is None:
                raise _not_logged_in()
            elif frame.Cmd in self._commands:
                await self._commands[frame.Cmd](screen, screen.scopes, frame)
            else:
                raise InvalidQuestionError("There is no such command.", hint="See agentassist.proto.")

    async def reply(self, screen: Screen, frame: proto.WebsocketMessage) -> "asyncio.Task[None] | None":
        """Handle one frame of ``REPLIES``, in a batch with those that other clients send at the same moment.

        Returns the task of the batch; None for a wrong frame, which is answered with an Error frame.
        """
        answer: GivenAnswer | None = None
        with self._telling(screen, frame.Cmd):
            answer = await self._parse_answer(screen, frame)
        if answer is None:
            return None
        if not self._replies:
            self._answering = asyncio.create_task(self._answer())
        self._replies.append((screen, frame.Cmd, answer))
        return self._answering

    # -- commands ------------------------------------------------------------------------------------

    async def _login(self, screen: Screen, frame: proto.WebsocketMessage) -> None:
        try:
            scopes = self._tokens.answering(frame.StrParam).scopes
        except TokenRefusedError as error:
            answer = proto.UserLoginResponse(success=False, error_message=str(error))
            _send(screen, proto.WebsocketMessage(Cmd="UserLogin", UserLoginResponse=answer))
            return
        before = screen.scopes
        if before is not None and before != scopes:
            self._presence(screen, "disconnected")
        screen.scopes = scopes
        nickname = clean_name(frame.Nickname, _LONGEST_NAME)
        screen.nickname = nickname = nickname if nickname.strip() else self._given_name(screen)
        answer = proto.UserLoginResponse(client_id=screen.id, success=True, server_time=int(time.time() * 1000))
        _send(screen, proto.WebsocketMessage(Cmd="UserLogin", UserLoginResponse=answer, Nickname=nickname))
        self._presence(screen, "connected")
        if before != scopes:
            screen.unshown = {record.question.key: record for record in await self._waiting(scopes)}
            if screen.showing is not None:
                screen.showing.cancel()
            screen.showing = asyncio.create_task(self._catch_up(screen))

    def _given_name(self, screen: Screen) -> str:
        """A name for a client that gave none, unique in its scope, in the original program's form."""
        short = f"User_{screen.id[:_SHORT_ID]}"
        return f"User_{screen.id}" if any(each.nickname == short for each in self._beside(screen)) else short

    async def _catch_up(self, screen: Screen) -> None:
        """Send the open questions no faster than the client reads: all at once may exceed a slow client's buffer."""
        while screen.unshown:
            await screen.ready()
            if screen.unshown:  # it may have ended meanwhile
                self._show(screen.unshown.pop(next(iter(screen.unshown))), (screen,))

    async def _parse_answer(self, screen: Screen, frame: proto.WebsocketMessage) -> GivenAnswer:
        """The answer in a reply. Raises TranscriptError and UnreadableError."""
        if screen.scopes is None:
            raise _not_logged_in()
        kind = REPLIES[frame.Cmd]
        request = frame.AskQuestionRequest if kind == "question" else frame.WorkReportRequest
        if not frame.HasField("AskQuestionResponse" if kind == "question" else "WorkReportResponse"):
            raise InvalidQuestionError("The reply has no response.", hint="Send request and response together.")
        response = frame.AskQuestionResponse if kind == "question" else frame.WorkReportResponse
        contents = await self._aside(response.ByteSize(), frames.reply_of, response)
        shown = request.ID or response.ID
        key = self._ids.key_of(screen.scopes, shown) or await self._assistant.key_of(screen.scopes, shown)
        return GivenAnswer(*key, contents, screen.nickname, "web", screen.id, response.IsError)

    async def _answer(self) -> None:
        replies, self._replies = self._replies, []
        try:
            outcomes = await self._assistant.answer_all([answer for _, _, answer in replies])
        except Exception as error:  # noqa: BLE001 - everybody is told
            outcomes = [error] * len(replies)
        for (screen, cmd, _), outcome in zip(replies, outcomes, strict=True):
            if isinstance(outcome, Exception):
                self._failed(screen, cmd, outcome)
            elif not outcome.accepted:
                self._ended(outcome.record, (screen,))

    async def _validity(self, screen: Screen, scopes: tuple[str, ...], frame: proto.WebsocketMessage) -> None:
        waiting = {self._ids.shown(record).question.id for record in await self._waiting(scopes)}
        asked = frame.CheckMessageValidityRequest.request_ids
        answer = proto.CheckMessageValidityResponse(validity={each: each in waiting for each in asked})
        _send(screen, proto.WebsocketMessage(Cmd=frame.Cmd, CheckMessageValidityResponse=answer))

    async def _pending(self, screen: Screen, scopes: tuple[str, ...], frame: proto.WebsocketMessage) -> None:
        pending = [frames.pending_of(self._ids.shown(record)) for record in await self._waiting(scopes)]
        answer = proto.GetPendingMessagesResponse(pending_messages=pending, total_count=len(pending))
        _send(screen, proto.WebsocketMessage(Cmd=frame.Cmd, GetPendingMessagesResponse=answer))

    async def _users(self, screen: Screen, scopes: tuple[str, ...], frame: proto.WebsocketMessage) -> None:
        others = [_user(each) for each in self._beside(screen)]
        answer = proto.GetOnlineUsersResponse(online_users=others, total_count=len(others))
        _send(screen, proto.WebsocketMessage(Cmd=frame.Cmd, GetOnlineUsersResponse=answer))

    async def _chat(self, screen: Screen, scopes: tuple[str, ...], frame: proto.WebsocketMessage) -> None:
        request = frame.SendChatMessageRequest
        receiver = self._screens.get(request.receiver_client_id)
        if receiver is None or receiver.scopes != scopes:
            raise InvalidQuestionError("No client with this id is connected.", hint="Ask with GetOnlineUsers.")
        message = proto.ChatMessage(
            message_id=uuid4().hex,
            sender_client_id=screen.id,
            sender_nickname=screen.nickname,
            receiver_client_id=receiver.id,
            receiver_nickname=receiver.nickname,
            content=_clipped(request.content, _LONGEST_CHAT),
            sent_at=int(time.time()),
        )
        notification = proto.ChatMessageNotification(chat_message=message)
        _send(receiver, proto.WebsocketMessage(Cmd="ChatMessageNotification", ChatMessageNotification=notification))

    async def _history(self, screen: Screen, scopes: tuple[str, ...], frame: proto.WebsocketMessage) -> None:
        asked = frame.GetHistoryRequest
        found = {each: self._ids.key_of(scopes, each) for each in asked.ids}
        marked = {each: key for each, key in found.items() if key is not None and key[1] != each}
        query = HistoryQuery(
            asked.text,
            asked.project_directory if asked.HasField("project_directory") else None,
            asked.agent_name if asked.HasField("agent_name") else None,
            max(0, asked.before),
            asked.limit if asked.limit > 0 else DEFAULT_LIMIT,
            tuple(each for each in found if each not in marked),
            tuple(marked.values()),
            asked.words_only,
        )
        page = await self._assistant.history(scopes, query)
        page = replace(page, records=tuple(map(self._ids.shown, page.records)))
        screen.send(await self._aside(page.size, _history_frame, frame.Cmd, page))

    async def _message(self, screen: Screen, scopes: tuple[str, ...], frame: proto.WebsocketMessage) -> None:
        written = frame.AgentMessage
        message = Question(
            scope="",
            id=written.id,
            kind="message",
            text=written.text,
            project=written.project_directory,
            agent=written.agent_name,
        )
        contents = await self._aside(written.ByteSize(), frames.contents_of, written.contents)
        message = replace(message, scope=await self._assistant.scope_of(scopes, message))
        record = await self._assistant.write(message, contents, by=screen.nickname, where="web", origin=screen.id)
        _send(screen, proto.WebsocketMessage(Cmd=frame.Cmd, AgentMessage=frames.message_frame(record)))

    # -- what everybody of a scope is told -----------------------------------------------------------

    def _on_event(self, event: QuestionEvent) -> None:
        if event.kind in ("answered", "closed"):
            if not self._endings:
                asyncio.get_running_loop().call_later(_AFTER_CALLERS, self._tell_endings)
            self._endings.append(event)
        elif event.kind == "asked":
            self._show(event.record, self._others(event))
        elif event.kind in ("message", "picked_up"):
            message = frames.message_frame(event.record)
            _send_all(self._others(event), proto.WebsocketMessage(Cmd="AgentMessage", AgentMessage=message))

    def _tell_endings(self) -> None:
        endings, self._endings = self._endings, []
        for event in endings:
            try:
                self._tell_ending(event)
            except Exception:
                logger.exception("Clients could not be told that a question ended")

    def _tell_ending(self, event: QuestionEvent) -> None:
        for screen in self._in(event.scope):
            screen.unshown.pop(event.record.question.key, None)
        self._ended(event.record, self._others(event))

    def _others(self, event: QuestionEvent) -> list[Screen]:
        """The clients that did not cause the event themselves."""
        return [each for each in self._in(event.scope) if each.id != event.origin]

    def _show(self, record: Inquiry, screens: Sequence[Screen]) -> None:
        if screens:
            _send_all(screens, frames.request_frame(self._ids.shown(record)))
            task = asyncio.create_task(self._count(record, len(screens)))
            self._counting.add(task)
            task.add_done_callback(self._counting.discard)

    async def _count(self, record: Inquiry, clients: int) -> None:
        try:
            await self._assistant.shown(record.question.scope, record.question.id, clients)
        except TranscriptError as error:
            logger.warning("How often a question was shown could not be saved: %s", error)

    def _ended(self, record: Inquiry, screens: Sequence[Screen]) -> None:
        record = self._ids.shown(record)
        if record.is_replied_to:
            _send_all(screens, frames.reply_frame(record))
            return
        cancelled = proto.RequestCancelledNotification(
            request_id=record.question.id,
            reason=record.state,
            message_type=record.question.said_as,
            reason_code=record.state,
        )
        _send_all(screens, proto.WebsocketMessage(Cmd="RequestCancelled", RequestCancelledNotification=cancelled))

    def _presence(self, screen: Screen, status: str) -> None:
        if screen.scopes is None:
            return
        notification = proto.UserConnectionStatusNotification(
            user=_user(screen), status=status, timestamp=int(time.time())
        )
        cmd = "UserConnectionStatusNotification"
        frame = proto.WebsocketMessage(Cmd=cmd, UserConnectionStatusNotification=notification)
        _send_all(self._beside(screen), frame)

    def refuse(self, screen: Screen, message: str) -> None:
        """Tell the client that a frame was too large to be read."""
        self._refuse(screen, "", InvalidQuestionError.code, message)

    @contextmanager
    def _telling(self, screen: Screen, cmd: str) -> Iterator[None]:
        """Answers errors within the block with an Error frame."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - _failed logs what is not the client's fault
            self._failed(screen, cmd, error)

    def _failed(self, screen: Screen, cmd: str, error: Exception) -> None:
        if isinstance(error, TranscriptError):
            self._refuse(screen, cmd, error.code, f"{error} {error.hint}".strip())
        elif isinstance(error, wire.UnreadableError):
            self._refuse(screen, cmd, InvalidQuestionError.code, f"{error}.")
        else:
            logger.error("A frame could not be answered", exc_info=error)
            self._refuse(screen, "", "internal", "The hub failed. Its log says why.")

    def _refuse(self, screen: Screen, cmd: str, code: str, message: str) -> None:
        problem = proto.ErrorNotification(code=code, message=message, cmd=_clipped(cmd, _LONGEST_NAME))
        _send(screen, proto.WebsocketMessage(Cmd="Error", ErrorNotification=problem, StrParam=message))

    def _in(self, scope: str) -> Iterator[Screen]:
        return (each for each in list(self._screens.values()) if each.scopes is not None and scope in each.scopes)

    def _beside(self, screen: Screen) -> list[Screen]:
        """Other clients in the same scopes."""
        return [each for each in self._screens.values() if each.scopes == screen.scopes and each is not screen]

    async def _waiting(self, scopes: tuple[str, ...]) -> list[Inquiry]:
        return [record for record in await self._assistant.waiting(None) if record.question.scope in scopes]


def _not_logged_in() -> TokenRefusedError:
    return TokenRefusedError("Log in first.", hint="Send UserLogin with a token in StrParam.")


def _send(screen: Screen, frame: proto.WebsocketMessage) -> None:
    screen.send(frame.SerializeToString())


def _send_all(screens: Sequence[Screen], frame: proto.WebsocketMessage) -> None:
    if screens:
        data = frame.SerializeToString()
        for screen in screens:
            screen.send(data)


def _history_frame(cmd: str, page: HistoryPage) -> bytes:
    records = map(frames.history_of, page.records)
    answer = proto.GetHistoryResponse(records=records, next_before=page.next_before)
    return proto.WebsocketMessage(Cmd=cmd, GetHistoryResponse=answer).SerializeToString()


def _user(screen: Screen) -> proto.OnlineUser:
    return proto.OnlineUser(client_id=screen.id, nickname=screen.nickname, connected_at=int(screen.since))


def _clipped(text: str, most: int) -> str:
    return text[:most]
