"""A bot of this process: the messages that became turns of it, and the hop and claim of their answers."""

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from nanobot_transcript.errors import StoreError
from nanobot_transcript.relevance.decision import TurnOutcome
from nanobot_transcript.turns import Claim

if TYPE_CHECKING:
    import weakref

__all__ = ["Answers", "Bot", "Objection", "Objects", "Turns"]

logger = logging.getLogger(__name__)

_TURNS: Final = 4096
_ANSWERS: Final = 1024


class Turns:
    """Message id → session key, for the newest messages that were handed to the agent.

    A message is *expected* from the moment it is received until nanobot has decided. Otherwise a turn that runs in
    between would be shown it as something that others said, and then be given it again as a turn.
    """

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, str] = OrderedDict()
        self._decided: set[str] = set()
        self._mutex: threading.Lock = threading.Lock()

    def expect(self, message_id: str, session_key: str) -> None:
        """The message will probably become a turn of this session."""
        with self._mutex:
            self._sessions.setdefault(message_id, session_key)
            self._trim()

    def confirm(self, message_id: str, session_key: str) -> None:
        """nanobot handed the message to this session."""
        with self._mutex:
            self._sessions[message_id] = session_key
            self._decided.add(message_id)
            self._trim()

    def settle(self, message_id: str) -> None:
        """nanobot is done with the message; what it did not hand over belongs to no session."""
        with self._mutex:
            if message_id not in self._decided:
                self._sessions.pop(message_id, None)

    def began(self, message_id: str | None) -> bool:
        """True when nanobot handed the message to the agent."""
        return message_id in self._decided

    def session_of(self, message_id: str | None) -> str | None:
        """The session whose turn the message is; None if it is none."""
        return self._sessions.get(message_id) if message_id else None

    def _trim(self) -> None:
        while len(self._sessions) > _TURNS:
            self._decided.discard(self._sessions.popitem(last=False)[0])


class Objection(NamedTuple):
    """Why an answer must not go out: ``sentence`` for the log, ``outcome`` and ``why`` to be noted.

    ``outcome`` is None when it is noted already.
    """

    outcome: TurnOutcome | None
    sentence: str
    why: str = ""


Objects = Callable[[], Awaitable[Objection | None]]
"""Asked when an answer is ready: why it must not go out, or None."""


@dataclass(slots=True, eq=False)
class _Expected:
    hop: int
    claim: Claim | None = None
    objection: Objects | None = None
    sent: asyncio.Event = field(default_factory=asyncio.Event)


class Answers:
    """The answers of one bot, by the message that is answered. For nanobot's event loop."""

    def __init__(self) -> None:
        self._expected: OrderedDict[str, _Expected] = OrderedDict()
        self._holding: set[asyncio.Task[None]] = set()

    def expect(self, message_id: str, hop: int, objection: Objects | None = None) -> None:
        """An answer to this message will be bot turn number ``hop`` in a row.

        ``objection`` is asked right before the answer's first words go out.
        """
        self._expected[message_id] = _Expected(hop, objection=objection)
        self._expected.move_to_end(message_id)
        while len(self._expected) > _ANSWERS:
            self.drop(next(iter(self._expected)))

    def hold(self, message_id: str, claim: Claim) -> None:
        """The expected answer has this claim, which is renewed until the answer is out."""
        expected = self._expected[message_id]
        expected.claim = claim
        holding = asyncio.get_running_loop().create_task(_hold(claim, expected.sent))
        self._holding.add(holding)
        holding.add_done_callback(self._holding.discard)

    def drop(self, message_id: str) -> None:
        """There will be no answer; the claim is released, so that another bot may answer."""
        expected = self._expected.pop(message_id, None)
        if expected is not None and expected.claim is not None and expected.claim.open:
            _release(expected.claim)
            expected.sent.set()

    def hop_of(self, message_id: str | None) -> int | None:
        """The hop of an answer to this message; None if it was not expected."""
        expected = self._expected.get(message_id) if message_id else None
        return expected.hop if expected is not None else None

    async def objection(self, message_id: str | None) -> Objection | None:
        """Why this message must not be answered any more; None if it may be."""
        expected = self._expected.get(message_id) if message_id else None
        if expected is None or expected.sent.is_set():
            return None
        try:
            if expected.claim is not None and not expected.claim.holds():
                return Objection("lost_claim", "another bot answers it by now")
            return await expected.objection() if expected.objection is not None else None
        except StoreError as error:  # better no answer than several
            return Objection("failed", f"it is unknown whether another bot is answering it: {error}", str(error))

    def sent(self, message_id: str | None) -> None:
        """The first words of the answer are out and recorded."""
        expected = self._expected.get(message_id) if message_id else None
        if expected is not None:
            expected.sent.set()


async def _hold(claim: Claim, sent: asyncio.Event) -> None:
    """Renew the claim until the answer is out. A claim renews itself only for so long, so this ends in any case."""
    async with claim:
        await sent.wait()


def _release(claim: Claim) -> None:
    try:
        claim.release()
    except StoreError as error:
        logger.warning("A claim could not be released and will expire: %s", error)


@dataclass(slots=True, eq=False)
class Bot:
    """One bot of this process: its app, nanobot's channel object, its turns and its answers."""

    app_id: str
    channel: "weakref.ref[Any]"
    turns: Turns = field(default_factory=Turns)
    answers: Answers = field(default_factory=Answers)
    known: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the platform has said who the bot is."""

    @property
    def channel_name(self) -> str:
        """nanobot's name of the channel, ``feishu`` or ``feishu.<instance>``; nanobot sets it late."""
        return str(getattr(self.channel(), "name", ""))
