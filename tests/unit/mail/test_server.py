"""The tools and resources of Agent Mail as a client meets them, without a connection."""

import base64
import io
import json
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from PIL import Image
from support.letterbox import BACKEND, FRONTEND, Letterbox
from support.mail_desk import desk, resource, told
from support.waiting import PATIENCE, until
from unit.mail.conftest import in_a_file

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.outbox import Outbox
from nanobot_transcript.settings import Settings
from nanobot_transcript.settings.lazy_record import Opening
from transcript_mcp.mail.messages.boxes import MOST_FOUND
from transcript_mcp.mail.server import build_server, service_from
from transcript_mcp.mail.values import Draft, MailOptions
from transcript_mcp.sdk.dispatch import ProtocolError
from transcript_mcp.sdk.testing import InMemoryClient

PLAN: dict[str, tuple[set[str], set[str]]] = {
    "create_agent": (
        {"project_key", "program", "model"},
        {"project_key", "program", "model", "task_description", "name_hint"},
    ),
    "whois": ({"project_key", "agent_name"}, {"project_key", "agent_name"}),
    "list_agents": ({"project_key"}, {"project_key", "active_only", "limit"}),
    "send_message": (
        {"project_key", "from_agent", "to", "subject", "body_md"},
        {
            *("project_key", "from_agent", "to", "subject", "body_md", "cc", "bcc", "importance", "ack_required"),
            *("thread_id", "convert_images", "image_embed_policy", "inline_max_bytes"),
        },
    ),
    "reply_message": (
        {"project_key", "from_agent", "reply_to_message_id", "body_md"},
        {"project_key", "from_agent", "reply_to_message_id", "body_md"},
    ),
    "check_my_messages": (
        {"project_key", "agent_name"},
        {"project_key", "agent_name", "since_ts", "urgent_only", "include_bodies", "limit"},
    ),
    "acknowledge_message": (
        {"project_key", "agent_name", "message_id"},
        {"project_key", "agent_name", "message_id"},
    ),
    "claim_paths": (
        {"project_key", "agent_name"},
        {"project_key", "agent_name", "paths", "paths_list", "ttl_seconds", "exclusive", "reason"},
    ),
    "release_claims": ({"project_key", "agent_name"}, {"project_key", "agent_name", "paths", "paths_list"}),
    "search_messages": ({"project_key", "query"}, {"project_key", "query", "limit"}),
    "summarize_thread": ({"project_key", "thread_id"}, {"project_key", "thread_id", "include_examples"}),
    "install_precommit_guard": ({"project_key", "code_repo_path"}, {"project_key", "code_repo_path"}),
    "uninstall_precommit_guard": ({"code_repo_path"}, {"code_repo_path"}),
}
ADDED = {
    *("register_agent", "start_session", "mark_read", "overdue_acknowledgements"),
    *("renew_claims", "list_claims"),
}
GREEN = {"project_key": BACKEND, "agent_name": "GreenCastle"}
RED = {"project_key": BACKEND, "agent_name": "RedStone"}
BLUE = {"project_key": BACKEND, "agent_name": "BlueLake"}
MAIL = {"project_key": BACKEND, "from_agent": "GreenCastle", "to": ["BlueLake"], "subject": "Plan", "body_md": "text"}
CLAIM = {**GREEN, "paths": ["app/api/*.py"], "ttl_seconds": 7200, "exclusive": True, "reason": "migrations"}

Groups = Callable[..., GroupTranscriptStore]


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Letterbox]:
    """A store in which nobody acts without a token."""
    made = Letterbox(tmp_path / "guarded", MailOptions(require_agent_token=True))
    with made.mail:
        yield made


def noise(side: int, seed: int = 0) -> Image.Image:
    """A picture that does not compress."""
    return Image.frombytes("RGB", (side, side), random.Random(seed).randbytes(side * side * 3))


@pytest.fixture
def code(box: Letterbox, tmp_path: Path) -> Path:
    """A project with a folder in which a diagram lies, and GrayOwl at home in it."""
    folder = tmp_path / "code"
    (folder / "docs").mkdir(parents=True)
    noise(40).save(folder / "docs" / "flow.png")
    box.new(str(folder), "GrayOwl")
    return folder


# -- what is offered


async def test_all_tools_of_the_plan_have_its_names_and_parameters(client: InMemoryClient) -> None:
    listed = (await client.request("tools/list"))["tools"]
    assert all(tool["title"] for tool in listed)
    tools = {tool["name"]: tool["inputSchema"] for tool in listed}
    assert tools.keys() == PLAN.keys() | ADDED
    for name, (required, parameters) in PLAN.items():
        assert set(tools[name]["required"]) <= required
        assert tools[name]["properties"].keys() >= parameters


async def test_tools_are_listed_by_subject_agents_first_then_mail_claims_and_the_guard(client: InMemoryClient) -> None:
    assert [tool["name"] for tool in (await client.request("tools/list"))["tools"]] == [
        *("create_agent", "register_agent", "start_session", "whois", "list_agents"),
        *("send_message", "reply_message", "check_my_messages", "mark_read", "acknowledge_message"),
        *("overdue_acknowledgements", "search_messages", "summarize_thread"),
        *("claim_paths", "renew_claims", "release_claims", "list_claims"),
        *("install_precommit_guard", "uninstall_precommit_guard"),
    ]


async def test_every_tool_and_parameter_is_described_in_24_kilobytes(client: InMemoryClient) -> None:
    offered = await client.request("tools/list")
    assert len(json.dumps(offered, ensure_ascii=False).encode()) <= 24 * 1024
    for tool in offered["tools"]:
        assert tool["description"]
        for name, schema in tool["inputSchema"]["properties"].items():
            assert schema.get("description"), f"{tool['name']}.{name}"


