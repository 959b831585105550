"""What is asked for in a call comes to pass: each parameter, each default, and calls that run at the same time."""

import asyncio
import base64
import io
import json
import threading
from typing import Any

from PIL import Image
from support.letterbox import BACKEND, FRONTEND, Letterbox
from support.mail_desk import resource, told
from support.waiting import PATIENCE, until

from nanobot_transcript.sql.contract import Sql
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.messages import letters
from transcript_mcp.mail.messages.drafts import checked
from transcript_mcp.mail.server import build_server
from transcript_mcp.mail.service import MailService, ServiceOptions
from transcript_mcp.mail.store import Archive
from transcript_mcp.mail.values import Draft
from transcript_mcp.sdk.testing import InMemoryClient

GREEN = {"project_key": BACKEND, "agent_name": "GreenCastle"}
RED = {"project_key": BACKEND, "agent_name": "RedStone"}
BLUE = {"project_key": BACKEND, "agent_name": "BlueLake"}
MAIL = {"project_key": BACKEND, "from_agent": "GreenCastle", "to": ["BlueLake"], "subject": "Plan", "body_md": "text"}
DAY = 86_400.0


def rows(box: Letterbox, sql: str) -> list[tuple[Any, ...]]:
    """What the database holds."""
    return box.mail.reader.read(lambda db: [tuple(row) for row in db.execute(sql)], [])


def discuss(box: Letterbox, *bodies: str) -> None:
    """GreenCastle writes to BlueLake again and again in one thread; one transaction is quicker than hundreds."""

    def work(db: Sql) -> None:
        for number, body in enumerate(bodies):
            draft = Draft("Re: Cache" if number else "Cache", body, to=["BlueLake"], thread_id="TKT-123")
            known = letters.addressed(db, BACKEND, checked(draft, box.mail.options, is_reply=False))
            letters.put(db, known, box.green, box.mail.archive, box.time)

    box.mail.database.write(work)


def drawing() -> str:
    """A picture in a text."""
    file = io.BytesIO()
    Image.new("RGB", (8, 8), "navy").save(file, "PNG")
    return f"![flow](data:image/png;base64,{base64.b64encode(file.getvalue()).decode()})"


# -- mail


async def test_every_parameter_of_a_message_reaches_its_recipients(client: InMemoryClient, box: Letterbox) -> None:
    box.new(BACKEND, "GrayOwl")
    asked = {"importance": "high", "ack_required": True, "thread_id": "TKT-123"}
    message = {**MAIL, "cc": ["RedStone"], "bcc": ["GrayOwl"], "body_md": drawing(), **asked, "convert_images": False}
    sent = await told(client, "send_message", message)
    for name, kind in (("BlueLake", "to"), ("RedStone", "cc"), ("GrayOwl", "bcc")):
        inbox = await told(
            client, "check_my_messages", {"project_key": BACKEND, "agent_name": name}, include_bodies=True
        )
        (mail,) = inbox["messages"]
        assert (mail["id"], mail["kind"], mail["from"]) == (sent["id"], kind, "GreenCastle")
        assert (mail["project"], mail["subject"], mail["body_md"]) == (BACKEND, "Plan", message["body_md"])
        assert (mail["to"], mail["cc"]) == (["BlueLake"], ["RedStone"])
        assert {field: mail[field] for field in asked} == asked


async def test_of_a_message_that_is_refused_no_picture_is_kept(client: InMemoryClient, box: Letterbox) -> None:
    kept = {**MAIL, "body_md": drawing(), "image_embed_policy": "file"}
    for wrong in ({"subject": ""}, {"to": []}, {"to": ["Nobody"]}):
        assert (await client.call("send_message", {**kept, **wrong})).is_error
    assert not list(box.root.rglob("*.webp"))
    assert not (await client.call("send_message", kept)).is_error
    assert list(box.root.rglob("*.webp"))


async def test_a_sender_who_is_not_registered_sends_nothing_and_one_who_is_has_it_in_both_tables(
    client: InMemoryClient, box: Letterbox
) -> None:
    refused = await client.call("send_message", {**MAIL, "from_agent": "GreenCastel"})
    assert refused.is_error
    assert refused.text.startswith("from_agent not registered")
    assert [box.count(table) for table in ("agents", "messages", "message_recipients")] == [3, 0, 0]
    sent = await told(client, "send_message", {**MAIL, "cc": ["RedStone"]})
    assert rows(box, "SELECT id, from_agent, subject, body_md FROM messages") == [
        (sent["id"], "GreenCastle", "Plan", "text")
    ]
    assert rows(box, "SELECT message_id, agent_name, kind FROM message_recipients ORDER BY kind DESC") == [
        (sent["id"], "BlueLake", "to"),
        (sent["id"], "RedStone", "cc"),
    ]


