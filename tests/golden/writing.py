"""Wrote the golden data; kept to show how. What it wrote is never written anew: later versions have to read it.

    PYTHONPATH=tests .venv/bin/python -m golden.writing

A later version that keeps something else beside it adds a room of its own, with a script of its own.
"""

import asyncio
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
from golden.packing import DATA, PLACE, ROOMS, moved, pack
from support.assistant_clients import Caller, page
from support.hubs import listening
from support.waiting import until

from nanobot_transcript import AsyncGroupTranscriptStore, GroupTranscriptStore
from nanobot_transcript.coordination.files.marks import FileMarks
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.outbox import Action, Outbox, OutboxLimits, Receipt
from nanobot_transcript.relevance.decision import Decision, Reason, Stage
from nanobot_transcript.relevance.decision_log_file import FileDecisionLog
from nanobot_transcript.settings import Settings
from nanobot_transcript.sql.location import Shelf
from nanobot_transcript.store.member_file import FileMembers
from nanobot_transcript.turns import Relay, RelaySettings
from transcript_channels.nanobot_host.watermark import Watermark, Watermarks
from transcript_mcp.assistant.protocol.callers import Callers
from transcript_mcp.assistant.protocol.connect import routes
from transcript_mcp.assistant.questions.service import Assistant
from transcript_mcp.assistant.questions.sql_store import SqlQuestionStore
from transcript_mcp.assistant.server import build_server
from transcript_mcp.assistant.tools import ToolOptions
from transcript_mcp.door.identity import LOCAL, Tokens
from transcript_mcp.filebox import ConfigSource, FileBox
from transcript_mcp.hub import create_app
from transcript_mcp.io_bridge.store import SqlQueueStore
from transcript_mcp.mail.claims.guard import install_guard
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.service import MailService
from transcript_mcp.mail.values import Draft
from transcript_mcp.room import OpenRoom

TEAM, SMALL, TORN = "feishu:oc_team", "feishu:oc_small", "feishu:oc_torn"
START = 1_763_600_000
FAR = 4_000_000_000
"""In the year 2096, until when what runs out has to hold."""

PROJECT, OTHER = "/srv/shop", "/srv/shop-web"


def ticking() -> Callable[[], float]:
    """A clock that is one second later at each look."""
    seconds = itertools.count(START)
    return lambda: float(next(seconds))


# -- the record


