"""Builds what a turn is told: the entries of its group that its session has not been told yet."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from nanobot_transcript.conversation.prompt import tell
from nanobot_transcript.conversation.prompt_lines import Voices, encode
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidCursorError
from nanobot_transcript.identity import AgentProfile, wrote
from nanobot_transcript.platform import is_unfinished
from nanobot_transcript.store.contract import Page
from nanobot_transcript.turns.addressees import id_at
from transcript_channels.feishu.platform import FEISHU
from transcript_channels.nanobot_host.watermark import Watermark, digest

if TYPE_CHECKING:
    from transcript_channels.nanobot_host.bot import Bot
    from transcript_channels.nanobot_host.host import Host

__all__ = ["GroupContext", "safe", "zone"]

_ASKED: Final = "The message above was written by the member in this line:"
_AROUND: Final = 80
"""Characters that nanobot puts around a block."""
_SINCE: Final = "since you were last told"
_MARKER: Final = re.compile(r"\[\s*/?\s*Runtime Context[^\]\n]*\]?", re.IGNORECASE)
"""nanobot puts what plugins add between these; a member who writes them could speak in the plugin's name."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn that is to be told something: its bot, its chat, nanobot's session, and how far that has been told."""

    bot: "Bot"
    agent: AgentProfile
    key: str
    session: str
    mark: Watermark | None
    turns: Collection[str]
    """The session's own messages, this one included."""


@dataclass(slots=True, eq=False)
class GroupContext:
    """Builds the lines for one turn and remembers how far its session has been told."""

    host: "Host"
    where: tzinfo

    async def lines(self, request: Any, *, is_fresh: Callable[[str], bool]) -> list[str]:
        """The lines for nanobot's ``RequestContext``; none for a private chat.

        ``is_fresh`` says of a session key that nanobot's session is empty, whatever it was told before.
        """
        turn = self._turn(request, is_fresh)
        if turn is None:
            return []
        store, mark = self.host.conversation.store, turn.mark
        await store.recent(turn.key, 1)  # waits a moment for a gap in the record to be filled
        edited = await self._edited(turn)
        entries, cursor = await self._unread(turn, edited)
        asked = await store.get(turn.key, request.message_id) if request.message_id else None
        shown = [*self._news(turn, entries, edited), *([asked] if asked else [])]
        if await self.host.conversation.lists.named(turn.bot.app_id, turn.key, shown):
            entries, cursor = await self._unread(turn, edited)  # something may have been recalled meanwhile
        waiting = [str(entry.get("message_id")) for entry in entries if is_unfinished(turn.key, entry)]
        lines, told, members = self._told(turn, self._news(turn, entries, edited), asked)
        clean = _begins(mark, request) and await self.host.forgetting.is_clean(turn.session)

        def moved(latest: Watermark | None) -> Watermark:
            known = (latest if mark else None) or Watermark("")
            known = _checked(known, request, cursor, clean=clean).moved(cursor, waiting)
            known = known.with_turn(request.message_id, request.original_user_text)
            return replace(known, members=members).with_told(told)

        self.host.watermarks.change(turn.bot.app_id, turn.session, moved)  # ``mark`` may have changed meanwhile
        return lines

    def _turn(self, request: Any, is_fresh: Callable[[str], bool]) -> _Turn | None:
        chat_id, bot = str(request.chat_id or ""), self.host.bot_on(str(request.channel or ""))
        if bot is None or not self.host.conversation.shares(FEISHU.key(chat_id)):
            return None
        session = request.session_key or f"{request.channel}:{chat_id}"
        mark = None if is_fresh(session) else self.host.watermarks.load(bot.app_id, session)
        turns = (mark or Watermark("")).with_turn(request.message_id, request.original_user_text).turns
        return _Turn(bot, self.host.conversation.profile(bot.app_id), FEISHU.key(chat_id), session, mark, turns)

    def _news(self, turn: _Turn, entries: Iterable[Entry], edited: Mapping[str, Entry]) -> list[Entry]:
        """The entries that the session was not told yet."""
        # A late message with an old time can push told ones behind the mark again; they are not told twice.
        told_before = frozenset(turn.mark.told if turn.mark else ()) - edited.keys()
        held = cache(lambda: self.host.forgetting.ids_in(turn.session))

        def is_news(entry: Entry) -> bool:
            message_id = entry.get("message_id")
            if is_unfinished(turn.key, entry) or message_id in told_before:
                return False
            return message_id in edited or not _in_session(entry, turn, held)

        return list(filter(is_news, entries))

    async def _unread(self, turn: _Turn, edited: Mapping[str, Entry]) -> tuple[list[Entry], str]:
        """The entries that may be news, and the position after them."""
        page = await self._behind(turn.key, turn.mark)
        behind = {entry.get("message_id") for entry in page.entries}
        again = [entry for message_id, entry in edited.items() if message_id not in behind]
        return [*await self._waited_for(turn.key, turn.mark), *again, *page.entries], page.cursor

    async def _edited(self, turn: _Turn) -> dict[str, Entry]:
        """Messages that the session holds and that were edited since, as they read now."""
        key, mark = turn.key, turn.mark
        try:
            changes = await self.host.conversation.store.changes(key, mark.cursor) if mark else None
        except InvalidCursorError:
            changes = None
        if changes is None or not changes.edited:
            return {}
        held = sorted(changes.edited & self.host.forgetting.ids_in(turn.session))
        found = await self.host.conversation.store.get_many(key, held)
        return {message_id: found[message_id] for message_id in held if found.get(message_id, {}).get("edited")}

    async def _behind(self, key: str, mark: Watermark | None) -> Page:
        """The newest entries after the mark: enough that ``max_entries`` remain when own ones are left out."""
        store, enough = self.host.conversation.store, 2 * self.host.conversation.options.context.max_entries + 8
        if mark is None:
            return await store.recent(key, enough)
        try:
            page = await store.read(key, mark.cursor, enough)
        except InvalidCursorError:  # another store was put in its place
            return await store.recent(key, enough)
        return page if len(page.entries) < enough else await store.recent(key, enough)

    async def _waited_for(self, key: str, mark: Watermark | None) -> list[Entry]:
        """Messages that had no readable text at the last turn, as they read now."""
        waiting = mark.waiting if mark else ()
        found = [await self.host.conversation.store.get(key, message_id) for message_id in waiting]
        return [entry for entry in found if entry is not None]

    def _told(self, turn: _Turn, news: list[Entry], asked: Entry | None) -> tuple[list[str], list[str], str]:
        """The lines, which messages they show, and a digest of the members that the session knows of."""
        limits, look = self.host.conversation.options.context, self.host.conversation.people.look()
        members = look.members(turn.key, turn.bot.app_id)
        beside = [asked] if asked is not None else []
        voices = Voices(
            turn.agent,
            members,
            [*news[-limits.max_entries :], *beside],
            called=look.shown,
            clean=safe,
            where=self.where,
        )
        here = digest("\n".join(map(encode, voices.members())))
        author = [_ASKED, encode(voices.header(asked))] if asked is not None else []
        told = tell(
            voices,
            news,
            limits,
            members=turn.mark is None or turn.mark.members != here,
            when=_SINCE,
            spent=_AROUND + sum(len(line) + 1 for line in author),
        )
        return [*author, *told.lines], told.message_ids, here


