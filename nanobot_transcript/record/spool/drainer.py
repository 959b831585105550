"""Hands on what waits in a spool: batches of one chat each, in order, until the record has them."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, cast

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidEntryError, StoreError, StoreUnavailableError
from nanobot_transcript.record.spool.limits import pause_after
from nanobot_transcript.sql.outage import AwayError
from nanobot_transcript.store import arguments
from nanobot_transcript.store.contract import FarBackend
from nanobot_transcript.store.lines.fold import is_part_of
from nanobot_transcript.store.lines.ids import ids_of, is_sent
from nanobot_transcript.store.lines.ops import is_op

if TYPE_CHECKING:
    from nanobot_transcript.record.spool.folder import Folder
    from nanobot_transcript.record.spool.spool import Job, Spool

__all__ = ["Drainer"]

logger = logging.getLogger(__name__)

_LEAST: Final = 0.1
_IDLE: Final = 1.0
"""Seconds between two rounds of tidying up and of trying again."""


class Drainer:
    """One thread. While the record cannot be written to it pauses, longer each time, and logs that once. Lines that the
    record can never take are put aside.
    """

    def __init__(self, far: FarBackend, spool: "Spool", pause: Callable[[int], float] = pause_after) -> None:
        self._far: FarBackend = far
        self._spool: Spool = spool
        self._pause: Callable[[int], float] = pause
        self._failures: int = 0
        self._stuck: dict[str, int] = {}
        """Chats that cannot be written to, and how often that was tried."""
        self._since: float = 0.0
        self._hurried: bool = False
        self._awaited: threading.Condition = threading.Condition(spool.lock)
        """Ends a pause."""
        self._closing: bool = False
        self._identity: str = ""
        self._thread: threading.Thread = threading.Thread(target=self._run, name="transcript-spool", daemon=True)
        self.error: str = ""
        """Why nothing can be handed on; empty when it works."""
        self.known: int = 0
        """Number of lines that the record had already."""

    def start(self) -> None:
        """Start the thread; only once."""
        self._thread.start()

    @property
    def is_away(self) -> bool:
        """True while the record cannot be written to."""
        return self._failures > 0

    def hurry(self) -> None:
        """Called when the record was heard of: end the pause."""
        with self._spool.lock:
            self._hurried = True
            self._awaited.notify()

    def finish(self, timeout: float) -> bool:
        """Hand on what waits, with one attempt if the record is away, and stop. False when ``timeout`` seconds were not
        enough, or the record cannot be written to. In either case the spool is closed, now or when a call under way
        ends.
        """
        with self._spool.lock:
            self._closing = True
            self._awaited.notify()
            self._spool.written.notify()
        self._thread.join(timeout)
        return not (self._thread.is_alive() or self.error)

    def _run(self) -> None:
        try:
            while (job := self._next()) is not None:
                try:
                    more = self._hand_on(*job)
                except Exception as error:  # noqa: BLE001 - whatever it is, what waits is not to be lost
                    if self._failed(job, error):
                        return
                else:
                    self._worked(job)
                    self._spool.give_back(job, 0.0 if more else None)
        finally:
            self._spool.close()

    def _next(self) -> "Job | None":
        """What to hand on now; None to stop."""
        while True:
            self._tidy()
            with self._spool.lock:
                job = self._spool.take()
                if job is not None or self._closing:
                    return job
                self._spool.written.wait(min(_IDLE, self._spool.until_next()))

    def _tidy(self) -> None:
        try:
            self._spool.tidy()
        except (StoreError, OSError) as error:
            logger.warning("%s: the spool cannot be tidied up: %s", self._spool.base, error)

    # -- one batch

    def _hand_on(self, folder: "Folder", session_key: str) -> bool:
        """True when there is more of that chat. Raises StoreError kinds and whatever a backend raises."""
        if not self._is_for(folder):
            return True
        batch = folder.batch(session_key)
        if batch.lines:
            try:
                self._send(session_key, batch.lines)
            except InvalidEntryError:
                self._send_singly(session_key, batch.lines)
        # After sending: a kill in between hands the lines on twice, which ``write_many`` tolerates. The other way round
        # would lose them.
        folder.move(session_key, batch.place)
        return batch.more

    def _is_for(self, folder: "Folder") -> bool:
        if not folder.is_never_ours:
            self._identity = self._identity or self._far.identity()
            if folder.belongs_to(self._identity):
                return True
        folder.foreign = True
        logger.error(
            "%s holds lines for another record than %s; they are kept there. Start a bot of that record%s: it hands "
            "them on. To hand them on to this record anyway, stop all bots, remove %s and start again.",
            folder.base,
            self._far.place,
            f", {folder.meant_for}" if folder.is_elsewhere else "",
            " and ".join(map(str, folder.notes)),
        )
        return False

    def _send(self, session_key: str, lines: Sequence[Entry]) -> None:
        answers = self._far.write_many(session_key, lines, _now())
        for entry, new in zip(lines, answers, strict=True):
            if not new:
                self.known += 1
                self._complete(session_key, entry)

    def _send_singly(self, session_key: str, lines: Sequence[Entry]) -> None:
        """Send lines one by one, so that one that the record can never take does not hold up the others."""
        for entry in lines:
            try:
                self._send(session_key, [entry])
            except InvalidEntryError as error:
                logger.error("%s: the record refuses a line for good; it is put aside: %s", session_key, error)
                refused = self._spool.refused
                if refused is not None:
                    refused.apply(session_key, entry) if is_op(entry) else refused.append(session_key, entry)

    def _complete(self, session_key: str, entry: Entry) -> None:
        """When the record has only a part of a message, give it the whole: its writer was told that the message is
        recorded.
        """
        if is_op(entry) or not is_sent(entry):
            return
        target = ids_of(entry)[0]
        known = self._far.get(session_key, target)
        if known is None or not is_part_of(known, entry):
            return
        op = arguments.op("edit", target, entry["content"], entry["sender"], entry["ts"], {})
        op["mark"] = f"whole:{target}:{len(entry['content'])}"  # the same mark when this is repeated
        op["rts"] = entry.get("rts", op["ts"])  # pyright: ignore[reportGeneralTypeIssues]
        self._far.write_many(session_key, [op], _now())

    # -- the record comes and goes

    def _failed(self, job: "Job", error: Exception) -> bool:
        """True to stop."""
        if isinstance(error, StoreError) and not isinstance(error, StoreUnavailableError):
            self._failed_in(job, error)
            return False
        self._spool.give_back(job, 0.0)
        if not self._failures:
            self._since = time.monotonic()
            self._log_outage(error)
            self._tell(str(error))
        self._failures += 1
        self._identity = ""  # when it comes back it may be another record
        return self._rest(self._pause(self._failures))

    def _log_outage(self, error: Exception) -> None:
        if isinstance(error, AwayError):
            logger.info("Messages are kept in %s until the database is back", self._spool.base)
            return
        told = logger.warning if isinstance(error, StoreError) else logger.exception
        told("%s cannot be written to; what is said is kept in %s: %s", self._far.place, self._spool.base, error)

    def _failed_in(self, job: "Job", error: StoreError) -> None:
        """Only this chat cannot be written to, for example while somebody holds its lock; the others go on."""
        _, session_key = job
        failures = self._stuck[session_key] = self._stuck.get(session_key, 0) + 1
        if failures == 1:
            logger.warning("%s cannot be written to; its messages are kept in the spool: %s", session_key, error)
            self._tell(str(error))
        self._spool.give_back(job, time.monotonic() + self._pause(failures))

    def _rest(self, pause: float) -> bool:
        """Pause; True to stop."""
        with self._spool.lock:
            self._spool.sent.notify_all()  # waiting for lines to be handed on is useless now
            if self._closing:
                return True
            # A successful read wakes this thread, but the record may still refuse writes: do not spin.
            at_least = min(pause, _LEAST)
            self._awaited.wait_for(lambda: self._closing, at_least)
            self._awaited.wait_for(lambda: self._hurried or self._closing, pause - at_least)
            self._hurried = False
        return False

    def _worked(self, job: "Job") -> None:
        _, session_key = job
        if self._failures:
            seconds = time.monotonic() - self._since
            logger.info("The record can be written to again after %.0f s; handing on the waiting messages", seconds)
            self._failures = 0
        if self._stuck.pop(session_key, None):
            logger.info("%s can be written to again; handing on the waiting messages", session_key)
        if self.error and not self._stuck:
            self._tell("")

    def _tell(self, error: str) -> None:
        self.error = error
        self._spool.tell(error)


def _now() -> float:
    return cast("float", time.time_ns() // 1_000_000)