async def test_the_resources_are_those_of_the_plan_and_three_more(client: InMemoryClient) -> None:
    templates = (await client.request("resources/templates/list"))["resourceTemplates"]
    assert [each["uriTemplate"] for each in templates] == [
        "resource://inbox/{agent}{?project,since_ts,urgent_only,include_bodies,limit,before}",
        "resource://outbox/{agent}{?project,since_ts,include_bodies,limit,before}",
        "resource://message/{id}{?project}",
        "resource://thread/{thread_id}{?project,include_bodies,limit,before}",
        "resource://agents/{+project}{?before}",
        "resource://claims/{+project}{?before}",
    ]


# -- identities


async def test_a_new_agent_gets_a_memorable_name_and_once_its_token(client: InMemoryClient) -> None:
    asked = {"project_key": BACKEND, "program": "codex-cli", "model": "gpt5-codex", "task_description": "Auth refactor"}
    made = await told(client, "create_agent", asked)
    assert made.keys() == {
        *("name", "project", "program", "model", "task", "inception", "last_active", "agent_token"),
    }
    assert (made["project"], made["program"], made["task"]) == (BACKEND, "codex-cli", "Auth refactor")
    known = await told(client, "whois", {"project_key": BACKEND, "agent_name": made["name"]})
    assert known == {name: value for name, value in made.items() if name != "agent_token"}
    hinted = await told(client, "create_agent", asked, name_hint="Quiet Fox!")
    assert hinted["name"] == "QuietFox"


async def test_a_fixed_name_is_registered_once_and_its_profile_brought_up_to_date(client: InMemoryClient) -> None:
    first = await told(client, "register_agent", {"project_key": BACKEND, "agent_name": "DeployBot"}, model="m1")
    again = await told(client, "register_agent", {"project_key": BACKEND, "agent_name": "DeployBot"}, model="m2")
    assert "agent_token" in first
    assert (again["model"], "agent_token" in again) == ("m2", False)


async def test_a_session_begins_with_unread_mail_and_active_claims_in_one_call(
    client: InMemoryClient, box: Letterbox
) -> None:
    sent = box.send(["BlueLake"])
    await told(client, "claim_paths", CLAIM)
    begun = {"project_key": BACKEND, "program": "claude-code", "model": "opus"}
    known = await told(client, "start_session", begun, agent_name="BlueLake")
    assert known["agent"]["name"] == "BlueLake"
    assert [each["id"] for each in known["unread"]] == [sent.id]
    assert [each["path"] for each in known["claims"]] == ["app/api/*.py"]
    new = await told(client, "start_session", begun)
    assert new["agent"]["agent_token"]
    assert new["unread"] == []


async def test_agents_are_listed_the_most_recently_active_first(client: InMemoryClient, box: Letterbox) -> None:
    box.time += 10 * 86_400.0
    box.send(["BlueLake"])
    active = await told(client, "list_agents", {"project_key": BACKEND})
    assert [each["name"] for each in active["agents"]] == ["GreenCastle"]
    assert "notes" not in active
    everybody = await told(client, "list_agents", {"project_key": BACKEND, "active_only": False})
    assert {each["name"] for each in everybody["agents"]} == {"GreenCastle", "RedStone", "BlueLake"}
    newest = await told(client, "list_agents", {"project_key": BACKEND, "active_only": False, "limit": 1})
    assert [each["name"] for each in newest["agents"]] == ["GreenCastle"]
    assert newest["more"] == 2
    rest = await told(client, "list_agents", {"project_key": BACKEND, "active_only": False}, before=newest["before"])
    assert {each["name"] for each in rest["agents"]} == {"RedStone", "BlueLake"}
    assert "more" not in rest


async def test_of_hundreds_of_agents_the_newest_are_shown_and_it_is_said(
    client: InMemoryClient, box: Letterbox
) -> None:
    for number in range(205):
        box.time += 1
        box.new("/crowd", f"Agent{number}")
    shown = await told(client, "list_agents", {"project_key": "/crowd", "limit": 1000})
    assert shown == await resource(client, "resource://agents//crowd")
    assert [each["name"] for each in shown["agents"]] == [f"Agent{number}" for number in range(204, 4, -1)]
    assert (shown["more"], shown["before"] in shown["notes"][0]) == (5, True)
    rest = await told(client, "list_agents", {"project_key": "/crowd", "before": shown["before"]})
    assert rest == await resource(client, f"resource://agents//crowd?before={quote(shown['before'])}")
    assert [each["name"] for each in rest["agents"]] == [f"Agent{number}" for number in range(4, -1, -1)]


# -- mail


async def test_a_message_is_sent_checked_read_answered_and_acknowledged(client: InMemoryClient, box: Letterbox) -> None:
    sent = await told(client, "send_message", {**MAIL, "cc": ["RedStone"], "ack_required": True, "thread_id": "TKT-1"})
    assert sent == {
        "id": sent["id"],
        "project": BACKEND,
        "created": "2025-10-23T15:22:14Z",
        "created_ts": box.time,
        "subject": "Plan",
        "thread_id": "TKT-1",
        "recipients": {"to": ["BlueLake"], "cc": ["RedStone"]},
        "attachments": [],
    }
    inbox = await told(client, "check_my_messages", BLUE)
    assert (inbox["project"], inbox["agent"]) == (FRONTEND, "BlueLake")
    (mail,) = inbox["messages"]
    assert (mail["id"], mail["thread_id"], mail["kind"], mail["read"]) == (sent["id"], "TKT-1", "to", None)
    assert "body_md" not in mail
    (read,) = await told(client, "mark_read", BLUE, message_ids=[sent["id"]])
    assert read == {"message_id": sent["id"], "agent": "BlueLake", "read": "2025-10-23T15:22:14Z"}
    assert (await told(client, "check_my_messages", BLUE, unread_only=True))["messages"] == []
    answer = {"project_key": BACKEND, "from_agent": "BlueLake", "reply_to_message_id": sent["id"], "body_md": "Why?"}
    reply = await told(client, "reply_message", answer)
    assert (reply["subject"], reply["thread_id"], reply["recipients"]) == ("Re: Plan", "TKT-1", {"to": ["GreenCastle"]})
    acknowledged = await told(client, "acknowledge_message", BLUE, message_id=sent["id"])
    assert acknowledged["acknowledged"] == "2025-10-23T15:22:14Z"


