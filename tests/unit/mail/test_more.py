"""Answers say how many more there are and how to get them, and what is still to be acknowledged."""

import json
from typing import Any

import pytest
from support.letterbox import BACKEND, FRONTEND, Letterbox
from support.mail_desk import resource, told
from unit.mail.conftest import on_both

from nanobot_transcript.errors import InvalidLetterError
from transcript_mcp.mail.claims.ledger import Claims
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.values import Agent, Draft, MailOptions
from transcript_mcp.sdk.testing import InMemoryClient

RED = {"project_key": BACKEND, "agent_name": "RedStone"}
GREEN = {"project_key": BACKEND, "agent_name": "GreenCastle"}
SESSION = {"project_key": BACKEND, "program": "codex-cli", "model": "gpt5-codex", "agent_name": "RedStone"}


async def everything(client: InMemoryClient, tool: str, arguments: dict[str, Any]) -> list[str]:
    """The ids on all pages of a tool."""
    found: list[str] = []
    before = None
    while True:
        page = await told(client, tool, arguments, before=before)
        found += [each["id"] for each in page["messages"]]
        if "more" not in page:
            return found
        before = page["before"]
        assert f"{page['more']:,} more" in page["notes"][-1]
        assert f'before="{before}"' in page["notes"][-1]


async def test_an_inbox_says_how_many_more_there_are_and_is_read_to_its_end(
    client: InMemoryClient, box: Letterbox
) -> None:
    ids = [box.send(subject=f"s{number}").id for number in range(250)][::-1]
    first = await told(client, "check_my_messages", RED)
    assert (len(first["messages"]), first["more"], first["before"]) == (20, 230, ids[19])
    most = await told(client, "check_my_messages", RED, limit=1000)
    assert (len(most["messages"]), most["more"]) == (200, 50)
    assert await everything(client, "check_my_messages", RED) == ids
    read = await resource(client, f"resource://inbox/RedStone?limit=200&before={ids[99]}")
    assert ([each["id"] for each in read["messages"]], "more" in read) == (ids[100:], False)
    assert (await resource(client, "resource://inbox/RedStone"))["more"] == 230
    assert (await resource(client, "resource://outbox/GreenCastle"))["more"] == 230
    rest = await resource(client, f"resource://outbox/GreenCastle?before={ids[-2]}")
    assert ([each["id"] for each in rest["messages"]], "more" in rest) == (ids[-1:], False)


async def test_of_very_many_it_is_said_that_there_are_at_least_so_many(client: InMemoryClient, box: Letterbox) -> None:
    ids = [box.send(body="the plan", ack_required=True).id for _ in range(1002)][::-1]
    for tool, asked in (
        ("check_my_messages", RED),
        ("check_my_messages", RED | {"unread_only": True, "since_ts": 1}),
        ("search_messages", {"project_key": BACKEND, "query": "plan"}),
    ):
        shown = await told(client, tool, asked, limit=1)
        assert (shown["more"], shown["notes"][0].startswith("At least 1,000 more.")) == (1000, True)
        shown = await told(client, tool, asked, limit=1, before=ids[2])
        assert (shown["more"], shown["notes"][0].startswith("998 more.")) == (998, True)


async def test_a_search_says_how_many_more_there_are_and_is_read_to_its_end(
    client: InMemoryClient, box: Letterbox
) -> None:
    ids = [box.send(body="the plan").id for _ in range(130)][::-1]
    assert (await told(client, "search_messages", {"project_key": BACKEND, "query": "plan", "limit": 500}))[
        "more"
    ] == 30
    assert await everything(client, "search_messages", {"project_key": BACKEND, "query": "plan", "limit": 50}) == ids


async def test_a_thread_says_how_many_more_there_are_and_a_summary_what_it_did_not_read(
    client: InMemoryClient, box: Letterbox
) -> None:
    ids = [box.send(thread_id="TKT-1").id for _ in range(1003)]
    thread = await resource(client, "resource://thread/TKT-1")
    assert (len(thread["messages"]), thread["more"], thread["before"]) == (1000, 3, ids[3])
    rest = await resource(client, f"resource://thread/TKT-1?before={ids[3]}")
    assert ([each["id"] for each in rest["messages"]], "more" in rest) == (ids[:3], False)
    summary = await told(client, "summarize_thread", {"project_key": BACKEND, "thread_id": "TKT-1"})
    assert (summary["messages"], summary["left_out"]["messages"]) == (1000, 3)


async def test_a_session_begins_with_how_many_more_there_are(client: InMemoryClient, box: Letterbox) -> None:
    for _ in range(12):
        box.send()
    claims = Claims(box.mail.database, box.mail.now)
    for hundred in range(3):
        claims.claim(box.green.project_id, box.green, [f"src/{hundred}/{number}.py" for number in range(100)])
    begun = await told(client, "start_session", SESSION)
    assert (len(begun["unread"]), begun["more_unread"]) == (10, 2)
    assert (len(begun["claims"]), begun["more_claims"]) == (200, 100)
    assert begun["notes"][0] == (
        f'2 more unread: check_my_messages with unread_only=true and before="{begun["unread"][-1]["id"]}".'
    )
    assert begun["notes"][1].startswith("100 more claims: list_claims with before=")
    assert "notes" not in await told(client, "start_session", SESSION | {"project_key": FRONTEND, "agent_name": "New"})