def write_record(base: Path) -> None:
    """A chat with every kind of line in several segments, one in a single segment, and one whose end is missing."""
    folder, cursors = base / "record", dict[str, str]()
    now = ticking()
    with GroupTranscriptStore(folder, segment_bytes=3000) as store:

        def say(text: str, sender: str, number: int, role: str = "user", **more: Any) -> None:
            assert store.append(TEAM, role, text, sender, f"om_{number}", now() * 1000, **more)

        ada: dict[str, Any] = {"sender_name": "Ada", "sender_kind": "human", "msg_type": "text", "source": "event"}
        ada["ids"] = {"union_id": "on_ada", "user_id": "u_ada", "open_id": "ou_ada_for_alpha"}
        lin: dict[str, Any] = {"sender_name": "林小雨", "sender_kind": "human", "source": "event"}
        alpha: dict[str, Any] = {"sender_kind": "bot", "agent": "Alpha", "source": "send"}
        say("When is the release? 发布时间定了吗？", "on_ada", 1, **ada)
        say("On Friday.", "Alpha", 2, "assistant", reply_to="om_1", hop=1, **alpha)
        say("@Beta please check", "on_lin", 3, mentions=[{"name": "Beta", "id": "Beta"}], **lin)
        say("Checked.", "Beta", 4, "assistant", sender_kind="bot", agent="Beta", source="peer_event", hop=1)
        say("in the thread", "on_ada", 5, root_id="om_3", thread_id="omt_1", pos=7, **ada)
        say("A long answer in two parts.", "Alpha", 6, "assistant", message_ids=["om_6", "om_6b"], **alpha)
        say("A card that grew.", "Alpha", 7, "assistant", **{**alpha, "source": "stream"})
        say("What nobody heard.", "on_lin", 8, **{**lin, "source": "history"})
        say("What an old log had.", "on_bo", 9, source="import")
        say("Monday", "on_ada", 10, **ada)
        store.edit(TEAM, "om_10", "Tuesday", "on_ada", now() * 1000)
        say("Taken back.", "on_lin", 11, **lin)
        store.recall(TEAM, "om_11", "on_lin", now() * 1000)
        say("The password is hunter2.", "on_lin", 12, **lin)
        store.redact(TEAM, "om_12", "on_lin", now() * 1000)
        store.append(TEAM, "user", "without an id", "on_ada", None, now() * 1000)
        for number in range(13, 43):
            say(f"Point {number} of the list, 第 {number} 点。", "on_ada" if number % 2 else "on_lin", number)
            if number == 20:
                cursors["early"] = store.end(TEAM)
        cursors["late"] = store.end(TEAM)
        (base / "record.json").write_text(json.dumps(cursors) + "\n", "utf-8")
        say("Said after the cursor.", "on_ada", 43, **ada)
        store.append(SMALL, "user", "A small chat.", "on_bo", "om_s1", now() * 1000)
        store.append(TORN, "user", "The last whole line.", "on_bo", "om_t1", now() * 1000)
        # What other programs and newer versions put there.
        line = {"role": "user", "content": "From another program.", "sender": "on_bo", "message_id": "om_44"}
        _append(folder, "feishu_oc_team", {**line, "ts": now() * 1000, "mood": {"😀": [1, 2]}})
        _append(
            folder, "feishu_oc_team", {**line, "op": "pin", "target": "om_1", "message_id": None, "ts": now() * 1000}
        )
        _write_members(folder, now)
    asyncio.run(_relay(folder))
    marks = Watermarks(FileMarks(folder))
    cursor = cursors["early"]
    marks.save(
        "cli_alpha", TEAM, Watermark(cursor, "oc_team", cursor, "om_1", {"om_1": "d1"}, {"om_2": "d2"}, ("om_3",))
    )
    _write_decisions(folder, now)
    _write_posts(folder)
    (torn,) = folder.glob("feishu_oc_torn-*.jsonl")
    torn.write_bytes(torn.read_bytes() + b'{"role":"user","content":"half a li')


def _append(folder: Path, stem: str, line: dict[str, Any]) -> None:
    (active,) = [path for path in folder.glob(f"{stem}-*.jsonl") if path.name.count(".") == 1]
    with active.open("ab") as file:
        file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")


def _write_members(folder: Path, now: Callable[[], float]) -> None:
    members = FileMembers(folder, now=now)
    members.remember_bot("cli_alpha", "Alpha", aliases=["阿尔法"], description="Builds and releases.")
    members.remember_bot("cli_beta", "Beta")
    for sender, name in (("on_ada", "Ada"), ("on_lin", "林小雨"), ("on_bo", "Bo")):
        members.remember_person(sender, name)
    for sender in ("on_ada", "on_lin", "on_bo", "Alpha", "Beta"):
        members.saw(TEAM, sender)
    members.remember_chat(TEAM, "The shop's team")


async def _relay(folder: Path) -> None:
    """Beta is given one message of Alpha's; the mark says so."""
    async with AsyncGroupTranscriptStore(folder) as store:
        relay = Relay(store, AgentProfile("Beta"), RelaySettings("all", max_age=FAR))
        await store.append(SMALL, "user", "Say something.", "on_bo", "om_s2", START * 1000.0)
        waiting = asyncio.ensure_future(anext(relay.entries(SMALL)))
        await until(lambda: list((folder / ".state" / "cursors").glob("*")))  # the relay looks from now on
        await store.append(
            SMALL, "assistant", "Alpha says it.", "Alpha", "om_s3", START * 1000.0 + 1, agent="Alpha", hop=1
        )
        assert (await waiting)["message_id"] == "om_s3"


def _write_decisions(folder: Path, now: Callable[[], float]) -> None:
    log = FileDecisionLog(folder)
    for decision in (
        Decision(True, Reason.SCORE_HIGH, 0.82, Stage.SCORE, "Alpha", "om_1"),
        Decision(False, Reason.OTHER_MENTIONED, 0.0, Stage.OTHERS, "Alpha", "om_3"),
        Decision(True, Reason.MENTIONED, 1.0, Stage.CERTAIN, "Beta", "om_3"),
        Decision(False, Reason.HOP_LIMIT, 0.0, Stage.GUARD, "Beta", "om_4"),
    ):
        assert log.write(TEAM, decision, now() * 1000)


