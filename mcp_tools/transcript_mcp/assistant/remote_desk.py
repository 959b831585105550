"""A desk that sends questions to a hub over the Connect protocol.

It behaves like the original program's adapter, so it also works with the original's server.
"""

import asyncio
import io
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import aiohttp
from google.protobuf.message import Message

from nanobot_transcript.errors import (
    HubUnreachableError,
    InvalidQuestionError,
    TokenRefusedError,
    TranscriptError,
    UnknownQuestionError,
)
from nanobot_transcript.settings.hub_address import no_hub_at
from transcript_mcp.assistant.protocol import frames, proto, wire
from transcript_mcp.assistant.protocol.limits import LARGEST
from transcript_mcp.assistant.questions.rules import checked, group_chat
from transcript_mcp.assistant.questions.values import AnswerContent, Inquiry, Question, State, text_of

__all__ = ["RemoteDesk"]

_CONNECTING: Final = aiohttp.ClientTimeout(total=None, sock_connect=5)
_BEYOND: Final = 30.0
"""Seconds beyond the question's own time for which an unreachable hub is tried again."""

_AGAIN: Final = (0.2, 0.5, 1.0, 2.0, 5.0)
_STATES: Final[Mapping[str, State]] = {
    "timeout": "timeout",
    "cancelled": "cancelled",
    "withdrawn": "withdrawn",
}
_ERRORS: Final[Mapping[str, type[TranscriptError]]] = {
    "unauthenticated": TokenRefusedError,
    "not_found": UnknownQuestionError,
    "invalid_argument": InvalidQuestionError,
}


class _AwayError(aiohttp.ClientConnectionError):
    """The hub answered 503: it is stopping, or cannot write. ``refusal`` says which."""

    def __init__(self, refusal: TranscriptError) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


