"""``mail``: people read what agents write to each other, and reading changes nothing."""

import io
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.letterbox import BACKEND, FRONTEND, Letterbox
from support.mail_archive import git
from support.waiting import PATIENCE

from transcript_mcp.mail.archive.rounds import Archiving
from transcript_mcp.mail.claims.ledger import Claims
from transcript_mcp.mail.values import Draft

Run = Callable[..., Any]
COMMANDS = (
    ("inbox", "BlueLake"),
    ("outbox", "GreenCastle"),
    ("thread", "TKT-123"),
    ("search", "发布"),
    ("agents",),
    ("claims",),
    ("overdue",),
)


@pytest.fixture
def box(base_dir: Path) -> Letterbox:
    """GreenCastle has written to BlueLake about TKT-123."""
    box = Letterbox(base_dir)
    box.send(
        ["BlueLake"], "发布计划", "周三的发布窗口之前写完。\n\nsecond line", thread_id="TKT-123", importance="urgent"
    )
    box.time += 60
    return box


@pytest.fixture
def shanghai(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Local time is eight hours ahead of UTC."""
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def contents(folder: Path) -> list[str]:
    """What the folder holds, without what SQLite keeps beside a file that is open."""
    return sorted(path.name for path in folder.rglob("*") if not path.name.endswith(("-wal", "-shm")))


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_reading_where_there_is_no_mail_says_so_and_makes_nothing(run: Run, base_dir: Path, words: list[str]) -> None:
    ended = run("mail", *words, "--project", BACKEND)
    assert ended.code == 2
    assert f"There is no mail in {base_dir} yet." in ended.err
    assert "Hint: " in ended.err
    assert "`nanobot-transcript serve`" in ended.err
    assert not base_dir.exists()


@pytest.mark.parametrize("words", [*COMMANDS, ("doctor",)], ids=lambda words: words[0])
def test_a_file_in_the_place_of_the_mail_is_told(run: Run, tmp_path: Path, words: list[str]) -> None:
    file = tmp_path / "file"
    file.write_text("")
    ended = run("mail", *words, store=file)
    assert ended.code == 3
    assert f"{file} is not a directory." in ended.err
    assert "mail.store" in ended.err


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_reading_changes_nothing(run: Run, box: Letterbox, base_dir: Path, words: list[str]) -> None:
    before, rows = contents(base_dir), [box.count(table) for table in ("archive_jobs", "message_recipients", "agents")]
    assert run("mail", *words, "--project", BACKEND).code == 0
    assert contents(base_dir) == before
    assert [box.count(table) for table in ("archive_jobs", "message_recipients", "agents")] == rows
    assert box.mail.inbox(box.blue)[0].read_ts is None


@pytest.mark.usefixtures("shanghai")
def test_an_inbox_shows_local_times_and_one_message_per_line(run: Run, box: Letterbox) -> None:
    sent = box.send(["BlueLake"], "Second", ack_required=True)
    ended = run("mail", "inbox", "BlueLake")
    head, first, second = ended.out.splitlines()
    assert head.split() == ["Sent", "From", "State", "Subject", "Id"]
    assert first.split()[:6] == ["2025-10-23", "23:22:14", "GreenCastle", "unread", "[urgent]", "发布计划"]
    assert second.split()[-2:] == ["Second", sent.id]
    assert "to ack" in second


def test_an_inbox_as_json_is_what_the_tool_answers(run: Run, box: Letterbox) -> None:
    document = run("mail", "inbox", "BlueLake", "--project", BACKEND, "--json").document
    assert (document["project"], document["agent"]) == (FRONTEND, "BlueLake")
    (message,) = document["messages"]
    assert (message["subject"], message["from"], message["read"]) == ("发布计划", "GreenCastle", None)
    assert "body_md" not in message
    whole = run("mail", "inbox", "BlueLake", "--bodies", "--json").document
    assert whole["messages"][0]["body_md"].startswith("周三的发布窗口")


@pytest.mark.usefixtures("shanghai")
def test_an_inbox_can_be_narrowed(run: Run, box: Letterbox) -> None:
    plain = box.send(["BlueLake"], "Plain")
    box.mail.mark_read(box.blue, [plain.id])

    def subjects(*options: str) -> list[str]:
        found = run("mail", "inbox", "BlueLake", "--json", *options).document
        return [message["subject"] for message in found["messages"]]

    assert subjects() == ["Plain", "发布计划"]
    assert subjects("--urgent") == ["发布计划"]
    assert subjects("--unread") == ["发布计划"]
    assert subjects("-n", "1") == ["Plain"]
    assert subjects("--since", "2025-10-23T23:22:30") == ["Plain"]
    assert subjects("--since", "1m") == []


def test_an_empty_inbox_is_no_failure(run: Run, box: Letterbox) -> None:
    ended = run("mail", "inbox", "RedStone", "--project", BACKEND)
    assert (ended.code, ended.out, ended.err) == (0, "", "No messages.\n")
    ended = run("mail", "inbox", "RedStone")
    whose = f"RedStone of {BACKEND}, active last under this name; use --project for another.\n"
    assert (ended.code, ended.out, ended.err) == (0, "", f"{whose}No messages.\n")


def test_bodies_are_shown_without_what_would_command_the_terminal(run: Run, box: Letterbox) -> None:
    box.send(["BlueLake"], "Red", "a\x1b[31mb\n![p](data:image/webp;base64,UklGRg==)")
    ended = run("mail", "inbox", "BlueLake", "--bodies")
    assert "\x1b" not in ended.out
    assert "a\ufffd[31mb" in ended.out
    assert "base64" not in ended.out
    assert ended.out.index("second line") < ended.out.index("Red")


def test_an_outbox_names_the_first_recipients_and_counts_the_others(run: Run, box: Letterbox) -> None:
    for name in ("A1", "A2", "A3"):
        box.new(BACKEND, name)
    box.send(["BlueLake", "A1"], "To many", cc=["A2", "A3"])
    last = run("mail", "outbox", "GreenCastle").out.splitlines()[-1]
    assert "BlueLake, A1 +2" in last
    document = run("mail", "outbox", "GreenCastle", "--json").document
    assert document["messages"][0]["cc"] == ["A2", "A3"]


def test_a_thread_is_shown_with_its_bodies_the_oldest_first(run: Run, box: Letterbox) -> None:
    first = box.mail.inbox(box.blue)[0].letter
    box.mail.reply(box.blue, first.id, Draft(body="Questions: when?"))
    out = run("mail", "thread", "TKT-123").out
    assert out.index("周三的发布窗口") < out.index("Re: 发布计划") < out.index("Questions: when?")
    document = run("mail", "thread", "TKT-123", "--json").document
    assert [message["from"] for message in document["messages"]] == ["GreenCastle", "BlueLake"]


def test_a_thread_is_also_found_by_the_id_of_any_of_its_messages(run: Run, box: Letterbox) -> None:
    first = box.mail.inbox(box.blue)[0].letter
    second = box.mail.reply(box.blue, first.id, Draft(body="Questions: when?"))
    for name in (first.id, second.id):
        document = run("mail", "thread", name, "--json").document
        assert document["thread_id"] == "TKT-123"
        assert [message["id"] for message in document["messages"]] == [first.id, second.id]
    alone = box.send(["BlueLake"], "Without a thread")
    assert run("mail", "thread", alone.id, "--json").document["thread_id"] == alone.id


def test_a_thread_of_the_folders_project_goes_before_one_of_the_same_name_elsewhere(
    run: Run, base_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box, code = Letterbox(base_dir), str(tmp_path / "code")
    local = box.new(code, "Local")
    box.mail.send(code, local, Draft("Here", "text", ["BlueLake"], thread_id="TKT-1"))
    box.time += 60
    box.send(["BlueLake"], "Later, elsewhere", thread_id="TKT-1")
    box.send(["BlueLake"], "Elsewhere only", thread_id="TKT-2")
    Path(code).mkdir()
    assert run("mail", "thread", "TKT-1", "--json").document["project"] == BACKEND
    monkeypatch.chdir(code)
    assert run("mail", "thread", "TKT-1", "--json").document["project"] == code
    assert run("mail", "thread", "TKT-2", "--json").document["project"] == BACKEND
    assert run("mail", "thread", "TKT-1", "--json", "--project", BACKEND).document["project"] == BACKEND


def test_whole_messages_and_hits_name_their_thread(run: Run, box: Letterbox) -> None:
    for words in (("inbox", "BlueLake", "--bodies"), ("search", "窗", "--project", BACKEND)):
        assert run("mail", *words).out.splitlines()[0].endswith("  in TKT-123")


def test_a_picture_is_named_by_the_path_of_its_file(run: Run, box: Letterbox, base_dir: Path) -> None:
    picture = {"type": "file", "path": "attachments/2a/2a6f.webp"}
    box.mail.send(
        BACKEND, box.green, Draft("Look", "![p](attachments/2a/2a6f.webp)", ["BlueLake"], attachments=[picture])
    )
    repo = base_dir / "projects" / box.mail.project(BACKEND).slug / "repo"
    assert f"  📎 {repo}/attachments/2a/2a6f.webp" in run("mail", "inbox", "BlueLake", "--bodies").out.splitlines()


def test_a_picture_inside_the_text_is_named_by_its_size(run: Run, box: Letterbox) -> None:
    picture = {"type": "inline", "media_type": "image/webp", "sha1": "da92", "bytes": 36, "width": 40, "height": 30}
    body = "![p](data:image/webp;base64,UklGRg==)"
    box.mail.send(BACKEND, box.green, Draft("Look", body, ["BlueLake"], attachments=[picture]))
    out = run("mail", "inbox", "BlueLake", "--bodies").out
    assert out.splitlines()[-1] == "  📎 a picture of 40×30 inside the text; --json shows it"


def test_an_unknown_thread_is_told(run: Run, box: Letterbox) -> None:
    ended = run("mail", "thread", "TKT-999", "--json")
    assert ended.code == 2
    assert ended.document["error"]["code"] == "letter_not_found"
    assert "the id of one of its messages" in ended.document["error"]["hint"]


def test_search_finds_chinese_and_marks_it(run: Run, box: Letterbox) -> None:
    ended = run("mail", "search", "发布窗口", "--project", BACKEND)
    assert ended.code == 0
    assert "**发布窗口**" in ended.out
    document = run("mail", "search", "窗", "--project", BACKEND, "--json").document
    assert [hit["subject"] for hit in document["hits"]] == ["发布计划"]


def test_search_that_finds_nothing_ends_with_one(run: Run, box: Letterbox) -> None:
    ended = run("mail", "search", '"an open quote AND', "--project", BACKEND)
    assert ended.code == 1
    assert ended.err.endswith("Nothing found.\n")


def test_agents_are_those_of_the_last_week_unless_all_are_asked_for(run: Run, box: Letterbox) -> None:
    assert "--all" in run("mail", "agents", "--project", BACKEND).err
    out = run("mail", "agents", "--all", "--project", BACKEND).out
    assert "GreenCastle" in out
    assert f"(of {FRONTEND})" in out
    document = run("mail", "agents", "--all", "--project", BACKEND, "--json").document
    assert {agent["name"] for agent in document["agents"]} == {"GreenCastle", "RedStone", "BlueLake"}


def test_agents_of_usual_models_stand_one_per_line_on_a_terminal(
    run: Run, box: Letterbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    model, task = "claude-sonnet-4-5-20250929", "Move the users table, and write its tests"
    box.mail.register_agent(BACKEND, "GreenCastle", "claude-code", model, task)
    for columns, shown in (("80", "claude-so…20250929"), ("120", model)):
        monkeypatch.setenv("COLUMNS", columns)
        lines = run("mail", "agents", "--all", "--project", BACKEND).out.splitlines()
        assert len(lines) == 1 + 3
        assert any(line.startswith(f"GreenCastle  claude-code  {shown}  ") for line in lines)


def test_the_archive_and_the_commands_tell_what_was_sent_claimed_and_released(run: Run, box: Letterbox) -> None:
    claims, project = Claims(box.mail.database, box.mail.now), box.mail.project(BACKEND)
    first = box.mail.inbox(box.blue)[0].letter
    second = box.send(["BlueLake"], "发布推迟")
    box.mail.send(FRONTEND, box.blue, Draft("发布", "elsewhere", to=["GreenCastle"]))
    box.time = 4_000_000_000.0
    claims.claim(project.id, box.green, ["app/api/*.py"], 7200)
    claims.claim(project.id, box.red, ["docs"], 7200)
    claims.release(project.id, box.green)
    archiving = Archiving(box.mail.places, box.mail.database)
    for _ in range(2):  # both states of one claim's file become commits
        archiving.round(until=float("inf"))
    archiving.close()
    log = git(box.mail.places.repo(project.slug), "log", "--format=%B")
    for line in (
        f"mail {first.id}: GreenCastle -> BlueLake: 发布计划",
        "claim: GreenCastle exclusive 1 path: app/api/*.py",
        "claim: RedStone exclusive 1 path: docs",
        "release: GreenCastle 1 path: app/api/*.py",
    ):
        assert log.count(line) == 1
    found = run("mail", "search", "发布", "--project", BACKEND, "--json").document["hits"]
    assert [hit["id"] for hit in found] == [second.id, first.id]
    for options, paths in (((), ["docs"]), (("--all",), ["docs", "app/api/*.py"])):
        shown = run("mail", "claims", "--project", BACKEND, "--json", *options).document["claims"]
        assert [claim["path"] for claim in shown] == paths


def test_claims_show_who_works_where_until_when(run: Run, box: Letterbox) -> None:
    claims, project = Claims(box.mail.database, box.mail.now), box.mail.project(BACKEND).id
    box.time = 4_000_000_000.0
    claims.claim(project, box.green, ["app/api/*.py"], 7200, reason="migrations 数据库迁移")
    claims.claim(project, box.red, ["docs/**"], 7200, exclusive=False)
    claims.release(project, box.red)
    out = run("mail", "claims", "--project", BACKEND, "--all").out
    assert "migrations 数据库迁移" in out
    assert "released" in out
    (mine,) = run("mail", "claims", "--project", BACKEND, "--agent", "GreenCastle", "--json").document["claims"]
    assert (mine["path"], mine["agent"], mine["exclusive"]) == ("app/api/*.py", "GreenCastle", True)


# -- which project


def test_the_project_is_that_of_the_folder_or_of_the_nearest_above(
    run: Run, base_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "code"
    inner = code / "src" / "api"
    inner.mkdir(parents=True)
    (code / ".git").mkdir()
    box = Letterbox(base_dir)
    box.new(str(code), "Local")
    box.new(str(tmp_path), "Outside")
    monkeypatch.chdir(inner)
    assert run("mail", "agents", "--all", "--json").document["project"] == str(code)
    assert run("mail", "agents", "--all", "--json", "--project", "../..").document["project"] == str(code)
    (code / "src" / ".git").write_text("gitdir: elsewhere")
    ended = run("mail", "agents", "--all")
    assert ended.code == 2
    assert f"{inner} is not in any project of Agent Mail." in ended.err
    assert f"{tmp_path}, {code}, {FRONTEND}, {BACKEND}" in ended.err


def test_a_key_that_nearly_fits_is_asked_about(run: Run, box: Letterbox) -> None:
    ended = run("mail", "claims", "--project", "/abs/path/backends")
    assert ended.code == 2
    assert f"Do you mean {BACKEND}" in ended.err


def test_the_last_part_of_a_key_is_asked_about_and_else_all_projects_are_listed(run: Run, box: Letterbox) -> None:
    assert f"Hint: Do you mean {BACKEND}?" in run("mail", "claims", "--project", "backend").err
    ended = run("mail", "claims", "--project", "xyz")
    assert "There is no project xyz." in ended.err
    assert f"Hint: There are: {FRONTEND}, {BACKEND}" in ended.err


def test_a_folder_names_its_project_by_any_way_to_it(
    run: Run, base_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    Letterbox(base_dir).new(str(code), "Local")
    monkeypatch.chdir(tmp_path)
    for way in ("code", "./code/", f"{code}/", f"{code}/../code"):
        assert run("mail", "agents", "--all", "--json", "--project", way).document["project"] == str(code)
    assert f"There is no project {tmp_path}." in run("mail", "agents", "--project", ".").err


def test_outside_of_all_projects_a_name_means_who_was_active_last(run: Run, box: Letterbox) -> None:
    box.time += 60
    box.new("/abs/path/other", "BlueLake")
    assert run("mail", "inbox", "BlueLake", "--json").document["project"] == "/abs/path/other"
    assert run("mail", "inbox", "BlueLake", "--project", FRONTEND, "--json").document["project"] == FRONTEND


def test_an_unknown_agent_is_told_with_what_lists_them(run: Run, box: Letterbox) -> None:
    ended = run("mail", "inbox", "Nobody")
    assert ended.code == 2
    assert "`nanobot-transcript mail agents --all`" in ended.err
    ended = run("mail", "inbox", "bluelake", "--project", BACKEND)
    assert ended.err == (
        f"Error: {BACKEND} has no agent bluelake.\nHint: Do you mean BlueLake? Names are case-sensitive.\n"
    )


def test_a_name_that_several_projects_have_is_asked_for_with_its_project(run: Run, box: Letterbox) -> None:
    for project in ("/p/one", "/p/two"):
        box.new(project, "Twin")
    send = ("send", "--as-human", "--to", "Twin", "--subject", "s", "text")
    for words in (("inbox", "Twin"), send):
        ended = run("mail", *words, "--project", BACKEND)
        assert ended.code == 2
        assert "Twin in /p/one" in ended.err
        assert "Twin in /p/two" in ended.err
        assert "Hint: Name the project of the one you mean with --project." in ended.err


def test_a_person_who_writes_to_nobody_known_is_told_the_command_that_lists_them(run: Run, box: Letterbox) -> None:
    ended = run("mail", "send", "--as-human", "--to", "Zzz", "--subject", "s", "text", "--project", BACKEND)
    assert ended.err.startswith(f"Error: {BACKEND} has no agent Zzz.\n")
    assert "`nanobot-transcript mail agents --all`" in ended.err


def test_who_has_not_written_yet_is_told_how_to_begin(run: Run, box: Letterbox) -> None:
    for words in ((), ("--project", BACKEND)):
        ended = run("mail", "inbox", "human", *words)
        assert ended.code == 2
        assert "`nanobot-transcript mail send --as-human` begins" in ended.err


def test_what_agents_answer_to_a_person_is_in_the_inbox_of_human(run: Run, box: Letterbox) -> None:
    sent = box.mail.send(BACKEND, box.mail.human(BACKEND), Draft("Hold", "Wait.", ["BlueLake"]))
    box.mail.reply(box.blue, sent.id, Draft(body="I do."))
    assert "Re: Hold" in run("mail", "inbox", "human").out


# -- writing


def test_writing_without_saying_as_whom_is_refused(run: Run, box: Letterbox) -> None:
    for words in (("send", "--to", "BlueLake", "--subject", "s", "text"), ("reply", "msg_1", "text")):
        ended = run("mail", *words)
        assert ended.code == 2
        assert "--as-human" in ended.err
    assert box.count("messages") == 1


def test_an_empty_message_is_refused(run: Run, box: Letterbox) -> None:
    ended = run("mail", "send", "--as-human", "--to", "BlueLake", "--subject", "s", "  ")
    assert ended.code == 2
    assert "There is nothing to send." in ended.err


# -- more than is shown


@pytest.mark.parametrize(
    "words", [("inbox", "BlueLake"), ("outbox", "GreenCastle"), ("search", "plan"), ("thread", "TKT-1")]
)
def test_a_list_says_how_many_more_there_are_and_the_next_page_is_shown(
    run: Run, box: Letterbox, words: list[str]
) -> None:
    ids = [box.send(["BlueLake"], "plan", "text", thread_id="TKT-1").id for _ in range(5)]
    more = 3 if words[0] in ("search", "thread") else 4
    before = ids[3]
    ended = run("mail", *words, "--limit", "2", "--project", BACKEND)
    assert ended.code == 0
    assert f"{more} more; --before {before} shows them." in ended.err
    page = run("mail", *words, "--limit", "2", "--project", BACKEND, "--before", before, "--json").document
    shown = page["hits"] if words[0] == "search" else page["messages"]
    assert sorted(each["id"] for each in shown) == sorted(ids[1:3])
    assert (page["more"], page["before"]) == (more - 2, ids[1])
    assert "more" not in run("mail", *words, "--project", BACKEND, "--json").document


def test_claims_say_how_many_more_there_are(run: Run, box: Letterbox) -> None:
    Claims(box.mail.database, box.mail.now).claim(box.green.project_id, box.green, ["a.py", "b.py", "c.py"])
    ended = run("mail", "claims", "--all", "--limit", "1", "--project", BACKEND)
    assert "2 more; --limit 3 shows them." in ended.err
    assert run("mail", "claims", "--all", "--limit", "1", "--project", BACKEND, "--json").document["more"] == 2


# -- acknowledgements


def test_what_was_not_acknowledged_is_listed_with_by_whom(run: Run, box: Letterbox) -> None:
    assert "Nothing is overdue." in run("mail", "overdue", "--project", BACKEND).err
    first = box.send(["BlueLake", "RedStone"], "Release?", ack_required=True)
    second = box.send(["BlueLake"], "And this?", ack_required=True)
    box.mail.acknowledge(box.red, first.id)
    ended = run("mail", "overdue", "--project", BACKEND)
    assert all(word in ended.out for word in ("BlueLake", "Release?", first.id))
    assert "RedStone" not in ended.out
    shown = run("mail", "overdue", "--project", BACKEND, "--limit", "1", "--json").document
    assert [(each["id"], each["waiting_for"]) for each in shown["messages"]] == [(first.id, ["BlueLake"])]
    assert shown["more"] == 1
    for name in (first.id, second.id):
        box.mail.acknowledge(box.blue, name)
    assert "Nothing is overdue." in run("mail", "overdue", "--project", BACKEND).err


def test_a_person_answers_all(run: Run, box: Letterbox) -> None:
    first = box.send(["BlueLake", "RedStone"])
    answered = run("mail", "reply", first.id, "--as-human", "--all", "Yes.", "--json").document
    assert answered["recipients"] == {"to": ["GreenCastle", "BlueLake", "RedStone"]}


def test_the_project_of_a_folder_is_found_under_the_name_of_a_link_to_it(
    run: Run, box: Letterbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (tmp_path / "link").symlink_to(code)
    box.new("/kept", "GrayOwl")
    kept = ("UPDATE projects SET human_key = ? WHERE human_key = '/kept'", (str(tmp_path / "link"),))
    box.mail.database.write(lambda db: db.execute(*kept))
    monkeypatch.chdir(code)
    for words in ((), ("--project", "."), ("--project", f"{code}/../link")):
        assert run("mail", "agents", "--all", *words, "--json").document["project"] == str(tmp_path / "link")


# -- freeing what an agent that is gone has claimed


@pytest.fixture
def claims(box: Letterbox) -> Claims:
    """GreenCastle holds two files and a folder, RedStone the documents."""
    claims, project = Claims(box.mail.database, box.mail.now), box.mail.project(BACKEND).id
    box.time = 4_000_000_000.0
    claims.claim(project, box.green, ["a.py", "b.py", "src"], 7200)
    claims.claim(project, box.red, ["docs"], 7200)
    return claims


def holders(claims: Claims) -> dict[str, str]:
    return {claim.path: claim.agent for claim in claims.list_claims()}


def test_a_person_releases_some_or_all_of_an_agents_claims(run: Run, box: Letterbox, claims: Claims) -> None:
    free = ("mail", "release", "GreenCastle", "--project", BACKEND, "--yes")
    ended = run(*free, "{a,x}.py")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "GreenCastle has no claim on x.py.\nReleased 1 claim of GreenCastle.\n"
    assert holders(claims) == {"b.py": "GreenCastle", "src": "GreenCastle", "docs": "RedStone"}
    document = run(*free, "--json").document
    assert (document["project"], document["agent"], document["released"]) == (BACKEND, "GreenCastle", ["b.py", "src"])
    assert holders(claims) == {"docs": "RedStone"}
    log = git(box.mail.places.repo(box.mail.project(BACKEND).slug), "log", "--format=%H %B")
    assert "release: human for GreenCastle 1 path: a.py" in log
    assert document["commit"] in log
    again = run(*free)
    assert (again.code, again.err) == (1, f"GreenCastle has no claims in {BACKEND}.\n")


def test_nothing_is_released_unless_one_says_yes(run: Run, claims: Claims, monkeypatch: pytest.MonkeyPatch) -> None:
    free = ("mail", "release", "GreenCastle", "a.py", "src", "--project", BACKEND)
    for options in ((), ("--json",)):
        ended = run(*free, *options)
        assert ended.code == 2
        assert "Cannot ask without a terminal: 2 claims of GreenCastle, active last at " in ended.err + ended.out
        assert f"will be released in {BACKEND}: a.py, src." in ended.err + ended.out
        assert "--yes" in ended.err + ended.out
    for answer, code, left in (("n\n", 1, 4), ("y\n", 0, 2)):
        monkeypatch.setattr("sys.stdin", Typed(answer))
        ended = run(*free)
        assert (ended.code, len(holders(claims))) == (code, left)
        assert "Release them?" in ended.err


def test_a_path_that_nobody_holds_is_told_before_the_question(
    run: Run, claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Typed("n\n"))
    told, _, _ = run("mail", "release", "GreenCastle", "a.py", "x.py", "--project", BACKEND).err.partition(
        "Release them?"
    )
    assert told.count("GreenCastle has no claim on x.py.") == 1
    assert holders(claims)["a.py"] == "GreenCastle"


def test_what_was_claimed_while_a_person_was_asked_stays(
    run: Run, box: Letterbox, claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    class ClaimedMeanwhile(Typed):
        def readline(self, *_: object) -> str:
            claims.claim(box.mail.project(BACKEND).id, box.green, ["new.py"], 7200)
            return "y\n"

    monkeypatch.setattr("sys.stdin", ClaimedMeanwhile())
    ended = run("mail", "release", "GreenCastle", "--project", BACKEND)
    assert (ended.code, "3 claims of GreenCastle" in ended.err) == (0, True)
    assert holders(claims) == {"new.py": "GreenCastle", "docs": "RedStone"}


class Typed(io.StringIO):
    """What somebody types at a terminal."""

    def isatty(self) -> bool:
        """As a terminal says."""
        return True


# -- the guard


def test_the_guard_is_put_into_a_repository_and_taken_out_by_people(
    run: Run, box: Letterbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "code"
    subprocess.run(["git", "init", "-q", str(code)], check=True, timeout=PATIENCE)
    hook = code / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\n")
    box.new(str(code), "Local")
    monkeypatch.chdir(code)
    put = run("mail", "guard", "install")
    assert (put.code, put.out) == (0, "")
    beside = "and so do pre-merge-commit, pre-applypatch, post-rewrite next to it"
    assert put.err == (f"{hook} guards the claims of {code}, {beside}.\n{hook}.before-agent-mail runs before it.\n")
    monkeypatch.chdir(tmp_path)
    both = run("mail", "guard", "install", "code", "--project", BACKEND, "--json").document
    assert (both["hook"], both["projects"]) == (str(hook), [str(code), BACKEND])
    gone = run("mail", "guard", "uninstall", "code")
    assert (gone.code, gone.err) == (0, "The guard was removed, and the earlier hook restored.\n")
    assert hook.read_text() == "#!/bin/sh\n"
    again = run("mail", "guard", "uninstall", str(code), "--json")
    assert (again.code, again.document) == (1, {"hook": str(hook), "removed": False, "restored": False})


def test_where_the_guard_cannot_be_it_is_told(run: Run, box: Letterbox, tmp_path: Path) -> None:
    for words in (("install", str(tmp_path), "--project", BACKEND), ("uninstall", str(tmp_path / "none"))):
        ended = run("mail", "guard", *words)
        assert ended.code == 2
        assert "Hint: " in ended.err
