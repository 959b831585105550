"""Removes recalled and erased messages from nanobot's sessions, so that no later prompt repeats them.

nanobot gets the session from its session manager at the beginning of every turn, before it builds the prompt, and saves
it at the end. At both points the plugin checks whether anything was recalled since the session was last known to be
clean, by this process, another bot's, or a command. If so, it looks for the message in the session and empties it. What
a model made of it stays.

A session is a list of dictionaries. What a turn was shown stands in their texts, one line of JSON per message, which
begins with the message's id. A person's message that was itself a turn, and the bot's answer, stand there without ids;
these are added under a key of ours, which nanobot keeps and never sends to a model.
"""

import asyncio
import json
import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from typing import Any, Final, TypeAlias

from nanobot_transcript.errors import InvalidCursorError
from nanobot_transcript.store.contract import Changes
from nanobot_transcript.store.front import GroupTranscriptStore
from nanobot_transcript.turns.addressees import id_at
from transcript_channels.feishu.platform import FEISHU
from transcript_channels.nanobot_host.context import safe
from transcript_channels.nanobot_host.watermark import Watermark, Watermarks, digest

__all__ = ["Forgetting", "forget", "ids_in", "write_ids"]

logger = logging.getLogger(__name__)

_REMEMBERED: Final = 512
_ATTENTIVE: Final = "_group_transcript_attentive"
_NOT_CLEAN: Final = "A recalled message may still be in nanobot's session %s"

_ID: Final = "_group_transcript"
_MARKER: Final = "_runtime_context"
_GONE: Final = "[this message was taken back]"
_BEGINNING: Final = '{"id": "'
_LINE: Final = re.compile(r'^\{"id": ("(?:[^"\\\n]|\\.)*")[,}].*$', re.MULTILINE)
_THOUGHTS: Final = ("reasoning_content", "thinking_blocks")
_NEWEST: Final = 512
_LONGEST_ID: Final = 120
_QUOTE: Final = "[Reply to: "
_QUOTE_END: Final = "]\n"
_LONGEST_QUOTE: Final = len(_QUOTE) + 203 + len(_QUOTE_END)  # nanobot cuts a quoted text at 200 characters and "..."

Ask: TypeAlias = Callable[[], Any]
"""A question to the record."""

Looking: TypeAlias = Generator[Ask, Any, None]
"""A check that yields its questions to the record and is sent the answers. So the same check runs at once where the
record is near, and in steps beside the event loop where answers come over a network."""


