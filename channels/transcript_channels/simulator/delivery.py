"""Pushes events to apps: which apps are told, acknowledgements, and pushing again."""

import asyncio
import base64
import json
import logging
from typing import TYPE_CHECKING, Any

from transcript_channels.simulator import frames, ids, scopes, views, wire
from transcript_channels.simulator.webhooks import Poster, Webhook
from transcript_channels.simulator.world import App, Attempt, Connection, Message, Person, Push

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transcript_channels.simulator.changes import Changes
    from transcript_channels.simulator.webhooks import Answered

__all__ = ["Delivery", "is_told_of"]

logger = logging.getLogger(__name__)


def is_told_of(app: App, message: Message) -> bool:
    """The platform's rule: which bot gets an event for a message.

    Never its own. In private chats with ``im:message.p2p_msg``. In groups a person's message with
    ``im:message.group_msg``, or, when it mentions the bot, with ``im:message.group_at_msg``; another bot's
    message only with the include-bot twins of these scopes.
    """
    if message.sender is app or app not in message.chat.members:
        return False
    if message.chat.kind == "p2p":
        return scopes.P2P_MSG in app.scopes
    mentioned = any(mention.member is app for mention in message.mentions)
    every, mentions_only = {scopes.GROUP_MSG_INCLUDE_BOT}, {scopes.GROUP_AT_MSG_INCLUDE_BOT}
    if isinstance(message.sender, Person):
        every.add(scopes.GROUP_MSG)
        mentions_only.add(scopes.GROUP_AT_MSG)
    return bool(app.scopes & every) or (mentioned and bool(app.scopes & mentions_only))


