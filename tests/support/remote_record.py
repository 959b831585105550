"""A record in another process behind a socket: the proof that who uses a record does not need a folder.

``python -m support.remote_record SOCKET`` serves any number of records; ``RemoteRecord(SOCKET, place)`` opens one. Each
plain call takes ``latency`` seconds, and a ``strict`` one is refused on a thread in which an event loop runs. With a
``spool_dir``, what is appended is accepted by a spool there.
"""

import asyncio
import json
import os
import pickle
import socket
import socketserver
import struct
import sys
import threading
import time
import traceback
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from support.far_backend import FarFiles

from nanobot_transcript.coordination.contract import Ear, Signals
from nanobot_transcript.entry import Entry, Ids
from nanobot_transcript.errors import StoreUnavailableError
from nanobot_transcript.findings import Finding
from nanobot_transcript.outbox import waits
from nanobot_transcript.outbox.values import Answer, OutboxLimits, PostStatus
from nanobot_transcript.record import Record
from nanobot_transcript.record.contract import Usage
from nanobot_transcript.record.spool.backend import SpooledBackend
from nanobot_transcript.sql.location import Shelf
from nanobot_transcript.store.contract import Retention
from nanobot_transcript.store.front import GroupTranscriptStore
from nanobot_transcript.store.members import Change, MemberDirectory

__all__ = ["BLOCKED", "BlockingCallError", "RemoteRecord", "instead_of_folders", "serve"]

BLOCKED: Final = "REMOTE_RECORD_BLOCKED"
"""The variable that names a file: whoever would have blocked an event loop is written down there."""

_SIZE: Final = struct.Struct(">I")
_A_WHILE: Final = 0.5
_NOW_AND_THEN: Final = 0.1


class BlockingCallError(RuntimeError):
    """A plain call on an event loop, which would have had to wait for the network."""


def _send(sock: socket.socket, value: object) -> None:
    data = pickle.dumps(value)
    sock.sendall(_SIZE.pack(len(data)) + data)


def _receive(sock: socket.socket) -> Any:
    (size,) = _SIZE.unpack(_exactly(sock, _SIZE.size))
    return pickle.loads(_exactly(sock, size))