async def test_an_inbox_shows_twenty_messages_unless_another_number_is_asked_for(
    client: InMemoryClient, box: Letterbox
) -> None:
    newest = [box.send(["BlueLake"]).id for _ in range(22)][::-1]

    async def checks(**query: Any) -> list[str]:
        return [each["id"] for each in (await told(client, "check_my_messages", BLUE, **query))["messages"]]

    async def read(query: str) -> list[str]:
        return [each["id"] for each in (await resource(client, f"resource://inbox/BlueLake{query}"))["messages"]]

    assert await checks() == await read("") == newest[:20]
    assert await checks(limit=21) == await read("?limit=21") == newest[:21]
    assert await checks(limit=200) == await read("?limit=200") == newest


async def test_an_inbox_goes_back_to_the_beginning_unless_a_time_is_given(
    client: InMemoryClient, box: Letterbox
) -> None:
    old = box.send(["BlueLake"])
    box.time += 3650 * DAY
    new = box.send(["BlueLake"])
    for query in ({}, {"since_ts": None}, {"since_ts": 0}):
        inbox = await told(client, "check_my_messages", BLUE, **query)
        assert [each["id"] for each in inbox["messages"]] == [new.id, old.id]
    for query in ("", "?since_ts=0"):
        inbox = await resource(client, f"resource://inbox/BlueLake{query}")
        assert [each["id"] for each in inbox["messages"]] == [new.id, old.id]


async def test_the_parameters_of_an_inboxs_address_count_together(client: InMemoryClient, box: Letterbox) -> None:
    for project in (BACKEND, FRONTEND):
        box.time += 60
        box.new(project, "TwinOak")
    box.time += 60
    box.mail.send(FRONTEND, box.blue, Draft("elsewhere", "text", to=["TwinOak"], importance="urgent"))
    sent = [
        box.send(["TwinOak"], subject, f"body of {subject}", importance=importance)
        for subject, importance in (("old", "urgent"), ("first", "urgent"), ("plain", "normal"), ("last", "high"))
    ]

    async def found(**query: Any) -> list[tuple[str, str | None]]:
        asked = {"project": BACKEND, "since_ts": sent[0].created_ts, "urgent_only": "true", "limit": 9} | query
        address = "&".join(f"{name}={value}" for name, value in asked.items())
        inbox = await resource(client, f"resource://inbox/TwinOak?{address}")
        assert inbox["project"] == asked["project"]
        return [(each["subject"], each.get("body_md")) for each in inbox["messages"]]

    assert await found() == [("last", None), ("first", None)]
    assert await found(include_bodies="true") == [("last", "body of last"), ("first", "body of first")]
    assert await found(limit=1) == [("last", None)]
    assert await found(urgent_only="false") == [("last", None), ("plain", None), ("first", None)]
    assert await found(since_ts=0) == [("last", None), ("first", None), ("old", None)]
    assert await found(project=FRONTEND, since_ts=0) == [("elsewhere", None)]


async def test_a_long_discussion_is_searched_and_summarised_whole_and_again_as_it_goes_on(
    client: InMemoryClient, box: Letterbox
) -> None:
    discuss(box, "We decided to keep the table.", *(f"Measurement {number} is as before." for number in range(210)))
    thread = {"project_key": BACKEND, "thread_id": "TKT-123"}
    before = await told(client, "summarize_thread", thread)
    assert (before["messages"], before["action_items"]) == (211, [])
    assert [each["text"] for each in before["decisions"]] == ["We decided to keep the table."]
    reply = {"project_key": BACKEND, "from_agent": "BlueLake", "body_md": "- [ ] write the migration @RedStone"}
    (newest,) = (await told(client, "check_my_messages", BLUE, limit=1))["messages"]
    await told(client, "reply_message", reply, reply_to_message_id=newest["id"])
    after = await told(client, "summarize_thread", thread)
    assert (after["messages"], after["decisions"]) == (212, before["decisions"])
    assert [(each["text"], each["owner"]) for each in after["action_items"]] == [
        ("write the migration @RedStone", "RedStone")
    ]
    assert {each["name"] for each in after["participants"]} == {"GreenCastle", "BlueLake"}
    for query, subject in (("table", "Cache"), ("migration", "Re: Cache")):
        (hit,) = (await told(client, "search_messages", {"project_key": BACKEND, "query": query}))["messages"]
        assert (hit["subject"], hit["thread_id"]) == (subject, "TKT-123")


