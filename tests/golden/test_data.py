"""What an earlier version wrote is read by this one as it was meant, and left as it lies."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from golden.conftest import hub_over
from golden.packing import DATA, PLACE, ROOMS, unpack
from support.assistant_clients import page
from support.waiting import PATIENCE

from nanobot_transcript import AsyncGroupTranscriptStore, GroupTranscriptStore
from nanobot_transcript.coordination.files.marks import FileMarks
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.outbox import Outbox, post_id_for
from nanobot_transcript.turns import Relay, RelaySettings
from transcript_channels.nanobot_host.watermark import Watermarks
from transcript_mcp.mail.claims.guard import install_guard, uninstall_guard
from transcript_mcp.mail.store import MailStore

Run = Callable[..., Any]

TEAM, SMALL, TORN = "feishu:oc_team", "feishu:oc_small", "feishu:oc_torn"
SHOP = "/srv/shop"
SAID = [
    ("om_1", "on_ada", "When is the release? 发布时间定了吗？"),
    ("om_2", "Alpha", "On Friday."),
    ("om_3", "on_lin", "@Beta please check"),
    ("om_4", "Beta", "Checked."),
    ("om_5", "on_ada", "in the thread"),
    ("om_6", "Alpha", "A long answer in two parts."),
    ("om_7", "Alpha", "A card that grew."),
    ("om_8", "on_lin", "What nobody heard."),
    ("om_9", "on_bo", "What an old log had."),
    ("om_10", "on_ada", "Tuesday"),
    (None, "on_ada", "without an id"),
    *[
        (f"om_{number}", "on_ada" if number % 2 else "on_lin", f"Point {number} of the list, 第 {number} 点。")
        for number in range(13, 43)
    ],
    ("om_43", "on_ada", "Said after the cursor."),
    ("om_44", "on_bo", "From another program."),
]
CURSORS = json.loads((DATA / "record.json").read_text("utf-8"))


# -- the data itself


def test_the_data_is_small_and_is_laid_down_wherever_it_is_wanted(tmp_path: Path) -> None:
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 1_000_000
    unpack(tmp_path, *ROOMS)
    naming = [path for path in tmp_path.rglob("*") if path.is_file() and PLACE.encode() in path.read_bytes()]
    assert naming == []


# -- the record


def test_every_message_of_a_chat_is_read(run: Run) -> None:
    entries = run("record", "show", "oc_team")["entries"]
    assert [(entry["message_id"], entry["sender"], entry["content"]) for entry in entries] == SAID


def test_a_message_keeps_all_that_was_known_of_it(run: Run) -> None:
    entries = {entry["message_id"]: entry for entry in run("record", "show", "oc_team")["entries"]}
    assert entries["om_1"]["ids"] == {"union_id": "on_ada", "user_id": "u_ada", "open_id": "ou_ada_for_alpha"}
    assert (entries["om_1"]["sender_name"], entries["om_1"]["ts"]) == ("Ada", 1_763_600_000_000)
    assert (entries["om_2"]["reply_to"], entries["om_2"]["agent"], entries["om_2"]["hop"]) == ("om_1", "Alpha", 1)
    assert entries["om_3"]["mentions"] == [{"name": "Beta", "id": "Beta"}]
    assert [entries["om_5"][key] for key in ("root_id", "thread_id", "pos")] == ["om_3", "omt_1", 7]
    assert entries["om_6"]["message_ids"] == ["om_6", "om_6b"]
    assert entries["om_44"]["mood"] == {"😀": [1, 2]}
    sources = [entries[f"om_{number}"]["source"] for number in (1, 2, 4, 7, 8, 9)]
    assert sources == ["event", "send", "peer_event", "stream", "history", "import"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("发布", ["om_1"]),
        ("Tuesday", ["om_10"]),
        ("Monday", []),
        ("Taken back", []),
        ("hunter2", []),
        ("第 14 点", ["om_14"]),
    ],
)
def test_a_search_finds_what_is_there_and_nothing_that_was_taken_back(text: str, found: list[str], run: Run) -> None:
    assert [hit["message_id"] for hit in run("record", "search", text)["hits"]] == found


def test_what_was_redacted_is_not_on_the_disk(golden: Path) -> None:
    assert not [path for path in (golden / "record").rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]


def test_the_record_is_sound_and_a_torn_end_is_mended(run: Run) -> None:
    report = run("record", "verify")
    assert report["ok"]
    chats = {chat["session_key"]: chat for chat in report["chats"]}
    assert [chats[TEAM][key] for key in ("segments", "entries", "ops", "duplicates", "torn_lines")] == [3, 45, 4, 0, 0]
    assert chats[TORN]["torn_lines"] == 1
    assert run("record", "verify", "oc_torn")["ok"]


async def test_a_page_goes_on_behind_an_old_cursor(golden: Path) -> None:
    async with hub_over(golden) as hub:
        more = {"session_key": TEAM, "limit": 100}
        read = await hub.lines("transcript", "transcript_recent", after=CURSORS["early"], **more)
        assert [line["id"] for line in read] == [f"om_{number}" for number in range(21, 45)]
        # A copy gives its newest segment another number: what stands there comes again, and nothing is missed.
        read = await hub.lines("transcript", "transcript_recent", after=CURSORS["late"], **more)
        assert [line["id"] for line in read][-2:] == ["om_43", "om_44"]


def test_what_is_recorded_is_known_also_by_the_id_of_a_part(golden: Path) -> None:
    with GroupTranscriptStore(golden / "record") as store:
        for known in ("om_1", "om_6b", "om_11", "om_12", "om_20", "om_44"):
            assert not store.append(TEAM, "user", "again", "on_ada", known)
        assert store.append(TEAM, "user", "new", "on_ada", "om_new")
        assert store.append(TORN, "user", "after the torn end", "on_bo", "om_t2")
        assert [entry["message_id"] for entry in store.recent(TEAM, 2).entries] == ["om_44", "om_new"]
        assert [entry["message_id"] for entry in store.read(TORN).entries] == ["om_t1", "om_t2"]


async def test_members_and_the_chat_have_their_names(golden: Path) -> None:
    async with hub_over(golden) as hub:
        members = await hub.lines("transcript", "transcript_members", session_key=TEAM)
        chats = (await hub.get("/api/groups"))["chats"]
    assert [(each["name"], each["kind"]) for each in members] == [
        ("Alpha", "bot"),
        ("Beta", "bot"),
        ("Ada", "human"),
        ("Bo", "human"),
        ("林小雨", "human"),
    ]
    assert members[0]["aliases"] == ["阿尔法"]
    assert {chat["key"]: chat["title"] for chat in chats}[TEAM] == "The shop's team"


async def test_decisions_are_shown_with_their_reasons(golden: Path) -> None:
    async with hub_over(golden) as hub:
        decisions = (await hub.get("/api/groups/decisions", chat=TEAM))["decisions"]
    told = {
        which: [(each["agent"], each["reason"], each["respond"]) for each in found]
        for which, found in decisions.items()
    }
    assert told == {
        "om_1": [("Alpha", "score_high", True)],
        "om_3": [("Alpha", "other_mentioned", False), ("Beta", "mentioned", True)],
        "om_4": [("Beta", "hop_limit", False)],
    }


def test_posts_wait_and_their_answers_are_kept(golden: Path) -> None:
    with Outbox(golden / "record") as outbox:
        sent, waits, card = (post_id_for(key) for key in ("build-7", "waits", "card"))
        assert (outbox.status(sent).state, outbox.status(sent).message_id) == ("sent", "om_90")
        answers = [(each.kind, each.sender, each.text, each.value) for each in outbox.answers(sent)]
        assert answers == [("reply", "on_ada", "Good.", {}), ("action", "on_lin", "", {"choice": "ship"})]
        assert (outbox.status(waits).state, outbox.status(card).state) == ("queued", "queued")
        assert outbox.take("bot", [TEAM], "Beta") is None
        job = outbox.take("bot", [TEAM], "Alpha")
        assert job is not None
        assert (job.id, job.content, job.reply_to) == (waits, "Waits for a bot.", "om_1")
        job = outbox.take("bot", [SMALL], "Beta")
        assert job is not None
        assert job.card == {"elements": [{"tag": "markdown", "content": "Ship it?"}]}


async def test_a_relay_hands_nothing_out_again(golden: Path) -> None:
    async with AsyncGroupTranscriptStore(golden / "record") as store:
        relay = Relay(store, AgentProfile("Beta"), RelaySettings("all", max_age=4e9))
        await store.append(SMALL, "assistant", "Alpha again.", "Alpha", "om_s4", agent="Alpha", hop=1)
        assert (await anext(relay.entries(SMALL)))["message_id"] == "om_s4"


def test_the_plugin_knows_how_far_a_session_was_told(golden: Path) -> None:
    mark = Watermarks(FileMarks(golden / "record")).load("cli_alpha", TEAM)
    assert mark is not None
    assert (mark.cursor, mark.chat, mark.turn) == (CURSORS["early"], "oc_team", "om_1")
    assert (mark.turns, mark.answers, mark.told) == ({"om_1": "d1"}, {"om_2": "d2"}, ("om_3",))


# -- Agent Mail


async def test_mail_is_in_its_inboxes_as_it_was(golden: Path) -> None:
    async with hub_over(golden) as hub:
        got = await hub.data(
            "mail", "check_my_messages", project_key=SHOP, agent_name="GreenCastle", include_bodies=True
        )
        mine = await hub.data("mail", "check_my_messages", project_key=SHOP, agent_name="BlueLake")
    stop, answer = got["messages"]
    assert (stop["subject"], stop["importance"], stop["created_ts"]) == ("Stop", "urgent", 1_763_600_005.0)
    assert stop["acknowledged"]
    assert (answer["subject"], answer["body_md"]) == ("Re: Plan 用户表", "I take the migration. 迁移由我来做。")
    assert answer["read"] is None
    (plan,) = mine["messages"]
    assert plan["read"]
    assert answer["reply_to"] == plan["id"]


async def test_mail_is_found_in_threads_and_by_its_words(golden: Path) -> None:
    async with hub_over(golden) as hub:
        found = await hub.data("mail", "search_messages", project_key=SHOP, query="迁移")
        thread = await hub.data("mail", "summarize_thread", project_key=SHOP, thread_id="USERS-1")
        agents = await hub.data("mail", "list_agents", project_key="/srv/shop-web", active_only=False)
    assert [message["subject"] for message in found["messages"]] == ["Re: Plan 用户表"]
    assert sorted(each["name"] for each in thread["participants"]) == ["BlueLake", "GreenCastle"]
    assert "RedStone" in json.dumps(agents)


async def test_claims_hold(golden: Path) -> None:
    async with hub_over(golden) as hub:
        claims = await hub.data("mail", "list_claims", project_key=SHOP)
        everything = await hub.data("mail", "list_claims", project_key=SHOP, active_only=False)
    held = sorted((claim["agent"], claim["path"], claim["reason"]) for claim in claims)
    assert held == [("GreenCastle", "db/**", "Users migration"), ("GreenCastle", "docs/*.md", "Users migration")]
    assert [claim["path"] for claim in everything if "released" in claim] == ["web/app.py"]


def test_the_archive_has_what_the_database_has(run: Run) -> None:
    checked = run("mail", "mail", "doctor")
    assert checked["ok"], checked["findings"]


def test_the_archive_alone_makes_the_same_mail_again(run: Run) -> None:
    before = [run("mail", "mail", "inbox", name, "--bodies", "--project", SHOP) for name in ("GreenCastle", "BlueLake")]
    assert run("mail", "mail", "doctor", "--rebuild")["rebuilt"] == {
        "projects": 2,
        "agents": 3,
        "messages": 3,
        "claims": 3,
    }
    after = [run("mail", "mail", "inbox", name, "--bodies", "--project", SHOP) for name in ("GreenCastle", "BlueLake")]
    assert after == before


# -- the guard


def commit(shop: Path, agent: str, file: str) -> tuple[bool, str]:
    """Commit a new file as an agent: whether it passed, and what was said."""
    path = shop / file
    path.parent.mkdir(exist_ok=True)
    path.write_text("new\n", encoding="utf-8")
    clean = {"PATH": os.environ["PATH"], "HOME": str(shop.parent), "GIT_CONFIG_NOSYSTEM": "1", "AGENT_NAME": agent}

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *words], cwd=shop, env=clean, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    git("add", file)
    done = git("commit", "-qm", "work")
    return done.returncode == 0, done.stderr


def test_an_installed_guard_refuses_a_commit_of_a_claimed_file(golden: Path) -> None:
    passed, said = commit(golden / "shop", "BlueLake", "db/users.sql")
    assert not passed
    assert "GreenCastle" in said
    assert commit(golden / "shop", "GreenCastle", "db/users.sql")[0]


def test_an_installed_guard_is_known_again_and_taken_out(golden: Path) -> None:
    store, shop = MailStore(golden / "mail"), golden / "shop"
    assert list(install_guard(store, SHOP, shop).projects) == [SHOP]
    assert uninstall_guard(store, shop).removed
    assert commit(shop, "BlueLake", "db/users.sql")[0]


# -- FileBox


async def test_mail_lies_in_all_boxes_as_it_was(golden: Path) -> None:
    async with hub_over(golden) as hub:
        boxes = {
            (agent, box): [
                (mail["type"], mail["title"], mail.get("unread", False))
                for mail in (
                    await hub.data("filebox", "filebox_list_messages", box_type=box, runAs=agent, details=True)
                )["messages"]
            ]
            for agent in ("qa_agent", "dev_agent")
            for box in ("inbox", "outbox", "done", "cancel")
        }
    bug = ("BR", "登录页面验证码显示异常", False)
    assert boxes == {
        ("qa_agent", "inbox"): [("INFO", "Read me", False)],
        ("qa_agent", "outbox"): [("ER", "Release notes", False), ("INFO", "Lunch", False)],
        ("qa_agent", "done"): [bug],
        ("qa_agent", "cancel"): [],
        ("dev_agent", "inbox"): [("ER", "Release notes", True)],
        ("dev_agent", "outbox"): [("INFO", "Read me", False), bug],
        ("dev_agent", "done"): [],
        ("dev_agent", "cancel"): [("INFO", "Lunch", False)],
    }


async def test_a_thread_of_filebox_has_every_entry(golden: Path) -> None:
    async with hub_over(golden) as hub:
        (mail,) = (await hub.data("filebox", "filebox_list_messages", box_type="done", runAs="qa_agent", details=True))[
            "messages"
        ]
        thread = await hub.text("filebox", "filebox_thread", message_id=mail["id"], runAs="dev_agent")
    assert thread.index("Found it.") < thread.index("The captcha does not refresh.")


# -- the hub's own data


async def test_what_waits_in_a_session_is_handed_over(golden: Path) -> None:
    async with hub_over(golden) as hub:
        assert await hub.text("io", "i_tool", session_id="build") == "Build it."
        assert await hub.text("io", "i_tool", session_id="build") == '{"branch": "main"}'
        assert (await hub.get("/agent/output/build"))["output"] == "Built 构建完成。"


async def test_questions_and_their_answers_are_in_the_history(golden: Path) -> None:
    async with hub_over(golden) as hub:
        assert await hub.text("assistant", "get_answer", id="q-answered", wait=0) == "Yes, at noon."
        assert "was withdrawn" in await hub.text("assistant", "get_answer", id="q-taken-back", wait=0)
        async with page(hub.url, "local", "Ada") as ada:
            await ada.send("GetHistory")
            history = (await ada.until("GetHistory")).GetHistoryResponse
    records = {record.id: record for record in history.records}
    assert set(records) == {"q-answered", "r-confirmed", "q-taken-back", "q-open"}
    assert records["q-answered"].ask_question_request.Request.Question == "Deploy the shop? 现在发布吗？"
    assert [content.text.text for content in records["r-confirmed"].contents] == ["Thank you."]
    assert (records["q-answered"].state, records["q-taken-back"].state) == ("answered", "withdrawn")


# -- reading changes nothing that an earlier version has to read


def lying(golden: Path) -> dict[str, bytes]:
    """The files that are the data themselves, not made from it."""
    record = golden / "record"
    kept = [
        *record.glob("*.jsonl"),
        record / ".state" / "members.json",
        *(record / ".state" / "cursors").glob("*.json"),
    ]
    kept += [*(golden / "filebox").rglob("*.md"), *(golden / "mail").glob("projects/*/repo/[!.]*/**/*")]
    return {str(path): path.read_bytes() for path in kept if path.is_file()}


async def test_reading_leaves_every_file_as_it_lies(golden: Path, run: Run) -> None:
    before = lying(golden)
    assert len(before) > 30
    for words in (["show", "oc_team"], ["show", "oc_torn"], ["tail"], ["search", "list"], ["stats"]):
        run("record", *words)
    run("mail", "mail", "doctor")
    async with hub_over(golden) as hub:
        await hub.text("transcript", "transcript_recent", session_key=TEAM)
        await hub.text("mail", "check_my_messages", project_key=SHOP, agent_name="GreenCastle")
        await hub.text("filebox", "filebox_list_messages", box_type="inbox", runAs="qa_agent")
        await hub.get("/api/system")
    assert lying(golden) == before
