"""Random histories against the simplest model there is: a list of messages in the order they were written."""

import contextlib
import fcntl
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from contract.conftest import BACKENDS
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from support.places import behind_a_socket, behind_a_spool, open_record
from support.postgres import in_a_schema
from support.transcripts import drain, drain_back

from nanobot_transcript import GroupTranscriptStore

if TYPE_CHECKING:
    from nanobot_transcript.record import Record

KEY = "feishu:oc_model"
NOW = int(time.time() * 1000)

IDS = st.sampled_from([f"om_{number}" for number in range(12)])
SENDERS = st.sampled_from(["on_ada", "on_bo", "Alpha"])
TEXTS = st.text(st.characters(codec="utf-8"), max_size=60) | st.sampled_from(
    ["会议", 'say "x"', "a\\b", "\n", "\u2028"]
)
SOURCES = st.sampled_from([None, "event", "peer_event", "history", "send", "stream"])


@dataclass(eq=False)
class Message:
    """What the model knows of one message."""

    ids: list[str]
    content: str
    sender: str
    ts: int
    source: str | None
    gone: bool = False


class StoreMachine(RuleBasedStateMachine):
    """Two store objects on one place take turns; both must show what the model says."""

    place_of: Callable[[Path], str]
    """The place of a record whose files lie in a folder."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="transcripts-")
        self.messages: list[Message] = []
        self.tombstones: set[str] = set()
        self.clock = NOW
        self.turn = 0
        self.cursors: list[tuple[str | None, int]] = [(None, 0)]
        self.stores: list[GroupTranscriptStore] = []
        self.records: list[Record] = []
        self.segment_bytes = 1 << 26

    @initialize(segment_bytes=st.sampled_from([500, 2000, 1 << 26]))
    def open(self, segment_bytes: int) -> None:
        self.segment_bytes = segment_bytes
        self.stores = [self._new(), self._new()]
        for number in range(6):
            self.append([f"om_{number}"] if number % 3 else [], f"text {number}", "on_bo", "history")

    def teardown(self) -> None:
        for record in self.records:
            record.close()
        self._folder.cleanup()

    # -- what may happen

    @rule(ids=st.lists(IDS, max_size=3, unique=True), content=TEXTS, sender=SENDERS, source=SOURCES)
    def append(self, ids: list[str], content: str, sender: str, source: str | None) -> None:
        self.clock += 1
        first = ids[0] if ids else None
        many = ids if len(ids) > 1 else None
        if source in ("send", "stream") and (known := self._overheard(ids)) is not None:
            ids, sender = known.ids, known.sender
            first, many = ids[0], ids if len(ids) > 1 else None
        expected = self._record(ids, content, sender, source)
        written = self._store().append(
            KEY,
            "user",
            content,
            sender,
            first,
            self.clock,
            message_ids=many,
            source=source,  # pyright: ignore[reportArgumentType]
        )
        assert written is expected

    @rule(count=st.integers(1, 8), sender=SENDERS)
    def append_some(self, count: int, sender: str) -> None:
        for _ in range(count):
            self.append([f"om_{self.clock}"], f"text {self.clock}", sender, "event")

    def _record(self, ids: list[str], content: str, sender: str, source: str | None) -> bool:
        """What the append must return, after noting it."""
        met = [message for message in self.messages if set(message.ids) & set(ids)]
        if not met and self.tombstones.isdisjoint(ids):
            self.messages.append(Message(ids, content, sender, self.clock, source))
            return True
        if met and source in ("send", "stream") and met[0].source in ("peer_event", "history"):
            met[0].content, met[0].source = content, source
        return False

    @rule(message_id=IDS, content=TEXTS)
    def edit(self, message_id: str, content: str) -> None:
        message = self._message(message_id)
        if message is not None:
            self._store().edit(KEY, message_id, content)
            message.content = content

    @rule(message_id=IDS, how=st.sampled_from(["recall", "redact"]))
    def hide(self, message_id: str, how: str) -> None:
        assert getattr(self._store(), how)(KEY, message_id) is (message_id not in self.tombstones)
        self.tombstones.add(message_id)
        message = self._message(message_id)
        if message is not None:
            message.gone = True

    @rule(sender=SENDERS)
    def purge_a_person(self, sender: str) -> None:
        self._store().purge(KEY, sender=sender)
        self._drop([message for message in self.messages if message.sender == sender])

    @rule(back=st.integers(0, 20))
    def purge_what_is_old(self, back: int) -> None:
        limit = self.clock - back
        self._store().purge(KEY, before_ms=limit)
        self._drop([message for message in self.messages if message.ts < limit])

    @rule()
    def maintain(self) -> None:
        self._store().maintain([KEY])

    @rule()
    def reopen(self) -> None:
        self.stores.pop(0).close()
        self.stores.append(self._new())

    @rule()
    def verify(self) -> None:
        report = self._store().verify(KEY)
        assert (report.ok, report.torn_lines) == (True, 0)

    @rule(taken=st.integers(1, 5))
    def remember_a_place(self, taken: int) -> None:
        cursor, count = self.cursors[-1]
        shown = [message for message in self.messages[count:] if not message.gone]
        page = self._store().read(KEY, cursor, taken)
        assert [entry["content"] for entry in page.entries] == [message.content for message in shown[:taken]]
        if page.entries:
            self.cursors.append((page.cursor, self.messages.index(shown[len(page.entries) - 1]) + 1))

    # -- what must hold after each step

    @invariant()
    def everything_is_shown_as_the_model_says(self) -> None:
        if not self.stores:
            return
        store = self._store()
        shown = [message for message in self.messages if not message.gone]
        expected = [(message.content, message.sender) for message in shown]
        assert [(e["content"], e["sender"]) for e in store.scan(KEY)] == expected
        assert [(e["content"], e["sender"]) for e in drain(store, KEY, limit=3).entries] == expected
        assert [(e["content"], e["sender"]) for e in drain_back(store, KEY, limit=3)] == expected
        recent = [(message["content"], message["sender"]) for message in store.get_recent(KEY, 1000)]
        assert recent == expected
        assert [(m["content"], m["sender"]) for m in store.get_recent(KEY, 5)] == expected[-5:]

    @invariant()
    def every_remembered_place_goes_on_where_it_was(self) -> None:
        if not self.stores:
            return
        for cursor, count in self.cursors[-3:]:
            left = [message.content for message in self.messages[count:] if not message.gone]
            assert [e["content"] for e in drain(self._store(), KEY, cursor, limit=4).entries] == left
            before = [message.content for message in self.messages[:count] if not message.gone]
            if cursor is not None:
                assert [e["content"] for e in drain_back(self._store(), KEY, cursor, limit=4)] == before

    @invariant()
    def search_and_get_agree_with_reading(self) -> None:
        if not self.stores:
            return
        shown = [message for message in self.messages if not message.gone]
        for message in shown[-3:]:
            if message.content:
                hits = [hit.entry["content"] for hit in self._store().search(message.content, KEY, 1000)]
                assert hits == [m.content for m in reversed(shown) if message.content in m.content]
            for known in message.ids:
                assert (self._store().get(KEY, known) or {}).get("content") == message.content
        for known in sorted(self.tombstones)[:3]:
            assert self._store().get(KEY, known) is None

    # -- helpers

    def _new(self) -> GroupTranscriptStore:
        place = type(self).place_of(Path(self._folder.name) / "store")
        self.records.append(open_record(place, segment_bytes=self.segment_bytes, lock_timeout=0.002))
        return self.records[-1].store

    def _store(self) -> GroupTranscriptStore:
        self.turn += 1
        return self.stores[self.turn % len(self.stores)]

    def _overheard(self, ids: list[str]) -> Message | None:
        return next((m for m in self.messages if set(m.ids) & set(ids) and m.source in ("peer_event", "history")), None)

    def _message(self, known: str) -> Message | None:
        return next((message for message in self.messages if known in message.ids and not message.gone), None)

    def _drop(self, gone: list[Message]) -> None:
        """A purged message may come again: nothing remembers it."""
        for message in gone:
            index = self.messages.index(message)
            self.messages.remove(message)
            self.cursors = [(cursor, count - (count > index)) for cursor, count in self.cursors]


class OverFiles(StoreMachine):
    """What only somebody can do who has the files."""

    place_of = staticmethod(str)

    @rule(ids=st.lists(IDS, max_size=1), content=TEXTS, source=SOURCES)
    def append_beside_a_stuck_lock(self, ids: list[str], content: str, source: str | None) -> None:
        """Somebody stands still with the lock: the message is recorded all the same, once."""
        segments = [path for path in Path(self._folder.name).glob("store/*.jsonl") if path.name.count(".") == 1]
        with contextlib.ExitStack() as held:
            for segment in segments:
                file = held.enter_context(segment.open("ab"))
                fcntl.flock(file, fcntl.LOCK_EX)
            self.append(ids, content, "on_ada", source)


class Elsewhere(StoreMachine):
    """Nobody here has files."""


@contextmanager
def _examples(machine: type[StoreMachine], count: int, steps: int) -> Iterator[None]:
    machine.TestCase.settings = settings(
        max_examples=count,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        derandomize=count < 100,
        database=None,
    )
    yield


@pytest.fixture(params=BACKENDS)
def machine(request: pytest.FixtureRequest) -> type[StoreMachine]:
    if request.param == "files":
        return OverFiles
    if request.param == "postgres":
        cluster = request.getfixturevalue("cluster")
        Elsewhere.place_of = staticmethod(lambda folder: in_a_schema(cluster, folder.parent.name))
    elif request.param == "spool":
        cluster = request.getfixturevalue("cluster")
        Elsewhere.place_of = staticmethod(
            lambda folder: behind_a_spool(folder.parent / "spool", in_a_schema(cluster, folder.parent.name))
        )
    else:
        address = request.getfixturevalue("record_server")
        Elsewhere.place_of = staticmethod(lambda folder: behind_a_socket(address, folder))
    return Elsewhere


def test_random_histories_are_shown_as_a_simple_list_would_show_them(machine: type[StoreMachine]) -> None:
    with _examples(machine, 20 if machine is OverFiles else 4, 30):
        machine.TestCase("runTest").runTest()


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_many_random_histories_are_shown_as_a_simple_list_would_show_them(machine: type[StoreMachine]) -> None:
    with _examples(machine, 600 if machine is OverFiles else 100, 50):
        machine.TestCase("runTest").runTest()