# -- claims


async def test_a_claim_stands_in_the_database_and_as_json_for_git_as_it_was_asked_for(
    client: InMemoryClient, box: Letterbox
) -> None:
    paths = ["app/api/*.py", "docs"]
    asked = {**GREEN, "paths": paths, "ttl_seconds": 7200, "exclusive": False, "reason": "migrations"}
    claimed = await told(client, "claim_paths", asked)
    assert (claimed["granted"], claimed["expires_ts"]) == (paths, box.time + 7200)
    lease = (0, "migrations", box.time, box.time + 7200, None)
    stored = "SELECT agent_name, path, exclusive, reason, created_ts, expires_ts, released_ts FROM claims ORDER BY id"
    assert rows(box, stored) == [("GreenCastle", path, *lease) for path in paths]
    for path in paths:
        record = json.loads(box.archived()[Archive.claim(path)])
        fields = ("exclusive", "reason", "created_ts", "expires_ts", "released_ts")
        assert (record["agent"], record["path"]) == ("GreenCastle", path)
        assert tuple(record[field] for field in fields) == lease


async def test_releasing_ends_the_lease_on_the_paths_named_and_keeps_its_json(
    client: InMemoryClient, box: Letterbox
) -> None:
    await told(client, "claim_paths", {**GREEN, "paths": ["app/api/*.py", "docs"], "reason": "migrations"})
    box.time += 60
    released = await told(client, "release_claims", {**GREEN, "paths": ["app/api/*.py"]})
    assert released["released"] == ["app/api/*.py"]
    ended = [("app/api/*.py", box.time), ("docs", None)]
    assert rows(box, "SELECT path, released_ts FROM claims ORDER BY path") == ended
    for path, released_ts in ended:
        record = json.loads(box.archived()[Archive.claim(path)])
        assert (record["path"], record["reason"], record["released_ts"]) == (path, "migrations", released_ts)
    assert (await told(client, "claim_paths", {**RED, "paths": ["app/api/users.py"]}))["granted"]
    assert (await told(client, "claim_paths", {**RED, "paths": ["docs/index.md"]}))["conflicts"]


# -- identities


async def test_a_name_stays_with_its_owner_and_a_session_under_it_is_activity(
    client: InMemoryClient, box: Letterbox
) -> None:
    begun = {"project_key": BACKEND, "program": "claude-code", "model": "opus"}
    box.time += DAY
    again = await told(client, "start_session", begun, agent_name="GreenCastle")
    assert "agent_token" not in again["agent"], "it is the agent that was there"
    assert box.mail.whois(BACKEND, "GreenCastle").last_active_ts == box.time
    box.time += DAY
    await told(client, "register_agent", {"project_key": BACKEND, "agent_name": "RedStone"})
    names = [each["name"] for each in (await told(client, "list_agents", {"project_key": BACKEND}))["agents"]]
    assert names == ["RedStone", "GreenCastle"]
    for spelled in ("greencastle", "GREENCASTLE"):
        refused = await client.call("start_session", begun, agent_name=spelled)
        assert refused.is_error
        assert "GreenCastle is registered" in refused.text
    hinted = [(await told(client, "create_agent", begun, name_hint="green castle"))["name"] for _ in range(3)]
    assert len({name.casefold() for name in ("GreenCastle", *hinted)}) == 4


# -- several calls at once


class HeldClock:
    """Lets whoever looks first wait until ``go``."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.looked, self.go = threading.Event(), threading.Event()
        self._first = iter([True])

    def __call__(self) -> float:
        if next(self._first, False):
            self.looked.set()
            assert self.go.wait(PATIENCE)
        return self.now


async def test_a_call_that_waits_neither_holds_up_the_others_nor_takes_their_agent_for_its_own(
    box: Letterbox,
) -> None:
    for name in ("BlueLake", "RedStone"):
        box.send([name], f"for {name}")
    clock = HeldClock(box.time)
    with AgentMail(box.places, clock=clock) as mail:
        client = InMemoryClient(build_server(MailService(mail, ServiceOptions(archiving=False))))
        waiting = asyncio.create_task(told(client, "check_my_messages", BLUE))
        await until(clock.looked.is_set)
        try:
            meanwhile = await told(client, "check_my_messages", RED)
            assert not waiting.done()
        finally:
            clock.go.set()
        inboxes = [meanwhile, await waiting]
    for name, inbox in zip(("RedStone", "BlueLake"), inboxes, strict=True):
        assert inbox["agent"] == name
        assert [each["subject"] for each in inbox["messages"]] == [f"for {name}"]