class Forgetting:
    """Keeps the sessions of this process's bots free of recalled messages. Nothing here ever raises into nanobot."""

    def __init__(
        self,
        store: GroupTranscriptStore,
        watermarks: Watermarks,
        app_ids: Callable[[], Iterable[str]],
        loop: Callable[[], asyncio.AbstractEventLoop | None],
        *,
        is_far: bool = False,
    ) -> None:
        """``is_far``: asking the record may take a while, as over a network."""
        self._is_far: bool = is_far
        self._store: GroupTranscriptStore = store
        self._watermarks: Watermarks = watermarks
        self._app_ids: Callable[[], Iterable[str]] = app_ids
        self._loop: Callable[[], asyncio.AbstractEventLoop | None] = loop
        self._sessions: Any = None
        self._keep: Callable[..., None] = lambda session: None
        self._clean: OrderedDict[str, tuple[object, ...]] = OrderedDict()
        self._tasks: set[asyncio.Task[bool]] = set()

    def attend(self, sessions: Any) -> None:
        """From now on check each session that nanobot's session manager returns or saves."""
        if sessions is None or getattr(sessions, _ATTENTIVE, False):
            return
        self._sessions = sessions
        hand_out, self._keep = sessions.get_or_create, sessions.save

        def get_or_create(key: str) -> Any:
            session = hand_out(key)
            self.look(key, session)
            return session

        sessions.get_or_create = get_or_create
        sessions.save = self._saving(sessions.save)
        if hasattr(sessions, "save_runtime_checkpoint"):  # newer versions save in the middle of a turn, too
            sessions.save_runtime_checkpoint = self._saving(sessions.save_runtime_checkpoint)
        setattr(sessions, _ATTENTIVE, True)

    def _saving(self, save: Callable[..., None]) -> Callable[..., None]:
        """``save``, after removing what was recalled while the turn ran."""

        def saving(session: Any, *args: Any, **options: Any) -> None:
            self.look(session.key, session, keep=False)
            save(session, *args, **options)

        return saving

    def recalled(self, message_id: str) -> None:
        """Clean the sessions that hold this message now, and not when they are used next. To be called in a thread."""
        loop, sessions = self._loop(), self._sessions
        if sessions is None or loop is None or not loop.is_running():
            return
        for key in self._watermarks.holding(self._app_ids(), message_id):
            loop.call_soon_threadsafe(self._have_cleaned, key)

    async def before_turn(self, key: str) -> None:
        """Clean a session before nanobot gets it, where that takes too long to be done while nanobot gets it."""
        if self._is_far:
            await self.is_clean(key)

    async def is_clean(self, key: str) -> bool:
        """Clean a session now; False when something recalled may still be in it."""
        if self._sessions is None:
            return True
        return await self._look_behind(key, self._sessions.get_or_create(key))

    def ids_in(self, key: str) -> set[str]:
        """The messages of its group that a session holds."""
        return ids_in(self._sessions.get_or_create(key)) if self._sessions is not None else set()

    def look(self, key: str, session: Any, *, keep: bool = True) -> bool:
        """Remove from a session what was recalled since it was checked. False when that failed, or will be done in a
        moment because the record is far away.

        Without ``keep`` the session is not saved: its caller is about to do so.
        """
        if not self._is_far:
            return self._look_now(key, session, keep=keep)
        loop = self._loop()
        if loop is not None and loop.is_running():
            loop.call_soon_threadsafe(self._look_soon, key, session)
        return False

    def _look_now(self, key: str, session: Any, *, keep: bool) -> bool:
        try:
            looking, answer = self._looking(key, session, keep=keep), None
            with suppress(StopIteration):
                while True:
                    answer = looking.send(answer)()
        except Exception:
            logger.exception(_NOT_CLEAN, key)
            return False
        return True

    async def _look_behind(self, key: str, session: Any) -> bool:
        """``look`` for event loops, which waits for the record."""
        if not self._is_far:
            return self._look_now(key, session, keep=True)
        try:
            looking, answer = self._looking(key, session, keep=True), None
            with suppress(StopIteration):
                while True:
                    answer = await asyncio.to_thread(looking.send(answer))
        except Exception:
            logger.exception(_NOT_CLEAN, key)
            return False
        return True

    def _look_soon(self, key: str, session: Any) -> None:
        task = asyncio.get_running_loop().create_task(self._look_behind(key, session))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _looking(self, key: str, session: Any, *, keep: bool) -> Looking:
        """The check of one session."""
        for mark in [self._watermarks.load(app_id, key) for app_id in self._app_ids()]:
            if mark is not None and mark.chat:
                yield from self._looking_at(key, session, mark, keep=keep)

    def _looking_at(self, key: str, session: Any, mark: Watermark, *, keep: bool) -> Looking:
        write_ids(session, mark)
        chat = FEISHU.key(mark.chat)
        end = yield partial(self._store.end, chat)
        state = (end, mark.checked, id(session), len(session.messages))
        if self._clean.get(key) == state:
            return
        if mark.checked:
            changed = yield from self._forgetting(session, chat, mark.checked)
            if changed and keep:
                self._keep(session)
        self._clean[key] = state
        self._clean.move_to_end(key)
        while len(self._clean) > _REMEMBERED:
            self._clean.popitem(last=False)

    def _forgetting(self, session: Any, chat: str, after: str) -> Generator[Ask, Any, bool]:
        changes: Changes = yield partial(self._changes, chat, after)
        if not (changes.hidden or changes.erased):
            return False
        hidden = {_shown_id(message_id) for message_id in changes.hidden}
        asked = ids_in(session)  # once: what is added while the record answers is newer than what was recalled
        held = yield partial(self._store.get_many, chat, asked)
        parents = {message_id: parent for message_id, entry in held.items() if (parent := id_at(entry, "reply_to"))}
        there, known = set(held), asked | set(parents.values())
        if changes.erased:
            there |= (yield partial(self._store.get_many, chat, parents.values())).keys()

        def is_gone(message_id: str) -> bool:
            return message_id in hidden or (changes.erased and message_id in known and message_id not in there)

        return forget(session, is_gone, parents.get)

    def _changes(self, chat: str, after: str) -> Changes:
        try:
            return self._store.changes(chat, after)
        except InvalidCursorError:  # another record was put in this place
            return Changes(erased=True)

    def _have_cleaned(self, key: str) -> None:
        try:
            self._sessions.get_or_create(key)
        except Exception:
            logger.exception(_NOT_CLEAN, key)


_IsGone = Callable[[str], bool]
_ParentOf = Callable[[str], str | None]


def write_ids(session: Any, mark: Watermark) -> None:
    """Add the ids of the group's messages to the newest turns and answers of a session, which nanobot keeps without."""
    newest: list[dict[str, Any]] = session.messages[-_NEWEST:]
    known = {message.get(_ID) for message in newest}
    for role, digests in (("user", mark.turns), ("assistant", mark.answers)):
        missing = {message_id: text for message_id, text in digests.items() if message_id not in known}
        if not missing:
            continue
        unknown = [one for one in newest if one.get("role") == role and _ID not in one]
        texts = [digest(_own_text(message)) for message in unknown]
        for message_id, text in reversed(missing.items()):
            at = next((n for n in reversed(range(len(texts))) if texts[n] == text), None)
            if at is not None:
                unknown[at][_ID], texts[at] = message_id, ""


def ids_in(session: Any) -> set[str]:
    """The ids of the group's messages that a session holds, including emptied ones."""
    found: set[str] = set()

    def note(message_id: str) -> bool:
        found.add(message_id)
        return False  # so that it is left as it is

    forget(session, note)
    return found