async def test_null_stands_for_every_optional_list_and_text(client: InMemoryClient) -> None:
    nothing = {"cc": None, "bcc": None, "thread_id": None, "image_embed_policy": None, "idempotency_key": None}
    sent = await told(client, "send_message", {**MAIL, **nothing})
    reply = {"project_key": BACKEND, "from_agent": "BlueLake", "reply_to_message_id": sent["id"], "body_md": "x"}
    await told(client, "reply_message", {**reply, "to": None, "cc": None, "bcc": None, "subject": None})
    await told(client, "claim_paths", {**CLAIM, "paths_list": None, "ttl_seconds": None})
    assert (await told(client, "release_claims", {**GREEN, "paths": None, "paths_list": None}))["released"]
    await told(client, "check_my_messages", {**BLUE, "since_ts": None, "relevant_to": None, "agent_token": None})


async def test_one_name_or_path_alone_is_a_list_of_one(client: InMemoryClient) -> None:
    sent = await told(client, "send_message", {**MAIL, "to": "BlueLake", "cc": '["RedStone"]'})
    assert sent["recipients"] == {"to": ["BlueLake"], "cc": ["RedStone"]}
    assert len(await told(client, "mark_read", BLUE, message_ids=sent["id"])) == 1
    assert (await told(client, "claim_paths", {**CLAIM, "paths": "app/"}))["granted"] == ["app"]
    assert (await told(client, "release_claims", GREEN, paths_list="app/"))["released"] == ["app"]
    tools = {tool["name"]: tool["inputSchema"] for tool in (await client.request("tools/list"))["tools"]}
    assert tools["send_message"]["properties"]["to"]["type"] == "array"


async def test_an_inbox_is_narrowed_by_time_importance_and_number(client: InMemoryClient, box: Letterbox) -> None:
    first = await told(client, "send_message", {**MAIL, "importance": "urgent", "body_md": "now"})
    box.time += 60
    second = await told(client, "send_message", {**MAIL, "importance": "high"})
    box.time += 60
    third = await told(client, "send_message", MAIL)

    async def ids(**query: Any) -> list[str]:
        return [each["id"] for each in (await told(client, "check_my_messages", BLUE, **query))["messages"]]

    assert await ids() == [third["id"], second["id"], first["id"]]
    assert await ids(since_ts=first["created_ts"]) == [third["id"], second["id"]]
    assert await ids(urgent_only=True) == [second["id"], first["id"]]
    assert await ids(limit=1) == [third["id"]]
    assert await ids(limit=0) == [third["id"]]
    whole = await told(client, "check_my_messages", BLUE, include_bodies=True)
    assert [each["body_md"] for each in whole["messages"]] == ["text", "text", "now"]


async def test_messages_are_found_with_the_words_marked(client: InMemoryClient) -> None:
    sent = await told(client, "send_message", {**MAIL, "subject": "发布窗口", "body_md": "周三 POL-358 goes out"})
    for query in ("周三", "发布", "POL-358", "goes AND out NOT never"):
        (hit,) = (await told(client, "search_messages", {"project_key": BACKEND, "query": query}))["messages"]
        assert (hit["id"], hit["from"]) == (sent["id"], "GreenCastle")
    assert "**POL-358**" in hit["snippet"] or "**goes**" in hit["snippet"]
    limit = client.server.tools["search_messages"].signature.schema["properties"]["limit"]
    assert limit["description"] == f"How many at most, up to {MOST_FOUND}."
    odd = await told(client, "search_messages", {"project_key": BACKEND, "query": "*("})
    assert odd["messages"] == []
    assert odd["notes"]


async def test_a_thread_is_summarised(client: InMemoryClient) -> None:
    body = "We decided to keep the table.\n\n- [ ] write the migration @BlueLake\n\nWho reviews it?"
    sent = await told(client, "send_message", {**MAIL, "body_md": body, "thread_id": "TKT-123"})
    asked = {"project_key": BACKEND, "thread_id": "TKT-123"}
    summary = await told(client, "summarize_thread", asked, include_examples=True)
    assert (summary["thread_id"], summary["project"]) == ("TKT-123", BACKEND)
    assert "GreenCastle" in json.dumps(summary["participants"])
    assert "migration" in json.dumps(summary["action_items"])
    assert sent["id"] in json.dumps(summary["examples"])
    assert not (await told(client, "summarize_thread", asked))["examples"]


# -- claims and the guard


async def test_claims_are_granted_refused_listed_renewed_and_released(client: InMemoryClient, box: Letterbox) -> None:
    granted = await told(client, "claim_paths", CLAIM)
    assert granted["granted"] == ["app/api/*.py"]
    assert granted["conflicts"] == []
    assert granted["expires_ts"] == box.time + 7200
    refused = await told(client, "claim_paths", {**RED, "paths": ["docs/x.md", "app/api/users.py"]})
    assert refused["granted"] == []
    assert refused["expires_ts"] is None
    assert refused["conflicts"] == [
        {
            "path": "app/api/users.py",
            "holder": "GreenCastle",
            "pattern": "app/api/*.py",
            "exclusive": True,
            "reason": "migrations",
            "expires": granted["expires"],
        }
    ]
    box.time += 60
    renewed = await told(client, "renew_claims", GREEN, ttl_seconds=7200)
    assert (renewed["renewed"], renewed["expires_ts"]) == (["app/api/*.py"], box.time + 7200)
    (claim,) = await told(client, "list_claims", {"project_key": BACKEND, "agent_name": "GreenCastle"})
    assert (claim["path"], claim["agent"], claim["expires_ts"]) == ("app/api/*.py", "GreenCastle", box.time + 7200)
    assert await told(client, "list_claims", {"project_key": BACKEND, "agent_name": "RedStone"}) == []
    released = await told(client, "release_claims", GREEN, paths=["app/api/*.py", "docs"])
    assert (released["released"], released["not_held"]) == (["app/api/*.py"], ["docs"])
    assert await told(client, "list_claims", {"project_key": BACKEND}) == []
    (past,) = await told(client, "list_claims", {"project_key": BACKEND, "active_only": False})
    assert past["released"]


