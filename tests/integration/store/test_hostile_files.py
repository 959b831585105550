"""Links, foreign owners, foreign bytes, damaged and future indexes: nothing leaks, nothing raises, nothing is lost."""

import asyncio
import contextlib
import json
import os
import shutil
import stat
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.procs import Worker
from support.transcripts import active_file, assert_intact, body, contents, data_files, recent_contents
from support.waiting import PATIENCE

from nanobot_transcript import GroupTranscriptStore, StoreUnavailableError, UnsafePathError

KEY = "feishu:oc_shared"
NOBODY = 65534
MakeStore = Callable[..., GroupTranscriptStore]
SpawnWorker = Callable[..., Worker]

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="changing the user or mounting needs root")


def add_bytes(base_dir: Path, data: bytes) -> None:
    with active_file(base_dir).open("ab") as file:
        file.write(data)


# -- who may read and write


def test_files_are_private_whatever_the_umask_says(base_dir: Path, spawn: SpawnWorker) -> None:
    for umask in (0o000, 0o777 & ~0o700):
        shutil.rmtree(base_dir, ignore_errors=True)
        spawn("append_with_umask", place=base_dir, umask=umask).result()
        places = [base_dir, *base_dir.rglob("*")]
        modes = {str(path): stat.S_IMODE(path.stat().st_mode) for path in places}
        assert len(places) > 10
        assert {mode for path, mode in modes.items() if Path(path).is_dir()} == {0o700}
        assert {mode for path, mode in modes.items() if Path(path).is_file()} == {0o600}


@pytest.fixture
def shared_place() -> Iterator[Path]:
    """A directory that other users of the machine can reach."""
    place = Path(tempfile.mkdtemp(prefix="transcripts-"))
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


@as_root
def test_another_user_is_told_that_the_store_is_not_theirs(shared_place: Path, spawn: SpawnWorker) -> None:
    with GroupTranscriptStore(shared_place / "store") as store:
        store.append(KEY, "user", "secret", "on_ada", "om_1")
    result = spawn("read_and_append_as", place=shared_place / "store", uid=NOBODY).result()
    assert result == dict.fromkeys(("get_recent", "search", "append", "maintain"), "StoreUnavailableError")


