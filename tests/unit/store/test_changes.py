"""What the files tell of changes, beyond what every backend promises."""

from collections.abc import Callable
from pathlib import Path

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.store.contract import Changes

KEY = "feishu:oc_1"


def test_very_far_back_everything_counts_as_possibly_erased(make_store: Callable[..., GroupTranscriptStore]) -> None:
    store = make_store(segment_bytes=2000)
    store.append(KEY, "user", "first", "on_ada", "om_1")
    start = store.end(KEY)
    for number in range(60):
        store.append(KEY, "user", f'"op": "recall" says {number}', "on_ada", f"om_x{number}")
    assert store.changes(KEY, start) == Changes(erased=True)


def test_a_store_that_is_not_there_now_has_not_erased_anything(
    make_store: Callable[..., GroupTranscriptStore], tmp_path: Path
) -> None:
    store = make_store()
    store.append(KEY, "user", "first", "on_ada", "om_1")
    start = store.end(KEY)
    elsewhere = GroupTranscriptStore(tmp_path / "not mounted")
    assert elsewhere.changes(KEY, start) == Changes()
