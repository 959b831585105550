"""The members file: who is who, shared by processes that know nothing of each other."""

import json
import logging
import multiprocessing
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock
import pytest
from support.waiting import PATIENCE

from nanobot_transcript.errors import StoreUnavailableError, UnsafePathError
from nanobot_transcript.files.document import StateFile
from nanobot_transcript.store.member_file import FileMembers
from nanobot_transcript.store.member_view import BotProfile


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "transcripts"


def members_file(base: Path) -> Path:
    return base / ".state" / "members.json"


def test_reading_creates_nothing(base: Path) -> None:
    members = FileMembers(base)
    assert members.bots() == []
    assert members.of_chat("feishu:oc_1") == []
    assert members.name_of("on_ada") is None
    assert members.sender_for("cli_a", "ou_1") is None
    assert not base.exists()


def test_a_person_is_known_to_another_reader_at_once(base: Path) -> None:
    reader = FileMembers(base)
    assert reader.name_of("on_ada") is None
    FileMembers(base).remember_person("on_ada", "Ada")
    assert reader.name_of("on_ada") == "Ada"


def test_the_file_begins_with_its_version_and_is_private(base: Path) -> None:
    FileMembers(base).remember_person("on_ada", "Ada")
    file = members_file(base)
    assert file.read_bytes().startswith(b'{"v":1,')
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for folder in (base, file.parent, file.parent / "locks"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_an_unchanged_call_does_not_touch_the_disk(base: Path) -> None:
    members = FileMembers(base)
    members.remember_person("on_ada", "Ada", {"union_id": "on_ada", "open_id": "ou_1"}, "cli_a")
    members.saw("feishu:oc_1", "on_ada")
    members_file(base).unlink()
    members.remember_person("on_ada", "Ada", {"union_id": "on_ada", "open_id": "ou_1"}, "cli_a")
    members.remember_person("on_ada")
    members.saw("feishu:oc_1", "on_ada")
    assert not members_file(base).exists()


def test_what_is_not_given_stays_as_it_was(base: Path) -> None:
    members = FileMembers(base)
    members.remember_person("on_ada", "Ada", {"union_id": "on_ada"})
    members.remember_person("on_ada", ids={"user_id": "u1"})
    assert members.name_of("on_ada") == "Ada"
    stored = json.loads(members_file(base).read_text(encoding="utf-8"))
    assert stored["people"]["on_ada"]["ids"] == {"union_id": "on_ada", "user_id": "u1"}


def test_one_person_is_found_by_the_open_id_of_each_app(base: Path) -> None:
    members = FileMembers(base)
    members.remember_person("on_ada", "Ada", {"union_id": "on_ada", "open_id": "ou_a"}, "cli_a")
    members.remember_person("on_ada", "Ada", {"union_id": "on_ada", "open_id": "ou_b"}, "cli_b")
    assert members.sender_for("cli_a", "ou_a") == "on_ada"
    assert members.sender_for("cli_b", "ou_b") == "on_ada"
    assert members.sender_for("cli_a", "ou_b") is None


def test_a_more_lasting_sender_takes_over_ids_name_and_chats(base: Path) -> None:
    members = FileMembers(base)
    members.remember_person("ou_a", "Ada", {"open_id": "ou_a"}, "cli_a")
    members.saw("feishu:oc_1", "ou_a")
    members.remember_person("on_ada", ids={"union_id": "on_ada", "open_id": "ou_a"}, observer="cli_a")
    assert members.sender_for("cli_a", "ou_a") == "on_ada"
    assert [(m.sender, m.name) for m in members.of_chat("feishu:oc_1")] == [("on_ada", "Ada")]
    assert members.name_of("ou_a") == "Ada"


def test_an_open_id_never_takes_the_place_of_a_union_id(base: Path) -> None:
    members = FileMembers(base)
    members.remember_person("on_ada", "Ada", {"union_id": "on_ada", "open_id": "ou_a"}, "cli_a")
    members.remember_person("ou_a", ids={"open_id": "ou_a"}, observer="cli_a")
    assert members.sender_for("cli_a", "ou_a") == "on_ada"


def test_bots_are_listed_by_name_and_found_by_the_open_id_others_see(base: Path) -> None:
    members = FileMembers(base)
    members.remember_bot("cli_b", "Beta")
    members.remember_bot("cli_a", "Alpha", aliases=["小阿"], description="answers", open_ids={"cli_b": "ou_x"})
    other = FileMembers(base)
    alpha = BotProfile("cli_a", "Alpha", ("小阿",), "answers", {"cli_b": "ou_x"})
    assert other.bots() == [alpha, BotProfile("cli_b", "Beta")]
    assert other.bot_of("cli_a") == alpha
    assert other.sender_for("cli_b", "ou_x") == "Alpha"
    assert other.name_of("cli_a") == "Alpha"
    assert other.name_of("Alpha") == "Alpha"


def test_a_bot_that_is_silent_for_a_month_gives_its_name_back(base: Path) -> None:
    clock = [1_760_000_000.0]
    members = FileMembers(base, now=lambda: clock[0])
    members.remember_bot("cli_1", "Alpha")
    members.remember_bot("cli_2beef", "Alpha")
    clock[0] += 20 * 86400
    members.remember_bot("cli_2beef", "Alpha")
    members.remember_bot("cli_1", "Alpha", open_ids={"cli_2beef": "ou_x"}, alive=False)
    assert members.name_of("cli_2beef") == "Alpha-beef"
    clock[0] += 11 * 86400
    other = FileMembers(base, now=lambda: clock[0])
    assert [(bot.account, bot.silent) for bot in other.bots()] == [("cli_1", True), ("cli_2beef", False)]
    assert (other.name_of("cli_2beef"), other.name_of("cli_1")) == ("Alpha", "Alpha")
    assert other.sender_for("cli_2beef", "ou_x") == "Alpha"
    other.remember_bot("cli_1", "Alpha")
    assert FileMembers(base, now=lambda: clock[0]).name_of("cli_2beef") == "Alpha-beef"


def test_a_sign_of_life_is_written_once_a_day(base: Path) -> None:
    clock = [1_760_000_000.0]
    members = FileMembers(base, now=lambda: clock[0])
    written: list[int] = []
    for hours in (0, 1, 22, 1, 1, 22):
        clock[0] += hours * 3600
        members.remember_bot("cli_1", "Alpha")
        written.append(json.loads(members_file(base).read_text(encoding="utf-8"))["bots"]["cli_1"]["seen"])
    assert [moment - written[0] for moment in written] == [0, 0, 0, 86_400_000, 86_400_000, 86_400_000]


def test_a_clock_that_was_ahead_does_not_keep_a_bot_alive(base: Path) -> None:
    clock = [1_860_000_000.0]
    members = FileMembers(base, now=lambda: clock[0])
    members.remember_bot("cli_1", "Alpha")
    clock[0] = 1_760_000_000.0
    members.remember_bot("cli_1", "Alpha")
    clock[0] += 31 * 86400
    assert [bot.silent for bot in members.bots()] == [True]


def test_open_ids_of_a_bot_add_up_while_aliases_are_replaced(base: Path) -> None:
    members = FileMembers(base)
    members.remember_bot("cli_a", "Alpha", aliases=["A"], open_ids={"cli_b": "ou_1"})
    members.remember_bot("cli_a", "Alpha", aliases=["AA"], open_ids={"cli_c": "ou_2"})
    assert members.bot_of("cli_a") == BotProfile("cli_a", "Alpha", ("AA",), "", {"cli_b": "ou_1", "cli_c": "ou_2"})


def test_everybody_of_one_name_is_found(base: Path) -> None:
    members = FileMembers(base)
    members.remember_bot("cli_a", "Ada")
    members.remember_person("on_1", "ada")
    members.remember_person("on_2", "Ada")
    members.remember_person("on_3", "Bo")
    assert sorted(FileMembers(base).senders_named("ADA")) == ["Ada", "on_1", "on_2"]


def test_bots_come_first_among_the_members_of_a_chat(base: Path) -> None:
    members = FileMembers(base)
    members.remember_bot("cli_b", "Beta")
    members.remember_person("on_ada", "Ada")
    for sender in ("on_ada", "Beta", "on_nameless"):
        members.saw("feishu:oc_1", sender)
    listed = members.of_chat("feishu:oc_1")
    assert [(m.name, m.kind) for m in listed] == [("Beta", "bot"), ("Ada", "human"), ("on_nameless", "human")]
    assert all(m.last_seen_ms > 0 for m in listed)
    assert members.of_chat("feishu:oc_2") == []


def test_a_chat_is_called_what_it_was_called_last(base: Path) -> None:
    members = FileMembers(base)
    assert members.title_of("feishu:oc_1") is None
    members.remember_chat("feishu:oc_1", " Releases\ud83d ")
    members.remember_chat("feishu:oc_1", "")
    assert FileMembers(base).title_of("feishu:oc_1") == "Releases\ufffd"
    FileMembers(base).remember_chat("feishu:oc_1", "发布群")
    assert (members.title_of("feishu:oc_1"), members.title_of("feishu:oc_2")) == ("发布群", None)


@pytest.mark.parametrize(
    ("title", "known"),
    [
        ("Release\n\tteam", "Release team"),
        ("\u202egruppe\u202c \u2066x\u2069", "gruppe x"),
        ("\u200bRe\u2060lease\ufeff\0s\x07", "Releases"),
        (" \u200d👩\u200d💻 \u200d", "👩\u200d💻"),
        ("发布群" * 1000, ("发布群" * 1000)[:200]),
        ("🚀 Launch", "🚀 Launch"),
        (" \u200b\u202e\n\0 ", "Before"),
    ],
)
def test_what_a_chat_is_called_is_one_line_in_which_nothing_is_hidden(base: Path, title: str, known: str) -> None:
    members = FileMembers(base)
    members.remember_chat("feishu:oc_1", "Before")
    members.remember_chat("feishu:oc_1", title)
    assert FileMembers(base).title_of("feishu:oc_1") == known


def test_a_file_without_titles_is_one_of_an_earlier_version(base: Path) -> None:
    FileMembers(base).remember_person("on_ada", "Ada")
    path = FileMembers(base).path
    document = json.loads(path.read_bytes())
    del document["titles"]
    path.write_text(json.dumps(document))
    members = FileMembers(base)
    assert members.title_of("feishu:oc_1") is None
    members.remember_chat("feishu:oc_1", "Releases")
    assert (members.name_of("on_ada"), members.title_of("feishu:oc_1")) == ("Ada", "Releases")


def test_two_bots_with_one_name_are_both_bots(base: Path) -> None:
    members = FileMembers(base)
    members.remember_bot("cli_1", "Alpha")
    members.remember_bot("cli_2beef", "Alpha", open_ids={"cli_1": "ou_other"})
    for sender in ("Alpha", "Alpha-beef", "on_ada"):
        members.saw("feishu:oc_1", sender)
    listed = [(member.sender, member.name, member.kind) for member in members.of_chat("feishu:oc_1")]
    bots = [("Alpha", "Alpha", "bot"), ("Alpha-beef", "Alpha-beef", "bot")]
    assert listed == [*bots, ("on_ada", "on_ada", "human")]
    assert members.sender_for("cli_1", "ou_other") == "Alpha-beef"
    assert (members.name_of("cli_1"), members.name_of("cli_2beef")) == ("Alpha", "Alpha-beef")
    assert members.senders_named("alpha-BEEF") == ["Alpha-beef"]


def test_a_forgotten_person_leaves_no_trace_in_the_file(base: Path) -> None:
    members = FileMembers(base)
    members.remember_person("on_ada", "Ada", {"union_id": "on_ada", "user_id": "u_ada", "open_id": "ou_ada"}, "cli_a")
    members.remember_person("on_bo", "Bo")
    for sender in ("on_ada", "on_bo"):
        members.saw("feishu:oc_1", sender)
    FileMembers(base).forget("on_ada")
    assert b"ada" not in members_file(base).read_bytes().lower()
    assert members.name_of("on_ada") is None
    assert [m.sender for m in members.of_chat("feishu:oc_1")] == ["on_bo"]


def test_a_forgotten_person_does_not_come_back_with_another_change(base: Path) -> None:
    first, second = FileMembers(base), FileMembers(base)
    first.remember_person("on_ada", "Ada")
    assert second.name_of("on_ada") == "Ada"
    first.forget("on_ada")
    second.remember_person("on_bo", "Bo")
    assert first.name_of("on_ada") is None
    assert first.name_of("on_bo") == "Bo"


def test_a_busy_lock_keeps_the_change_in_memory_until_the_next_one(base: Path) -> None:
    members = FileMembers(base)
    members.remember_person("on_ada", "Ada")
    with filelock.FileLock(base / ".state" / "locks" / "members.lock"):
        members.remember_person("on_bo", "Bo")
        assert members.name_of("on_bo") == "Bo"
        assert FileMembers(base).name_of("on_bo") is None
    members.remember_person("on_chen", "Chen")
    assert FileMembers(base).name_of("on_bo") == "Bo"
    assert FileMembers(base).name_of("on_chen") == "Chen"


def test_the_end_does_not_wait_for_somebody_who_waits_for_the_disk(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members, stuck, go, locked = FileMembers(base), threading.Event(), threading.Event(), StateFile.locked

    @contextmanager
    def hanging(file: StateFile, timeout: float) -> Iterator[bool]:
        stuck.set()
        go.wait(PATIENCE)
        with locked(file, timeout) as mine:
            yield mine

    monkeypatch.setattr(StateFile, "locked", hanging)
    learning = threading.Thread(target=members.remember_person, args=("on_ada", "Ada"))
    learning.start()
    try:
        assert stuck.wait(PATIENCE)
        assert not members.flush(0.05)
    finally:
        go.set()
        learning.join(PATIENCE)
    assert members.flush(PATIENCE)


def test_a_change_that_a_busy_lock_held_up_is_written_at_the_next_look(base: Path) -> None:
    members = FileMembers(base)
    members.remember_person("on_ada", "Ada")
    with filelock.FileLock(base / ".state" / "locks" / "members.lock"):
        members.remember_person("on_bo", "Bo")
        members.view()
        assert FileMembers(base).name_of("on_bo") is None
    members.view()
    assert FileMembers(base).name_of("on_bo") == "Bo"


def no_space(*_: object) -> None:
    raise StoreUnavailableError("No space.")


def test_a_look_that_fails_does_not_forget_that_something_waits(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members = FileMembers(base)
    members.remember_person("on_ada", "Ada")
    with filelock.FileLock(base / ".state" / "locks" / "members.lock"):
        members.remember_person("on_bo", "Bo")
    with monkeypatch.context() as full:
        full.setattr(StateFile, "write", no_space)
        members.view()
    members.view()
    assert FileMembers(base).name_of("on_bo") == "Bo"


def test_where_nothing_can_be_written_the_others_are_known_all_the_same(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = FileMembers(base)
    members.remember_person("on_ada", "Ada")
    with filelock.FileLock(base / ".state" / "locks" / "members.lock"):
        members.remember_person("on_bo", "Bo")
    FileMembers(base).remember_person("on_mei", "Mei")
    monkeypatch.setattr(StateFile, "locked", no_space)
    assert members.name_of("on_mei") == "Mei"
    assert members.name_of("on_bo") == "Bo"


def test_changes_that_wait_survive_what_another_process_writes(base: Path) -> None:
    members = FileMembers(base)
    members.remember_person("on_ada", "Ada")
    with filelock.FileLock(base / ".state" / "locks" / "members.lock"):
        members.remember_person("on_bo", "Bo")
    FileMembers(base).remember_person("on_chen", "Chen")
    assert members.name_of("on_chen") == "Chen"
    assert members.name_of("on_bo") == "Bo"


def test_a_newer_file_is_left_untouched_and_memory_serves(base: Path, caplog: pytest.LogCaptureFixture) -> None:
    members_file(base).parent.mkdir(parents=True)
    members_file(base).write_text('{"v":2,"everything":"else"}', encoding="utf-8")
    members = FileMembers(base)
    members.remember_person("on_ada", "Ada")
    members.remember_person("on_bo", "Bo")
    assert members.name_of("on_ada") == "Ada"
    assert members_file(base).read_text(encoding="utf-8") == '{"v":2,"everything":"else"}'
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "newer version" in warnings[0].getMessage()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"people":{}}',
        b'{"v":1,"people":[]}',
        b'{"v":1,"bots":{"a":{}}}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"v":1,"chats":{"k":{"a":"x"}}}',
    ],
)
def test_a_corrupt_file_is_moved_aside_and_built_anew(base: Path, body: bytes) -> None:
    members_file(base).parent.mkdir(parents=True)
    members_file(base).write_bytes(body)
    members = FileMembers(base)
    assert members.name_of("on_ada") is None
    assert members_file(base).read_bytes() == body
    members.remember_person("on_ada", "Ada")
    assert FileMembers(base).name_of("on_ada") == "Ada"
    assert (base / ".state" / "members.json.broken-1").read_bytes() == body


def test_a_file_broken_under_a_running_process_is_rebuilt_from_what_it_knows(base: Path) -> None:
    members = FileMembers(base)
    members.remember_person("on_ada", "Ada")
    members_file(base).write_bytes(b"{")
    members.remember_person("on_bo", "Bo")
    assert FileMembers(base).name_of("on_ada") == "Ada"
    members_file(base).write_bytes(b"}")
    members.remember_person("on_chen", "Chen")
    assert (base / ".state" / "members.json.broken-2").read_bytes() == b"}"


def test_unknown_keys_survive_a_rewrite(base: Path) -> None:
    members_file(base).parent.mkdir(parents=True)
    old = {"v": 1, "later": 7, "people": {"on_ada": {"name": "Ada", "ids": {}, "pronoun": "she"}}}
    members_file(base).write_text(json.dumps(old), encoding="utf-8")
    FileMembers(base).remember_person("on_ada", "Ada L")
    stored = json.loads(members_file(base).read_text(encoding="utf-8"))
    assert stored["later"] == 7
    assert stored["people"]["on_ada"] == {"name": "Ada L", "ids": {}, "pronoun": "she"}


def test_a_symbolic_link_is_refused(base: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.json"
    document = '{"v":1,"people":{"on_ada":{"name":"Mallory"}}}'
    target.write_text(document, encoding="utf-8")
    members_file(base).parent.mkdir(parents=True)
    members_file(base).symlink_to(target)
    members = FileMembers(base)
    assert members.name_of("on_ada") is None  # looking up must not cost a message, and the link is not followed
    with pytest.raises(UnsafePathError, match="symbolic link"):
        members.remember_person("on_bo", "Bo")
    assert members.name_of("on_bo") == "Bo"
    assert target.read_text(encoding="utf-8") == document


def test_a_linked_hidden_folder_is_refused(base: Path, tmp_path: Path) -> None:
    base.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (base / ".state").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafePathError, match="is a link"):
        FileMembers(base).remember_person("on_ada", "Ada")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_place_that_cannot_be_written_is_named_and_memory_serves(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    members = FileMembers(blocked / "transcripts")
    with pytest.raises(StoreUnavailableError) as caught:
        members.remember_person("on_ada", "Ada")
    assert caught.value.hint
    members.remember_person("on_ada", "Ada")
    assert members.name_of("on_ada") == "Ada"


def test_lone_surrogates_do_not_stop_a_name(base: Path) -> None:
    members = FileMembers(base)
    members.remember_person("on_ada", "A\ud800da")
    assert FileMembers(base).name_of("on_ada") == "A\ufffdda"


def test_an_empty_sender_is_not_recorded(base: Path) -> None:
    members = FileMembers(base)
    members.remember_person("", "Nobody")
    members.saw("feishu:oc_1", "")
    assert not base.exists()


def _remember_many(base: Path, number: int) -> None:
    members = FileMembers(base)
    for person in range(20):
        members.remember_person(f"on_{number}_{person}", f"P{number}_{person}")
    for attempt in range(100):  # a busy lock holds changes up until a later one
        members.remember_person(f"on_{number}_last", f"attempt {attempt}")
        if FileMembers(base).name_of(f"on_{number}_last") is not None:
            return
    raise AssertionError("the lock was never free")


def test_processes_that_write_at_once_keep_each_others_people(base: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_remember_many, args=(base, number)) for number in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(PATIENCE)
        assert writer.exitcode == 0
    members = FileMembers(base)
    names = [members.name_of(f"on_{number}_{person}") for number in range(3) for person in range(20)]
    assert None not in names
    assert sorted(item.name for item in (base / ".state").iterdir()) == ["locks", "members.json"]


def test_what_is_no_id_of_a_person_is_not_kept_and_erases_nobody(base: Path) -> None:
    members = FileMembers(base)
    members.remember_person("t", "Tom", {"union_id": "t"})
    members.remember_person("on_ada", "Ada", {"union_id": "on_ada", "tenant_key": "t"})
    members.forget("on_ada")
    assert (members.name_of("t"), members.name_of("on_ada")) == ("Tom", None)