def _checked(mark: Watermark, request: Any, cursor: str, *, clean: bool) -> Watermark:
    """The mark with ``checked`` moved to ``cursor``, if the session is ``clean`` of what was recalled until then.

    nanobot writes what a turn was shown into the session when the turn ends. So the position moves at the beginning of
    a turn, and not with messages that reach a running one.
    """
    checked = cursor if clean or not mark.checked else mark.checked
    return replace(mark, chat=str(request.chat_id), turn=_turn_of(request), checked=checked)


def _begins(mark: Watermark | None, request: Any) -> bool:
    """True at the beginning of a turn, and not for a message that reaches a running one."""
    return mark is None or not _turn_of(request) or _turn_of(request) != mark.turn


def _turn_of(request: Any) -> str:
    return str(getattr(request, "turn_id", None) or "")


def _in_session(entry: Entry, turn: _Turn, held: Callable[[], Collection[str]]) -> bool:
    """True for what nanobot's session has by itself: its turns, those to come, and the bot's answers to them.

    What the bot said elsewhere is news: in another session of the same group (with topic isolation every topic has its
    own), or with a tool from another chat, unless nanobot wrote it into this session, too. ``held`` gives the ids of
    the messages that the session holds.
    """
    message_id, session_of = entry.get("message_id"), turn.bot.turns.session_of
    if not wrote(turn.agent, entry):
        return message_id in turn.turns or session_of(message_id) == turn.session
    trigger = id_at(entry, "reply_to")
    if trigger is None:
        return message_id in held()
    return trigger in turn.turns or session_of(trigger) == turn.session


def zone(name: str | None) -> tzinfo:
    """The time zone in which the agent thinks; UTC when the name is unknown."""
    try:
        return ZoneInfo(name) if name else UTC
    except (KeyError, ValueError, OSError):
        return UTC


def safe(text: str) -> str:
    """Other people's text without nanobot's own markers, and with nothing that UTF-8 cannot encode."""
    while (cleaned := _MARKER.sub("", text)) != text:  # taking one marker out may put another one together
        text = cleaned
    return text.encode("utf-8", "replace").decode("utf-8")