@as_root
def test_who_may_only_read_can_read(shared_place: Path, spawn: SpawnWorker) -> None:
    """The owner may open the directory to others; they read, and are told that they cannot write."""
    base_dir = shared_place / "store"
    with GroupTranscriptStore(base_dir, segment_bytes=1000) as store:
        for number in range(20):
            store.append(KEY, "user", body(f"om_{number}", 50), "on_ada", f"om_{number}")
    for path in [base_dir, *base_dir.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    result = spawn("read_and_append_as", place=base_dir, uid=NOBODY).result()
    assert len(result["get_recent"]) == 20
    assert result["search"] == 20
    assert result["append"] == result["maintain"] == "StoreUnavailableError"


@as_root
def test_a_file_system_that_became_read_only_is_named_as_such(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        warm = GroupTranscriptStore(place / "store")
        warm.append(KEY, "user", "one", "on_ada", "om_1")
        warm.close()
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        for store in (warm, GroupTranscriptStore(place / "store")):
            with pytest.raises(StoreUnavailableError) as caught:
                store.append(KEY, "user", "two", "on_ada", "om_2")
            assert caught.value.hint
            with pytest.raises(StoreUnavailableError):
                store.recall(KEY, "om_1")
            assert recent_contents(store, KEY) == ["one"]
            assert contents(store.read(KEY).entries) == ["one"]
            assert len(store.search("one")) == 1
            assert [chat.session_key for chat in store.chats()] == [KEY]
        subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)
        assert warm.append(KEY, "user", "two", "on_ada", "om_2") is True
        assert recent_contents(warm, KEY) == ["one", "two"]
        warm.close()
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


# -- links and other kinds of files


@pytest.fixture
def filled(make_store: MakeStore) -> GroupTranscriptStore:
    """Thirty messages in several segments; the store object is closed."""
    store = make_store(segment_bytes=1500)
    for number in range(30):
        store.append(KEY, "user", body(f"om_{number}", 50), "on_ada", f"om_{number}")
    store.close()
    return store


def _replace_by_link(path: Path, target: Path) -> None:
    path.rename(path.with_name(f"{path.name}.away"))
    path.symlink_to(target)


@pytest.mark.parametrize("which", ["active", "closed"])
def test_a_link_in_the_place_of_a_segment_is_refused(
    make_store: MakeStore, base_dir: Path, tmp_path: Path, filled: GroupTranscriptStore, which: str
) -> None:
    path = data_files(base_dir)[-1 if which == "active" else 0]
    secret = tmp_path / "secret"
    secret.write_bytes(path.read_bytes().replace(b"xxx", b"SEC"))
    before = secret.read_bytes()
    _replace_by_link(path, secret)
    store = make_store()
    with pytest.raises(UnsafePathError) as caught:
        list(store.scan(KEY))
    assert caught.value.hint
    if which == "active":
        for write in (store.append, filled.append):
            with pytest.raises(UnsafePathError):
                write(KEY, "user", "x", "on_ada", "om_new")
    with pytest.raises(UnsafePathError):
        store.purge(sender="on_ada")
    assert secret.read_bytes() == before


def test_a_link_to_nowhere_in_the_place_of_a_closed_segment_costs_no_message_and_no_size(
    make_store: MakeStore, base_dir: Path, tmp_path: Path, filled: GroupTranscriptStore
) -> None:
    paths = data_files(base_dir)
    _replace_by_link(paths[1], tmp_path / "nowhere")
    store = make_store(segment_bytes=1500)
    shutil.rmtree(base_dir / ".state" / "index")
    assert store.append(KEY, "user", "x", "on_ada", "om_new") is True
    (chat,) = store.chats()
    assert chat.bytes == sum(path.stat().st_size for path in data_files(base_dir) if not path.is_symlink())
    assert filled.append(KEY, "user", "x", "on_ada", "om_new") is False


def test_a_chat_is_still_listed_with_a_link_in_the_place_of_its_key(
    make_store: MakeStore, base_dir: Path, tmp_path: Path, filled: GroupTranscriptStore
) -> None:
    names = [chat.session_key for chat in filled.chats()]
    (key,) = (base_dir / ".state").rglob("*.key")
    _replace_by_link(key, tmp_path / "nowhere")
    assert [chat.session_key for chat in make_store().chats()] == names


@pytest.mark.parametrize("suffix", ["", ".new"])
def test_a_folder_in_the_place_of_an_index_costs_no_message(
    make_store: MakeStore, base_dir: Path, filled: GroupTranscriptStore, suffix: str
) -> None:
    for table in list((base_dir / ".state").rglob("*.ids")):
        table.unlink()
        table.with_name(table.name + suffix).mkdir()
    store = make_store()
    assert store.append(KEY, "user", "x", "on_ada", "om_new") is True
    assert store.append(KEY, "user", "x", "on_ada", "om_29") is False


@pytest.mark.parametrize("folder", [".state", ".state/index", ".state/locks"])
def test_a_link_in_the_place_of_a_hidden_folder_is_refused(
    make_store: MakeStore, base_dir: Path, tmp_path: Path, filled: GroupTranscriptStore, folder: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    _replace_by_link(base_dir / folder, elsewhere)
    store = make_store()
    with pytest.raises(UnsafePathError):
        store.append("feishu:oc_new", "user", "x", "on_ada", "om_1")
    assert list(elsewhere.iterdir()) == []
    (base_dir / folder).unlink()
    assert filled.append(KEY, "user", "x", "on_ada", "om_new") is True


@pytest.mark.parametrize("name", ["index", "key", "members.json"])
def test_a_link_in_the_place_of_a_hidden_file_is_never_written_through(
    make_store: MakeStore, base_dir: Path, tmp_path: Path, filled: GroupTranscriptStore, name: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"untouched" * 10_000)
    store = make_store(segment_bytes=1500)
    filled.members.remember_person("on_ada", "Ada")
    state = base_dir / ".state"
    for path in [path for path in state.rglob("*") if path.is_file()]:
        wanted = {"index": path.suffix == ".ids", "key": path.suffix == ".key"}.get(name, path.name == name)
        if wanted:
            path.unlink()
            path.symlink_to(victim)
    for call in (
        lambda: store.append(KEY, "user", "x", "on_ada", "om_new"),
        lambda: store.append(KEY, "user", "x", "on_ada", "om_new2"),
        store.maintain,
        lambda: store.members.remember_person("on_bo", "Bo"),
        lambda: store.purge(KEY),
    ):
        with contextlib.suppress(UnsafePathError):
            call()
    assert victim.read_bytes() == b"untouched" * 10_000


@pytest.mark.parametrize("kind", ["fifo", "directory"])
def test_something_else_in_the_place_of_a_transcript_is_refused_without_hanging(
    make_store: MakeStore, base_dir: Path, filled: GroupTranscriptStore, kind: str
) -> None:
    path = data_files(base_dir)[-1]
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    store = make_store()
    for call in (
        lambda: store.append(KEY, "user", "x", "on_ada", "om_new"),
        lambda: filled.append(KEY, "user", "x", "on_ada", "om_new"),
        lambda: store.read(KEY, None, 1000),
    ):
        with pytest.raises(UnsafePathError):
            call()


# -- bytes that nobody of us wrote

FOREIGN = {
    "not utf-8": b"\xff\xfe\x80 \xc3\x28\n",
    "utf-8 inside json": b'{"role":"user","content":"\xff\xff","sender":"a","message_id":"om_f","ts":1}\n',
    "nul bytes": b"\0" * 5000 + b"\n",
    "empty lines": b"\n\n\r\n \n",
    "plain text": "nothing but text 中文\n".encode(),
    "a number": b"5\n",
    "a list": b'["role","content"]\n',
    "null": b"null\n",
    "a string": b'"text"\n',
    "an empty object": b"{}\n",
    "another object": b'{"level":"info","msg":"a log line"}\n',
    "half an object": b'{"role":"user","content":"ha\n',
    "two objects": b'{"role":"user"}{"role":"user"}\n',
    "deep lists": b"[" * 200_000 + b"\n",
    "deep objects": b'{"content":' * 50_000 + b"\n",
    "a deep field": b'{"role":"user","content":"x","x":' + b"[" * 20_000 + b"]" * 20_000 + b"}\n",
    "huge numbers": b'{"role":"user","content":"x","sender":"a","message_id":"om_f","ts":1e999,"pos":'
    + b"9" * 6000
    + b"}\n",
    "nan": b'{"role":"user","content":"x","sender":"a","message_id":"om_f","ts":NaN,"rts":Infinity}\n',
    "wrong types": b'{"role":7,"content":{"a":1},"sender":[],"message_id":9,"ts":"x","rts":{},"pos":"p","ids":5,'
    b'"mentions":3,"message_ids":{"a":1},"source":{},"agent":[],"v":"two"}\n',
    "ids of wrong types": b'{"role":"user","content":"x","message_id":["om_0"],"message_ids":[1,null,["om_1"],""]}\n',
    "ops of wrong types": b'{"op":["recall"],"target":"om_0"}\n{"op":{"a":1},"target":"om_0"}\n'
    b'{"op":"recall","target":["om_0"]}\n{"op":"edit","target":{"a":1},"content":[1]}\n{"op":"recall"}\n'
    b'{"op":"edit","target":"om_0"}\n{"op":"edit","target":"om_0","content":null}\n{"op":true,"target":"om_0"}\n',
    "escaped surrogates": b'{"role":"user","content":"\\ud800","sender":"\\udfff","message_id":"\\udabc","ts":1}\n',
    "twice the same key": b'{"role":"user","role":"assistant","content":"x","content":"y","ts":1,"ts":2}\n',
    "windows line end": b'{"role":"user","content":"x","sender":"a","message_id":"om_w","ts":1}\r\n',
    "byte order mark": b'\xef\xbb\xbf{"role":"user","content":"x","sender":"a","message_id":"om_b","ts":1}\n',
    "spaces": b'   {"role" : "user" , "content" : "x" , "sender" : "a" , "message_id" : "om_s" , "ts" : 1}   \n',
    "a giant line": b"#" * 16_000_000 + b"\n",
    "a giant message": b'{"role":"user","content":"'
    + b"x" * 16_000_000
    + b'","sender":"a","message_id":"om_g","ts":1}\n',
    "an unfinished giant line": b"#" * 16_000_000,
    "an unfinished line": b'{"role":"user","content":"half',
}


@pytest.mark.parametrize("name", FOREIGN)
def test_no_reader_and_no_writer_stumbles_over_foreign_bytes(make_store: MakeStore, base_dir: Path, name: str) -> None:
    warm = make_store()
    for number in range(3):
        warm.append(KEY, "user", body(f"om_{number}", 10), "on_ada", f"om_{number}", 5000 + number)
    cursor = warm.read(KEY, None, 1).cursor
    assert len(warm.get_recent(KEY)) == 3
    add_bytes(base_dir, FOREIGN[name])
    for store in (warm, make_store()):
        number = 3 if store is warm else 4
        assert store.append(KEY, "user", body(f"om_{number}", 10), "on_ada", f"om_{number}", 5000 + number) is True
        assert store.append(KEY, "user", body(f"om_{number}", 10), "on_ada", f"om_{number}", 5000 + number) is False
        expected = [body(f"om_{n}", 10) for n in range(1, number + 1)]
        shown = {message["content"] for message in store.get_recent(KEY, 100)}
        assert shown >= set(expected)
        assert {entry["content"] for entry in store.read(KEY, cursor, 100).entries} >= set(expected)
        assert {entry["content"] for entry in store.scan(KEY)} >= set(expected)
        assert [hit.entry["content"] for hit in store.search("om_1|")] == [body("om_1", 10)]
        assert (store.get(KEY, "om_2") or {}).get("content") == body("om_2", 10)
        assert all(json.dumps(message) for message in store.get_recent(KEY, 100))
        assert store.recall(KEY, f"om_{number + 100}") is True
        assert store.verify(KEY).entries >= number + 1
        store.maintain([KEY])
    warm.purge(KEY, sender="nobody")
    warm.purge(KEY, before_ms=1)
    assert {entry["message_id"] for entry in make_store().scan(KEY)} >= {f"om_{n}" for n in range(5)}


async def test_a_follower_does_not_stumble_over_foreign_bytes(make_store: MakeStore, base_dir: Path) -> None:
    store = make_store()
    store.append(KEY, "user", "first", "on_ada", "om_first")
    entries = store.follow(KEY, store.end(KEY))
    writer = make_store()
    async with asyncio.timeout(PATIENCE):
        for number, (name, data) in enumerate(FOREIGN.items()):
            add_bytes(base_dir, data)
            writer.append(KEY, "user", name, "on_ada", f"om_{number}")
            async for entry in entries:
                if entry.get("content") == name:
                    break


def test_a_giant_message_is_recorded_and_read_whole(make_store: MakeStore) -> None:
    store = make_store()
    giant = "字" * 5_000_000
    assert store.append(KEY, "user", giant, "on_ada", "om_1") is True
    assert store.append(KEY, "user", "after", "on_ada", "om_2") is True
    assert store.append(KEY, "user", giant, "on_ada", "om_1") is False
    for reader in (store, make_store()):
        assert recent_contents(reader, KEY) == [giant, "after"]
        assert contents(reader.read(KEY).entries) == [giant, "after"]
        assert len(reader.search("字字字")) == 1


def test_duplicates_behind_a_giant_line_are_still_found(make_store: MakeStore, base_dir: Path) -> None:
    store = make_store()
    store.append(KEY, "user", "one", "on_ada", "om_1")
    add_bytes(base_dir, b"#" * 16_000_000 + b"\n")
    assert make_store().append(KEY, "user", "one", "on_ada", "om_1") is False


# -- the hidden folder


def test_every_id_of_a_line_is_known_when_its_first_one_stood_there_before(
    make_store: MakeStore, base_dir: Path
) -> None:
    make_store().append(KEY, "user", "first", "on_ada", "om_1")
    line = {"role": "user", "content": "again", "sender": "on_ada", "message_id": "om_1", "ts": 1_763_600_000_000}
    add_bytes(base_dir, json.dumps(line | {"message_ids": ["om_1", "om_2"]}).encode() + b"\n")
    assert make_store().append(KEY, "user", "again", "on_ada", "om_2") is False


def test_everything_is_known_again_without_the_hidden_folder(
    make_store: MakeStore, base_dir: Path, filled: GroupTranscriptStore
) -> None:
    cursor = filled.read(KEY, None, 12).cursor
    filled.recall(KEY, "om_5")
    filled.close()
    shutil.rmtree(base_dir / ".state")
    store = make_store(segment_bytes=1500)
    expected = [f"om_{number}" for number in range(30) if number != 5]
    assert [entry["message_id"] for entry in store.scan(KEY)] == expected
    assert [entry["message_id"] for entry in store.read(KEY, cursor).entries] == expected[11:]
    assert [chat.session_key for chat in store.chats()] == [KEY]
    assert not any(store.append(KEY, "user", "again", "on_ada", f"om_{number}") for number in range(30))
    assert store.append(KEY, "user", "new", "on_ada", "om_new") is True
    assert len(store.get_recent(KEY, 100)) == 30


def test_an_index_that_must_grow_when_its_folder_is_gone_costs_no_message(
    make_store: MakeStore, base_dir: Path
) -> None:
    store = make_store()
    store.append(KEY, "user", body("om_first", 5), "on_ada", "om_first")
    shutil.rmtree(base_dir / ".state")
    lines = [
        {"role": "user", "content": body(f"om_{n}", 5), "sender": "on_ada", "message_id": f"om_{n}", "ts": n}
        for n in range(3000)
    ]
    add_bytes(base_dir, b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    assert store.append(KEY, "user", body("om_2999", 5), "on_ada", "om_2999") is False
    assert store.append(KEY, "user", body("om_new", 5), "on_ada", "om_new") is True
    shutil.rmtree(base_dir / ".state")
    for number in range(3000, 8000):
        assert store.append(KEY, "user", body(f"om_{number}", 5), "on_ada", f"om_{number}") is True
    assert assert_intact(make_store(), KEY, [f"om_{number}" for number in range(8000)]) == 8002


def test_cursors_survive_the_loss_of_the_hidden_folder_and_further_rotation(
    make_store: MakeStore, base_dir: Path, filled: GroupTranscriptStore
) -> None:
    cursor = filled.read(KEY, None, 28).cursor
    end = filled.end(KEY)
    filled.close()
    shutil.rmtree(base_dir / ".state")
    store = make_store(segment_bytes=1500)
    for number in range(30, 60):
        store.append(KEY, "user", body(f"om_{number}", 50), "on_ada", f"om_{number}")
    assert [entry["message_id"] for entry in store.read(KEY, cursor).entries] == [f"om_{n}" for n in range(28, 60)]
    assert [entry["message_id"] for entry in store.read(KEY, end).entries] == [f"om_{n}" for n in range(30, 60)]


def _index_files(base_dir: Path) -> list[Path]:
    return sorted((base_dir / ".state" / "index").glob("*.ids"))


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "header only": lambda data: data[:64],
    "short header": lambda data: data[:20],
    "zeros": lambda data: b"\0" * len(data),
    "noise": lambda data: bytes((i * 7919 + 13) % 256 for i in range(len(data))),
    "noise behind the header": lambda data: data[:64] + bytes((i * 31 + 7) % 256 for i in range(len(data) - 64)),
    "full of ones": lambda data: data[:64] + b"\xff" * (len(data) - 64),
    "not ours": lambda data: b"SQLite format 3\0" + data[16:],
    "longer": lambda data: data + b"\0" * 4096,
    "odd length": lambda data: data + b"\0",
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_index_costs_no_message_and_no_reader(
    make_store: MakeStore, base_dir: Path, filled: GroupTranscriptStore, how: str
) -> None:
    """An index may be wrong; the transcript never is. Damaged ids at worst let a duplicate in, which readers fold."""
    for path in _index_files(base_dir):
        path.write_bytes(DAMAGE[how](path.read_bytes()))
    store = make_store(segment_bytes=1500)
    assert len(store.get_recent(KEY, 100)) == 30
    assert store.get(KEY, "om_3") is not None
    assert store.append(KEY, "user", body("om_new", 5), "on_ada", "om_new") is True
    for number in range(30):
        store.append(KEY, "user", body(f"om_{number}", 50), "on_ada", f"om_{number}")
    expected = [f"om_{number}" for number in range(30)] + ["om_new"]
    for reader in (store, make_store()):
        assert assert_intact(reader, KEY, expected) == 31
        assert len({message["content"] for message in reader.get_recent(KEY, 100)}) == 31
    store.maintain()
    store.verify(KEY)


def test_an_index_of_a_newer_version_is_left_untouched(
    make_store: MakeStore, base_dir: Path, filled: GroupTranscriptStore, caplog: pytest.LogCaptureFixture
) -> None:
    """The process works from memory, and says so."""
    for path in _index_files(base_dir):
        magic = bytearray(path.read_bytes())
        assert magic[:5] == b"NTids"
        magic[7] += 1
        path.write_bytes(magic)
    before = {path.name: path.read_bytes() for path in _index_files(base_dir)}
    store = make_store()
    assert not any(store.append(KEY, "user", "again", "on_ada", f"om_{number}") for number in range(30))
    for number in range(30, 40):
        assert store.append(KEY, "user", body(f"om_{number}", 5), "on_ada", f"om_{number}") is True
        assert store.append(KEY, "user", body(f"om_{number}", 5), "on_ada", f"om_{number}") is False
    other = make_store()
    assert other.append(KEY, "user", "again", "on_ada", "om_35") is False
    assert other.get(KEY, "om_35") is not None
    assert assert_intact(other, KEY, [f"om_{number}" for number in range(40)]) == 40
    other.maintain()
    assert {path.name: path.read_bytes() for path in _index_files(base_dir)} == before
    assert any("newer" in record.getMessage() for record in caplog.records)


def test_a_members_file_of_a_newer_version_is_left_untouched(make_store: MakeStore, base_dir: Path) -> None:
    store = make_store()
    store.members.remember_person("on_ada", "Ada")
    path = base_dir / ".state" / "members.json"
    newer = json.dumps({"v": 99, "people": ["another", "shape"]}).encode()
    path.write_bytes(newer)
    fresh = make_store()
    fresh.members.remember_person("on_bo", "Bo")
    assert fresh.members.name_of("on_bo") == "Bo"
    assert path.read_bytes() == newer


def test_an_index_that_points_elsewhere_is_not_believed(make_store: MakeStore, base_dir: Path) -> None:
    """Two ids with one hash, or an offset into the middle of a line: the line itself has the last word."""
    store = make_store()
    for number in range(5):
        store.append(KEY, "user", body(f"om_{number}", 5), "on_ada", f"om_{number}")
    store.close()
    (path,) = _index_files(base_dir)
    data = bytearray(path.read_bytes())
    for at in range(64, len(data), 16):
        key_hash, offset = struct.unpack_from("<QQ", data, at)
        if key_hash:
            struct.pack_into("<QQ", data, at, key_hash, offset + 3)
    path.write_bytes(data)
    fresh = make_store()
    assert len(fresh.get_recent(KEY)) == 5
    fresh.get(KEY, "om_3")
    fresh.append(KEY, "user", body("om_3", 5), "on_ada", "om_3")
    assert assert_intact(make_store(), KEY, [f"om_{number}" for number in range(5)]) == 5
