"""The page of groups: messages, members, each bot's decision about each message, and posting."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import UnknownPostError
from nanobot_transcript.identity import AgentProfile, is_bot, is_person
from nanobot_transcript.record import Record
from nanobot_transcript.relevance.decision import LATER, sentence_of
from nanobot_transcript.session_key import split
from nanobot_transcript.store.contract import Chat
from nanobot_transcript.store.lines.ops import hides, is_op
from nanobot_transcript.store.names import shown_name
from nanobot_transcript.threads import in_thread
from nanobot_transcript.turns import GUARD_HISTORY, bot_turns
from nanobot_transcript.turns.addressees import id_at, talk_of
from transcript_mcp.page import PageCall, PageWatch, Tell, WebPage, as_json, get_handler, post_handler
from transcript_mcp.transcript import message_pages, posts
from transcript_mcp.transcript.message_pages import Stretch
from transcript_mcp.transcript.positions import said_at
from transcript_mcp.transcript.reading import View

if TYPE_CHECKING:
    from nanobot_transcript.outbox import PostStatus

__all__ = ["Chats", "GroupsPage", "turns_of_bots"]

_PAGE: Final = 60
_MOST: Final = 200
_CHATS: Final = 200
_NAMES: Final = 12
_PREVIEW: Final = 160
_DECISIONS: Final = 1500
_ACTIVITY: Final = 500
_MEMBERS_AMONG: Final = 300
_TAKEN_BACK_WITHIN: Final = 1.0
_NEWS: Final = frozenset({"messages", "decisions", "posts", "members"})
_SURE: Final = 60.0
"""Seconds after which everything is checked even without a signal, in case one was lost."""


@dataclass(frozen=True, slots=True)
class Chats:
    """The groups' record, the bots in the settings, and the seconds of silence after which the loop guard starts to
    count again.
    """

    record: Record
    agents: Sequence[AgentProfile]
    idle: float


class GroupsPage(WebPage):
    """The page's handlers run in threads unless they are coroutines."""

    def __init__(self, chats: Chats) -> None:
        self._record = chats.record
        self._agents = chats.agents
        self._idle = chats.idle
        self._store = chats.record.store
        self._view = View(self._store, None)

    def routes(self) -> list[web.RouteDef]:
        """Below ``/api/groups``."""
        return [
            web.get("/api/groups", get_handler(self.chats)),
            web.get("/api/groups/messages", self.messages),
            web.get("/api/groups/news", get_handler(self.news)),
            web.get("/api/groups/members", get_handler(self.members)),
            web.get("/api/groups/decisions", get_handler(self.decisions)),
            web.get("/api/groups/activity", get_handler(self.activity)),
            web.get("/api/groups/search", get_handler(self.search)),
            web.get("/api/groups/posts", get_handler(self.posts)),
            web.post("/api/groups/post", self.post),
        ]

    # -- reading

    def chats(self, asked: PageCall) -> dict[str, Any]:
        """All chats, the most recently active first, with members and the last message."""
        chats = sorted(self._store.chats(), key=lambda chat: -chat.last_write_ms)
        return {"chats": [self._chat(chat) for chat in chats[: asked.number("limit", _CHATS, _CHATS)]]}

    async def messages(self, request: web.Request) -> web.StreamResponse:
        """A page of a chat: the newest messages, or those ``before`` a cursor, with marks for recalled ones."""
        asked = PageCall(request.query)
        chat, before = asked.text("chat"), asked.optional("before")
        limit = asked.number("limit", _PAGE, _MOST)
        stretch, since, hidden = await in_thread(self._page, chat, before, limit)
        gone = await self._taken_back(chat, since, hidden) if hidden else []
        return as_json(await in_thread(self._shown, stretch, gone))

    def news(self, asked: PageCall) -> dict[str, Any]:
        """What is new after the cursor ``after``: messages, edited earlier ones, and ids of recalled ones."""
        chat, after = asked.text("chat"), asked.text("after")
        stretch = message_pages.after(self._store, chat, after, _MOST, None)
        answer = self._shown(stretch, [])
        if stretch.since is not None:
            changes = self._store.changes(chat, stretch.since)
            edited = self._store.get_many(chat, sorted(changes.edited)[:_MOST])
            answer["changed"] = self._messages(chat, edited.values())
            answer["recalled"] = sorted(changes.hidden)[:_MOST]
            answer["reload"] = changes.erased
        return answer

    def members(self, asked: PageCall) -> dict[str, Any]:
        """The members seen in a chat, bots first, with the bots' descriptions."""
        chat = asked.text("chat")
        known = {each.name: each for each in self._agents}
        profiles = {bot.name: bot for bot in self._store.members.bots()}
        found: dict[str, dict[str, Any]] = {
            one.sender: {"sender": one.sender, "name": one.name, "bot": one.kind == "bot", "last": one.last_seen_ms}
            for one in self._store.members.of_chat(chat)
        }
        for entry in self._store.recent(chat, _MEMBERS_AMONG).entries:
            one = found.setdefault(
                entry["sender"],
                {"sender": entry["sender"], "name": shown_name(self._store, entry), "bot": is_bot(entry), "last": 0},
            )
            one["last"] = max(one["last"], said_at(entry))
        for one in found.values():
            profile = profiles.get(one["name"]) or known.get(one["name"])
            if one["bot"] and profile is not None:
                one["aliases"], one["description"] = list(profile.aliases), profile.description
        return {"members": sorted(found.values(), key=lambda one: (not one["bot"], one["name"]))}

    def decisions(self, asked: PageCall) -> dict[str, Any]:
        """Each bot's decision about the latest messages, by message id; of several by one bot the last counts.

        ``before`` is the gate's decision, where a claim, the loop guard or the end of the answer was recorded after it.
        """
        found: dict[str, dict[str, Any]] = {}
        for each in self._record.decisions.read(asked.text("chat"))[-_DECISIONS:]:
            by_agent = found.setdefault(str(each.get("message_id")), {})
            agent, shown = str(each.get("agent")), _decision(each)
            earlier = by_agent.get(agent)
            if earlier is not None and shown["stage"] in LATER:
                shown["before"] = earlier.get("before", earlier)
            by_agent[agent] = shown
        return {"decisions": {message: list(by_agent.values()) for message, by_agent in found.items()}}

    def activity(self, asked: PageCall) -> dict[str, Any]:
        """Who spoke when: ``[milliseconds, index of the speaker, turns]`` for the latest messages, oldest first.

        ``turns``: consecutive turns of bots up to it, null for entries that nobody said; see ``turns_of_bots``.
        """
        speakers: dict[str, int] = {}
        names: list[dict[str, Any]] = []
        points: list[tuple[float, int, int | None]] = []
        entries = self._store.recent(asked.text("chat"), _ACTIVITY).entries
        for entry, turns in zip(entries, turns_of_bots(entries, self._idle), strict=True):
            sender = entry["sender"]
            if sender not in speakers:
                speakers[sender] = len(names)
                names.append({"sender": sender, "name": shown_name(self._store, entry), "bot": is_bot(entry)})
            points.append((said_at(entry), speakers[sender], turns))
        return {"speakers": names, "points": points}

    def search(self, asked: PageCall) -> dict[str, Any]:
        """Messages that contain a text, the newest first, in one chat or in all."""
        hits = self._store.search(asked.text("q"), asked.optional("chat"), asked.number("limit", 50, _MOST))
        return {"hits": [{"chat": hit.session_key, **self._message(hit.entry)} for hit in hits]}

    # -- writing

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Put a post into the outbox; a bot of the chat sends it."""
        wanted: list[posts.PostRequest] = []
        checked = post_handler(lambda asked: wanted.append(_wanted(asked)) or {})
        refusal = await checked(request)
        if not wanted:
            return refusal
        answer = await posts.post(self._view, self._record.outbox, wanted[0], self._agents, wait=0, tell=_nobody)
        return as_json(answer)

    def posts(self, asked: PageCall) -> dict[str, Any]:
        """The states of posts, by id; posts that do not exist any more are left out."""
        found: list[PostStatus] = []
        for each in asked.text("ids").split(",")[:_MOST]:
            with suppress(UnknownPostError):
                found.append(self._record.outbox.status(each))
        return {
            "posts": {
                each.id: {
                    "state": each.state,
                    "message_id": each.message_id,
                    "error": each.error,
                    "tries": each.attempts,
                }
                for each in found
            }
        }

    # -- what is new

    @property
    def watch(self) -> PageWatch:
        """See ``WebPage.watch``."""
        return self._watch

    async def _watch(self, tell: Tell, looked: Callable[[], None]) -> None:
        """Tell of new messages, decisions, posts and members, by chat where that is known."""
        with self._record.signals.listen(*_NEWS) as ear:
            before = await in_thread(self._look)
            looked()
            while True:
                told = await ear.wait(_SURE) or _NEWS
                for what in told & {"posts", "members"}:
                    tell(what=what)
                if not told & {"messages", "decisions"}:
                    continue
                found = await in_thread(self._look)
                for what, chat in [key for key, value in found.items() if before.get(key) != value]:
                    tell(what=what, chat=chat)
                if any(key not in found for key in before):
                    tell()
                before = found

    def _look(self) -> Mapping[tuple[str, str], object]:
        """The state of each chat and of its decisions, by kind of news and chat."""
        chats = self._store.chats()
        seen: dict[tuple[str, str], object] = {
            ("messages", chat.session_key): (chat.bytes, chat.last_write_ms) for chat in chats
        }
        decided = self._record.decisions.editions(chat.session_key for chat in chats)
        return seen | {("decisions", key): edition for key, edition in decided.items()}

    # -- how it is shown

    def _chat(self, chat: Chat) -> dict[str, Any]:
        key = chat.session_key
        newest = self._store.recent(key, 1).entries
        there = self._store.members.of_chat(key)
        return {
            "key": key,
            "id": split(key)[1] or key,
            "channel": split(key)[0],
            "title": self._store.members.title_of(key) or "",
            "last_write": chat.last_write_ms,
            "members": [{"name": one.name, "bot": one.kind == "bot"} for one in there[:_NAMES]],
            "count": len(there),
            "last": self._message(newest[-1], short=True) if newest else None,
        }

    def _page(self, chat: str, before: str | None, limit: int) -> tuple[Stretch, str, frozenset[str]]:
        """A page, the cursor from which it was read, and the ids of messages recalled after it."""
        if before is not None:
            return message_pages.before(self._store, chat, before, limit, None), "", frozenset()
        stretch = message_pages.newest(self._store, chat, limit)
        since = self._store.read_back(chat, None, limit).cursor
        return stretch, since, frozenset(self._store.changes(chat, since).hidden)

    async def _taken_back(self, chat: str, since: str, hidden: frozenset[str]) -> list[dict[str, Any]]:
        """Who recalled which message, and when, from the record's raw lines. Never the recalled text."""
        missing, gone, senders = set(hidden), list[dict[str, Any]](), dict[str, Entry]()
        try:
            async with (
                asyncio.timeout(_TAKEN_BACK_WITHIN),
                aclosing(self._store.follow(chat, since)) as lines,
            ):
                async for line in lines:
                    target = line.get("target")
                    if hides(line) and target in missing:
                        first = senders.get(target)
                        gone.append(self._shown_recalled(target, line, first))
                        missing -= {target, *((first or {}).get("message_ids") or ())}
                    elif not is_op(line) and line["message_id"] in missing:
                        senders[line["message_id"]] = line
                    if not missing:
                        break
        except TimeoutError:
            pass  # the rest was said before that cursor, and so is not on this page
        return gone

    def _shown_recalled(self, target: str, line: Entry, first: Entry | None) -> dict[str, Any]:
        return {
            "id": target,
            "ts": said_at(first) if first is not None else said_at(line),
            "sender": first["sender"] if first is not None else line["sender"],
            "name": shown_name(self._store, first) if first is not None else "",
            "bot": is_bot(first) if first is not None else False,
            "recalled": True,
            "text": "",
        }

    def _shown(self, stretch: Stretch, gone: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        messages = [*self._messages(stretch.session_key, stretch.entries, gone), *gone]
        if gone:
            messages.sort(key=lambda message: message["ts"])
        return {"messages": messages, "older": stretch.older, "newer": stretch.newer, "more": stretch.more}

    def _messages(
        self, chat: str, entries: Collection[Entry], gone: Iterable[Mapping[str, Any]] = ()
    ) -> list[dict[str, Any]]:
        """Messages of a chat, with the root of their thread if it is in the record."""
        roots = {root for entry in entries if (root := id_at(entry, "root_id"))}
        known = {*self._store.get_many(chat, roots), *(each["id"] for each in gone)} if roots else set[str]()
        return [
            self._message(entry) | ({"root": root} if (root := id_at(entry, "root_id")) in known else {})
            for entry in entries
        ]

    def _message(self, entry: Entry, *, short: bool = False) -> dict[str, Any]:
        kind, source = entry.get("msg_type"), entry.get("source")
        text = entry["content"]
        message = {
            "id": entry["message_id"],
            "ts": said_at(entry),
            "sender": entry["sender"],
            "name": shown_name(self._store, entry),
            "bot": is_bot(entry),
            "text": text[:_PREVIEW] if short else text,
            "type": kind if isinstance(kind, str) and kind != "text" else None,
            "reply_to": id_at(entry, "reply_to"),
            "thread": id_at(entry, "thread_id") or id_at(entry, "root_id"),
            "edited": bool(entry.get("edited")) or None,
            "source": source if isinstance(source, str) else None,
        }
        return {name: value for name, value in message.items() if value is not None}


def _decision(record: Mapping[str, Any]) -> dict[str, Any]:
    texts = {name: str(record.get(name)) for name in ("agent", "stage", "reason")}  # whatever stands there
    kept = {name: record.get(name) for name in ("respond", "score", "open", "ts")}
    shown = {**texts, **kept, "sentence": sentence_of(texts["reason"])}
    return shown | {"why": str(record["why"])} if record.get("why") else shown


def _wanted(asked: PageCall) -> posts.PostRequest:
    text = asked.text("text", longest=None)
    return posts.PostRequest(
        asked.text("chat"), text, asked.optional("agent"), asked.optional("key"), asked.optional("reply_to")
    )


async def _nobody(_waited: float, _seconds: float, _sentence: str) -> None:
    """No progress to report: the page does not wait."""


def turns_of_bots(entries: Sequence[Entry], idle: float) -> list[int | None]:
    """For each entry, oldest first: consecutive turns of bots up to it in its chat or thread; 0 for a person's message.

    None for entries that nobody said, such as a program's note. Counting starts again after ``idle`` seconds of
    silence.
    """
    return [_turns(entry, entries[max(0, at + 1 - GUARD_HISTORY) : at], idle) for at, entry in enumerate(entries)]


def _turns(entry: Entry, before: Sequence[Entry], idle: float) -> int | None:
    if not is_bot(entry):
        return 0 if is_person(entry) else None
    return bot_turns(entry, talk_of(entry, before), idle=idle)
