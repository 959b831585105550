"""``migrate``: what a person and a program are told."""

import os
import re
from pathlib import Path

import psycopg
import pytest
from support.places import open_record
from unit.cli.conftest import Run

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.cli import main
from nanobot_transcript.outbox.outbox import Outbox

OTHER = (
    "Another history of this chat is in the new place, and two are not joined: nothing of it was carried. "
    "Keep this place, move into another one, or export and import its messages: docs/en/postgres.md."
)


@pytest.fixture(autouse=True)
def _database(postgres_place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings name a database with nothing in it."""
    url, _, schema = postgres_place.partition("#")
    for name, value in (("URL", url), ("SCHEMA", schema), ("SPOOL_DIR", str(tmp_path / "spool"))):
        monkeypatch.setenv(f"NANOBOT_TRANSCRIPT_RECORD__{name}", value)


def test_a_move_says_what_was_moved_and_what_comes_next(run: Run, store: GroupTranscriptStore, base_dir: Path) -> None:
    ended = run("migrate", "--to", "postgres")
    command = f"nanobot-transcript migrate --to postgres --store {base_dir}"
    lines = [re.sub(r"\d+ lines/s|://\S+", "…", line) for line in ended.err.splitlines()]
    assert (ended.code, ended.out, lines) == (
        0,
        "",
        [
            f"Moved 7 lines of 2 chats from {base_dir} to postgresql… (schema {_schema()}), ….",
            "Besides: 3 members.",
            "Everything is there, with equal hashes.",
            f"Next: stop each bot, run `{command}` again, start the bot with record.url.",
        ],
    )


def test_programs_are_told_of_each_chat_and_part(run: Run, store: GroupTranscriptStore) -> None:
    document = run("migrate", "--to", "postgres", "--json").document
    assert (document["ok"], document["nameless"]) == (True, [])
    team = document["chats"][1]
    assert (team["session_key"], team["outcome"], team["lines"], team["moved"]) == ("feishu:oc_team", "equal", 6, 6)
    assert team["hash"] == team["hash_there"] != ""
    assert [part["part"] for part in document["parts"]] == [
        "marks",
        "members",
        "decisions",
        "posts",
        "mail",
        "queues",
        "questions",
    ]
    again = run("migrate", "--to", "postgres", "--json").document
    assert [chat["moved"] for chat in again["chats"]] == [0, 0]


def test_posts_come_along_until_others_are_given_there(
    run: Run, store: GroupTranscriptStore, base_dir: Path, postgres_place: str
) -> None:
    with Outbox(base_dir) as outbox, open_record(postgres_place) as there:
        outbox.post("feishu:oc_team", "one")
        assert "Besides: 3 members, 1 row of posts." in run("migrate", "--to", "postgres").err
        outbox.post("feishu:oc_team", "two")
        assert re.sub("from .*", "…", run("migrate", "--to", "postgres").err.partition("\nWhat is new")[0]) == (
            "Moved no line of 2 chats …\nBesides: 1 row of posts."
        )
        there.outbox.post("feishu:oc_team", "given there")
        assert run("migrate", "--to", "postgres").code == 0
        outbox.post("feishu:oc_team", "too late")
        ended = run("migrate", "--to", "postgres")
    told = "Not there, or not as they are here: 1 row."
    assert (ended.code, ended.out.splitlines()[-1].split()) == (1, ["posts", *told.split()])


def test_a_check_compares_and_changes_nothing(run: Run, store: GroupTranscriptStore) -> None:
    ended = run("migrate", "--to", "postgres", "--check")
    assert ended.code == 1
    assert [line.split() for line in ended.out.splitlines()] == [
        ["chat", "problem"],
        ["feishu:oc_other", *["Not", "there:", "1", "line."]],
        ["feishu:oc_team", *["Not", "there:", "6", "lines."]],
        ["members", *["Not", "there:", "3", "members."]],
    ]
    run("migrate", "--to", "postgres")
    ended = run("migrate", "--to", "postgres", "--check")
    assert (ended.code, ended.err.splitlines()[-1]) == (0, "Everything is there, with equal hashes.")


def test_a_run_does_not_claim_what_it_has_not_compared(
    run: Run, store: GroupTranscriptStore, postgres_place: str
) -> None:
    run("migrate", "--to", "postgres")
    url, _, schema = postgres_place.partition("#")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DELETE FROM {schema}.lines WHERE seq = 2".encode())
    again = run("migrate", "--to", "postgres")
    assert again.code == 0
    assert "Everything is there" not in again.err
    assert "compared then, and not again." in again.err
    compared = run("migrate", "--to", "postgres", "--check")
    assert compared.code == 1
    assert "no run brings that again: move into an empty" in " ".join(compared.out.split())
    assert "Next:" not in compared.err


def test_back_into_another_folder(run: Run, store: GroupTranscriptStore, tmp_path: Path) -> None:
    run("migrate", "--to", "postgres")
    back = run("migrate", "--to", "files", store=tmp_path / "back")
    assert back.code == 0
    assert back.err.splitlines()[-1].endswith("start the bot without record.url.")
    with GroupTranscriptStore(tmp_path / "back") as again:
        assert list(again.scan("feishu:oc_team")) == list(store.scan("feishu:oc_team"))


def test_another_transcript_is_left_alone(run: Run, store: GroupTranscriptStore, postgres_place: str) -> None:
    with open_record(postgres_place) as other:
        other.store.append("feishu:oc_team", "user", "another one", "on_x", "om_x")
    ended = run("migrate", "--to", "postgres")
    assert (ended.code, ended.out.splitlines()[1].split(None, 1)) == (
        1,
        ["feishu:oc_team", OTHER],
    )
    assert "Next" not in ended.err
    (told,) = (chat for chat in run("migrate", "--to", "postgres", "--json").document["chats"] if chat["problem"])
    assert (told["session_key"], told["outcome"], told["problem"]) == ("feishu:oc_team", "other", OTHER)
    checked = run("migrate", "--to", "postgres", "--check")
    assert (checked.code, checked.out.splitlines()[1].split(None, 1), "Next" in checked.err) == (
        1,
        ["feishu:oc_team", OTHER],
        False,
    )


def test_a_run_that_moved_nothing_says_so_and_what_comes_after_the_last_one(
    run: Run, store: GroupTranscriptStore, base_dir: Path
) -> None:
    run("migrate", "--to", "postgres")
    first, *_, last = run("migrate", "--to", "postgres").err.splitlines()
    assert first.startswith(f"Moved nothing of 2 chats from {base_dir} to postgresql")
    command = f"nanobot-transcript migrate --to postgres --store {base_dir} --check"
    assert last == (
        f"Next: start the bots that you have stopped. When all are in the new place, `{command}` compares everything."
    )


def test_a_beginning_that_is_there_already_is_the_same_history(
    run: Run, store: GroupTranscriptStore, postgres_place: str, tmp_path: Path
) -> None:
    run("migrate", "--to", "postgres")
    run("migrate", "--to", "files", store=tmp_path / "back")
    with GroupTranscriptStore(tmp_path / "back") as back, open_record(postgres_place) as there:
        back.append("feishu:oc_team", "user", "more here", "on_x", "om_here")
        there.store.append("feishu:oc_team", "user", "more there", "on_x", "om_there")
    ended = run("migrate", "--to", "postgres", "--check", store=tmp_path / "back")
    assert ended.out.splitlines()[1].split() == ["feishu:oc_team", "Not", "there:", "1", "line."]
    assert ended.err.splitlines()[-1].startswith("Next: `nanobot-transcript migrate --to postgres")
    assert run("migrate", "--to", "postgres", store=tmp_path / "back").code == 0


def test_lines_that_are_left_out_are_told_of(run: Run, store: GroupTranscriptStore, base_dir: Path) -> None:
    (path,) = base_dir.glob("*oc_team*.jsonl")
    with path.open("ab") as file:
        file.write(b"not ours\n")
    ended = run("migrate", "--to", "postgres")
    assert ended.code == 0
    assert f"Left out 1 line that no reader is shown: `nanobot-transcript verify --store {base_dir}` tells" in ended.err


def test_no_database_is_named(run: Run, store: GroupTranscriptStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_RECORD__URL", "")
    ended = run("migrate", "--to", "postgres")
    assert (ended.code, ended.err.splitlines()[0]) == (2, "Error: record.url does not say where the database is.")
    assert run("migrate").code == 2
    assert run("migrate", "--to", "redis").code == 2


def test_a_database_that_cannot_be_reached(
    run: Run, store: GroupTranscriptStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_RECORD__URL", "postgresql://bot:hunter2@127.0.0.1:9/none")
    ended = run("migrate", "--to", "postgres")
    assert ended.code == 3
    assert "hunter2" not in ended.out + ended.err


def test_a_newer_version(run: Run, store: GroupTranscriptStore, postgres_place: str) -> None:
    run("migrate", "--to", "postgres")
    url, _, schema = postgres_place.partition("#")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"UPDATE {schema}.versions SET version = 99".encode())
    for to in ("postgres", "files"):
        ended = run("migrate", "--to", to)
        assert ended.code == 3
        assert "newer version" in ended.err


def test_in_chinese(run: Run, store: GroupTranscriptStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    ended = run("migrate", "--to", "postgres")
    assert not re.search(r"[a-z]{5,} (?:of|are|is|the)\b", re.sub(r"`[^`]*`", "", ended.err)), ended.err
    assert "已迁移 7 行" in ended.err
    assert run("migrate", "--to", "postgres", "--check").err.splitlines()[-1] == "内容齐全，哈希一致。"


def test_its_help_names_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrate", "--help"]) == 0
    assert "nanobot-transcript migrate --to postgres --check" in capsys.readouterr().out


def _schema() -> str:
    return os.environ["NANOBOT_TRANSCRIPT_RECORD__SCHEMA"]