def forget(session: Any, is_gone: _IsGone, parent_of: _ParentOf = lambda message_id: None) -> bool:
    """Empty the messages that are gone; True when the session has changed.

    ``parent_of`` tells which message a turn replies to: nanobot quotes it before the turn's text. The state that a
    provider keeps of the conversation is dropped, even when the session was emptied before: a turn that ran meanwhile
    may have restored it.
    """
    gone = _Gone(cache(is_gone))
    changed = False
    for message in session.messages:
        changed |= _forget_own(message, gone) or _forget_quote(message, gone, parent_of)
        changed |= gone.clean(message)
    metadata = getattr(session, "metadata", None)
    if isinstance(metadata, dict):  # a turn that was interrupted stands there
        changed |= gone.clean(metadata)
    if gone.found and getattr(session, "provider_state", None) is not None:
        session.provider_state = None
        changed = True
    return changed


class _Gone:
    """Empties the lines of messages that are gone; ``found`` is True once there was one."""

    def __init__(self, is_gone: _IsGone) -> None:
        self._is_gone: _IsGone = is_gone
        self.found: bool = False

    def has(self, message_id: Any) -> bool:
        """True for a message that is gone."""
        gone = isinstance(message_id, str) and self._is_gone(message_id)
        self.found |= gone
        return gone

    def clean(self, holder: dict[str, Any]) -> bool:
        """Empty the lines in the values of a dictionary; True when there were some."""
        cleaned = {key: self._cleaned(value) for key, value in holder.items()}
        changed = [key for key, value in cleaned.items() if value is not holder[key]]
        holder.update((key, cleaned[key]) for key in changed)
        return bool(changed)

    def _cleaned(self, value: Any) -> Any:
        """The value with these lines emptied; the same object when there are none."""
        if isinstance(value, str):
            cleaned = _LINE.sub(self._line, value) if _BEGINNING in value else value
            return value if cleaned == value else cleaned
        if isinstance(value, dict):
            items = {key: self._cleaned(item) for key, item in value.items()}
            return items if any(items[key] is not item for key, item in value.items()) else value
        if isinstance(value, list):
            items = [self._cleaned(item) for item in value]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        return value

    def _line(self, match: "re.Match[str]") -> str:
        try:
            gone = self.has(json.loads(match[1]) if "\\" in match[1] else match[1][1:-1])
        except ValueError:
            gone = False
        return f'{{"id": {match[1]}, "recalled": true}}' if gone else match[0]


def _forget_own(message: dict[str, Any], gone: _Gone) -> bool:
    """Empty a turn or an answer; the context that nanobot put behind a turn stays."""
    if not gone.has(message.get(_ID)) or _own_text(message) == _GONE:
        return False
    content, context = message.get("content"), _context(message)
    if isinstance(content, list):
        message["content"] = [{"type": "text", "text": _GONE}, *content[len(content) - len(context) :]]
    else:
        message["content"] = "\n\n".join([_GONE, *context])
    if not message.get("tool_calls"):  # some providers require the reasoning that led to a tool call
        for key in _THOUGHTS:
            message.pop(key, None)
    return True


def _forget_quote(message: dict[str, Any], gone: _Gone, parent_of: _ParentOf) -> bool:
    """Empty nanobot's quotation of the message that a turn replies to."""
    content, message_id = message.get("content"), message.get(_ID)
    if not isinstance(content, str) or not content.startswith(_QUOTE) or not isinstance(message_id, str):
        return False
    own = len(content) - sum(map(len, _context(message)))
    end = content.rfind(_QUOTE_END, 0, min(_LONGEST_QUOTE, own))
    if end < 0 or not gone.has(parent_of(message_id)):
        return False
    message["content"] = _GONE + content[end + 1 :]
    return True


def _own_text(message: Mapping[str, Any]) -> str:
    """The text of a message without what nanobot put behind it."""
    content, context = message.get("content"), _context(message)
    if isinstance(content, list):
        return "\n".join(_texts(content[: len(content) - len(context)]))
    if not isinstance(content, str):
        return ""
    return content.removesuffix(context[0]).strip() if context else content.strip()


def _context(message: Mapping[str, Any]) -> list[Any]:
    """What nanobot appended to a message: one text to a text, blocks to blocks."""
    content, marker = message.get("content"), message.get(_MARKER)
    if not isinstance(marker, dict):
        return []
    suffix, blocks = marker.get("suffix"), marker.get("blocks")
    if isinstance(content, str) and isinstance(suffix, str) and suffix and content.endswith(suffix):
        return [suffix]
    if isinstance(content, list) and isinstance(blocks, list) and blocks and content[-len(blocks) :] == blocks:
        return blocks
    return []


def _texts(blocks: list[Any]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            yield block["text"]


def _shown_id(value: str) -> str:
    """A message id as it is shown; in lines that other programs wrote it may be anything."""
    return safe(value)[:_LONGEST_ID]
