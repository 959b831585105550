"""One good answer instead of four: who answers a message that is addressed to nobody and belongs to nobody.

Every process that wants to answer waits a moment, the shorter the better its answer fits, and then claims the message.
The first one gets it. The others stand by: when the holder dies, its lease runs out, and one of them checks whether
there is an answer already and takes over if not.
"""

import asyncio
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Final, Self

from nanobot_transcript.coordination.async_fronts import AsyncLease
from nanobot_transcript.coordination.contract import Grant, Lease, agent_of, new_holder
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import StoreBusyError, StoreError, StoreUnavailableError
from nanobot_transcript.identity import AgentProfile, is_bot, wrote
from nanobot_transcript.sql.outage import level_of
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from nanobot_transcript.turns.addressees import id_at, ids_of, talk_of

__all__ = ["AnswerClaims", "Claim", "ClaimLimits", "is_answered"]

_LOOK_BACK: Final = 100
_RENEWALS: Final = 4
"""Renewals within one ``ttl``."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ClaimLimits:
    """All in seconds.

    ``ttl``: how long a claim lasts without being renewed, which is how long a dead holder keeps others waiting.
    ``longest_wait``: how long a process with the lowest score waits before it claims. ``look_every``: how often bots
    that stand by look. ``patience``: how long they stand by, and how long a claim is renewed. ``remembered``: how long
    an answered message cannot be claimed again, whatever the record says.
    """

    ttl: float = 20.0
    longest_wait: float = 1.0
    look_every: float = 0.5
    patience: float = 600.0
    remembered: float = 1800.0


class AnswerClaims:
    """The claims of one agent's process. ``lease`` is shared by all processes of the store."""

    def __init__(
        self, lease: Lease, store: AsyncGroupTranscriptStore, agent: str, limits: ClaimLimits | None = None
    ) -> None:
        self.limits: ClaimLimits = limits or ClaimLimits()
        self.holder: str = new_holder(agent)
        self._lease: AsyncLease = AsyncLease(lease)
        self._store: AsyncGroupTranscriptStore = store

    async def win(
        self, session_key: str, message: Entry, *, score: float = 1.0, alone: bool = False, stand_by: bool = True
    ) -> "Claim | None":
        """The claim on a message, to be used with ``async with``; None when another process answers or has
        answered.

        ``score`` is between 0 and 1; the best does not wait, nor does an agent that is ``alone`` in the chat. With
        ``stand_by`` this returns only when the message is answered, the claim is won after all, or patience ends.

        Raises StoreError kinds when the record or the leases cannot be used: rather no answer than four.
        """
        name = _name(session_key, message)
        if not alone:
            await asyncio.sleep(self.limits.longest_wait * (1 - min(1.0, max(0.0, score))))
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self.limits.patience
        while True:
            try:
                won = await self._try(name, session_key, message)
            except StoreBusyError:  # another process is at it
                won = None
            if won is not None:
                return won if won.open else None
            if not stand_by or loop.time() >= give_up:
                return None
            await asyncio.sleep(self.limits.look_every)

    async def _try(self, name: str, session_key: str, message: Entry) -> "Claim | None":
        """The claim; None while somebody else holds it; a closed claim when there is nothing left to answer."""
        claim = Claim(self._lease.plain, name, self.limits)
        if await self._is_settled(name):
            claim.open = False
            return claim
        grant = await self._lease.acquire(name, self.holder, self.limits.ttl)
        if grant is None:
            return None
        claim.grant = grant
        try:
            # Look only now: while we hold the claim, nobody else can add the answer we are looking for.
            entries = (await self._store.recent(session_key, _LOOK_BACK)).entries
            by = agent_of(grant.succeeds) if grant.succeeds else None
            if await self._is_settled(name):
                claim.release()
            elif is_answered(message, entries) or (by and is_answered(message, entries, by=AgentProfile(by))):
                claim.settle()
        except BaseException:
            claim.release()
            raise
        return claim

    async def _is_settled(self, name: str) -> bool:
        """True when some process has settled this message."""
        return await self._lease.current(_settled(name)) is not None