async def test_a_release_tells_what_was_not_held_and_what_still_is(client: InMemoryClient) -> None:
    await told(client, "claim_paths", {**GREEN, "paths": ["d/{a,b}.py"]})
    released = await told(client, "release_claims", GREEN, paths=["d/*"])
    assert released == {"released": [], "not_held": ["d/*"], "still_held": ["d/a.py", "d/b.py"]}
    await told(client, "claim_paths", {**GREEN, "paths": [f"f{number}" for number in range(49)]})
    released = await told(client, "release_claims", GREEN, paths=["d/a.py"])
    assert (len(released["still_held"]), "more_still_held" in released) == (50, False)
    await told(client, "claim_paths", {**GREEN, "paths": ["d/a.py"]})
    assert (await told(client, "release_claims", GREEN, paths=["none"]))["more_still_held"] == 1
    assert "still_held" not in await told(client, "release_claims", GREEN)


async def test_paths_and_paths_list_are_the_same(client: InMemoryClient) -> None:
    listed = {**GREEN, "paths_list": ["a.py"]}
    assert (await told(client, "claim_paths", listed))["granted"] == ["a.py"]
    assert (await told(client, "release_claims", listed))["released"] == ["a.py"]
    both = {**GREEN, "paths": ["b.py"], "paths_list": ["c.py", "b.py"]}
    assert (await told(client, "claim_paths", both))["granted"] == ["b.py", "c.py"]
    assert (await told(client, "release_claims", {**both, "paths": []}))["released"] == ["b.py", "c.py"]
    missing = await client.call("claim_paths", GREEN)
    assert missing.is_error
    assert missing.text.startswith("There are no paths to claim.")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A code repository."""
    made = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", str(made)], check=True, timeout=PATIENCE)
    return made


@in_a_file
async def test_the_guard_is_put_into_a_repository_and_taken_out_again(client: InMemoryClient, repo: Path) -> None:
    put = await told(client, "install_precommit_guard", {"project_key": BACKEND, "code_repo_path": str(repo)})
    assert put["projects"] == [BACKEND]
    assert Path(put["hook"]).is_file()
    gone = await told(client, "uninstall_precommit_guard", {"code_repo_path": str(repo)})
    assert gone == {"hook": put["hook"], "removed": True, "restored": False}
    assert not Path(put["hook"]).exists()


# -- what goes wrong


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence", "hint"),
    [
        ("send_message", {**MAIL, "from_agent": "Nobody"}, "from_agent not registered: /abs/path/backend", "create_ag"),
        ("reply_message", {**MAIL, "reply_to_message_id": "x", "from_agent": "N"}, "from_agent not registered", ""),
        ("send_message", {**MAIL, "to": ["RedStnoe"]}, "to not registered", "Do you mean RedStone?"),
        ("send_message", {**MAIL, "to": ["redstone"]}, "to not registered", "Do you mean RedStone?"),
        ("send_message", {**MAIL, "cc": ["RedStoan"]}, "cc not registered", "Do you mean RedStone?"),
        ("send_message", {**MAIL, "bcc": ["x"]}, "bcc not registered", "list_agents"),
        ("send_message", {**MAIL, "to": []}, "The message has no recipient.", "at least one agent"),
        ("send_message", {**MAIL, "subject": ""}, "The subject is empty", ""),
        ("send_message", {**MAIL, "importance": "very"}, "The argument importance", "urgent"),
        (
            "send_message",
            {**MAIL, "project_key": "/abs/path/backen"},
            "There is no project",
            "Do you mean /abs/path/backend",
        ),
        ("send_message", {**MAIL, "context_chat": "oc_x"}, "This server knows no group transcripts.", ""),
        (
            "reply_message",
            {"project_key": BACKEND, "from_agent": "RedStone", "reply_to_message_id": "msg_1", "body_md": "x"},
            "There is no message msg_1.",
            "inbox",
        ),
        ("whois", {"project_key": BACKEND, "agent_name": "Nobody"}, "agent_name not registered", "create_agent"),
        ("check_my_messages", {**GREEN, "agent_name": "X"}, "agent_name not registered", ""),
        ("check_my_messages", {**GREEN, "relevant_to": "oc_x"}, "This server knows no group transcripts.", ""),
        ("mark_read", {**GREEN, "message_ids": ["msg_1"]}, "GreenCastle has no message msg_1 in its inbox.", ""),
        ("acknowledge_message", {**GREEN, "message_id": "msg_1"}, "GreenCastle has no message msg_1 in its inbox.", ""),
        ("summarize_thread", {"project_key": BACKEND, "thread_id": "TKT-9"}, "There is no thread TKT-9", "thread_id"),
        ("search_messages", {"project_key": "/none", "query": "x"}, "There is no project /none.", "create_agent"),
        ("create_agent", {"project_key": " ", "program": "p", "model": "m"}, "A project's key must be", ""),
        ("register_agent", {"project_key": BACKEND, "agent_name": "GREENCASTLE"}, "GreenCastle is registered", ""),
        ("install_precommit_guard", {"project_key": BACKEND, "code_repo_path": "/nowhere/at/all"}, "", "/nowhere"),
    ],
)
async def test_what_goes_wrong_is_a_tool_error_with_a_sentence(
    client: InMemoryClient, tool: str, arguments: dict[str, Any], sentence: str, hint: str
) -> None:
    answer = await client.call(tool, {name: arguments[name] for name in arguments if _takes(client, tool, name)})
    assert answer.is_error
    assert answer.text.startswith(sentence)
    assert hint in answer.text
    assert "Traceback" not in answer.text
    assert "Internal error" not in answer.text


def _takes(client: InMemoryClient, tool: str, name: str) -> bool:
    return name in client.server.tools[tool].signature.wire_names


async def test_an_unknown_recipient_costs_nobody_anything(client: InMemoryClient, box: Letterbox, code: Path) -> None:
    body = "![flow](docs/flow.png)"
    mail = {**MAIL, "project_key": str(code), "from_agent": "GrayOwl", "body_md": body, "image_embed_policy": "file"}
    refused = await client.call("send_message", {**mail, "to": ["BlueLake", "Nobody"]})
    assert refused.is_error
    assert (await told(client, "check_my_messages", BLUE))["messages"] == []
    assert not list(box.mail.places.repo(box.mail.project(str(code)).slug).rglob("*.webp"))


@pytest.mark.parametrize("name", ["human", "Overseer", "SYSTEM"])
async def test_nobody_acts_under_a_reserved_name(client: InMemoryClient, box: Letterbox, name: str) -> None:
    box.mail.send(BACKEND, box.mail.human(BACKEND), Draft("hello", "text", to=["GreenCastle"]))
    for tool, arguments in (
        ("register_agent", {"project_key": BACKEND, "agent_name": name}),
        ("start_session", {"project_key": BACKEND, "agent_name": name, "program": "p", "model": "m"}),
        ("send_message", {**MAIL, "from_agent": name}),
        ("check_my_messages", {**GREEN, "agent_name": name}),
        ("claim_paths", {**CLAIM, "agent_name": name}),
    ):
        answer = await client.call(tool, arguments)
        assert answer.is_error
        assert "reserved" in answer.text
    made = await told(client, "create_agent", {"project_key": BACKEND, "program": "p", "model": "m", "name_hint": name})
    assert made["name"].casefold() != name.casefold()
    with pytest.raises(ProtocolError, match=r"reserved|not registered"):
        await client.read(f"resource://inbox/{name}")


# -- images


async def test_a_picture_of_the_project_goes_along(client: InMemoryClient, box: Letterbox, code: Path) -> None:
    mail = {**MAIL, "project_key": str(code), "from_agent": "GrayOwl", "body_md": "![flow](docs/flow.png)"}
    small = await told(client, "send_message", mail)
    assert [each["type"] for each in small["attachments"]] == ["inline"]
    filed = await told(client, "send_message", mail, inline_max_bytes=10)
    (attachment,) = filed["attachments"]
    assert (attachment["type"], attachment["media_type"]) == ("file", "image/webp")
    assert (box.mail.places.repo(box.mail.project(str(code)).slug) / attachment["path"]).is_file()
    asked = await told(client, "send_message", mail, image_embed_policy="file")
    assert asked["attachments"] == filed["attachments"]
    left = await told(client, "send_message", mail, convert_images=False)
    assert left["attachments"] == []
    bodies = [
        each["body_md"] for each in (await told(client, "check_my_messages", BLUE, include_bodies=True))["messages"]
    ]
    assert bodies[0] == "![flow](docs/flow.png)"
    assert bodies[1] == bodies[2] == f"![flow]({attachment['path']})"
    assert bodies[3].startswith("![flow](data:image/webp;base64,")


async def test_a_picture_that_is_not_taken_is_named_and_the_mail_delivered(client: InMemoryClient, code: Path) -> None:
    body = "![a](../secret.png) ![b](docs/none.png)"
    mail = {**MAIL, "project_key": str(code), "from_agent": "GrayOwl", "body_md": body}
    sent = await told(client, "send_message", mail)
    assert [each["image"] for each in sent["images_not_taken"]] == ["../secret.png", "docs/none.png"]
    assert all(each["reason"] for each in sent["images_not_taken"])
    (got,) = (await told(client, "check_my_messages", BLUE, include_bodies=True))["messages"]
    assert got["body_md"] == body


async def test_pictures_that_would_make_the_text_too_long_become_files(box: Letterbox) -> None:
    made = Letterbox(box.root.parent / "small", MailOptions(max_body=20_000))
    client = InMemoryClient(build_server(desk(made)))
    pictures: list[str] = []
    for seed in range(4):
        file = io.BytesIO()
        noise(64, seed).save(file, "PNG")
        pictures.append(f"![n](data:image/png;base64,{base64.b64encode(file.getvalue()).decode()})")
    with made.mail:
        sent = await told(client, "send_message", {**MAIL, "body_md": "\n".join(pictures)})
    assert {each["type"] for each in sent["attachments"]} == {"file"}


# -- the same call again


async def test_a_repeated_call_with_its_key_sends_nothing_again(box: Letterbox, code: Path, make_store: Groups) -> None:
    with_groups = InMemoryClient(build_server(desk(box), store=lambda: talk(make_store)))
    mail = {**MAIL, "project_key": str(code), "from_agent": "GrayOwl", "body_md": "![flow](docs/flow.png)"}
    mail |= {"context_chat": "oc_team", "idempotency_key": "k-1"}
    first = await told(with_groups, "send_message", mail)
    (code / "docs" / "flow.png").unlink()  # what was sent then is what counts
    again = await told(with_groups, "send_message", mail, context_messages=1)
    assert again == first | {"repeated": True}
    assert len((await told(with_groups, "check_my_messages", BLUE))["messages"]) == 1
    other = await with_groups.call("send_message", mail, subject="Another")
    assert other.is_error
    assert "idempotency_key for another message" in other.text
    reply = {"project_key": str(code), "from_agent": "BlueLake", "reply_to_message_id": first["id"], "body_md": "ok"}
    answers = [await told(with_groups, "reply_message", reply, idempotency_key="r-1") for _ in range(2)]
    assert answers[0]["id"] == answers[1]["id"]


# -- tokens


async def test_with_tokens_nobody_acts_as_another(guarded: Letterbox) -> None:
    client = InMemoryClient(build_server(desk(guarded)))
    green, red = guarded.tokens["GreenCastle"], guarded.tokens["RedStone"]
    sent = await told(client, "send_message", {**MAIL, "agent_token": green})
    await told(client, "claim_paths", {**CLAIM, "agent_token": green})
    reply = {"project_key": BACKEND, "from_agent": "BlueLake", "reply_to_message_id": sent["id"], "body_md": "x"}
    for tool, arguments in (
        ("send_message", MAIL),
        ("reply_message", reply),
        ("check_my_messages", GREEN),
        ("mark_read", {**BLUE, "message_ids": [sent["id"]]}),
        ("acknowledge_message", {**BLUE, "message_id": sent["id"]}),
        ("claim_paths", CLAIM),
        ("renew_claims", GREEN),
        ("release_claims", GREEN),
        ("register_agent", {**GREEN, "task_description": "mine now"}),
        ("start_session", {**GREEN, "program": "p", "model": "m"}),
    ):
        for wrong in ({}, {"agent_token": red}, {"agent_token": ""}):
            answer = await client.call(tool, {**arguments, **wrong})
            assert answer.is_error, tool
            assert "needs the token" in answer.text
    assert (await told(client, "release_claims", {**GREEN, "agent_token": green}))["released"] == ["app/api/*.py"]
    assert (await told(client, "check_my_messages", {**BLUE, "agent_token": guarded.tokens["BlueLake"]}))["messages"]


async def test_with_tokens_boxes_are_no_resources_and_the_refusal_says_what_to_call(guarded: Letterbox) -> None:
    client = InMemoryClient(build_server(desk(guarded)))
    for box in ("inbox", "outbox"):
        with pytest.raises(ProtocolError, match=r"needs the token[\s\S]*check_my_messages"):
            await client.read(f"resource://{box}/GreenCastle?project={BACKEND}")


async def test_with_tokens_nobody_watches_a_box(guarded: Letterbox) -> None:
    client = InMemoryClient(build_server(desk(guarded)))
    for box in ("inbox", "outbox"):
        with pytest.raises(ProtocolError, match="needs the token"):
            await client.subscribe(f"resource://{box}/GreenCastle?project={BACKEND}")
    await told(client, "send_message", {**MAIL, "to": ["RedStone"], "agent_token": guarded.tokens["GreenCastle"]})
    await client.subscribe(f"resource://claims/{BACKEND}")
    await told(client, "claim_paths", {**CLAIM, "agent_token": guarded.tokens["GreenCastle"]})
    await until(lambda: client.told == [f"resource://claims/{BACKEND}"])
    await client.close()


async def test_what_is_not_there_cannot_be_watched(client: InMemoryClient) -> None:
    for uri in ("resource://inbox/Nobody", "resource://inbox/BlueLake?project=/none", "resource://claims//none"):
        with pytest.raises(ProtocolError, match=r"not registered|There is no project"):
            await client.subscribe(uri)


async def test_a_made_up_identity_can_start_and_go_on_with_its_token(guarded: Letterbox) -> None:
    client = InMemoryClient(build_server(desk(guarded)))
    begun = {"project_key": BACKEND, "program": "p", "model": "m"}
    first = (await told(client, "start_session", begun))["agent"]
    again = await told(client, "start_session", begun, agent_name=first["name"], agent_token=first["agent_token"])
    assert again["agent"]["name"] == first["name"]


# -- the group


def talk(make_store: Groups) -> GroupTranscriptStore:
    """A group in which Ada talks about the captcha."""
    store = make_store()
    store.members.remember_person("on_ada", "Ada")
    said = ["早上好", "登录页面的验证码又出不来了，谁看一下？", "我看看"]
    for number, text in enumerate(said):
        store.append("feishu:oc_team", "user", text, "on_ada", f"om_{number}", 1_751_271_000_000 + number * 1000)
    return store


async def test_the_talk_of_a_group_is_quoted_below_a_message(box: Letterbox, make_store: Groups) -> None:
    client = InMemoryClient(build_server(desk(box), store=lambda: talk(make_store)))
    sent = await told(client, "send_message", {**MAIL, "context_chat": "oc_team", "context_messages": 2})
    letter = await resource(client, f"resource://message/{sent['id']}")
    assert letter["body_md"] == (
        "text\n\n### Recent messages of feishu:oc_team (times in UTC)\n\n"
        "> **Ada** (2025-06-30 08:10): 登录页面的验证码又出不来了，谁看一下？\n>\n> **Ada** (2025-06-30 08:10): 我看看"
    )


async def test_what_a_group_talks_about_comes_first_with_score_and_reason(box: Letterbox, make_store: Groups) -> None:
    client = InMemoryClient(build_server(desk(box), store=lambda: talk(make_store)))
    fitting = await told(
        client, "send_message", {**MAIL, "subject": "登录页面验证码显示异常", "body_md": "图片无法显示"}
    )
    other = await told(client, "send_message", {**MAIL, "subject": "支付接口超时", "body_md": "高峰期经常超时"})
    inbox = (await told(client, "check_my_messages", BLUE, relevant_to="oc_team"))["messages"]
    assert [each["id"] for each in inbox] == [fitting["id"], other["id"]]
    assert 0 < inbox[0]["score"] <= 1
    assert "登录页面" in inbox[0]["why"]
    assert "score" not in inbox[1]
    assert "body_md" not in inbox[0]
    (best,) = (await told(client, "check_my_messages", BLUE, relevant_to="oc_team", limit=1, include_bodies=True))[
        "messages"
    ]
    assert (best["id"], best["body_md"]) == (fitting["id"], "图片无法显示")
    unknown = await client.call("check_my_messages", BLUE, relevant_to="oc_nowhere")
    assert unknown.is_error
    assert "There is no chat oc_nowhere." in unknown.text


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Urgent mail is announced in a group."""
    mail = {"store": tmp_path / "mail", "announce": "feishu:oc_team", "archive": {"enabled": False}}
    return Settings.model_validate({"store": {"dir": tmp_path / "transcripts"}, "mail": mail})


