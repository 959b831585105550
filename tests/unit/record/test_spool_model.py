"""Random histories of two processes and a record that comes and goes, against the record as it is without a spool."""

import tempfile
import time
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.far_backend import FarFiles, FaultyFar
from support.spools import KEY, flushed
from support.transcripts import contents, drain, recent_contents

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.record.spool.backend import SpooledBackend
from nanobot_transcript.record.spool.limits import SpoolLimits

NOW = int(time.time() * 1000)
IDS = st.sampled_from([f"om_{number}" for number in range(8)])
LIMITS = SpoolLimits(read_seconds=0.0, folder_bytes=30_000, folder_seconds=0.0, look_seconds=0.0)


class SpoolMachine(RuleBasedStateMachine):
    """What one process says waits until the record listens again; meanwhile others write to that. All of it is also
    done at once to a plain store, in the order in which the record gets it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="spools-")
        base = Path(self._folder.name)
        self.far = FaultyFar(base / "far")
        self.record = GroupTranscriptStore(backend=self.far)
        self.model = GroupTranscriptStore(backend=FarFiles(base / "model"))
        self.spool = base / "spool"
        self.clock = NOW
        self.tail: list[tuple[str, str, str | None, int]] = []
        self.cursor: str | None = None
        self.read: list[str | None] = []

    @initialize()
    def open(self) -> None:
        self.store = self._process()

    def teardown(self) -> None:
        self.far.deaf = False
        self.store.close()
        self._folder.cleanup()

    # -- what may happen

    @rule(message_id=IDS | st.none())
    def say(self, message_id: str | None) -> None:
        self._do("append", message_id)

    @rule(message_id=IDS)
    def edit(self, message_id: str) -> None:
        if self.store.get(KEY, message_id) is not None:
            self._do("edit", message_id)

    @rule(message_id=IDS)
    def recall(self, message_id: str) -> None:
        self._do("recall", message_id)

    @rule(message_id=IDS)
    def another_says(self, message_id: str) -> None:
        self.clock += 1
        for store in (self.record, self.model):
            store.append(KEY, "user", f"theirs {self.clock}", "on_bo", message_id, self.clock)

    @rule(message_id=IDS)
    def another_recalls(self, message_id: str) -> None:
        for store in (self.record, self.model):
            store.recall(KEY, message_id)

    @rule()
    def go_away(self) -> None:
        self.far.deaf = True

    @precondition(lambda self: self.far.deaf)
    @rule(lost=st.integers(0, 2))
    def come_back(self, lost: int) -> None:
        """Perhaps so many answers are lost on the way."""
        self.far.cut, self.far.deaf = lost, False
        self.store.backend.hurry()  # type: ignore[attr-defined]
        flushed(self.store)
        self.far.cut = 0
        self._catch_up()

    @rule()
    def restart(self) -> None:
        """As after a kill: nothing is handed on before the end."""
        deaf, self.far.deaf = self.far.deaf, True
        self.store.close()
        self.store = self._process()
        self.far.deaf = deaf
        if not deaf:
            self.store.recent(KEY, 1)
            flushed(self.store)
            self._catch_up()

    @rule()
    def read_on(self) -> None:
        page = drain(self.store, KEY, self.cursor, limit=3)
        self.cursor = page.cursor
        self.read += [entry["message_id"] for entry in page.entries]

    # -- what must hold

    @invariant()
    def nothing_is_given_twice(self) -> None:
        assert len(self.read) == len(set(self.read))

    @precondition(lambda self: not self.far.deaf)
    @rule()
    def the_record_has_what_it_would_have_without_a_spool(self) -> None:
        assert contents(self.record.scan(KEY)) == contents(self.model.scan(KEY))

    @rule()
    def what_was_said_here_is_seen_here(self) -> None:
        """As if the tail had come to the record now."""
        with tempfile.TemporaryDirectory() as folder:
            merged = GroupTranscriptStore(backend=FarFiles(Path(folder)))
            for entry in self.record.scan(KEY):
                merged.append(KEY, "user", entry["content"], entry["sender"], entry["message_id"], entry["ts"])
            hidden = self._play(merged)
            known = {entry["content"]: entry["message_id"] for entry in self.store.scan(KEY)}
            expected = contents(merged.scan(KEY))
            # What the record refuses, because it was taken back there before, may be shown until it does.
            assert [text for text in contents(self.store.scan(KEY)) if known[text] not in hidden] == expected
            shown = [text for text in recent_contents(self.store, KEY) if known[text] not in hidden]
            assert shown == recent_contents(merged, KEY)
            for text in expected:
                message_id = known[text]
                assert message_id is not None
                assert (self.store.get(KEY, message_id) or {}).get("content") == text

    # -- helpers

    def _process(self) -> GroupTranscriptStore:
        backend = SpooledBackend(self.far, self.spool, limits=LIMITS, pause=lambda failures: 0.002)
        return GroupTranscriptStore(backend=backend)

    def _do(self, what: str, message_id: str | None) -> None:
        self.clock += 1
        done = (what, f"mine {self.clock}", message_id, self.clock)
        self._apply(self.store, *done)
        self.tail.append(done)
        if not self.far.deaf:
            flushed(self.store)
            self._catch_up()

    def _catch_up(self) -> None:
        for done in self.tail:
            self._apply(self.model, *done)
        self.tail.clear()

    def _play(self, store: GroupTranscriptStore) -> set[str]:
        """Do what waits to another store; the ids that were taken back in the record only."""
        start = f"c1.{self.far.end(KEY).split('.')[1]}.0.0"
        hidden = set(self.far.changes(KEY, start).hidden)
        for what, text, message_id, at in self.tail:
            if message_id not in hidden:
                self._apply(store, what, text, message_id, at)
        return hidden

    def _apply(self, store: GroupTranscriptStore, what: str, text: str, message_id: str | None, at: int) -> None:
        if what == "append":
            store.append(KEY, "user", text, "on_ada", message_id, at)
        elif what == "edit":
            store.edit(KEY, message_id or "", text)
        else:
            store.recall(KEY, message_id or "")


SpoolMachine.TestCase.settings = settings(
    max_examples=30,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
    database=None,
)
TestSpool = SpoolMachine.TestCase
