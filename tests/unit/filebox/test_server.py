"""The tools as a client meets them, without a connection."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from support.mailboxes import Office, plant
from support.waiting import PATIENCE, until
from unit.filebox.conftest import Glances

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.settings import Settings
from transcript_mcp.filebox import ConfigSource, FileBox, FileBoxOptions, Hooks
from transcript_mcp.filebox.server import build_server, filebox_from
from transcript_mcp.sdk.dispatch import ProtocolError
from transcript_mcp.sdk.testing import Answer, InMemoryClient

ID = "1b1d8fc0-034e-4fd4-874b-a8d39f95ba68"
NAME = "2025-06-30_0815-BR-slow-1b1d8fc0.md"
BUG = {"receiver_id": "dev_agent", "msg_type": "BR", "title": "登录页面验证码显示异常", "content": "验证码图片无法显示"}

ORIGINAL: dict[str, tuple[set[str], set[str]]] = {
    "filebox_send_message": (
        {"receiver_id", "msg_type", "title", "content"},
        {"receiver_id", "msg_type", "title", "content", "original_message_id", "runAs"},
    ),
    "filebox_list_messages": ({"box_type"}, {"box_type", "runAs"}),
    "filebox_read_message": ({"box_type", "filename"}, {"box_type", "filename", "runAs"}),
    "filebox_resolve_message": ({"filename"}, {"filename", "runAs"}),
    "filebox_reject_message": ({"filename"}, {"filename", "runAs"}),
}


@pytest.fixture
def client(office: Office) -> InMemoryClient:
    """A client in the folder of ``qa_agent``."""
    return InMemoryClient(build_server(office.filebox("qa_agent")))


def hub(office: Office, caller: str | None, identity: str = "", **options: Any) -> InMemoryClient:
    """A client of a server that has no working directory."""
    source = ConfigSource(explicit=office.configure(office.base), home=office.home)
    front = FileBox(source, FileBoxOptions(**options), hooks=Hooks(), clock=office.tick)
    return InMemoryClient(build_server(front, identity=identity), caller=caller)


async def schemas(client: InMemoryClient) -> dict[str, Any]:
    return {tool["name"]: tool["inputSchema"] for tool in (await client.request("tools/list"))["tools"]}


async def test_the_five_tools_of_the_plan_have_its_names_and_parameters(client: InMemoryClient) -> None:
    offered = await schemas(client)
    for name, (required, parameters) in ORIGINAL.items():
        assert set(offered[name]["required"]) == required
        assert offered[name]["properties"].keys() >= parameters
        for parameter in parameters - {"box_type"}:
            assert offered[name]["properties"][parameter]["type"] == "string"
    assert list(offered)[:5] == [*ORIGINAL]
    assert offered["filebox_list_messages"]["properties"]["box_type"]["enum"] == ["inbox", "outbox", "done", "cancel"]


async def test_every_tool_can_be_run_as_another_agent(client: InMemoryClient) -> None:
    assert [name for name, schema in (await schemas(client)).items() if "runAs" not in schema["properties"]] == []


@pytest.mark.parametrize(
    ("caller", "identity"), [(None, ""), (None, "qa_agent"), ("agent/qa_agent", "")], ids=["folder", "setting", "token"]
)
async def test_with_run_as_every_tool_acts_as_that_agent_whoever_the_caller_is(
    office: Office, groups: GroupTranscriptStore, caller: str | None, identity: str
) -> None:
    front = office.filebox("qa_agent")
    client = InMemoryClient(build_server(front, store=lambda: groups, identity=identity), caller=caller)
    names = [front.mailbox().send("dev_agent", "BR", f"登录页面 {number}", "验证码").file for number in range(3)]
    inbox, used = {"box_type": "inbox"}, set[str]()

    async def as_dev(tool: str, **arguments: Any) -> Answer:
        used.add(f"filebox_{tool}")
        return await client.call(f"filebox_{tool}", {**arguments, "runAs": "dev_agent"})

    assert (await client.call("filebox_agents")).data["you"] == "qa_agent"
    assert (await as_dev("agents")).data["you"] == "dev_agent"
    assert (await as_dev("list_messages", **inbox)).data == names[::-1]
    assert len((await as_dev("wait", timeout=0)).data["messages"]) == 3
    assert (await as_dev("read_message", **inbox, filename=names[0])).text == office.text(
        "dev_agent", "inbox", names[0]
    )
    found = (await as_dev("search", query="验证码")).data
    assert [each["box"] for each in found] == ["inbox"] * 3
    assert (await as_dev("thread", message_id=found[0]["id"])).data["box"] == "inbox"
    assert len((await as_dev("relevant", session_key="oc_team")).data) == 3
    assert (await as_dev("resolve_message", filename=names[0])).text == "Message resolved"
    assert (await as_dev("reject_message", filename=names[1])).text == "Message rejected"
    assert [each["ok"] for each in (await as_dev("batch", action="resolve", filenames=names[2:])).data] == [True]
    sent = await as_dev("send_message", receiver_id="qa_agent", msg_type="ACK", title="done", content="text")
    reply = sent.text.rpartition("File: ")[2]
    assert office.everywhere("dev_agent") == [
        ("outbox", reply),
        *(("done", name) for name in sorted((names[0], names[2]))),
        ("cancel", names[1]),
    ]
    assert office.everywhere("qa_agent") == [("inbox", reply), *(("outbox", name) for name in sorted(names))]
    assert used == set(await schemas(client))


async def test_the_examples_of_the_plan_work_as_printed(client: InMemoryClient, office: Office) -> None:
    sent = await client.call("filebox_send_message", BUG)
    first, message_id, file = sent.text.splitlines()
    assert first == "Message sent successfully"
    listed = (await client.call("filebox_list_messages", box_type="inbox", runAs="dev_agent")).data
    assert [f"File: {name}" for name in listed] == [file]
    reply = {
        "receiver_id": "qa_agent",
        "msg_type": "ACK",
        "title": "登录页面验证码显示异常",
        "content": "已确认问题，开始修复。",
        "original_message_id": message_id.removeprefix("Message ID: "),
        "runAs": "dev_agent",
    }
    assert (await client.call("filebox_send_message", reply)).text.splitlines()[1:] == [message_id, file]
    read = await client.call("filebox_read_message", box_type="inbox", filename=listed[0])
    assert read.text == office.text("qa_agent", "inbox", listed[0])
    assert (await client.call("filebox_resolve_message", filename=listed[0])).text == "Message resolved"
    assert (await client.call("filebox_list_messages", box_type="done")).data == listed


@pytest.mark.parametrize("missing", ["", None])
async def test_an_empty_optional_argument_is_none(client: InMemoryClient, missing: str | None) -> None:
    sent = await client.call("filebox_send_message", {**BUG, "original_message_id": missing, "runAs": missing})
    assert sent.text.startswith("Message sent successfully")


async def test_a_rejected_message_lies_in_cancel(client: InMemoryClient, office: Office) -> None:
    await client.call("filebox_send_message", BUG)
    (name,) = office.files("dev_agent", "inbox")
    rejected = await client.call("filebox_reject_message", filename=name, runAs="dev_agent")
    assert rejected.text == "Message rejected"
    assert office.everywhere("dev_agent") == [("cancel", name)]


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        (
            "filebox_list_messages",
            {"box_type": "inbox", "runAs": "x"},
            "Invalid runAs agent 'x'. Available agents: qa_",
        ),
        ("filebox_send_message", {**BUG, "receiver_id": "x"}, "Receiver agent 'x' not found. Available agents: qa_"),
        ("filebox_send_message", {**BUG, "msg_type": "FOO"}, "Unknown message type 'FOO'. Available types: BR, ACK"),
        ("filebox_send_message", {**BUG, "original_message_id": ID}, f"Original message {ID} not found"),
        ("filebox_read_message", {"box_type": "inbox", "filename": "a.md"}, "Message not found: a.md"),
        ("filebox_resolve_message", {"filename": "a.md"}, "Message not found: a.md"),
        ("filebox_read_message", {"box_type": "inbox", "filename": "../a.md"}, "'../a.md' is not the file name"),
        ("filebox_list_messages", {"box_type": "sent"}, "The argument box_type"),
        ("filebox_list_messages", {"box_type": "done", "unread": True}, "Only mail in the inbox can be unread."),
        ("filebox_list_messages", {"box_type": "done", "since": "yesterday"}, "'yesterday' is not a time."),
        ("filebox_thread", {"message_id": ID}, f"Message {ID} not found"),
        ("filebox_relevant", {"session_key": "oc_x"}, "This server knows no group transcripts."),
        ("filebox_send_message", {**BUG, "context_chat": "oc_x"}, "This server knows no group transcripts."),
        ("filebox_batch", {"action": "read", "filenames": ["a.md"] * 201}, "These are 201 messages"),
    ],
)
async def test_what_goes_wrong_is_a_tool_error_with_a_sentence(
    client: InMemoryClient, tool: str, arguments: dict[str, Any], sentence: str
) -> None:
    answer = await client.call(tool, arguments)
    assert answer.is_error
    assert answer.text.startswith(sentence)


async def test_a_list_tells_headers_pages_and_what_is_unread_when_asked(client: InMemoryClient, office: Office) -> None:
    dev = office.mailbox("dev_agent")
    sent = [dev.send("qa_agent", "INFO", f"mail {number}", "text") for number in range(3)]
    inbox = {"box_type": "inbox"}
    assert (await client.call("filebox_list_messages", inbox)).data == [mail.file for mail in sent[::-1]]
    first = (await client.call("filebox_list_messages", inbox, limit=1, offset=1)).wire["content"]
    assert [json.loads(first[0]["text"]), first[1]["text"]] == [[sent[1].file], "1 more; to read on: offset=2."]
    assert (await client.call("filebox_list_messages", inbox, limit=1, offset=2)).data == [sent[0].file]
    page = (await client.call("filebox_list_messages", inbox, details=True, limit=2)).data
    assert (page["total"], page["next_offset"]) == (3, 2)
    assert page["messages"][0] == {
        "file": sent[2].file,
        "id": sent[2].id,
        "type": "INFO",
        "title": "mail 2",
        "from": "dev_agent",
        "to": "qa_agent",
        "time": "2025-06-30T08:15:25.616Z",
        "unread": True,
    }
    await client.call("filebox_read_message", inbox, filename=sent[2].file)
    assert (await client.call("filebox_list_messages", inbox, unread=True)).data == [sent[1].file, sent[0].file]
    since = "2025-06-30T08:15:24"
    assert (await client.call("filebox_list_messages", inbox, since=since)).data == [sent[2].file, sent[1].file]


async def test_a_box_of_many_is_listed_whole_and_unread_mail_is_not_cut(client: InMemoryClient, office: Office) -> None:
    for number in range(80):
        plant(
            office.folder("qa_agent", "inbox"), f"{number}.md", message_id=f"{number}", timestamp="2025-06-30T08:15:00Z"
        )
    for more in ({}, {"unread": True}):
        assert len((await client.call("filebox_list_messages", {"box_type": "inbox", **more})).data) == 80
    assert len((await client.call("filebox_list_messages", box_type="inbox", details=True)).data["messages"]) == 50


async def test_mail_that_cannot_be_understood_is_listed_with_what_is_wrong(
    client: InMemoryClient, office: Office
) -> None:
    inbox = office.folder("qa_agent", "inbox")
    inbox.mkdir(parents=True)
    (inbox / "a.md").write_bytes(b"\xff no mail")
    page = (await client.call("filebox_list_messages", box_type="inbox", details=True)).data
    assert page["messages"] == [
        {"file": "a.md", "problem": "is not a mail: its header has no Message ID", "unread": True}
    ]
    assert not (await client.call("filebox_read_message", box_type="inbox", filename="a.md")).is_error


async def test_a_long_message_says_where_to_read_on(office: Office) -> None:
    client = InMemoryClient(build_server(office.filebox("qa_agent", max_read=1000)))
    name = office.mailbox("dev_agent").send("qa_agent", "INFO", "mail", "字" * 3000).file
    wanted = {"box_type": "inbox", "filename": name}
    blocks = (await client.call("filebox_read_message", wanted)).wire["content"]
    assert len(blocks[0]["text"]) == 1000
    assert blocks[1]["text"].endswith("To read on: offset=1000.")
    last = await client.call("filebox_read_message", wanted, offset=3000)
    assert len(last.wire["content"]) == 1


async def test_a_conversation_is_told_in_entries_within_bounds(office: Office) -> None:
    qa = office.mailbox("qa_agent")
    sent = qa.send("dev_agent", "BR", "slow", "x" * 900)
    office.mailbox("dev_agent").send("qa_agent", "ACK", "", "y" * 900, sent.id)
    client = InMemoryClient(build_server(office.filebox("qa_agent")))
    told = (await client.call("filebox_thread", message_id=sent.id[:8])).data
    assert (told["title"], told["box"], told["id"]) == ("slow", "inbox", sent.id)
    assert [(entry["from"], entry["type"], entry["text"][0]) for entry in told["entries"]] == [
        ("dev_agent", "ACK", "y"),
        ("qa_agent", "BR", "x"),
    ]
    tight = InMemoryClient(build_server(office.filebox("qa_agent", max_read=1000)))
    cut = (await tight.call("filebox_thread", message_id=sent.id)).data
    assert cut["older_entries_left_out"] == 1
    tighter = InMemoryClient(build_server(office.filebox("qa_agent", max_read=500)))
    assert (await tighter.call("filebox_thread", message_id=sent.id)).data["entries"][0][
        "more"
    ] == "400 more characters"


async def test_many_are_dealt_with_in_one_call(client: InMemoryClient, office: Office) -> None:
    dev = office.mailbox("dev_agent")
    names = [dev.send("qa_agent", "INFO", "mail", f"text {number}").file for number in range(2)]
    read = (await client.call("filebox_batch", action="read", filenames=[*names, "x.md"])).data
    assert [each["ok"] for each in read] == [True, True, False]
    assert read[0]["result"].endswith("text 0")
    assert "not found" in read[2]["error"]
    resolved = (await client.call("filebox_batch", action="resolve", filenames=json.dumps(names))).data
    assert [each["result"] for each in resolved] == ["Message resolved"] * 2


async def test_messages_are_found(client: InMemoryClient, office: Office) -> None:
    dev = office.mailbox("dev_agent")
    dev.send("qa_agent", "BR", "登录页面", "验证码 broken")
    dev.send("qa_agent", "INFO", "Release", "out now")
    (found,) = (await client.call("filebox_search", query="验证码")).data
    assert (found["box"], found["title"]) == ("inbox", "登录页面")
    assert "验证码 broken" in found["text"]
    assert len((await client.call("filebox_search", sender="dev_agent", msg_type="INFO")).data) == 1
    cut = (await client.call("filebox_search", query="o", limit=1)).wire["content"]
    assert len(json.loads(cut[0]["text"])) == 1
    assert cut[1]["text"].startswith("There are more.")
    assert len((await client.call("filebox_search", query="o", limit=200)).wire["content"]) == 1
    assert (await client.call("filebox_search", query="o", box_type="done")).data == []


async def test_waiting_tells_of_unread_messages_at_once_and_of_new_ones_as_they_come(
    client: InMemoryClient, office: Office
) -> None:
    nothing = await client.call("filebox_wait", timeout=0)
    assert nothing.text == "No new messages for qa_agent within 0 seconds."
    waiting = asyncio.create_task(client.call("filebox_wait", timeout=PATIENCE))
    await asyncio.sleep(0)
    sent = office.mailbox("dev_agent").send("qa_agent", "INFO", "mail", "text")
    assert [mail["id"] for mail in (await asyncio.wait_for(waiting, PATIENCE)).data["messages"]] == [sent.id]
    assert [mail["id"] for mail in (await client.call("filebox_wait", timeout=PATIENCE)).data["messages"]] == [sent.id]
    await client.call("filebox_read_message", box_type="inbox", filename=sent.file)
    assert (await client.call("filebox_wait", timeout=0)).text.startswith("No new messages")


async def test_agents_are_listed_and_who_one_is(client: InMemoryClient, office: Office) -> None:
    assert (await client.call("filebox_agents")).data == {
        "you": "qa_agent",
        "agents": [{"name": "qa_agent", "you": True}, {"name": "dev_agent"}],
    }
    assert (await client.call("filebox_agents", runAs="dev_agent")).data["you"] == "dev_agent"
    nobody = (await hub(office, None).call("filebox_agents")).data
    assert nobody["you"] is None
    assert "working directory" in nobody["note"]


# -- who acts where there is no folder


async def test_on_the_hub_the_tokens_agent_acts(office: Office) -> None:
    client = hub(office, "agent/dev_agent", identity="qa_agent")
    assert (await client.call("filebox_agents")).data["you"] == "dev_agent"
    assert (await client.call("filebox_agents", runAs="qa_agent")).data["you"] == "qa_agent"


async def test_on_the_hub_other_callers_are_the_agent_of_the_settings_or_nobody(office: Office) -> None:
    assert (await hub(office, "token/laptop", identity="qa_agent").call("filebox_agents")).data["you"] == "qa_agent"
    refused = await hub(office, "token/dev_agent").call("filebox_list_messages", box_type="inbox")
    assert refused.is_error
    assert "Available agents: qa_agent, dev_agent." in refused.text


async def test_a_token_cannot_be_stretched_past_the_policy(office: Office) -> None:
    client = hub(office, "agent/dev_agent", run_as="off")
    for tool, arguments in (
        ("filebox_send_message", BUG),
        ("filebox_list_messages", {"box_type": "inbox"}),
        ("filebox_thread", {"message_id": ID}),
        ("filebox_agents", {}),
    ):
        answer = await client.call(tool, {**arguments, "runAs": "qa_agent"})
        assert answer.is_error
        assert "runAs may not name 'qa_agent'" in answer.text
    with pytest.raises(Exception, match="runAs may not name"):
        await client.read("filebox://inbox/qa_agent")
    assert not (await client.call("filebox_list_messages", box_type="inbox")).is_error


async def test_a_copied_file_that_names_another_agent_is_noted(office: Office) -> None:
    office.configure(office.roots["dev_agent"], current="qa_agent")
    client = InMemoryClient(build_server(office.filebox("dev_agent")))
    answer = (await client.call("filebox_agents")).data
    assert answer["you"] == "qa_agent"
    assert answer["note"].startswith("This is the folder of dev_agent")
    assert "note" not in (await client.call("filebox_agents", runAs="dev_agent")).data


def test_titles_contents_and_waiting_for_the_disk_are_settings() -> None:
    chosen = {"max_title": 1000, "max_content": "4 MiB", "fsync": "always"}
    options = filebox_from(Settings.model_validate({"filebox": chosen}), None).options
    assert (options.max_title, options.max_content, options.fsync) == (1000, 4 << 20, "always")
    usual = filebox_from(Settings(), None).options
    assert usual == FileBoxOptions()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"config": "/nowhere/.filebox"}, ["/nowhere/.filebox cannot be read"]),
        ({"tokens": {"qa_agent": "q" * 32}, "run_as": "off"}, []),
        ({"tokens": {"ghost": "g" * 32}}, ["every token may act as every agent", "a token for ghost"]),
    ],
)
def test_what_every_call_would_stumble_over_is_told_at_the_start(
    office: Office, caplog: pytest.LogCaptureFixture, settings: dict[str, Any], told: list[str]
) -> None:
    chosen = {"config": str(office.configure(office.base)), **settings}
    filebox_from(Settings.model_validate({"filebox": chosen}), None)
    assert [sentence in record.message for record, sentence in zip(caplog.records, told, strict=True)] == [True] * len(
        told
    )


# -- resources


async def test_an_inbox_is_a_resource(client: InMemoryClient, office: Office) -> None:
    office.mailbox("dev_agent").send("qa_agent", "INFO", "mail", "text")
    (content,) = await client.read("filebox://inbox/qa_agent?limit=5&unread=true")
    assert json.loads(content["text"])["messages"][0]["title"] == "mail"
    answer = await client.request(
        "completion/complete",
        ref={"type": "ref/resource", "uri": "filebox://inbox/{agent}{?limit,unread}"},
        argument={"name": "agent", "value": "q"},
    )
    assert answer["completion"]["values"] == ["qa_agent"]


async def test_subscribers_are_told_when_an_inbox_changes(client: InMemoryClient, office: Office) -> None:
    await client.subscribe("filebox://inbox/qa_agent")
    assert client.told == []
    sent = office.mailbox("dev_agent").send("qa_agent", "INFO", "mail", "text")
    await until(lambda: client.told == ["filebox://inbox/qa_agent"])
    office.mailbox("qa_agent").resolve(sent.file)
    await until(lambda: len(client.told) == 2)
    await client.close()


async def test_an_inbox_is_watched_once_in_however_many_forms_it_is_subscribed_to(
    office: Office, glances: Glances
) -> None:
    server = build_server(office.filebox("qa_agent"))
    clients = [InMemoryClient(server) for _ in range(2)]
    forms = ["filebox://inbox/qa_agent", "filebox://inbox/qa_agent?limit=1", "filebox://inbox/qa%5Fagent?limit=2"]
    for client, form in [(clients[0], forms[0]), (clients[0], forms[1]), (clients[1], forms[2])]:
        await client.subscribe(form)
    await clients[0].close()
    office.mailbox("dev_agent").send("qa_agent", "INFO", "mail", "text")
    await until(lambda: clients[1].told == [forms[2]])
    assert clients[0].told == []
    assert glances() == 1
    await clients[1].close()
    await until(lambda: glances() == 0)


@pytest.mark.parametrize("leave", ["close", "unsubscribe"])
async def test_nothing_is_watched_for_a_subscriber_that_left_before_it_began(
    office: Office, leave: str, glances: Glances
) -> None:
    server = build_server(office.filebox("qa_agent"))
    client = InMemoryClient(server)
    subscribing = asyncio.create_task(client.subscribe("filebox://inbox/qa_agent"))
    await until(lambda: bool(server.updates._subscribers))  # pyright: ignore[reportPrivateUsage]
    if leave == "close":
        await client.close()
    else:
        await client.request("resources/unsubscribe", uri="filebox://inbox/qa_agent")
    await subscribing
    await until(lambda: glances() == 0)


async def test_nobody_can_subscribe_to_an_inbox_that_may_not_be_read(office: Office) -> None:
    qa = hub(office, "agent/qa_agent", run_as="off")
    with pytest.raises(ProtocolError, match="runAs may not name"):
        await qa.subscribe("filebox://inbox/dev_agent")
    office.mailbox("dev_agent").send("dev_agent", "INFO", "mine", "text")
    await qa.subscribe("filebox://inbox/qa_agent")
    office.mailbox("dev_agent").send("qa_agent", "INFO", "yours", "text")
    await until(lambda: qa.told == ["filebox://inbox/qa_agent"])
    await qa.close()


async def test_nobody_can_subscribe_to_inboxes_that_there_are_not(client: InMemoryClient) -> None:
    with pytest.raises(ProtocolError, match="nobody"):
        await client.subscribe("filebox://inbox/nobody")
    await client.close()


# -- with the transcript


@pytest.fixture
def groups(make_store: Callable[..., GroupTranscriptStore]) -> GroupTranscriptStore:
    """A group in which Ada and Alpha talk about the captcha."""
    store = make_store()
    store.members.remember_person("on_ada", "Ada")
    said = ["早上好", "登录页面的验证码又出不来了，谁看一下？", "我看看"]
    for number, text in enumerate(said):
        store.append("feishu:oc_team", "user", text, "on_ada", f"om_{number}", 1_751_271_000_000 + number * 1000)
    return store


async def test_mail_that_a_group_talks_about_is_told_with_the_reason(
    office: Office, groups: GroupTranscriptStore
) -> None:
    dev = office.mailbox("dev_agent")
    dev.send("qa_agent", "BR", "登录页面验证码显示异常", "验证码图片无法正常显示")
    dev.send("qa_agent", "BR", "支付接口超时", "高峰期经常超时")
    client = InMemoryClient(build_server(office.filebox("qa_agent"), store=lambda: groups))
    (found,) = (await client.call("filebox_relevant", session_key="oc_team")).data
    assert found["title"] == "登录页面验证码显示异常"
    assert "登录页面" in found["reason"]
    assert 0 < found["score"] <= 1
    unknown = await client.call("filebox_relevant", session_key="oc_nowhere")
    assert "There is no chat oc_nowhere." in unknown.text


async def test_the_talk_of_a_group_is_quoted_in_a_mail(office: Office, groups: GroupTranscriptStore) -> None:
    client = InMemoryClient(build_server(office.filebox("qa_agent"), store=lambda: groups))
    sent = await client.call("filebox_send_message", {**BUG, "context_chat": "oc_team", "context_messages": 2})
    assert sent.text.startswith("Message sent successfully")
    (name,) = office.files("dev_agent", "inbox")
    assert office.text("dev_agent", "inbox", name).endswith(
        "验证码图片无法显示\n\n### Recent messages of feishu:oc_team (times in UTC)\n\n"
        "> **Ada** (2025-06-30 08:10): 登录页面的验证码又出不来了，谁看一下？\n>\n> **Ada** (2025-06-30 08:10): 我看看"
    )