def _write_posts(folder: Path) -> None:
    """One that waits, one as a card, and one that was sent and answered by a reply and a button."""
    limits = OutboxLimits(expires_in=FAR - START, keep=FAR - START)
    with Outbox(folder, limits, clock=ticking()) as outbox:
        outbox.post(TEAM, "Build 7 is done.", idempotency_key="build-7")
        job = outbox.take("golden", [TEAM])
        assert job is not None
        outbox.sent(job, Receipt("om_90", message_ids=("om_90",)), agent="Alpha")
        reply: Any = {
            "role": "user",
            "content": "Good.",
            "sender": "on_ada",
            "sender_name": "Ada",
            "message_id": "om_91",
        }
        assert outbox.offer_reply({**reply, "ts": START * 1000.0, "reply_to": "om_90"}, TEAM)
        assert outbox.offer_action(
            Action("om_90", {"choice": "ship"}, "on_lin", "林小雨", action_id="a1", session_key=TEAM)
        )
        outbox.post(
            TEAM, "Waits for a bot.", idempotency_key="waits", agent="Alpha", reply_to="om_1", wants_answers=False
        )
        outbox.post(SMALL, card={"elements": [{"tag": "markdown", "content": "Ship it?"}]}, idempotency_key="card")


# -- Agent Mail, and a repository with its guard


def write_mail(base: Path) -> None:
    """Two projects with mail of every kind, claims, and the archive; a repository that the guard stands in."""
    now, later = ticking(), [0.0]
    mail = AgentMail(base / "mail", clock=lambda: later[0] or now())
    service = MailService(mail)
    for project, name in ((PROJECT, "GreenCastle"), (PROJECT, "BlueLake"), (OTHER, "RedStone")):
        service.archived(mail.register_agent(project, name, "codex", "some-model", "Users table").job)
    green, blue = mail.acting(PROJECT, "GreenCastle"), mail.acting(PROJECT, "BlueLake")
    plan = Draft("Plan 用户表", "We split the **users** table.", to=["BlueLake"], cc=["RedStone"], thread_id="USERS-1")
    sent = mail.send(PROJECT, green, plan)
    answer = mail.reply(blue, sent.id, Draft(body="I take the migration. 迁移由我来做。", importance="high"))
    urgent = Draft("Stop", "The build is red.", to=["GreenCastle"], importance="urgent", ack_required=True)
    stop = mail.send(PROJECT, blue, urgent)
    for each in (sent, answer, stop):
        service.archived(each.job)
    mail.mark_read(blue, [sent.id])
    mail.acknowledge(green, stop.id)
    later[0] = FAR
    known = mail.project(PROJECT).id
    service.claims.claim(known, green, ["db/**", "docs/*.md"], 30 * 86_400, reason="Users migration")
    service.claims.claim(known, blue, ["web/app.py"], 3600, exclusive=False)
    service.claims.release(known, blue, ["web/app.py"])
    service.archived(0)
    _write_shop(base, mail)
    service.close()


def _write_shop(base: Path, mail: AgentMail) -> None:
    shop = base / "shop"
    shop.mkdir()
    when = {"GIT_AUTHOR_DATE": f"{START} +0000", "GIT_COMMITTER_DATE": f"{START} +0000"}
    clean = {"PATH": os.environ["PATH"], "HOME": str(base), "GIT_CONFIG_NOSYSTEM": "1", **when}
    (shop / "README.md").write_text("A shop.\n", "utf-8")
    for words in (
        ["init", "-q", "-b", "main", "--template="],
        ["config", "user.name", "Shop"],
        ["config", "user.email", "shop@example.com"],
        ["add", "."],
        ["commit", "-qm", "Begin"],
    ):
        subprocess.run(["git", *words], cwd=shop, env=clean, check=True)
    hook = Path(install_guard(mail.places, PROJECT, shop).hook)
    hook.write_text(moved(hook.read_text("utf-8"), os.path.realpath(sys.executable), "/usr/bin/python3"), "utf-8")