async def test_claims_stay_a_list_and_a_second_text_says_how_many_more_there_are(
    client: InMemoryClient, box: Letterbox
) -> None:
    claims = Claims(box.mail.database, box.mail.now)
    for hundred in range(3):
        claims.claim(box.green.project_id, box.green, [f"src/{hundred}/{number}.py" for number in range(100)])
    claims.release(box.green.project_id, box.green, ["src/0/7.py"])
    answer = await client.call("list_claims", {"project_key": BACKEND})
    shown, note = (block["text"] for block in answer.wire["content"])
    assert len(json.loads(shown)) == 200
    assert note.startswith('99 more. To read on, call again with before="')
    before = note.split('"')[1]
    rest = await told(client, "list_claims", {"project_key": BACKEND, "before": before})
    everything = {each["path"] for each in [*json.loads(shown), *rest]}
    assert everything == {f"src/{hundred}/{number}.py" for hundred in range(3) for number in range(100)} - {
        "src/0/7.py"
    }
    first, said = await client.read(f"resource://claims/{BACKEND}")
    assert (json.loads(first["text"]), said["text"]) == (json.loads(shown), note)
    assert await resource(client, f"resource://claims/{BACKEND}?before={before}") == rest
    released = await client.call("list_claims", {"project_key": BACKEND, "active_only": False})
    assert released.wire["content"][1]["text"].startswith("100 more.")


@pytest.mark.parametrize("tool", ["list_agents", "list_claims"])
@pytest.mark.parametrize("before", ["x", "-1", "1e5/x", "9" * 400, "1/" + "9" * 400, "\x00"])
async def test_what_is_no_place_in_a_list_is_an_error_or_an_empty_page(
    client: InMemoryClient, tool: str, before: str
) -> None:
    answer = await client.call(tool, {"project_key": BACKEND, "before": before})
    assert "Internal error" not in answer.text
    assert not answer.is_error or "Pass `before` exactly as an earlier answer gave it." in answer.text


# -- acknowledgements