def announced(settings: Settings) -> list[str]:
    """The texts that wait in the outbox."""
    outbox = Outbox(settings.store.dir)
    texts: list[str] = []
    while job := outbox.take("test", ["feishu:oc_team"]):
        texts.append(str(job.content))
        outbox.sent(job, f"om_{len(texts)}")
    outbox.close()
    return texts


async def announcing(settings: Settings) -> InMemoryClient:
    client = InMemoryClient(build_server(service_from(settings, Opening(settings))))
    for name in ("GreenCastle", "BlueLake", "RedStone"):
        await told(client, "register_agent", {"project_key": BACKEND, "agent_name": name})
    return client


async def test_urgent_mail_and_mail_to_be_acknowledged_is_announced_once_without_bcc(settings: Settings) -> None:
    client = await announcing(settings)
    urgent = await told(
        client, "send_message", {**MAIL, "importance": "urgent", "idempotency_key": "k"}, bcc=["RedStone"]
    )
    await told(client, "send_message", {**MAIL, "importance": "urgent", "idempotency_key": "k"}, bcc=["RedStone"])
    await told(client, "send_message", {**MAIL, "importance": "high"})
    ack = await told(client, "send_message", {**MAIL, "ack_required": True, "subject": "发布"})
    client.server.close()
    first, second = announced(settings)
    assert first == f"✉ GreenCastle → BlueLake [urgent]: Plan ({urgent['id']})"
    assert second == f"✉ GreenCastle → BlueLake [ack]: 发布 ({ack['id']})"


