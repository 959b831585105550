"""Other programs may write a text into JSON with escapes; searching and erasing find it all the same."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.transcripts import active_file, occurs_on_disk

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.files.layout import Layout, stem_of
from nanobot_transcript.store.jsonl.cursor import parse_cursor
from nanobot_transcript.store.jsonl.segments import Segments

KEY = "feishu:oc_a"
MakeStore = Callable[..., GroupTranscriptStore]


def write(base_dir: Path, content: str, message_id: str = '"om_foreign"') -> None:
    """A line of a program that spells as it likes; both values are JSON."""
    with active_file(base_dir).open("a", encoding="utf-8") as file:
        file.write(f'{{"role": "user", "content": {content}, "sender": "on_x", "message_id": {message_id}, "ts": 5}}\n')


def found(store: GroupTranscriptStore, query: str) -> list[str | None]:
    return [hit.entry["message_id"] for hit in store.search(query, KEY)]


SPELLINGS = [
    (json.dumps("明天的会议"), "会议"),
    (json.dumps("明天的会议").replace("\\u4f1a", "\\u4F1A"), "会议"),
    (json.dumps("well 👍 done"), "👍"),
    (r'"a\/b"', "a/b"),
    (r'"\u003cb\u003e \u0041da"', "<b> Ada"),
    (r'"half 会\u8bae"', "会议"),
    (r'"tab\u0009here"', "b\th"),
]


@pytest.mark.parametrize(("content", "query"), SPELLINGS)
@pytest.mark.parametrize("index", ["lags", "is complete", "is missing", "was built again"])
def test_a_text_is_found_however_it_is_spelled(
    make_store: MakeStore, base_dir: Path, index: str, content: str, query: str
) -> None:
    with make_store() as store:
        store.append(KEY, "user", "before", "on_ada", "om_1")
        write(base_dir, content)
        if index != "lags":
            store.append(KEY, "user", "after", "on_ada", "om_2")
    if index in ("is missing", "was built again"):
        shutil.rmtree(base_dir / ".state")
    if index == "was built again":
        make_store().append(KEY, "user", "much later", "on_ada", "om_3")
    store = make_store()
    assert found(store, query) == ["om_foreign"]
    assert found(store, "not there") == []


def test_it_is_found_in_every_segment_and_among_others(make_store: MakeStore, base_dir: Path) -> None:
    store = make_store(segment_bytes=2000)
    for number in range(30):
        store.append(KEY, "user", "预算 of ours", "on_ada", f"om_{number}", number + 1)
        (active,) = [path for path in base_dir.glob("*.jsonl") if path.name.count(".") == 1]
        line = {"role": "user", "content": "预算", "sender": "on_x", "message_id": f"om_x{number}", "ts": number + 1}
        with active.open("a", encoding="ascii") as file:
            file.write(json.dumps(line) + "\n")
    for reader in (store, make_store()):
        assert len(found(reader, "预算")) == 20
        assert len(reader.search("预算", KEY, 100)) == 60
        assert found(reader, "预算 of ours") == [f"om_{number}" for number in reversed(range(10, 30))]


def test_an_id_that_is_spelled_otherwise_is_erased_too(make_store: MakeStore, base_dir: Path) -> None:
    store = make_store()
    store.append(KEY, "user", "before", "on_ada", "om_1")
    write(base_dir, '"SECRET"', json.dumps("消息"))
    store.redact(KEY, "消息")
    assert occurs_on_disk(base_dir, "SECRET") == []


def plain_part(base_dir: Path) -> int:
    """Up to where nobody has to look for other spellings, which takes twice as long."""
    segments = Segments(Layout(base_dir), stem_of(KEY))
    segment = segments.newest()
    assert segment is not None
    with segment:
        return segments.plain_to(segment)


def test_what_this_store_writes_needs_no_second_look(make_store: MakeStore, base_dir: Path) -> None:
    texts = ["会议", r"C:\users\u5bc6 a/b", "\x1b[0m \0", '"\\u4f1a"', "\u2028", "👍"]
    store = make_store()
    for number, text in enumerate(texts * 400):  # the index grows
        store.append(KEY, "user", text, "on_ada\x1b", f"om_{number}")
    size = parse_cursor(stem_of(KEY), store.end(KEY)).offset
    assert plain_part(base_dir) == size
    store.close()
    shutil.rmtree(base_dir / ".state")
    make_store().append(KEY, "user", "again", "on_ada", "om_again")
    assert plain_part(base_dir) > size
    write(base_dir, r'"\u4f1a"')
    assert plain_part(base_dir) > size
    make_store().append(KEY, "user", "after", "on_ada", "om_after")
    assert plain_part(base_dir) == 0


def test_the_index_of_a_closed_segment_is_good_for_its_copy_too(make_store: MakeStore, base_dir: Path) -> None:
    with make_store(segment_bytes=1000) as store:
        for number in range(30):
            store.append(KEY, "user", f"text {number}", "on_ada", f"om_{number}")
    copied = base_dir.parent / "copied"
    shutil.copytree(base_dir, copied)
    segments = Segments(Layout(copied), stem_of(KEY))
    closed = segments.closed(1)
    assert closed is not None
    with closed:
        assert segments.plain_to(closed) == closed.end() > 0