@dataclass(eq=False)
class RemoteDesk:
    """A desk at ``url`` (``http://host:port``), with the ``token`` to ask with."""

    url: str
    token: str = field(repr=False)
    _asked: dict[str, Question] = field(default_factory=dict, init=False)

    async def ask(self, question: Question) -> Inquiry:
        """Keep the question for ``wait``: the protocol asks and waits in one call. Raises InvalidQuestionError."""
        question = checked(question)
        group_chat(question.chat or "")  # refuses a bad chat early; the hub converts it to a session key itself
        self._asked[question.id] = question
        return Inquiry(question, 0, time.time(), "waiting")

    async def wait(self, scope: str, id: str, seconds: float | None = None) -> Inquiry:
        """See ``Assistant.wait``. If the hub goes away meanwhile, it is asked again with the same id."""
        question = self._asked.get(id)
        known = question or Question(scope, id, "question", "", timeout=86_400)
        message = self._message(known, seconds, asks=question is not None)
        method = known.said_as or "AskQuestion"
        answer = await self._persistently(method, message, known.timeout if seconds is None else seconds)
        record = _record(known, answer)
        if record.state != "waiting":
            self._asked.pop(id, None)
        return record

    async def withdraw(self, scope: str, id: str) -> Inquiry:
        """See ``Assistant.withdraw``."""
        message = proto.AskQuestionRequest(ID=id, UserToken=self.token)
        answer = await self._call("Withdraw", message)
        known = self._asked.pop(id, None) or Question(scope, id, "question", "")
        return _record(known, answer)

    async def answer(self, scope: str, id: str, contents: Sequence[AnswerContent], *, by: str, where: str) -> None:
        """See ``Assistant.answer``; the outcome shows in ``wait``."""
        del scope, where  # the token implies the scope, and the protocol has no field for the place
        message = proto.AskQuestionResponse(ID=id, Meta={"nickname": by}, contents=frames.wire_contents(contents))
        for delay in (*_AGAIN, None):
            try:
                await self._persistently("SrvAgentAssistReply/AskQuestionReply", message, _BEYOND)
                return
            except UnknownQuestionError:  # the question itself, sent in parallel, may not have arrived yet
                if delay is None:
                    raise
                await asyncio.sleep(delay)

    async def messages_for(self, record: Inquiry) -> Sequence[Inquiry]:
        """Always empty: the hub has put messages into the answer."""
        del record
        return ()

    def delivered(self, record: Inquiry, *, arrived: bool) -> None:
        """Does nothing: the hub sees for itself whether its answer arrived."""

    def _message(self, question: Question, seconds: float | None, *, asks: bool) -> frames.RequestMessage:
        request = frames.request_of(question)
        if not asks:
            request = proto.AskQuestionRequest(ID=question.id)
        elif question.chat is not None and isinstance(request, proto.AskQuestionRequest):
            # Set here and not in frames, which also serve pages: those must not learn the group.
            request.Request.Chat = question.chat
        request.UserToken = self.token
        if seconds is not None:
            request.Wait = int(seconds)
        return request

    async def _persistently(self, method: str, message: Message, seconds: float) -> proto.AskQuestionResponse:
        reached, until = False, time.monotonic() + seconds + _BEYOND
        for attempt in range(1_000_000):
            try:
                return await self._call(method, message)
            except aiohttp.ClientConnectorError as error:
                if not reached or time.monotonic() > until:
                    raise self._unreachable() from error
            except (aiohttp.ClientError, OSError) as error:
                reached = True  # the hub was there, and the connection broke
                if time.monotonic() > until:
                    raise (error.refusal if isinstance(error, _AwayError) else self._unreachable()) from error
            await asyncio.sleep(_AGAIN[min(attempt, len(_AGAIN) - 1)])
        raise self._unreachable()

    async def _call(self, method: str, message: Message) -> proto.AskQuestionResponse:
        path = method if "/" in method else f"SrvAgentAssist/{method}"
        url = f"{self.url}/agentassistproto.{path}"
        headers = {
            "Content-Type": "application/proto",
            "Connect-Protocol-Version": "1",
            "Authorization": f"Bearer {self.token}",
        }
        async with (
            aiohttp.ClientSession(timeout=_CONNECTING, read_bufsize=LARGEST) as http,
            http.post(url, data=io.BytesIO(message.SerializeToString()), headers=headers) as response,
        ):
            body = await response.read()
        if response.status == 503:
            raise _AwayError(self._refusal(response.status, body))
        if response.status != 200:
            raise self._refusal(response.status, body)
        try:
            return wire.decoded(proto.AskQuestionResponse, body)
        except wire.UnreadableError as error:
            raise HubUnreachableError(
                f"Something answers at {self.url}, but it is not a hub.", hint="Correct the host and the port."
            ) from error

    def _refusal(self, status: int, body: bytes) -> TranscriptError:
        try:
            error = json.loads(body)
            kind, sentence = _ERRORS.get(error["code"], HubUnreachableError), str(error["message"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return HubUnreachableError(
                f"The hub at {self.url} answered {status}.", hint="Check that it is a hub, and read its log."
            )
        hint = "Correct the token." if kind is TokenRefusedError else ""
        return kind(sentence, hint=hint)

    def _unreachable(self) -> HubUnreachableError:
        return no_hub_at(self.url, "the host and the port")


def _record(question: Question, answer: proto.AskQuestionResponse) -> Inquiry:
    contents = frames.reply_of(answer)
    code, status = answer.Meta.get("error", ""), answer.Meta.get("status", "answered")
    state: State = "waiting" if status == "waiting" else "notified" if status == "notified" else "answered"
    if answer.IsError:
        if code == "no_clients":
            raise InvalidQuestionError(
                "Nobody has a page open to see the question.", hint="Tell your user, and end your turn."
            )
        if code == "invalid_request":
            raise InvalidQuestionError(text_of(contents))
        state = _STATES.get(code, "refused")  # the original's hub passes on a client's error unchanged
    return Inquiry(question, 0, 0.0, state, by=answer.Meta.get("answered_by", ""), contents=contents)