async def test_a_chat_without_its_channel_is_one_of_feishu(settings: Settings) -> None:
    short = settings.mail.model_copy(update={"announce": "oc_team"})
    client = await announcing(settings.model_copy(update={"mail": short}))
    await told(client, "send_message", {**MAIL, "importance": "urgent"})
    client.server.close()
    assert len(announced(settings)) == 1


async def test_an_announcement_calls_nobody_and_hides_who_is_copied_blindly(settings: Settings) -> None:
    client = await announcing(settings)
    everybody = {**MAIL, "subject": '<at id="all"></at> @all', "importance": "urgent", "ack_required": True}
    sent = await told(client, "send_message", everybody)
    blind = await told(client, "send_message", {**MAIL, "to": [], "bcc": ["BlueLake"], "ack_required": True})
    client.server.close()
    assert announced(settings) == [
        f'✉ GreenCastle → BlueLake [urgent, ack]: ‹at id="all"›‹/at› ＠all ({sent["id"]})',
        f"✉ GreenCastle [ack]: Plan ({blind['id']})",
    ]


async def test_a_failing_outbox_costs_no_mail(
    settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "transcripts").write_text("no folder", encoding="utf-8")
    client = await announcing(settings)
    sent = await told(client, "send_message", {**MAIL, "importance": "urgent"})
    assert [each["id"] for each in (await told(client, "check_my_messages", BLUE))["messages"]] == [sent["id"]]
    assert f"{sent['id']} could not be announced" in caplog.text
    client.server.close()