# -- FileBox


def write_filebox(base: Path) -> None:
    """Mail in all four boxes of two agents, with a thread."""
    folder = base / "filebox"
    agents = {name: str(folder / name) for name in ("qa_agent", "dev_agent")}
    for path in agents.values():
        Path(path).mkdir(parents=True)
    (folder / "filebox.json").write_text(json.dumps({"agents": agents}), "utf-8")
    filebox = FileBox(ConfigSource(explicit=folder / "filebox.json"), clock=ticking())
    qa, dev = filebox.mailbox("qa_agent"), filebox.mailbox("dev_agent")
    bug = qa.send("dev_agent", "BR", "登录页面验证码显示异常", "The captcha does not refresh.")
    dev.send("qa_agent", "ACK", "", "Found it.", original_id=bug.id)
    qa.resolve(bug.file)
    refused = qa.send("dev_agent", "INFO", "Lunch", "At noon?")
    dev.reject(refused.file)
    qa.send("dev_agent", "ER", "Release notes", "Please write them.")
    dev.send("qa_agent", "INFO", "Read me", "I was read.")
    read = qa.page("inbox").mails[0]
    qa.thread(read.id)


# -- the hub's own data


def write_hub(base: Path) -> None:
    """Queues of the IO bridge, and questions of every kind."""
    asyncio.run(_write_queues(base / "hub"))
    asyncio.run(_write_questions(base / "hub"))


async def _write_queues(folder: Path) -> None:
    queues = SqlQueueStore(Shelf(folder), clock=ticking())
    await queues.put("build", "in", "Build it.", "key-1")
    await queues.put("build", "in", '{"branch": "main"}')
    await queues.put("build", "out", "Built 构建完成。", "out-1")
    queues.close()


async def _write_questions(folder: Path) -> None:
    assistant = Assistant(SqlQuestionStore(Shelf(folder)), grace=30, chat="")
    tokens = Tokens(local=True)
    server = build_server(assistant, lambda ctx: tokens.asks_in(ctx.who), ToolOptions(shortest=1))
    server.on_close(assistant.close)
    room = OpenRoom(
        server,
        routes=lambda: routes(assistant, tokens),
        own_access=lambda: Callers(own_tokens=False, behind_token=False),
    )
    async with listening(create_app(Settings(), {"assistant": room})) as url, page(url, LOCAL, "Ada") as ada:
        caller = Caller(url, LOCAL)
        asked = asyncio.create_task(caller.ask("q-answered", "Deploy the shop? 现在发布吗？"))
        await ada.until("AskQuestion")
        await ada.reply("q-answered", "Yes, at noon.")
        await asked
        told = asyncio.create_task(caller.report("TaskFinish", "r-confirmed", "The migration is done."))
        await ada.until("TaskFinish")
        await ada.confirm("r-confirmed", "Thank you.")
        await told
        async with aiohttp.ClientSession() as http:
            for name, arguments in (
                ("ask_question", {"question": "Which colour?", "options": ["red", "blue"], "id": "q-taken-back"}),
                ("ask_question", {"question": "Still open?", "id": "q-open", "timeout": 86_400}),
            ):
                await _call(
                    http, url, name, {"project_directory": PROJECT, "agent_name": "Alpha", "wait": 0, **arguments}
                )
            await _call(http, url, "withdraw_question", {"id": "q-taken-back"})


async def _call(http: aiohttp.ClientSession, url: str, tool: str, arguments: dict[str, Any]) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    async with http.post(f"{url}/mcp/assistant", json=call) as answer:
        result = (await answer.json())["result"]
        assert not result.get("isError"), result


def main() -> None:
    """Write everything, once."""
    assert not DATA.exists() or not list(DATA.glob("*.tar.gz")), "The golden data is there; nothing writes it anew."
    base = Path(PLACE)
    base.mkdir()
    write_record(base)
    write_mail(base)
    write_filebox(base)
    write_hub(base)
    for room in ROOMS:
        pack(base, room)
    (DATA / "record.json").write_bytes((base / "record.json").read_bytes())


if __name__ == "__main__":
    main()