def _exactly(sock: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        if not (piece := sock.recv(size - len(data))):
            raise EOFError
        data += piece
    return bytes(data)


# -- the process that has the folder


class _Held:
    """One opened record, with what somebody listens to in it."""

    def __init__(self, place: str, options: dict[str, Any], loop: asyncio.AbstractEventLoop) -> None:
        self.record = Record.open(place, backend=FarFiles(Path(place).expanduser(), **options), **options)
        self._loop = loop
        self._open: dict[int, Any] = {}

    def call(self, part: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        if part in ("ears", "followers"):
            return asyncio.run_coroutine_threadsafe(getattr(self, f"_{name}")(*args), self._loop).result()
        if name == "document":
            self.record.members.name_of("")  # looks for news
            return self.record.members._document
        at: Any = self.record
        for attribute in filter(None, part.split(".")):
            at = getattr(at, attribute)
        found = getattr(at, name)(*args, **kwargs)
        return list(found) if isinstance(found, Iterator) else found

    async def _listen(self, names: tuple[str, ...]) -> int:
        manager = self.record.signals.listen(*names)
        ear = manager.__enter__()
        self._open[id(manager)] = (manager, ear)
        return id(manager)

    async def _heard(self, number: int) -> frozenset[str]:
        return await self._open[number][1].wait(_A_WHILE)

    async def _unlisten(self, number: int) -> None:
        self._open.pop(number)[0].__exit__(None, None, None)

    async def _follow(self, key: str, after: str | None) -> int:
        backend = self.record.store.backend
        lines = backend.follow(key, backend.end(key) if after is None else after)
        queue: asyncio.Queue[object] = asyncio.Queue()

        async def pump() -> None:
            try:
                async for entry in lines:
                    queue.put_nowait(entry)
            except Exception as error:  # noqa: BLE001 - it is raised where the entries are read
                queue.put_nowait(error)

        task = asyncio.create_task(pump())
        self._open[id(task)] = (task, queue)
        return id(task)

    async def _next(self, number: int) -> object:
        with suppress(TimeoutError):
            async with asyncio.timeout(_A_WHILE):
                return await self._open[number][1].get()
        return None

    async def _unfollow(self, number: int) -> None:
        task = self._open.pop(number)[0]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, address: str) -> None:
        self.held: dict[int, _Held] = {}
        self._notes = Path(f"{address}.opened")
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        super().__init__(address, _Connection)

    def note(self, place: str) -> None:
        """Write down that somebody has opened a record."""
        with self._notes.open("a", encoding="utf-8") as file:
            file.write(f"{place}\n")


class _Connection(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        number, place, options = _receive(self.request)
        mine = number is None  # the first connection of a record: with it, the process behind it ends
        if mine:
            self.server.note(place)
            held = _Held(place, options, self.server.loop)
            number = id(held)
            self.server.held[number] = held
        held = self.server.held[number]
        _send(self.request, number)
        try:
            while True:
                self._answer(held, *_receive(self.request))
        except (EOFError, OSError):
            if mine:
                held.record.close()
                self.server.held.pop(number, None)

    def _answer(self, held: _Held, *asked: Any) -> None:
        try:
            answer: tuple[object, ...] = ("well", held.call(*asked))
        except Exception as error:  # noqa: BLE001 - raised at the other end
            answer = ("ill", type(error), error.args, error.__dict__)
        _send(self.request, answer)


def serve(address: str) -> None:
    """Serve until stdin ends."""
    server = _Server(address)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()


# -- the processes that have none


class _Wire:
    """Connections to one record, one for each thread."""

    def __init__(self, address: str, place: str, options: dict[str, Any], latency: float, *, strict: bool) -> None:
        self._address = address
        self._asked = (place, options)
        self._latency = latency
        self._strict = strict
        self._own = threading.local()
        self._mutex = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._closed = False
        self._first: socket.socket | None = None
        self._number: int | None = None
        self._behind = ThreadPoolExecutor(1, "remote-record")

    def call(self, part: str, name: str, *args: Any, **kwargs: Any) -> Any:
        """The plain call: waits for the answer."""
        if _on_a_loop():
            _write_down(part, name)
            if self._strict:
                raise BlockingCallError(f"{part}.{name} would block an event loop")
        self.settle()
        self._closed = False
        return self.talk(part, name, *args, **kwargs)

    def talk(self, part: str, name: str, *args: Any, **kwargs: Any) -> Any:
        """What threads of our own ask is asked of an open record only."""
        time.sleep(self._latency)
        try:
            if self._closed:
                raise EOFError
            sock = self._connection()
            _send(sock, (part, name, args, kwargs))
            answer = _receive(sock)
        except (OSError, EOFError) as error:
            self._own.sock = None
            raise StoreUnavailableError(f"The record at {self._address} cannot be asked.", hint="Start it.") from error
        if answer[0] == "well":
            return answer[1]
        _, kind, args, state = answer
        error = kind.__new__(kind, *args)
        error.args = args
        error.__dict__.update(state)
        raise error

    def later(self, part: str, name: str, *args: Any, **kwargs: Any) -> None:
        """In order, behind the caller. A hint is not worth opening a closed record for."""
        if part != "signals":
            self._closed = False

        def talk() -> None:
            with suppress(Exception):
                self.talk(part, name, *args, **kwargs)

        with suppress(RuntimeError):  # it was closed
            self._behind.submit(talk)

    def settle(self) -> None:
        """Wait for what goes on behind the caller."""
        if threading.current_thread().name.startswith("remote-record") or _on_a_loop():
            return
        with suppress(RuntimeError):
            self._behind.submit(lambda: None).result()

    def _connection(self) -> socket.socket:
        sock = getattr(self._own, "sock", None)
        if sock is not None:
            return sock
        with self._mutex:
            if self._first is None:
                self._first, self._number = self._connected(None)
            sock, _ = self._connected(self._number)
            self._own.sock = sock
            return sock

    def _connected(self, number: int | None) -> tuple[socket.socket, int]:
        sock = socket.socket(socket.AF_UNIX)
        self._sockets.append(sock)
        sock.connect(self._address)
        _send(sock, (number, *self._asked))
        return sock, _receive(sock)

    def close(self) -> None:
        """Let the other end see that this process has ended."""
        self.settle()
        with self._mutex:
            sockets, self._sockets, self._closed = self._sockets, [], True
            self._first, self._own = None, threading.local()
        for sock in sockets:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)  # a thread may be reading from it
            sock.close()


def _on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _write_down(part: str, name: str) -> None:
    if path := os.environ.get(BLOCKED):
        stack = "".join(traceback.format_stack(limit=12)[:-2])
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{part}.{name} would block an event loop:\n{stack}\n")


class _Part:
    """A part whose calls are all plain ones."""

    blocking = append_blocks = True

    def __init__(self, wire: _Wire, part: str) -> None:
        self._wire, self._part = wire, part

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self._wire.call(self._part, name, *args, **kwargs)


class _Backend(_Part):
    def __init__(self, wire: _Wire, place: str) -> None:
        super().__init__(wire, "store.backend")
        self.place = self.address = place

    def flush(self, session_key: str, timeout: float) -> bool:
        return True

    def get_many(self, session_key: str, message_ids: Iterable[str]) -> dict[str, Entry]:
        return self._wire.call(self._part, "get_many", session_key, list(message_ids))

    def scan(self, session_key: str) -> Iterator[Entry]:
        return iter(self._wire.call(self._part, "scan", session_key))

    async def follow(self, session_key: str, after: str | None) -> AsyncGenerator[Entry, None]:
        with _pulled(self._wire, ("follow", "next", "unfollow"), (session_key, after)) as news:
            while True:
                found = await news.get()
                if isinstance(found, Exception):
                    raise found
                if found is not None:
                    yield found  # type: ignore[misc]

    def close(self) -> None:
        self._wire.settle()


@contextmanager
def _pulled(wire: _Wire, names: tuple[str, str, str], args: tuple[Any, ...]) -> Iterator["asyncio.Queue[object]"]:
    """What the other end has to tell, brought by a thread of its own: no long poll may sit in one of the loop's."""
    begin, more, end = names
    loop, queue, over = asyncio.get_running_loop(), asyncio.Queue[object](), threading.Event()

    def put(value: object) -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(queue.put_nowait, value)

    def pull() -> None:
        try:
            number = wire.talk("followers", begin, *args)
            put(None)
            while not over.is_set():
                put(wire.talk("followers", more, number))
            wire.talk("followers", end, number)
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            put(error)

    threading.Thread(target=pull, daemon=True).start()
    try:
        yield queue
    finally:
        over.set()


class _Members(MemberDirectory):
    """This process's copy. On an event loop it is brought up to date, and changes are sent, behind the caller."""

    def __init__(self, wire: _Wire) -> None:
        super().__init__()
        self._wire = wire
        self._changed = False
        self._asked = 0.0

    def _refresh(self) -> None:
        if not _on_a_loop():
            self._wire.settle()
            self._fetch()
        elif time.monotonic() - self._asked > _NOW_AND_THEN:
            self._asked = time.monotonic()
            threading.Thread(target=self._fetch, daemon=True).start()

    def _fetch(self) -> None:
        with suppress(StoreUnavailableError):
            document = self._wire.talk("members", "document")
            with self._mutex:
                self._document = document

    def _change(self, change: Change) -> None:
        if not _on_a_loop():
            self._refresh()
        with self._mutex:
            self._changed = change(self._document) or self._changed

    def _sent(self, name: str, *args: Any, **kwargs: Any) -> None:
        self._changed = False
        getattr(MemberDirectory, name)(self, *args, **kwargs)
        if self._changed or name == "forget":
            (self._wire.later if _on_a_loop() else self._wire.call)("members", name, *args, **kwargs)

    def remember_bot(
        self,
        account: str,
        name: str,
        *,
        aliases: Iterable[str] = (),
        description: str = "",
        open_ids: Mapping[str, str] | None = None,
        alive: bool = True,
    ) -> None:
        told = {"aliases": tuple(aliases), "description": description, "open_ids": dict(open_ids or {}), "alive": alive}
        self._sent("remember_bot", account, name, **told)

    def remember_person(
        self, sender: str, name: str | None = None, ids: Ids | None = None, observer: str | None = None
    ) -> None:
        self._sent("remember_person", sender, name, ids, observer)

    def saw(self, session_key: str, sender: str) -> None:
        self._sent("saw", session_key, sender)

    def left(self, session_key: str, sender: str) -> None:
        self._sent("left", session_key, sender)

    def remember_list(self, session_key: str, people: Mapping[str, str], kind: str, observer: str) -> None:
        self._sent("remember_list", session_key, dict(people), kind, observer)

    def remember_chat(self, session_key: str, title: str) -> None:
        self._sent("remember_chat", session_key, title)

    def forget(self, sender: str) -> None:
        self._sent("forget", sender)


class _Decisions(_Part):
    def write(self, session_key: str, decision: Any, now_ms: float | None = None) -> bool:
        self._wire.later(self._part, "write", session_key, decision, now_ms)
        return True

    def editions(self, session_keys: Iterable[str]) -> dict[str, object]:
        return self._wire.call(self._part, "editions", list(session_keys))


class _Signals:
    def __init__(self, wire: _Wire) -> None:
        self._wire = wire

    @contextmanager
    def listen(self, *names: str) -> Iterator[Ear]:
        with _pulled(self._wire, ("listen", "heard", "unlisten"), (names,)) as news:
            yield _Ear(news, frozenset(names))

    def tell(self, name: str) -> None:
        self._wire.later("signals", "tell", name)


class _Ear:
    def __init__(self, news: "asyncio.Queue[object]", names: frozenset[str]) -> None:
        self._news, self._names = news, names

    async def wait(self, timeout: float) -> frozenset[str]:  # noqa: ASYNC109 - no error
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while True:
                    heard = await self._news.get()
                    if heard is None:
                        return self._names  # what was told before the other end listened, nobody knows
                    if isinstance(heard, frozenset) and heard:
                        return heard
        return frozenset()


class _Outbox(_Part):
    def __init__(self, wire: _Wire, limits: OutboxLimits, signals: _Signals) -> None:
        super().__init__(wire, "outbox")
        self.limits = limits
        self._signals = signals

    def listen(self) -> Any:
        return self._signals.listen("posts")

    async def wait_sent(self, post_id: str, timeout: float) -> PostStatus:  # noqa: ASYNC109 - no error
        return await waits.wait_sent(self, post_id, timeout)

    async def wait_answer(self, post_id: str, timeout: float, after: int = 0) -> Answer | None:  # noqa: ASYNC109 - no error
        return await waits.wait_answer(self, post_id, timeout, after)

    def take(self, holder: str, session_keys: Iterable[str], agent: str | None = None) -> Any:
        return self._wire.call(self._part, "take", holder, list(session_keys), agent)

    def close(self) -> None:
        self._wire.settle()

    def __enter__(self) -> "_Outbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RemoteRecord(Record):
    """``Record`` behind the socket at ``address``; ``options`` are those of ``Record.open``."""

    def __init__(
        self,
        address: str,
        place: str | Path,
        *,
        latency: float = 0.0,
        strict: bool = False,
        spool_dir: str | Path | None = None,
        posting: OutboxLimits | None = None,
        retention: Retention | None = None,
        **options: Any,
    ) -> None:
        self._wire = wire = _Wire(address, str(place), {"posting": posting, **options}, latency, strict=strict)
        self.place = f"{address}:{place}"
        self.members = _Members(wire)
        backend: Any = _Backend(wire, self.place)
        if spool_dir is not None:
            backend = SpooledBackend(backend, spool_dir)
        self.store = GroupTranscriptStore(backend=backend, members=self.members, retention=retention)
        parts: Any = {name: _Part(wire, name) for name in ("leases", "budgets", "marks", "processes")}
        self.leases, self.budgets = parts["leases"], parts["budgets"]
        self.marks, self.processes = parts["marks"], parts["processes"]
        self._signals = _Signals(wire)
        self._outbox: Any = _Outbox(wire, posting or OutboxLimits(), self._signals)
        self._decisions: Any = _Decisions(wire, "decisions")

    def shelf(self, folder: Path) -> Shelf:
        """See ``Record.shelf``."""
        return Shelf(folder)

    @property
    def signals(self) -> Signals:
        """See ``Record.signals``."""
        return self._signals

    @property
    def outbox(self) -> Any:
        """See ``Record.outbox``."""
        return self._outbox

    @property
    def decisions(self) -> Any:
        """See ``Record.decisions``."""
        return self._decisions

    def usage(self) -> list[Usage]:
        """See ``Record.usage``."""
        return self._wire.call("", "usage")

    def require(self, *, exists: bool = False, written: bool = False) -> None:
        """See ``Record.require``."""
        self._wire.call("", "require", exists=exists, written=written)

    def check(self) -> list[Finding]:
        """See ``Record.check``."""
        return self._wire.call("", "check")

    def close(self) -> None:
        """See ``Record.close``."""
        self.store.close()
        self._wire.close()


def instead_of_folders(told: str) -> None:
    """Whatever record this process opens from now on lies behind a socket; ``told`` is its address, and after a space
    the options of ``RemoteRecord`` as JSON.
    """
    address, _, options = told.partition(" ")
    given: dict[str, Any] = json.loads(options or "{}")

    def opened(place: str | Path | None = None, **more: Any) -> Record:
        return RemoteRecord(address, place or "default", **given, **more)

    Record.open = staticmethod(opened)  # type: ignore[method-assign]


if __name__ == "__main__":
    serve(sys.argv[1])