# -- resources


async def test_an_inbox_is_a_resource_with_all_its_parameters(client: InMemoryClient, box: Letterbox) -> None:
    first = await told(client, "send_message", {**MAIL, "importance": "urgent"})
    box.time += 60
    second = await told(client, "send_message", MAIL)
    whole = await resource(client, f"resource://inbox/BlueLake?project={BACKEND}&limit=20")
    assert (whole["project"], whole["agent"]) == (FRONTEND, "BlueLake")
    assert [each["id"] for each in whole["messages"]] == [second["id"], first["id"]]
    assert "body_md" not in whole["messages"][0]

    async def ids(query: str) -> list[str]:
        return [each["id"] for each in (await resource(client, f"resource://inbox/BlueLake{query}"))["messages"]]

    assert await ids("") == [second["id"], first["id"]]
    assert await ids("?urgent_only=true") == [first["id"]]
    assert await ids("?urgent_only=false&limit=1") == [second["id"]]
    assert await ids(f"?since_ts={first['created_ts']}") == [second["id"]]
    assert await ids("?since_ts=0") == [second["id"], first["id"]]
    bodies = await resource(client, "resource://inbox/BlueLake?include_bodies=true&limit=1")
    assert bodies["messages"][0]["body_md"] == "text"


async def test_reading_a_resource_changes_nothing(client: InMemoryClient, box: Letterbox) -> None:
    sent = box.send(["BlueLake"])
    before = box.mail.whois(BACKEND, "BlueLake").last_active_ts
    box.time += 3600
    for uri in ("inbox/BlueLake", "outbox/BlueLake", f"message/{sent.id}", f"thread/{sent.id}"):
        await resource(client, f"resource://{uri}")
    assert box.mail.whois(BACKEND, "BlueLake").last_active_ts == before
    assert (await told(client, "check_my_messages", BLUE, unread_only=True))["messages"]
    assert box.mail.whois(BACKEND, "BlueLake").last_active_ts == box.time


