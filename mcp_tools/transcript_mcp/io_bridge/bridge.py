"""The bridge: queues of inputs and outputs for MCP tools and HTTP clients.

An item stays in the store until it has arrived. An output is removed once it was written to the reader's connection; an
input becomes ``delivered`` then, and is removed when the agent confirms it, by its next call. Any failure on the way
puts the item back in its old place. So a broken connection, a cancelled call or a killed process loses nothing; after a
kill, items that were on their way are handed out again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeAlias

from nanobot_transcript.errors import QueueFullError, StoreError
from transcript_mcp.io_bridge.contract import QueueStore
from transcript_mcp.io_bridge.deliveries import ItemDeliveries
from transcript_mcp.io_bridge.values import Direction, Item, Put, Queued, SessionState
from transcript_mcp.io_bridge.waiters import Queue, Waiter
from transcript_mcp.room import Addressee

__all__ = ["Bridge", "HandedItem", "OnHandedOut", "OnQueued"]

logger = logging.getLogger(__name__)

_TELL_EVERY: Final = 10.0
_LOOK: Final = 1.0
"""Seconds between two checks for disconnected clients and for changes by other processes."""

_SWEEP: Final = 3600.0
_SHOWN: Final = 500

OnHandedOut: TypeAlias = Callable[[float], Awaitable[None]]
"""Called now and then with the seconds waited."""

OnQueued: TypeAlias = Callable[[str | None], None]
"""Called on the event loop with the session that has changed; None for changes by another process."""


def _stays() -> bool:
    return False


async def _silent(_seconds: float) -> None:
    return


class HandedItem:
    """An item on its way. Call ``arrived`` once; later calls do nothing."""

    def __init__(self, item: Item, settle: Callable[[Item, bool], None]) -> None:
        self.seq: int = item.seq
        self.text: str = item.text
        self._item: Item | None = item
        self._settle: Callable[[Item, bool], None] = settle

    def arrived(self, arrived: bool = True) -> None:
        """Say whether it reached the receiver; if not, it goes back into its queue."""
        item, self._item = self._item, None
        if item is not None:
            self._settle(item, arrived)


class Bridge:
    """Queues of inputs and outputs by session. For one event loop. Callers check session ids and texts (``rules``).

    ``lease``: seconds after which an unconfirmed input is handed out again. ``sessions``: in how many sessions callers
    may wait at the same time.
    """

    def __init__(
        self, store: QueueStore, *, lease: float = 60.0, sessions: int = 10_000, tell_every: float = _TELL_EVERY
    ) -> None:
        self._store = store
        self._deliveries = ItemDeliveries(
            store, lease, self._start, lambda item: self._wake(item.session, item.direction), self._changed
        )
        self._sessions = sessions
        self._tell_every = tell_every
        self._queues: dict[tuple[str, Direction], Queue] = {}
        self._listeners: list[OnQueued] = []
        self._watching: asyncio.Task[None] | None = None
        self._beginning: asyncio.Task[None] | None = None
        self._work: set[asyncio.Task[Any]] = set()
        self._swept: float | None = None

    # -- people's side

    async def send_input(self, session: str, text: str, key: str | None = None) -> Put:
        """Queue an input; the agent that has waited longest gets it. Raises QueueFullError and StoreError."""
        return await self._put(session, "in", text, key)

    async def read_output(
        self, session: str, *, wait: float = 0.0, is_gone: Callable[[], bool] = _stays
    ) -> HandedItem | None:
        """Take the oldest output; None when there is none within ``wait`` seconds."""
        return await self._take(session, "out", wait, is_gone, _silent)

    async def peek_output(
        self, session: str, *, wait: float = 0.0, is_gone: Callable[[], bool] = _stays
    ) -> Item | None:
        """The oldest output, without taking it."""
        await self._begin()
        deadline = asyncio.get_running_loop().time() + wait
        changed = asyncio.Event()
        queue = self._queue(session, "out") if wait > 0 else Queue()
        queue.lookers.add(changed)
        try:
            while True:
                changed.clear()
                item = await self._store.peek(session, "out")
                left = deadline - asyncio.get_running_loop().time()
                if item is not None or left <= 0 or is_gone():
                    return item
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, _LOOK)):
                        await changed.wait()
        finally:
            queue.lookers.discard(changed)
            self._forget(session, "out")

    # -- the agent's side

    async def next_input(
        self,
        session: str,
        *,
        wait: float | None = None,
        is_gone: Callable[[], bool] = _stays,
        tell: OnHandedOut = _silent,
        agent: Addressee | None = None,
    ) -> HandedItem | None:
        """Take the next input; None when there is none within ``wait`` seconds or the client has disconnected.

        Confirms earlier inputs of the session. ``agent``: who also waits for notes that people write to it; see
        ``listening``. Raises StoreError, and QueueFullError when too many callers wait.
        """
        await self._confirm(session, given_back=False)
        return await self._take(session, "in", wait, is_gone, tell, agent)

    def look_again(self, session: str) -> None:
        """End the session's waiting calls of disconnected clients now; otherwise that takes up to a second."""
        if (queue := self._queues.get((session, "in"))) is not None:
            queue.dismiss_gone()

    async def send_output(self, session: str, text: str, key: str | None = None) -> Put:
        """Queue an output, and confirm the session's inputs. Raises QueueFullError and StoreError."""
        await self._begin()
        await self._deliveries.settled(session)
        put = await self._put(session, "out", text, key, confirms=True)
        if put.confirmed:
            self._deliveries.confirmed(session)
        return put

    async def confirm(self, session: str, *, given_back: bool = True) -> int:
        """Confirm the session's delivered inputs. Returns their number. Raises StoreError.

        With ``given_back`` this includes inputs that were freed because they were not confirmed in time.
        """
        return await self._confirm(session, given_back=given_back)

    # -- for who watches

    async def sessions(self, limit: int = 200) -> list[SessionState]:
        """The sessions, the most recently active first, after those in which somebody waits for the first item."""
        stored = {state.id: state for state in await self._store.sessions(limit)}
        waiting = {session for session, _ in self._queues}
        unknown = [SessionState(session) for session in sorted(waiting - stored.keys())]
        return [self._with_waiters(state) for state in [*unknown, *stored.values()]][:limit]

    async def queue(self, session: str, limit: int = 200, characters: int = _SHOWN) -> list[Queued]:
        """What a session holds, oldest first, with the beginning of each text."""
        return await self._store.queue(session, limit, characters)

    def listening(self, session: str) -> list[Addressee]:
        """The agents that wait in a session and also take notes from people; each once."""
        queue = self._queues.get((session, "in"))
        waiting = [waiter.agent for waiter in queue.waiters if waiter.can_take] if queue else []
        return [agent for agent in dict.fromkeys(waiting) if agent is not None]

    def listen(self, listener: OnQueued) -> Callable[[], None]:
        """Call the listener on every change. Returns a function that ends it."""
        self._listeners.append(listener)
        self._watch()

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    def close(self) -> None:
        """Close the store, when no calls wait any more. Any thread."""
        self._deliveries.close()
        self._store.close()

    # -- inside

    async def _put(
        self, session: str, direction: Direction, text: str, key: str | None, *, confirms: bool = False
    ) -> Put:
        await self._begin()
        put = await self._store.put(session, direction, text, key, confirms=confirms)
        self._wake(session, direction)
        self._changed(session)
        return put

    async def _confirm(self, session: str, *, given_back: bool) -> int:
        await self._begin()
        await self._deliveries.settled(session)
        count = await self._store.confirm(session, given_back=given_back)
        if count:
            self._deliveries.confirmed(session)
            self._changed(session)
        return count

    async def _take(
        self,
        session: str,
        direction: Direction,
        wait: float | None,
        is_gone: Callable[[], bool],
        tell: OnHandedOut,
        agent: Addressee | None = None,
    ) -> HandedItem | None:
        await self._begin()
        queue, waiter = self._queue(session, direction), Waiter(is_gone, agent)
        queue.waiters.append(waiter)
        try:
            serving = self._serve(session, direction, queue)
            await asyncio.wait((waiter.got, serving), return_when=asyncio.FIRST_COMPLETED)
            if not waiter.got.done() and wait != 0:
                self._watch()
                self._changed(session)
                await self._waited(waiter, wait, tell)
            queue.dismiss(waiter)
            item = waiter.got.result()
            return None if item is None else HandedItem(item, self._deliveries.settle)
        except BaseException:
            queue.dismiss(waiter)
            if waiter.got.exception() is None and (item := waiter.got.result()) is not None:
                self._deliveries.settle(item, arrived=False)
            raise
        finally:
            self._forget(session, direction)

    async def _waited(self, waiter: Waiter, wait: float | None, tell: OnHandedOut) -> None:
        """Wait until the waiter has a result or the time is over."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not waiter.got.done():
            left = self._tell_every if wait is None else wait - (loop.time() - began)
            if left <= 0:
                return
            done, _ = await asyncio.wait((waiter.got,), timeout=min(left, self._tell_every))
            if not done and (wait is None or left > self._tell_every):
                await tell(loop.time() - began)

    def _serve(self, session: str, direction: Direction, queue: Queue) -> "asyncio.Task[None]":
        """Start handing out items to waiters; one task per queue."""
        queue.again = True
        if queue.serving is None:
            queue.serving = self._start(self._serving(session, direction, queue))
        return queue.serving

    async def _serving(self, session: str, direction: Direction, queue: Queue) -> None:
        try:
            while queue.again and queue.first() is not None:
                queue.again = False
                item = await self._store.take(session, direction)
                if item is None:
                    continue
                queue.again = True
                waiter = queue.first()
                if waiter is None:  # all have left meanwhile
                    self._deliveries.settle(item, arrived=False)
                    return
                queue.waiters.popleft()
                waiter.got.set_result(item)
                self._changed(session)
        except Exception as error:  # noqa: BLE001 - handed to whoever awaits
            while (waiter := queue.first()) is not None:
                waiter.got.set_exception(error)
                queue.waiters.popleft()
        finally:
            queue.serving = None
            self._forget(session, direction)

    # -- other processes, and what has ended

    async def _begin(self) -> None:
        """Take over from processes that have ended. Awaited by every method; done once."""
        begun = self._beginning
        if begun is None or (begun.done() and (begun.cancelled() or begun.exception() is not None)):
            self._beginning = begun = self._start(self._adopt())
        if not begun.done():
            await asyncio.shield(begun)
        else:
            begun.result()
        now = asyncio.get_running_loop().time()
        if self._swept is None or now - self._swept > _SWEEP:
            self._swept = now
            self._start(self._sweep())

    async def _adopt(self) -> None:
        delivered, freed = await self._store.adopt()
        for item in delivered:
            self._deliveries.lend(item)
        if freed:
            self._wake_all()

    async def _sweep(self) -> None:
        if await self._store.sweep():
            self._tell_listeners(None)

    def _watch(self) -> None:
        if self._watching is None or self._watching.done():
            self._watching = self._start(self._look())

    async def _look(self) -> None:
        with suppress(StoreError):
            await self._store.changed()
        self._wake_all()  # for changes before the first check, which only remembers the state
        while self._queues or self._listeners:
            await asyncio.sleep(_LOOK)
            for queue in list(self._queues.values()):
                queue.dismiss_gone()
            with suppress(StoreError):
                await self._adopt()
                if await self._store.changed():
                    self._wake_all()
                    self._tell_listeners(None)

    def _wake_all(self) -> None:
        for session, direction in list(self._queues):
            self._wake(session, direction)

    def _wake(self, session: str, direction: Direction) -> None:
        queue = self._queues.get((session, direction))
        if queue is None:
            return
        for changed in queue.lookers:
            changed.set()
        if queue.waiters:
            self._serve(session, direction, queue)

    # --

    def _queue(self, session: str, direction: Direction) -> Queue:
        if (session, direction) not in self._queues and len(self._queues) >= 2 * self._sessions:
            raise QueueFullError(
                f"Callers are waiting in {self._sessions} sessions, which is the limit.",
                hint="Try again later, or raise io.max_sessions.",
            )
        return self._queues.setdefault((session, direction), Queue())

    def _forget(self, session: str, direction: Direction) -> None:
        queue = self._queues.get((session, direction))
        if queue is not None and queue.is_idle:
            del self._queues[session, direction]
            self._changed(session)

    def _with_waiters(self, state: SessionState) -> SessionState:
        agents, readers = self._queues.get((state.id, "in")), self._queues.get((state.id, "out"))
        return replace(
            state,
            waiting_agents=len(agents.waiters) if agents else 0,
            waiting_readers=len(readers.waiters) + len(readers.lookers) if readers else 0,
        )

    def _changed(self, session: str) -> None:
        self._tell_listeners(session)

    def _tell_listeners(self, session: str | None) -> None:
        for listener in list(self._listeners):
            try:
                listener(session)
            except Exception:
                logger.exception("A listener of the IO bridge failed")

    def _start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._work.add(task)
        task.add_done_callback(self._on_task_done)
        return task

    def _on_task_done(self, task: "asyncio.Task[None]") -> None:
        self._work.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, StoreError):
            logger.error("A task of the IO bridge failed", exc_info=error)