def waiting(shown: dict[str, Any]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Subjects of what is to be acknowledged, and of what was not, with by whom."""
    return (
        [each["subject"] for each in shown["to_acknowledge"]],
        [(each["subject"], each["waiting_for"]) for each in shown["not_acknowledged"]],
    )


async def test_an_acknowledgement_is_overdue_an_hour_after_the_message_or_as_asked(
    client: InMemoryClient, box: Letterbox
) -> None:
    old = box.send(["RedStone", "BlueLake"], "old", ack_required=True)
    box.send(["RedStone"], "never to be acknowledged")
    box.time += 3600
    box.send(["RedStone"], "new", ack_required=True)
    assert waiting(await told(client, "overdue_acknowledgements", RED)) == (["old"], [])
    assert waiting(await told(client, "overdue_acknowledgements", RED, older_than=0)) == (["old", "new"], [])
    assert waiting(await told(client, "overdue_acknowledgements", GREEN)) == ([], [("old", ["BlueLake", "RedStone"])])
    box.mail.acknowledge(box.red, old.id)
    assert waiting(await told(client, "overdue_acknowledgements", RED)) == ([], [])
    assert waiting(await told(client, "overdue_acknowledgements", GREEN)) == ([], [("old", ["BlueLake"])])
    box.mail.acknowledge(box.blue, old.id)
    assert waiting(await told(client, "overdue_acknowledgements", GREEN)) == ([], [])
    for wrong in (-1, "soon"):
        assert (await client.call("overdue_acknowledgements", RED, older_than=wrong)).is_error


@on_both
async def test_all_that_is_overdue_is_read_in_pages(client: InMemoryClient, box: Letterbox) -> None:
    def sent(sender: Agent, to: str, amount: int) -> list[str]:
        drafts = (Draft(f"{number}", "", to=[to], ack_required=True) for number in range(amount))
        return [box.mail.send(BACKEND, sender, draft).id for draft in drafts]

    owed, awaited = sent(box.green, "RedStone", 45), sent(box.red, "BlueLake", 25)
    found: dict[str, list[str]] = {"to_acknowledge": [], "not_acknowledged": []}
    before: dict[str, str] = {}
    for _ in range(5):
        assert before or not found["to_acknowledge"]
        answer = await told(client, "overdue_acknowledgements", RED, older_than=0, limit=10, **before)
        for side, ids in found.items():
            ids += [each["id"] for each in answer[side]]
        before = {name: answer[name] for name in ("before",) if name in answer}
        assert all(before["before"] in note for note in answer.get("notes", ()))
    assert (found["to_acknowledge"], found["not_acknowledged"]) == (owed, awaited)
    assert before == {}
    for wrong in ("", "x", "1", "1.2.3", "-1.-", "9" * 50 + ".1"):
        assert (await client.call("overdue_acknowledgements", RED, before=wrong)).is_error, wrong


@on_both
def test_of_a_project_everything_is_told_but_who_got_it_as_bcc(box: Letterbox) -> None:
    box.send(["RedStone"], "plan", bcc=["BlueLake"], ack_required=True)
    box.send(["GreenCastle"], "to oneself", ack_required=True)
    project = box.mail.project(BACKEND)
    assert [(each.letter.subject, each.waiting_for) for each in box.mail.overdue(project, older_than=0)] == [
        ("plan", ("RedStone",))
    ]
    (sent,) = box.mail.overdue(box.green, as_sender=True, older_than=0)
    assert sent.waiting_for == ("BlueLake", "RedStone")
    assert [each.letter.subject for each in box.mail.overdue(box.green, older_than=0)] == ["to oneself"]


async def test_of_many_the_oldest_are_told_and_how_many_more_there_are(client: InMemoryClient, box: Letterbox) -> None:
    for number in range(5):
        box.send(["RedStone"], f"s{number}", ack_required=True)
    shown = await told(client, "overdue_acknowledgements", RED, older_than=0, limit=3)
    assert (waiting(shown)[0], shown["more_to_acknowledge"]) == (["s0", "s1", "s2"], 2)
    sent = await told(client, "overdue_acknowledgements", GREEN, older_than=0, limit=4)
    assert (len(sent["not_acknowledged"]), sent["more_not_acknowledged"]) == (4, 1)


# -- to all


def recipients(box: Letterbox, mail: AgentMail, **fields: Any) -> dict[str, tuple[str, ...]]:
    """Whom BlueLake's answer to a message of GreenCastle to all goes to."""
    for name in ("GrayOwl", "TwinOak"):
        box.new(BACKEND, name)
    first = box.send(["RedStone", "BlueLake"], cc=["GrayOwl"], bcc=["TwinOak"])
    sent = mail.reply(box.blue, first.id, Draft(body="Yes.", reply_all=True, **fields))
    return {kind: tuple(names) for kind, names in sent.recipients.items() if names}


def test_an_answer_to_all_goes_to_all_whom_the_message_names_but_its_sender(box: Letterbox) -> None:
    assert recipients(box, box.mail) == {"to": ("GreenCastle", "RedStone"), "cc": ("GrayOwl",)}


def test_an_answer_to_all_may_name_others_and_each_gets_it_once(box: Letterbox) -> None:
    assert recipients(box, box.mail, to=["GrayOwl"], cc=["TwinOak"]) == {
        "to": ("GrayOwl", "GreenCastle", "RedStone"),
        "cc": ("TwinOak",),
    }


def test_whoever_got_it_as_bcc_answers_all_and_whoever_wrote_it_writes_to_all_again(box: Letterbox) -> None:
    first = box.send(["RedStone"], bcc=["BlueLake"])
    assert box.mail.reply(box.blue, first.id, Draft(body="x", reply_all=True)).recipients["to"] == (
        "GreenCastle",
        "RedStone",
    )
    again = box.mail.reply(box.green, first.id, Draft(body="x", reply_all=True))
    assert {kind: tuple(names) for kind, names in again.recipients.items() if names} == {"to": ("RedStone",)}


async def test_a_tool_answers_all(client: InMemoryClient, box: Letterbox) -> None:
    first = box.send(["RedStone", "BlueLake"])
    asked = {"project_key": BACKEND, "from_agent": "RedStone", "reply_to_message_id": first.id, "body_md": "Yes."}
    assert (await told(client, "reply_message", asked))["recipients"] == {"to": ["GreenCastle"]}
    assert (await told(client, "reply_message", asked, reply_all=True))["recipients"] == {
        "to": ["GreenCastle", "BlueLake"]
    }


def test_an_answer_to_all_has_no_more_recipients_than_a_message_may_have(box: Letterbox) -> None:
    for name in ("GrayOwl", "TwinOak"):
        box.new(BACKEND, name)
    first = box.send(["RedStone", "BlueLake"])
    with AgentMail(box.places, MailOptions(max_recipients=2)) as small:
        small.reply(box.red, first.id, Draft(body="x", reply_all=True))
        with pytest.raises(InvalidLetterError, match="3 recipients; 2 are allowed"):
            small.reply(box.red, first.id, Draft(body="x", cc=["GrayOwl"], reply_all=True))


@pytest.mark.parametrize("before", ["nonsense", "nan/1", "inf/1", "1/x", "1"])
def test_a_place_that_no_list_told_is_refused(box: Letterbox, before: str) -> None:
    with pytest.raises(InvalidLetterError, match="is not a position in the list of agents"):
        box.mail.agents(BACKEND, limit=1, before=before)
    if before != "1":
        with pytest.raises(InvalidLetterError, match="is not a position in this list"):
            Claims(box.mail.database, box.mail.now).list_claims(before=before)


def test_a_list_of_nothing_is_empty(box: Letterbox) -> None:
    claims = Claims(box.mail.database, box.mail.now)
    claims.claim(box.mail.project(BACKEND).id, box.green, ["a.py"])
    assert list(claims.list_claims(limit=0)) == list(box.mail.agents(BACKEND, limit=0)) == []