async def test_without_a_project_an_inbox_is_that_of_the_latest_activity(
    client: InMemoryClient, box: Letterbox
) -> None:
    here = box.new("/abs/path/one", "SameName")
    box.time += 60
    box.new("/abs/path/two", "SameName")
    assert (await resource(client, "resource://inbox/SameName"))["project"] == "/abs/path/two"
    box.time += 60
    box.mail.touch(here)
    assert (await resource(client, "resource://inbox/SameName"))["project"] == "/abs/path/one"
    assert (await resource(client, "resource://inbox/SameName?project=/abs/path/two"))["project"] == "/abs/path/two"


async def test_outbox_message_and_thread_are_resources(client: InMemoryClient) -> None:
    sent = await told(client, "send_message", {**MAIL, "bcc": ["RedStone"], "thread_id": "TKT-1"})
    answer = {"project_key": BACKEND, "from_agent": "BlueLake", "reply_to_message_id": sent["id"], "body_md": "Why?"}
    reply = await told(client, "reply_message", answer)
    out = await resource(
        client, f"resource://outbox/GreenCastle?project={BACKEND}&include_bodies=true&limit=5&since_ts=0"
    )
    assert [(each["id"], each["body_md"]) for each in out["messages"]] == [(sent["id"], "text")]
    for query in ("", f"?project={BACKEND}"):
        letter = await resource(client, f"resource://message/{reply['id']}{query}")
        assert (letter["reply_to"], letter["body_md"]) == (sent["id"], "Why?")
        thread = await resource(client, f"resource://thread/TKT-1{query}")
        assert (thread["project"], [each["id"] for each in thread["messages"]]) == (BACKEND, [sent["id"], reply["id"]])
        assert "body_md" not in thread["messages"][0]
        assert "RedStone" not in json.dumps(thread)
    whole = await resource(client, f"resource://thread/TKT-1?project={BACKEND}&include_bodies=true")
    assert [each["body_md"] for each in whole["messages"]] == ["text", "Why?"]


async def test_without_a_project_a_thread_is_that_where_it_went_on_last(client: InMemoryClient, box: Letterbox) -> None:
    await told(client, "send_message", {**MAIL, "thread_id": "TKT-1"})
    box.time += 60
    await told(client, "send_message", {**MAIL, "project_key": FRONTEND, "thread_id": "TKT-1"})
    assert (await resource(client, "resource://thread/TKT-1"))["project"] == FRONTEND


async def test_agents_and_claims_of_a_project_are_resources(client: InMemoryClient) -> None:
    await told(client, "claim_paths", CLAIM)
    for spelled in (BACKEND, "%2Fabs%2Fpath%2Fbackend"):
        names = {each["name"] for each in (await resource(client, f"resource://agents/{spelled}"))["agents"]}
        assert names == {"GreenCastle", "RedStone"}
        (claim,) = await resource(client, f"resource://claims/{spelled}")
        assert (claim["agent"], claim["path"], claim["reason"]) == ("GreenCastle", "app/api/*.py", "migrations")


async def test_the_agents_of_a_project_are_there_however_long_they_were_idle(
    client: InMemoryClient, box: Letterbox
) -> None:
    box.time += 400 * 86_400
    found = await resource(client, f"resource://agents/{BACKEND}")
    assert {each["name"] for each in found["agents"]} == {"GreenCastle", "RedStone"}


@pytest.mark.parametrize(
    ("uri", "sentence"),
    [
        ("resource://inbox/Nobody", "agent not registered"),
        (f"resource://inbox/Nobody?project={BACKEND}", "agent_name not registered"),
        ("resource://inbox/BlueLake?project=/none", "There is no project /none"),
        ("resource://inbox/BlueLake?limit=many", "limit"),
        ("resource://message/msg_1", "There is no message msg_1"),
        (f"resource://message/msg_1?project={BACKEND}", "There is no message msg_1 in"),
        ("resource://thread/TKT-9", "There is no thread TKT-9"),
        ("resource://claims//none", "There is no project /none"),
        ("resource://agents//none", "There is no project /none"),
    ],
)
async def test_a_resource_that_is_not_there_says_so(client: InMemoryClient, uri: str, sentence: str) -> None:
    with pytest.raises(ProtocolError, match=sentence):
        await client.read(uri)


async def test_subscribers_hear_of_new_mail_and_of_receipts(client: InMemoryClient) -> None:
    subscribed = f"resource://inbox/BlueLake?project={BACKEND}"
    await client.subscribe(subscribed)
    sent = await told(client, "send_message", MAIL)
    await until(lambda: client.told == [subscribed])
    await told(client, "mark_read", BLUE, message_ids=[sent["id"]])
    await until(lambda: len(client.told) == 2)
    await told(client, "acknowledge_message", BLUE, message_id=sent["id"])
    await until(lambda: len(client.told) == 3)
    await client.close()


@pytest.mark.parametrize("spelled", [BACKEND, f"{BACKEND}/"])
async def test_subscribers_hear_of_claims_however_the_project_is_spelled(client: InMemoryClient, spelled: str) -> None:
    await client.subscribe(f"resource://claims/{BACKEND}")
    for number, tool in enumerate(("claim_paths", "renew_claims", "release_claims")):
        arguments = CLAIM if tool == "claim_paths" else GREEN
        await told(client, tool, {**arguments, "project_key": spelled})
        await until(lambda wanted=number + 1: len(client.told) == wanted)
    await client.close()


async def test_a_store_without_mail_says_how_to_begin(tmp_path: Path) -> None:
    settings = Settings.model_validate({"mail": {"store": tmp_path / "mail"}})
    client = InMemoryClient(build_server(service_from(settings, Opening(settings))))
    answer = await client.call("check_my_messages", BLUE)
    assert answer.is_error
    assert "create_agent or register_agent" in answer.text
    assert not (tmp_path / "mail").exists(), "reading makes nothing"
    client.server.close()