class Delivery:
    """Sends each event to one of the app's connections in turn and repeats what was not acknowledged with
    200.

    ``ack_timeout`` seconds after sending without an answer, or with a 500, or when the connection is lost
    first, an event is pushed again after the next of ``repush_delays`` (seconds); after the last it is given
    up. The platform takes 3 s and 15 s, 5 min, 1 h, 6 h. For an app without a connection events wait for the
    next one.
    """

    def __init__(self, changes: "Changes", ack_timeout: float, repush_delays: "Sequence[float]") -> None:
        self.ack_timeout = ack_timeout
        self.repush_delays = tuple(repush_delays)
        self.pushes: list[Push] = []
        self._changes = changes
        self._turns: dict[App, int] = {}
        self._waiting: dict[App, list[Push]] = {}
        self._attempts: dict[str, tuple[Push, Attempt]] = {}
        self._in_flight: dict[str, tuple[Push, Attempt]] = {}
        self._timers: dict[object, asyncio.TimerHandle] = {}
        self._posts: set[asyncio.Task[None]] = set()
        self.poster = Poster()

    def push(
        self,
        app: App,
        event_type: str,
        body: dict[str, Any],
        *,
        message: Message | None = None,
        retried: bool = True,
    ) -> Push | None:
        """Push an event; None when the app has not subscribed to its type."""
        if event_type not in app.events:
            return None
        event_id = ids.new_event_id()
        event = views.event(app, event_type, body, event_id)
        payload = wire.encode(event)
        push = Push(app, event_type, event_id, payload, message, retried)
        self.pushes.append(push)
        if message is not None and event_type == "im.message.receive_v1":
            message.pushes.append(push)
        self._send(push)
        return push

    def _send(self, push: Push) -> None:
        app = push.app
        if app.webhook is not None:
            self._post(push, app.webhook)
            return
        if not app.connections and not push.retried:
            push.state = "gave_up"
            return
        if not app.connections:
            push.state = "waiting"
            self._waiting.setdefault(app, []).append(push)
            return
        turn = self._turns.get(app, 0)
        self._turns[app] = turn + 1
        connection = app.connections[turn % len(app.connections)]
        attempt = Attempt(connection, ids.new_event_id())
        push.state = "sending"
        push.attempts.append(attempt)
        self._attempts[attempt.frame_id] = self._in_flight[attempt.frame_id] = (push, attempt)
        pieces = list(
            frames.data_frames(
                push.payload,
                frame_id=attempt.frame_id,
                trace_id=ids.new_log_id(),
                service=connection.service,
                fragment_bytes=app.fragment_bytes,
            )
        )
        for piece in pieces[:-1]:
            connection.send(piece)
        connection.send(pieces[-1], lambda: self._sent(push, attempt))

    def _post(self, push: Push, webhook: Webhook) -> None:
        attempt = Attempt(webhook, ids.new_event_id(), ids.now_ms())
        push.state = "sending"
        push.attempts.append(attempt)
        self._in_flight[attempt.frame_id] = (push, attempt)
        task = asyncio.get_running_loop().create_task(self._posted(push, attempt, webhook))
        self._posts.add(task)
        task.add_done_callback(self._posts.discard)
        self._changes.tell("push", push)

    async def _posted(self, push: Push, attempt: Attempt, webhook: Webhook) -> None:
        answer: Answered = await self.poster.post(webhook, push.payload, self.ack_timeout)
        attempt.code, push.response = answer.status, answer.body
        if answer.status is not None:
            attempt.acked_ms = ids.now_ms()
        if answer.status == 200:
            self._end(attempt)
            push.state = "acked"
        else:
            self._failed(push, attempt)
        self._changes.tell("ack", push, code=attempt.code)

    def _sent(self, push: Push, attempt: Attempt) -> None:
        attempt.sent_ms = ids.now_ms()
        if attempt.frame_id in self._in_flight:
            loop = asyncio.get_running_loop()
            self._timers[attempt] = loop.call_later(self.ack_timeout, self._failed, push, attempt)
        self._changes.tell("push", push)

    def acknowledged(self, connection: Connection, frame: frames.Frame) -> None:
        """An acknowledgement came in. One that is too late is noted, and the event is still pushed again."""
        found = self._attempts.get(frame.headers.get("message_id", ""))
        if found is None:
            logger.info("%r acknowledged something it was not sent", connection)
            return
        push, attempt = found
        answer = _answer(frame.payload)
        attempt.code, attempt.acked_ms = answer.get("code"), ids.now_ms()
        push.response = _callback_response(answer)
        if attempt.frame_id not in self._in_flight:
            logger.info("%r acknowledged %r too late", connection, push)
        elif attempt.code == 200:
            self._end(attempt)
            push.state = "acked"
        else:
            self._failed(push, attempt)
        self._changes.tell("ack", push, code=attempt.code)

    def _end(self, attempt: Attempt) -> None:
        self._in_flight.pop(attempt.frame_id, None)
        timer = self._timers.pop(attempt, None)
        if timer is not None:
            timer.cancel()

    def _failed(self, push: Push, attempt: Attempt) -> None:
        self._end(attempt)
        if push.state != "sending":
            return
        push.failures += 1
        if not push.retried or push.failures > len(self.repush_delays):
            push.state = "gave_up"
            self._changes.tell("gave_up", push)
            return
        delay = self.repush_delays[push.failures - 1]
        self._timers[push] = asyncio.get_running_loop().call_later(delay, self._again, push)

    def _again(self, push: Push) -> None:
        self._timers.pop(push, None)
        self._send(push)

    def opened(self, connection: Connection) -> None:
        """A client connected: it gets what has been waiting for its app."""
        for push in self._waiting.pop(connection.app, []):
            self._send(push)

    def closed(self, connection: Connection) -> None:
        """A connection is gone: what was under way on it counts as not acknowledged."""
        lost = [found for found in self._in_flight.values() if found[1].connection is connection]
        for push, attempt in lost:
            self._failed(push, attempt)

    async def close(self) -> None:
        """Stop pushing again."""
        for task in self._posts:
            task.cancel()
        await asyncio.gather(*self._posts, return_exceptions=True)
        await self.poster.close()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._in_flight.clear()
        self._waiting.clear()


def _answer(payload: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(payload)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _callback_response(answer: dict[str, Any]) -> dict[str, Any] | None:
    """A callback's answer lies base64-coded in ``data``."""
    data = answer.get("data")
    if not isinstance(data, str):
        return None
    try:
        return json.loads(base64.b64decode(data))
    except ValueError:
        return None
