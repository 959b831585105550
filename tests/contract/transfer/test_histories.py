"""Random histories, moved now and then: what readers are shown must be what was said."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from contract.transfer.conftest import WAYS
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.moves import KEY, NOW, all_equal, chat_of
from support.places import open_record
from support.postgres import Cluster, in_a_schema
from support.transcripts import drain

from nanobot_transcript.record import Record
from nanobot_transcript.record.transfer.move import check, move

IDS = st.sampled_from([f"om_{number}" for number in range(8)])
PLACES = st.sampled_from(["source", "target"])
TEXTS = st.text(st.characters(codec="utf-8"), max_size=30)

SAID = st.tuples(st.just("say"), st.none() | IDS, TEXTS, st.sampled_from([None, "event", "peer_event", "send"]))
STEPS = st.one_of(
    SAID,
    SAID,
    st.tuples(st.just("edit"), IDS, TEXTS),
    st.tuples(st.sampled_from(["recall", "redact"]), IDS),
    st.tuples(st.just("purge"), st.integers(0, 20)),
    st.tuples(st.just("maintain")),
    st.tuples(st.just("mark"), st.integers(0, 9)),
    st.tuples(st.just("move")),
)


@pytest.fixture(params=WAYS, scope="module")
def places(request: pytest.FixtureRequest, cluster: Cluster) -> "Places":
    """Two new places in the direction of this test, one of them in a folder."""

    def pair(folder: Path) -> tuple[str, str]:
        ends = str(folder / "record"), in_a_schema(cluster, f"t_{uuid4().hex[:12]}")
        return ends if request.param == WAYS[0] else ends[::-1]

    return pair


Places = Callable[[Path], tuple[str, str]]


@contextmanager
def both(places: Places, segment_bytes: int) -> Iterator[tuple[Record, Record]]:
    with tempfile.TemporaryDirectory() as folder:
        one, other = places(Path(folder))
        with (
            open_record(one, segment_bytes=segment_bytes) as source,
            open_record(other, segment_bytes=segment_bytes + 700) as target,
        ):
            source.store.append(KEY, "user", "it begins", "on_ada", "om_begin", NOW)
            yield source, target


@examples(12, 200)
@given(steps=st.lists(STEPS, max_size=40), segment_bytes=st.sampled_from([700, 3000, 1 << 26]))
def test_whatever_was_said_readers_are_shown_the_same(
    places: Places, steps: list[tuple[object, ...]], segment_bytes: int
) -> None:
    with both(places, segment_bytes) as (source, target):
        marks: dict[str, str] = {}
        for number, step in enumerate(steps):
            do(source, step, number)
            if step[0] == "mark":
                marks[str(number)] = source.store.read(KEY, None, int(str(step[1]))).cursor
                source.marks.put("session", {"cursor": marks[str(number)], "session": KEY}, str(number))
            elif step[0] == "move":
                assert move(source, target).is_fine
        all_equal(source, target)
        for name, cursor in marks.items():
            kept = target.marks.get("session", name)
            assert kept is not None
            left = drain(source.store, KEY, cursor).entries
            assert drain(target.store, KEY, kept["cursor"]).entries == left


def do(record: Record, step: tuple[object, ...], number: int) -> None:
    store, what = record.store, str(step[0])
    if what == "say":
        _, message_id, text, origin = step
        store.append(KEY, "user", text, "on_ada", message_id, NOW + number, source=origin)  # pyright: ignore[reportArgumentType]
    elif what == "edit":
        store.edit(KEY, str(step[1]), str(step[2]))
    elif what in ("recall", "redact"):
        getattr(store, what)(KEY, step[1])
    elif what == "purge":
        store.purge(KEY, before_ms=NOW + int(str(step[1])))
    elif what == "maintain":
        store.maintain([KEY])


EVENTS = st.one_of(
    st.tuples(st.just("say"), PLACES, st.integers(0, 7)),
    st.tuples(st.just("mumble"), PLACES),
    st.tuples(st.just("recall"), PLACES, st.integers(0, 7)),
    st.tuples(st.just("move")),
    st.tuples(st.just("back")),
)


@examples(15, 300)
@given(events=st.lists(EVENTS, max_size=30))
def test_wherever_it_was_said_each_message_is_there_once(places: Places, events: list[tuple[object, ...]]) -> None:
    """Some write in the new place while others still do in the old one, and it may be moved back."""
    with both(places, 900) as (source, target):
        assert move(source, target).is_fine
        said, hidden = Counter({"it begins": 1}), set[str]()
        for number, event in enumerate(events):
            what, place = event[0], target if event[1:2] == ("target",) else source
            if what == "say":
                text = f"message {event[2]}"
                place.store.append(KEY, "user", text, "on_ada", f"om_{event[2]}", NOW + number)
                said[text] = 1
            elif what == "mumble":
                place.store.append(KEY, "user", f"mumble {number}", "on_bo", None, NOW + number)
                said[f"mumble {number}"] = 1
            elif what == "recall":
                place.store.recall(KEY, f"om_{event[2]}")
                hidden.add(f"message {event[2]}")
            else:
                ends = (source, target) if what == "move" else (target, source)
                assert move(*ends).is_fine
        assert move(source, target).is_fine
        assert move(target, source).is_fine
        for record in (source, target):
            found = Counter(entry["content"] for entry in record.store.scan(KEY))
            assert found == Counter({text: 1 for text in said if text not in hidden})
        assert chat_of(check(source, target)).missing == 0