class Claim:
    """The right to answer one message, renewed for as long as the ``async with`` block lasts. For event loops: nothing
    here waits for a network.

    If the block ends normally the message counts as answered; if it raises before ``settle`` was called, the claim is
    given back and another bot may answer.
    """

    def __init__(self, lease: Lease, name: str, limits: ClaimLimits) -> None:
        self.grant: Grant | None = None
        self.open: bool = True
        """False once the message is answered or the claim given back."""
        self._lease: Lease = lease
        self._name: str = name
        self._limits: ClaimLimits = limits
        self._renewed_at: float = time.monotonic()
        self._over: threading.Event = threading.Event()
        self._renewing: threading.Thread | None = None
        self._telling: threading.Thread | None = None

    @property
    def is_ours(self) -> bool:
        """The last result of ``holds``; asks nobody."""
        return self.open and self.grant is not None

    def holds(self) -> bool:
        """Call this right before sending: True when the claim is still ours, for ``ttl`` seconds after its last
        renewal.

        It is renewed now, unless that could take long or another process has locked the leases at the moment: then the
        last known state counts. Raises other StoreError kinds.
        """
        if not self._lease.blocking:
            with suppress(StoreBusyError):
                return self._renewed()
        # Half of it, so that a send that starts now can end before the lease runs out.
        return self.is_ours and time.monotonic() - self._renewed_at < self._limits.ttl / 2

    def _renewed(self) -> bool:
        if self.grant is None or not self.open:
            return False
        # Taken before the call, because the lease may run from its beginning.
        at = time.monotonic()
        self.grant = self._lease.renew(self.grant, self._limits.ttl)
        self._renewed_at = at
        return self.grant is not None

    def settle(self) -> None:
        """The message is answered, or needs no answer: nobody can claim it any more. Call it once the answer is
        sent.
        """
        if self.grant is not None and self.open:
            self._tell(partial(self._settle, self.grant), until_known=True)

    def release(self) -> None:
        """Let another bot answer."""
        self._tell(partial(self._lease.release, self.grant) if self.grant is not None else None)

    def _settle(self, grant: Grant) -> None:
        self._lease.acquire(_settled(self._name), grant.holder, self._limits.remembered)
        self._lease.release(grant)

    def _tell(self, others: Callable[[], object] | None, *, until_known: bool = False) -> None:
        """Tell the other processes, in a thread where that may take long; retried when they cannot be told now and the
        claim would run out, because then another bot would answer, too.
        """
        self.open = False
        if others is None:
            return
        if not self._lease.blocking:
            others()
            return
        self._telling = threading.Thread(target=self._told, args=(others, until_known), name="claim")
        self._telling.start()

    def _told(self, others: Callable[[], object], until_known: bool) -> None:
        try:
            others()
        except StoreError as error:  # it expires by itself
            logger.log(level_of(error, logging.WARNING), "A claim could not be released: %s", error)
            if until_known and isinstance(error, StoreUnavailableError):
                threading.Thread(target=self._tell_again, args=(others,), name="claim", daemon=True).start()

    def _tell_again(self, others: Callable[[], object]) -> None:
        """Retry for as long as others stand by."""
        give_up = time.monotonic() + self._limits.patience
        while time.monotonic() < give_up:
            time.sleep(self._limits.look_every)
            try:
                others()
            except StoreUnavailableError:
                continue
            except StoreError as error:
                logger.log(level_of(error, logging.WARNING), "A claim could not be released: %s", error)
            return

    async def __aenter__(self) -> Self:
        # In a thread: if an event loop that is busy for seconds lost the claim, a second bot would answer.
        self._renewing = threading.Thread(target=self._renew, name="claim-renewal", daemon=True)
        self._renewing.start()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._over.set()
        if self._renewing is not None:
            await asyncio.to_thread(self._renewing.join)
        try:
            self.settle() if exc is None else self.release()
        except StoreError as error:  # it expires by itself
            logger.log(level_of(error, logging.WARNING), "A claim could not be released: %s", error)
        if self._telling is not None:
            await asyncio.to_thread(self._telling.join)

    def _renew(self) -> None:
        """Never beyond ``patience``: an agent that hangs must not keep the message forever."""
        every = pause = self._limits.ttl / _RENEWALS
        give_up = time.monotonic() + self._limits.patience
        while not self._over.wait(pause) and time.monotonic() < give_up:
            pause = every
            try:
                if not self._renewed():
                    return
            except StoreBusyError:  # another process has locked the leases for a moment
                pause = every / 10
            except StoreError as error:
                logger.log(level_of(error, logging.WARNING), "A claim could not be renewed: %s", error)


def is_answered(message: Entry, entries: Sequence[Entry], *, by: AgentProfile | None = None) -> bool:
    """True when a bot answered the message: with a reply to it, or, for the given bot ``by``, with any later message in
    its talk that replies to nothing.

    Later means behind the message in ``entries`` (oldest first); if it is not among them, said after it.
    """
    ids = ids_of(message)
    replies = [entry for entry in entries if "reply_to" in entry and id_at(entry, "reply_to") in ids]
    if any(is_bot(entry) if by is None else wrote(by, entry) for entry in replies):
        return True
    if by is None:
        return False
    words = talk_of(message, (entry for entry in _after(message, ids, entries) if wrote(by, entry)))
    return any(not id_at(entry, "reply_to") for entry in words)


def _after(message: Entry, ids: set[str], entries: Sequence[Entry]) -> Sequence[Entry]:
    at = next((at for at, entry in enumerate(entries) if ids and _is_called(entry, ids)), None)
    if at is not None:
        return entries[at + 1 :]
    said = message.get("ts")
    if type(said) not in (int, float):
        return []
    return [entry for entry in entries if type(ts := entry.get("ts")) in (int, float) and ts > said]


def _is_called(entry: Entry, ids: set[str]) -> bool:
    """True when an entry has one of these ids. Hot: called for a hundred entries per decision."""
    first = entry.get("message_id")
    return (isinstance(first, str) and first in ids) or ("message_ids" in entry and not ids.isdisjoint(ids_of(entry)))


def _settled(name: str) -> str:
    """The name of the lease that marks a message as needing no answer."""
    return f"settled {name}"


def _name(session_key: str, message: Entry) -> str:
    message_id = message.get("message_id")
    if not message_id:
        told = f"{message['sender']}\0{message['ts']}\0{message['content']}"
        message_id = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
    return f"answer {session_key} {message_id}"
