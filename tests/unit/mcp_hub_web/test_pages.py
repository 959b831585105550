"""What the page asks for: groups, mail, mailboxes, the system, and who may ask."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from support.hubs import listening
from support.waiting import until
from support.web_home import CHAT, PROJECT, WebHome

from nanobot_transcript.errors import StoreBusyError
from nanobot_transcript.relevance import Reason
from transcript_mcp.hub import create_app
from transcript_mcp.mail.archive import jobs
from transcript_mcp.mail.claims.ledger import Claims
from transcript_mcp.mail.values import Draft
from transcript_mcp.rooms import open_rooms
from transcript_mcp.sdk.testing import InMemoryClient

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def ask(page: ClientSession, path: str, **values: str) -> Any:
    async with page.get(f"/api/{path}", params=values) as answer:
        assert answer.status == 200, await answer.text()
        assert answer.headers["Cache-Control"] == "no-store"
        return await answer.json()


async def do(page: ClientSession, path: str, **values: Any) -> tuple[int, Any]:
    async with page.post(f"/api/{path}", json=values) as answer:
        return answer.status, await answer.json()


# -- groups


async def test_a_chat_is_listed_with_its_members_and_what_was_said_last(tmp_path: Path) -> None:
    home = WebHome(tmp_path)
    home.furnish()
    async with listening(create_app(home.settings())) as address, ClientSession(address) as page:
        (chat,) = (await ask(page, "groups"))["chats"]
    home.close()
    assert chat["key"] == CHAT
    assert {member["name"]: member["bot"] for member in chat["members"]} == {
        "Alpha": True,
        "Beta": True,
        "Ada Byrne": False,
        "林小雨": False,
    }
    assert chat["last"]["text"] == "I can, it takes four minutes."


async def test_a_chat_is_called_what_the_platform_calls_it(page: ClientSession, home: WebHome) -> None:
    assert (await ask(page, "groups"))["chats"][0]["title"] == ""
    home.store.members.remember_chat(CHAT, "发布群")
    assert (await ask(page, "groups"))["chats"][0]["title"] == "发布群"


async def test_a_recalled_message_is_shown_as_such_and_never_with_its_text(page: ClientSession) -> None:
    answer = await ask(page, "groups/messages", chat=CHAT)
    shown = {message["id"]: message for message in answer["messages"]}
    assert list(shown)[:5] == ["om_1", "om_2", "om_3", "om_4", "om_5"]
    assert shown["om_3"]["recalled"] is True
    assert shown["om_3"]["name"] == "林小雨"
    assert "hunter2" not in str(answer)
    assert shown["om_4"]["edited"] is True
    assert shown["om_4"]["text"] == "Who can run the migration on staging?"
    assert shown["om_5"]["reply_to"] == "om_4"


async def test_a_message_of_a_thread_says_which_and_where_that_began(page: ClientSession, home: WebHome) -> None:
    home.say("on_ada", "In a thread", "om_thread", thread_id="omt_1", root_id="om_1")
    home.say("on_ada", "In one that says no beginning", "om_unknown", thread_id="omt_2")
    shown = {each["id"]: each for each in (await ask(page, "groups/messages", chat=CHAT))["messages"]}
    assert (shown["om_thread"]["thread"], shown["om_thread"]["root"]) == ("omt_1", "om_1")
    assert shown["om_unknown"]["thread"] == "omt_2"
    assert "root" not in shown["om_unknown"]
    assert "thread" not in shown["om_1"]


async def test_a_thread_whose_beginning_is_not_in_the_record_names_no_place_to_look_for_it(
    page: ClientSession, home: WebHome
) -> None:
    home.say("on_ada", "Before the bot came", "om_early", thread_id="omt_3", root_id="om_never_seen")
    home.say("on_ada", "Let us forget this", "om_forgotten")
    home.say("on_ada", "Forgotten", "om_of_forgotten", thread_id="omt_4", root_id="om_forgotten")
    home.store.recall(CHAT, "om_forgotten", "on_ada")
    shown = {each["id"]: each for each in (await ask(page, "groups/messages", chat=CHAT))["messages"]}
    assert "root" not in shown["om_early"]
    assert shown["om_early"]["thread"] == "omt_3"
    assert shown["om_of_forgotten"]["root"] == "om_forgotten"  # what was taken back has its place on the page
    after = (await ask(page, "groups/messages", chat=CHAT))["newer"]
    home.store.edit(CHAT, "om_early", "Before it came", "on_ada")
    (changed,) = (await ask(page, "groups/news", chat=CHAT, after=after))["changed"]
    assert "root" not in changed


@pytest.mark.parametrize("odd", [["a"], {"a": 1}, 5])
async def test_metadata_that_is_no_text_keeps_nothing_else_from_being_shown(
    page: ClientSession, home: WebHome, odd: Any
) -> None:
    name = f"om_odd_{len(str(odd))}"
    fields = dict.fromkeys(("thread_id", "root_id", "reply_to", "sender_name", "agent", "source"), odd)
    home.say("on_nobody", "Written by another program", name, **fields)
    shown = {each["id"]: each for each in (await ask(page, "groups/messages", chat=CHAT))["messages"]}
    assert not {"thread", "root", "reply_to", "source"} & set(shown[name])
    assert (shown[name]["name"], shown[name]["text"]) == ("on_nobody", "Written by another program")
    heard = [each for each in shown.values() if not each.get("recalled")]
    assert len((await ask(page, "groups/activity", chat=CHAT))["points"]) == len(heard)
    assert (await ask(page, "groups"))["chats"][0]["last"]["id"] == name
    await ask(page, "groups/members", chat=CHAT)
    assert any(each["id"] == name for each in (await ask(page, "groups/search", q="another program"))["hits"])


async def test_each_bots_decision_stands_at_its_message_with_the_reason(page: ClientSession) -> None:
    decisions = (await ask(page, "groups/decisions", chat=CHAT))["decisions"]
    alpha, beta = decisions["om_1"]
    assert (alpha["agent"], alpha["respond"], alpha["reason"]) == ("Alpha", True, "named")
    assert alpha["sentence"] == "It calls the agent by name or alias."
    assert (beta["agent"], beta["respond"]) == ("Beta", False)


async def test_the_last_that_a_bot_decided_about_a_message_counts(page: ClientSession, home: WebHome) -> None:
    home.decide("om_claim", "Alpha", False, Reason.SCORE_LOW, 0.01)
    home.decide("om_claim", "Beta", False, Reason.SCORE_LOW, 0.02)
    home.decide_later("om_claim", "Alpha", "claim_seen")
    home.decide_later("om_claim", "Beta", "claim_seen")
    home.decide_later("om_claim", "Beta", "taken_over")  # Alpha died over it
    home.decide_later("om_last", "Alpha", "hop_limit")
    decisions = (await ask(page, "groups/decisions", chat=CHAT))["decisions"]
    shown = {each["agent"]: (each["respond"], each["reason"], each["stage"]) for each in decisions["om_claim"]}
    assert shown == {"Alpha": (False, "claim_seen", "claim"), "Beta": (True, "taken_over", "claim")}
    assert {each["before"]["reason"] for each in decisions["om_claim"]} == {"score_low"}
    (stopped,) = decisions["om_last"]
    assert (stopped["respond"], stopped["reason"], "before" in stopped) == (False, "hop_limit", False)


async def test_an_answer_that_failed_says_why_and_what_the_gate_had_said(page: ClientSession, home: WebHome) -> None:
    home.decide("om_failed", "Alpha", True, Reason.MENTIONED, 1.0)
    home.decide_later("om_failed", "Alpha", "failed", why="claude ended with exit code 1")
    home.decide_later("om_failed", "Beta", "answered")
    alpha, beta = (await ask(page, "groups/decisions", chat=CHAT))["decisions"]["om_failed"]
    assert (alpha["respond"], alpha["stage"], alpha["why"]) == (False, "answer", "claude ended with exit code 1")
    assert alpha["before"]["reason"] == "mentioned"
    assert (beta["respond"], "why" in beta) == (True, False)


@pytest.mark.parametrize("odd", [["claim"], {"a": 1}, 5])
async def test_a_decision_with_an_odd_stage_keeps_no_other_from_being_shown(
    page: ClientSession, home: WebHome, odd: Any
) -> None:
    name = f"om_stage_{len(str(odd))}"
    home.decide(name, "Alpha", True, Reason.NAMED, 1.0)
    line = {"v": 1, "chat": CHAT, "message_id": name, "agent": "Alpha", "stage": odd}
    with home.log.path_of(CHAT).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    assert name in (await ask(page, "groups/decisions", chat=CHAT))["decisions"]


async def test_news_tell_messages_edits_and_recalls_behind_a_place(page: ClientSession, home: WebHome) -> None:
    home.say("on_ada", "One more thing", "om_n1")
    home.say("on_ada", "And another", "om_n2")
    place = (await ask(page, "groups/messages", chat=CHAT))["newer"]
    home.say("Beta", "Done.", "om_n3")
    home.store.edit(CHAT, "om_n1", "One thing less", "on_ada")
    home.store.recall(CHAT, "om_n2", "on_ada")
    news = await ask(page, "groups/news", chat=CHAT, after=place)
    assert [message["id"] for message in news["messages"]] == ["om_n3"]
    assert [message["text"] for message in news["changed"]] == ["One thing less"]
    assert news["recalled"] == ["om_n2"]
    again = await ask(page, "groups/news", chat=CHAT, after=news["newer"])
    assert (again["messages"], again["changed"], again["recalled"]) == ([], [], [])


async def test_activity_and_search_name_who_spoke(page: ClientSession) -> None:
    activity = await ask(page, "groups/activity", chat=CHAT)
    assert {each["name"] for each in activity["speakers"] if each["bot"]} == {"Alpha", "Beta"}
    assert len(activity["points"]) >= 4
    hits = (await ask(page, "groups/search", q="迁移"))["hits"]
    assert [(hit["chat"], hit["id"]) for hit in hits] == [(CHAT, "om_2")]
    assert (await ask(page, "groups/search", q="hunter2"))["hits"] == []


async def test_turns_of_bots_are_counted_as_the_loop_guard_does_and_posts_are_turns(
    page: ClientSession, home: WebHome
) -> None:
    home.say("on_ada", "@Alpha discuss it with the other bot", "om_t0")
    home.say("Alpha", "@Beta the changelog first", "om_t1", agent="Alpha", hop=1)
    home.say("Beta", "@Alpha the test first", "om_t2", agent="Beta", hop=2)
    home.say("Alpha", "A person wrote this on the page", "om_t3", agent="Alpha")
    home.say("on_lin", "Of another thread", "om_t4", thread_id="omt_9")
    home.say("Beta", "Of that thread", "om_t5", thread_id="omt_9", agent="Beta", hop=1)
    home.say("Alpha", "@Beta both", "om_t6", agent="Alpha", hop=3)
    home.say("Alpha", "A second part of the same turn", "om_t7")
    home.say("Beta", "A bot that counts nothing", "om_t8")
    points = (await ask(page, "groups/activity", chat=CHAT))["points"]
    assert [hops for _, _, hops in points[-9:]] == [0, 1, 2, 3, 0, 1, 3, 3, 4]


async def test_a_post_waits_in_the_outbox_and_is_put_there_once(page: ClientSession) -> None:
    wanted = {"chat": CHAT, "text": "Hello all", "key": "once", "agent": "Alpha"}
    status, first = await do(page, "groups/post", **wanted)
    assert (status, first["state"]) == (200, "queued")
    assert (await do(page, "groups/post", **wanted))[1]["id"] == first["id"]
    posts = (await ask(page, "groups/posts", ids=first["id"]))["posts"]
    assert posts[first["id"]]["state"] == "queued"
    assert (await ask(page, "groups/posts", ids=f"gone,{first['id']}"))["posts"] == posts


async def test_a_post_without_a_text_or_for_an_unknown_bot_is_refused(page: ClientSession) -> None:
    status, empty = await do(page, "groups/post", chat=CHAT)
    assert (status, empty["error"]["code"]) == (400, "wrong_request")
    _, number = await do(page, "groups/post", chat=CHAT, text=5)
    assert number["error"]["message"] == "text is not a text."
    status, unknown = await do(page, "groups/post", chat=CHAT, text="x", agent="Nobody")
    assert status == 400
    assert unknown["error"]["hint"]


# -- mail


async def test_threads_come_with_messages_and_a_summary(page: ClientSession) -> None:
    threads = (await ask(page, "mail/threads", project=PROJECT))["threads"]
    plan = next(each for each in threads if each["id"] == "USERS-1")
    assert (plan["subject"], plan["messages"], plan["last_from"]) == ("Build plan for users", 2, "GreenCastle")
    thread = await ask(page, "mail/thread", project=PROJECT, id="USERS-1")
    assert [message["from"] for message in thread["messages"]] == ["BlueLake", "GreenCastle"]
    assert thread["summary"]["action_items"][0]["owner"] == "GreenCastle"


async def test_looking_into_an_inbox_marks_nothing_as_read(page: ClientSession) -> None:
    for _ in range(2):
        (message,) = (await ask(page, "mail/inbox", project=PROJECT, agent="GreenCastle", unread="1"))["messages"]
        assert message["read"] is None
    agents = {each["name"]: each for each in (await ask(page, "mail/agents", project=PROJECT))["agents"]}
    assert agents["GreenCastle"]["unread"] == 1


async def test_lists_of_mail_say_how_many_more_there_are(page: ClientSession, home: WebHome) -> None:
    home.mail.register_agent("/srv/many", "GrayOwl")
    human = home.mail.human("/srv/many")
    ids = [home.mail.send("/srv/many", human, Draft(f"Letter {n}", "text", to=["GrayOwl"])).id for n in range(5)]
    for kind, whose in (("mail/inbox", {"agent": "GrayOwl"}), ("mail/outbox", {"agent": "human"})):
        asked = {"project": "/srv/many", **whose}
        first = await ask(page, kind, **asked, limit="2")
        assert ([each["id"] for each in first["messages"]], first["more"]) == (ids[:2:-1], 3)
        rest = await ask(page, kind, **asked, before=first["before"])
        assert ([each["id"] for each in rest["messages"]], "more" in rest) == (ids[2::-1], False)
    found = await ask(page, "mail/search", project="/srv/many", q="letter", limit="2")
    assert (len(found["hits"]), found["more"], found["before"]) == (2, 3, ids[3])
    threads = await ask(page, "mail/threads", project="/srv/many", limit="2")
    assert ([each["id"] for each in threads["threads"]], threads["more"]) == (ids[:2:-1], 3)
    rest = await ask(page, "mail/threads", project="/srv/many", before=threads["before"])
    assert ([each["id"] for each in rest["threads"]], "more" in rest) == (ids[2::-1], False)


async def test_a_long_thread_and_long_lists_are_read_to_their_ends(page: ClientSession, home: WebHome) -> None:
    where = "/srv/long"
    agents = [home.mail.register_agent(where, name).agent for name in ("GrayOwl", "RedFox", "TanElk")]
    drafts = [Draft(f"Step {n}", "text", to=["RedFox"], thread_id="steps") for n in range(5)]
    ids = [home.mail.send(where, agents[0], each).id for each in drafts]
    newest = await ask(page, "mail/thread", project=where, id="steps", limit="2")
    assert ([each["id"] for each in newest["messages"]], newest["more"]) == (ids[3:], 3)
    assert (newest["subject"], newest["summary"]["left_out"]["messages"]) == ("Step 0", 3)
    older = await ask(page, "mail/thread", project=where, id="steps", before=newest["before"])
    assert ([each["id"] for each in older["messages"]], "more" in older) == (ids[:3], False)

    claims = Claims(home.mail.database, home.mail.now)
    claims.claim(home.mail.project(where).id, agents[0], ["a", "b", "c"])
    for kind in ("agents", "claims"):
        everything = (await ask(page, f"mail/{kind}", project=where))[kind]
        first = await ask(page, f"mail/{kind}", project=where, limit="2")
        assert (first[kind], first["more"]) == (everything[:2], 1)
        rest = await ask(page, f"mail/{kind}", project=where, before=first["before"])
        assert (rest[kind], "more" in rest) == (everything[2:], False)


async def test_who_watches_an_inbox_hears_when_a_person_writes(home: WebHome) -> None:
    chosen = home.settings()
    rooms = open_rooms(chosen, ["mail"])
    client = InMemoryClient(rooms["mail"].server)
    await client.subscribe("resource://inbox/BlueLake")
    async with listening(create_app(chosen, rooms)) as address, ClientSession(address) as page:
        wanted = {"project": PROJECT, "to": ["BlueLake"], "subject": "Hold on", "body": "Wait."}
        status, _ = await do(page, "mail/send", **wanted)
        assert status == 200
        await until(lambda: client.told == ["resource://inbox/BlueLake"])


def hold(home: WebHome, project: str, *paths: str) -> None:
    """GreenCastle has claimed these paths of a project that no other test uses."""
    green = home.mail.register_agent(project, "GreenCastle").agent
    Claims(home.mail.database, home.mail.now).claim(home.mail.project(project).id, green, paths, 3000)


async def test_search_marks_what_it_found_and_claims_say_how_long_they_last(page: ClientSession, home: WebHome) -> None:
    (hit,) = (await ask(page, "mail/search", project=PROJECT, q="split"))["hits"]
    assert "**split**" in hit["snippet"]
    hold(home, "/srv/held", "db/migrations/**")
    claims = await ask(page, "mail/claims", project="/srv/held")
    assert claims["claims"][0]["path"] == "db/migrations/**"
    assert 0 < claims["claims"][0]["expires_ts"] - claims["now"] <= 3000


async def test_a_person_releases_a_claim_or_all_of_an_agents(page: ClientSession, home: WebHome) -> None:
    where = "/srv/released"
    hold(home, where, "db/migrations/**", "a.py", "b.py")
    holder = {"project": where, "agent": "GreenCastle"}
    status, freed = await do(page, "mail/release", **holder, paths=["a.py"])
    assert (status, freed["released"]) == (200, ["a.py"])
    assert freed["still_held"] == ["db/migrations/**", "b.py"]
    for nothing in ({}, {"paths": []}, {"all": False}):
        status, refused = await do(page, "mail/release", **holder, **nothing)
        assert (status, refused["error"]["code"]) == (400, "invalid_letter")
    status, freed = await do(page, "mail/release", **holder, all=True)
    assert (status, freed["released"]) == (200, ["db/migrations/**", "b.py"])
    assert (await ask(page, "mail/claims", project=where))["claims"] == []
    project = home.mail.project(where).id
    summaries = [job.summary for job in home.mail.database.read(lambda db: jobs.waiting(db, project, None), [])]
    assert summaries[-1] == "release: human for GreenCastle 2 paths: db/migrations/**, b.py"


async def test_who_watches_claims_hears_when_a_person_releases_some(home: WebHome) -> None:
    chosen = home.settings()
    rooms = open_rooms(chosen, ["mail"])
    client = InMemoryClient(rooms["mail"].server)
    hold(home, "/srv/watched", "a.py")
    await client.subscribe("resource://claims//srv/watched")
    async with listening(create_app(chosen, rooms)) as address, ClientSession(address) as page:
        status, _ = await do(page, "mail/release", project="/srv/watched", agent="GreenCastle", all=True)
        assert status == 200
        await until(lambda: client.told == ["resource://claims//srv/watched"])


async def test_a_person_writes_and_replies_as_human(page: ClientSession, home: WebHome) -> None:
    wanted = {"project": PROJECT, "to": ["BlueLake"], "subject": "Hold on", "body": "Wait.", "key": "k1"}
    status, sent = await do(page, "mail/send", **wanted)
    assert (status, sent["recipients"]) == (200, {"to": ["BlueLake"]})
    assert (await do(page, "mail/send", **wanted))[1]["repeated"] is True
    status, replied = await do(page, "mail/reply", id=sent["id"], body="Go on.")
    assert status == 200
    assert home.mail.message(replied["id"]).sender == "human"
    threads = {each["id"]: each for each in (await ask(page, "mail/threads", project=PROJECT))["threads"]}
    assert threads[replied["thread_id"]]["messages"] == 2
    assert [name for name in (sent["id"], replied["id"]) if name in threads] == [replied["thread_id"]]


async def test_an_unknown_project_is_told_with_what_to_do(page: ClientSession) -> None:
    async with page.get("/api/mail/agents", params={"project": "/nowhere"}) as answer:
        assert answer.status == 400
        assert (await answer.json())["error"]["hint"]


# -- mailboxes


async def test_a_mail_stays_unread_for_its_agent_while_a_person_looks(page: ClientSession) -> None:
    box = {"agent": "dev_agent", "box": "inbox"}
    (mail,) = (await ask(page, "boxes/page", **box))["messages"]
    thread = await ask(page, "boxes/thread", agent="dev_agent", id=mail["id"])
    assert thread["entries"][0]["text"] == "Press **Log in**: nothing."
    assert (await ask(page, "boxes/page", **box))["messages"][0]["unread"] is True


async def test_mails_are_sent_answered_resolved_and_rejected_as_an_agent(page: ClientSession) -> None:
    async def write(title: str) -> dict[str, Any]:
        status, sent = await do(
            page, "boxes/send", agent="ops_agent", to="qa_agent", type="INFO", title=title, content="Look."
        )
        assert status == 200
        return sent

    first, second = await write("Disk"), await write("Network")
    reply = {"agent": "qa_agent", "to": "ops_agent", "type": "ACK", "content": "Seen.", "original": first["id"]}
    assert (await do(page, "boxes/send", **reply))[0] == 200
    inbox = (await ask(page, "boxes/page", agent="ops_agent", box="inbox"))["messages"]
    (answered,) = [each for each in inbox if each["from"] == "qa_agent"]
    assert (await do(page, "boxes/resolve", agent="ops_agent", file=answered["file"]))[0] == 200
    assert (await do(page, "boxes/reject", agent="qa_agent", file=second["file"]))[0] == 200
    assert (await ask(page, "boxes/page", agent="ops_agent", box="done"))["total"] == 1
    hits = (await ask(page, "boxes/search", agent="qa_agent", q="network"))["hits"]
    assert [hit["box"] for hit in hits] == ["cancel"]


async def test_a_box_and_a_search_in_it_say_that_they_hold_more(page: ClientSession, home: WebHome) -> None:
    for number in range(3):
        home.boxes.mailbox("dev_agent").send("ops_agent", "INFO", f"Page {number}", "pagination")
    asked = {"agent": "ops_agent", "box": "inbox"}
    everything = (await ask(page, "boxes/page", **asked, offset="0"))["messages"]
    first = await ask(page, "boxes/page", **asked, limit="2")
    left = len(everything) - 2
    assert (first["messages"], first["more"], first["next_offset"]) == (everything[:2], left, 2)
    rest = await ask(page, "boxes/page", **asked, offset="2")
    assert (rest["messages"], rest["more"], "next_offset" in rest) == (everything[2:], 0, False)
    found = await ask(page, "boxes/search", agent="ops_agent", q="pagination", limit="2")
    assert (len(found["hits"]), found["more"]) == (2, True)
    assert (await ask(page, "boxes/search", agent="ops_agent", q="pagination", limit="3"))["more"] is False


async def test_an_agent_that_may_not_be_acted_for_stays_closed(home: WebHome) -> None:
    chosen = home.settings(filebox={"run_as": "listed", "may_run_as": ["qa_agent"]})
    async with listening(create_app(chosen)) as address, ClientSession(address) as page:
        agents = {each["name"]: each["permitted"] for each in (await ask(page, "boxes"))["agents"]}
        assert agents == {"qa_agent": True, "dev_agent": False, "ops_agent": False}
        async with page.get("/api/boxes/page", params={"agent": "dev_agent", "box": "inbox"}) as answer:
            assert answer.status == 400
            assert (await answer.json())["error"]["code"] == "run_as_refused"


# -- the IO bridge


async def test_looking_into_a_queue_takes_nothing_and_reading_takes_once(page: ClientSession) -> None:
    assert (await do(page, "io/input", session="s1", text="Step 2", key="k"))[0] == 200
    assert (await do(page, "io/input", session="s1", text="Step 2", key="k"))[0] == 200
    for _ in range(2):
        items = (await ask(page, "io/queue", session="s1"))["items"]
        assert [(item["direction"], item["text"], item["state"]) for item in items] == [("in", "Step 2", "queued")]
    (session,) = (await ask(page, "io"))["sessions"]
    assert (session["id"], session["inputs"], session["outputs"]) == ("s1", 1, 0)
    status, nothing = await do(page, "io/output", session="s1")
    assert (status, nothing) == (200, {"output": None})
    status, refused = await do(page, "io/input", session="", text="x")
    assert (status, refused["error"]["code"]) == (400, "wrong_request")


# -- the system, and who may ask


async def test_what_went_wrong_is_told_with_what_to_do(page: ClientSession) -> None:
    error = StoreBusyError("Somebody holds the record.", hint="Wait for them.")
    logging.getLogger("nanobot_transcript.store").warning("%s cannot be read: %s", "oc_x", error)
    async with page.get("/api/groups/messages"):
        pass
    system = await ask(page, "system")
    told = {(each["code"], each["where"]): each["hint"] for each in system["problems"]}
    assert told["store_busy", "nanobot_transcript.store"] == "Wait for them."
    assert told["wrong_request", "GET /api/groups/messages"]
    assert {each["name"]: each["tools"] > 0 for each in system["servers"]}["mail"] is True
    assert {each["name"]: each["bytes"] for each in system["stores"]}["transcripts"] > 0


async def test_programs_that_ask_again_and_again_push_nothing_out(page: ClientSession) -> None:
    logging.getLogger("nanobot_transcript.store").error("The disk of oc_x is full.")
    for number in range(150):
        async with page.get(f"/agent/output/polled{number}") as answer:
            assert answer.status == 404
        await do(page, "groups/post", chat=CHAT)
    problems = (await ask(page, "system"))["problems"]
    assert "The disk of oc_x is full." in [each["text"] for each in problems]
    assert "no_output" not in [each["code"] for each in problems]
    again = next(each for each in problems if each["where"] == "POST /api/groups/post")
    assert again["times"] >= 150


async def test_a_server_that_is_not_offered_has_no_page(home: WebHome) -> None:
    chosen = home.settings(hub={"servers": ["mail"]}, filebox={"config": home.folder / "nowhere.json"})
    async with listening(create_app(chosen)) as address, ClientSession(address) as page:
        assert (await ask(page, "about"))["pages"] == ["mail", "system"]
        async with page.get("/api/groups") as answer:
            assert answer.status == 404


async def test_a_page_from_elsewhere_and_a_form_can_do_nothing(page: ClientSession) -> None:
    body = {"chat": CHAT, "text": "x"}
    async with page.post("/api/groups/post", json=body, headers={"Origin": "https://evil.example"}) as answer:
        assert answer.status == 403
    async with page.post("/api/groups/post", data=body) as answer:
        assert answer.status == 415
