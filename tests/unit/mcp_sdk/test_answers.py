"""What clients are answered, and what they are not told."""

import asyncio
import logging
import re
import threading
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import Field
from support.waiting import PATIENCE

from nanobot_transcript.errors import ClientCannotError, StoreUnavailableError
from transcript_mcp.sdk import Context, Elicited, Embedded, Image, Message, Result, Server, Text
from transcript_mcp.sdk.dispatch import ProtocolError
from transcript_mcp.sdk.testing import InMemoryClient

Word = Annotated[str, Field(description="A word.")]
Count = Annotated[int, Field(description="How many.", ge=0)]


@pytest.fixture
def server() -> Server:
    return Server("test", version="1.0")


@pytest.fixture
def client(server: Server) -> InMemoryClient:
    return InMemoryClient(server, caller="ada")


async def test_a_plain_function_runs_beside_the_event_loop(server: Server, client: InMemoryClient) -> None:
    @server.tool
    def where() -> str:
        """Tells the thread."""
        return str(threading.get_ident())

    @server.tool
    async def here() -> str:
        """Tells the thread."""
        return str(threading.get_ident())

    assert (await client.call("where")).text != str(threading.get_ident())
    assert (await client.call("here")).text == str(threading.get_ident())


async def test_a_result_has_data_beside_its_text_or_is_an_error_with_all_its_content(
    server: Server, client: InMemoryClient
) -> None:
    @server.tool
    def look() -> Result:
        """Looks."""
        return Result("Nothing.", data={"found": None})

    @server.tool
    def refuse() -> Result:
        """Refuses."""
        return Result([Text("No."), Image(b"1", "image/png")], is_error=True)

    found = await client.call("look")
    assert found.wire == {
        "content": [{"type": "text", "text": "Nothing."}],
        "structuredContent": {"found": None},
        "isError": False,
    }
    refused = await client.call("refuse")
    assert (refused.text, refused.is_error, len(refused.wire["content"])) == ("No.", True, 2)


async def test_arguments_that_do_not_fit_are_an_answer_that_a_model_can_read(
    server: Server, client: InMemoryClient
) -> None:
    @server.tool
    def repeat(word: Word, count: Count = 1) -> str:
        """Repeats."""
        return word * count

    answer = await client.call("repeat", word="a", count=-1)
    assert answer.is_error
    assert answer.text == "The argument count is -1. It should be greater than or equal to 0."
    assert (await client.call("repeat", word="a", count=2)).text == "aa"


async def test_an_error_of_ours_is_told_with_its_hint(server: Server, client: InMemoryClient) -> None:
    @server.tool
    def read() -> str:
        """Reads."""
        raise StoreUnavailableError("The folder is read-only.", hint="Make it writable.")

    answer = await client.call("read")
    assert (answer.is_error, answer.text) == (True, "The folder is read-only.\nMake it writable.")


async def test_an_unexpected_error_is_logged_and_told_as_a_reference_only(
    server: Server, client: InMemoryClient, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> str:
        """Fails."""
        raise RuntimeError("secret in /srv/ada/key")

    def tell(begun: str, others: dict[str, str]) -> list[str]:
        raise RuntimeError("secret in /srv/ada/key")

    server.tool(fail)
    server.prompt(fail)
    server.resource("a://b", fail)
    server.completion("fail", "x", tell)
    answer = await client.call("fail")
    told = [answer.text]
    requests: list[tuple[str, dict[str, Any]]] = [
        ("prompts/get", {"name": "fail"}),
        ("resources/read", {"uri": "a://b"}),
        ("completion/complete", {"ref": {"name": "fail"}, "argument": {"name": "x", "value": ""}}),
    ]
    for method, params in requests:
        with pytest.raises(ProtocolError) as caught:
            await client.request(method, **params)
        assert caught.value.code == -32603
        told.append(str(caught.value))
    assert answer.is_error
    for text in told:
        assert text.startswith("Internal error.")
        assert "secret" not in text
        reference = text.split()[-1].rstrip(".")
        assert any(reference in record.getMessage() and record.exc_info for record in caplog.records)


async def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(server: Server, client: InMemoryClient) -> None:
    server.tool(lambda_free)
    with pytest.raises(ProtocolError, match=r"Unknown tool: other. There are: lambda_free") as caught:
        await client.call("other")
    assert caught.value.code == -32602
    with pytest.raises(ProtocolError, match=r"Unknown tool: lamda_free\. Did you mean lambda_free\?$"):
        await client.call("lamda_free")
    with pytest.raises(ProtocolError) as endless:
        await client.call("x" * 100_000)
    assert len(str(endless.value)) < 300


def lambda_free() -> None:
    """Does nothing."""


async def test_methods_are_served_for_what_is_offered(server: Server, client: InMemoryClient) -> None:
    with pytest.raises(KeyError):
        await client.request("tools/list")
    server.tool(lambda_free)
    assert [tool["name"] for tool in (await client.request("tools/list"))["tools"]] == ["lambda_free"]


async def test_a_tool_is_told_with_its_schema_and_hints(server: Server, client: InMemoryClient) -> None:
    def count(word: Word) -> dict[str, int]:
        """Counts letters."""
        return {"letters": len(word)}

    server.tool(count, title="Count", read_only=True, idempotent=True)
    assert (await client.request("tools/list"))["tools"] == [
        {
            "name": "count",
            "title": "Count",
            "description": "Counts letters.",
            "inputSchema": {
                "type": "object",
                "properties": {"word": {"type": "string", "description": "A word."}},
                "required": ["word"],
                "additionalProperties": False,
            },
            "annotations": {
                "readOnlyHint": True,
                "destructiveHint": False,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }
    ]


@dataclass
class Total:
    """A result."""

    letters: int
    note: str | None = None


async def test_a_structured_result_is_text_and_data(server: Server, client: InMemoryClient) -> None:
    def total(word: Word) -> Total:
        """Counts."""
        return Total(len(word))

    def words(word: Word) -> list[str]:
        """Splits."""
        return list(word)

    server.tool(total, structured=True)
    server.tool(words, structured=True)
    answer = await client.call("total", word="小明")
    assert answer.wire["structuredContent"] == {"letters": 2, "note": None}
    assert answer.text == '{"letters":2,"note":null}'
    assert (await client.call("words", word="ab")).wire["structuredContent"] == {"result": ["a", "b"]}
    assert all("outputSchema" in tool for tool in (await client.request("tools/list"))["tools"])


async def test_without_structure_data_is_text_only(server: Server, client: InMemoryClient) -> None:
    server.tool(lambda_free)
    assert (await client.call("lambda_free")).wire == {"content": [], "isError": False}


async def test_who_asks_and_what_is_sent_meanwhile(server: Server, client: InMemoryClient) -> None:
    @server.tool
    async def work(ctx: Context) -> str:
        """Works."""
        await ctx.progress(1, 2, "half")
        await ctx.log("debug", "not wanted")
        await ctx.log("warning", "careful")
        return f"{ctx.caller} by {ctx.client_name}"

    assert (await client.call("work")).text == "ada by in-memory"
    assert client.progressed == [(1, 2, "half")]
    assert client.logged == [("warning", "careful")]
    await client.request("logging/setLevel", level="debug")
    await client.call("work")
    assert client.logged[1:] == [("debug", "not wanted"), ("warning", "careful")]


async def test_a_question_that_the_client_cannot_pass_on_is_an_error_with_a_way_out(
    server: Server, client: InMemoryClient
) -> None:
    async def ask(ctx: Context) -> str:
        """Asks."""
        return (await ctx.elicit("Really?", {"type": "object", "properties": {}})).action

    server.tool(ask)
    answer = await client.call("ask")
    assert answer.is_error
    assert "cannot ask its person" in answer.text
    able = InMemoryClient(server, elicit=lambda message, schema: Elicited("accept", {}))
    assert (await able.call("ask")).text == "accept"
    assert issubclass(ClientCannotError, Exception)


async def test_a_prompt_is_messages(server: Server, client: InMemoryClient) -> None:
    def review(word: Word) -> list[Any]:
        """Asks for a review."""
        return [f"Review {word}.", Message(Image(b"", "image/png")), Message("Yes.", "assistant")]

    server.prompt(review)
    messages = await client.prompt("review", word="this")
    assert [(each["role"], each["content"]["type"]) for each in messages] == [
        ("user", "text"),
        ("user", "image"),
        ("assistant", "text"),
    ]
    listed = (await client.request("prompts/list"))["prompts"]
    assert listed[0]["arguments"] == [{"name": "word", "description": "A word.", "required": True}]
    with pytest.raises(ProtocolError, match="The argument word is missing") as caught:
        await client.prompt("review")
    assert caught.value.code == -32602
    with pytest.raises(ProtocolError, match=r"Unknown prompt: rewiev\. There are: review"):
        await client.prompt("rewiev")


async def test_resources_are_text_bytes_or_data(server: Server, client: InMemoryClient) -> None:
    def text() -> str:
        """Text."""
        return "小"

    def data() -> bytes:
        """Bytes."""
        return b"\x00"

    def inbox(agent: Word, limit: Count = 20) -> Any:
        """Mail."""
        return {"agent": agent, "limit": limit}

    def image(name: Word) -> Embedded:
        """A picture."""
        return Embedded(f"image://{name}.webp", b"\x00", "image/webp")

    server.resource("a://text", text)
    server.resource("a://data", data, mime_type="application/zip")
    server.template("inbox://{agent}{?limit}", inbox, mime_type="application/json")
    server.template("image://{name}", image)
    assert await client.read("a://text") == [{"uri": "a://text", "mimeType": "text/plain", "text": "小"}]
    assert await client.read("a://data") == [{"uri": "a://data", "mimeType": "application/zip", "blob": "AA=="}]
    assert (await client.read("inbox://bo?limit=3"))[0]["text"] == '{"agent":"bo","limit":3}'
    assert (await client.read("inbox://bo"))[0]["text"] == '{"agent":"bo","limit":20}'
    assert (await client.read("image://x"))[0] == {"uri": "image://x.webp", "mimeType": "image/webp", "blob": "AA=="}
    with pytest.raises(ProtocolError, match=r'The argument limit is "-1"\. It should be greater') as caught:
        await client.read("inbox://bo?limit=-1")
    assert caught.value.code == -32602
    with pytest.raises(ProtocolError, match="Resource not found: b://text") as caught:
        await client.read("b://text")
    assert (caught.value.code, caught.value.data) == (-32002, {"uri": "b://text"})


async def test_a_parameter_that_there_is_not_is_refused_wherever_it_is_given(
    server: Server, client: InMemoryClient
) -> None:
    def inbox(agent: Word, limit: Count = 20) -> Any:
        """Mail."""
        return {"agent": agent, "limit": limit}

    server.tool(inbox)
    server.prompt(inbox)
    server.template("inbox://{agent}{?limit}", inbox)
    said = "There is no argument limitt. Did you mean limit?"
    answer = await client.call("inbox", agent="bo", limitt=3)
    assert (answer.is_error, answer.text) == (True, said)
    for asking in (
        client.prompt("inbox", agent="bo", limitt=3),
        client.read("inbox://bo?limitt=3"),
        client.subscribe("inbox://bo?limitt=3"),
    ):
        with pytest.raises(ProtocolError, match=re.escape(said)) as caught:
            await asking
        assert caught.value.code == -32602
    with pytest.raises(ProtocolError, match=re.escape('There is no argument "?agent". Did you mean agent?')):
        await client.read("inbox://bo?agent=ada")


async def test_lists_of_resources_tell_what_is_needed_to_choose(server: Server, client: InMemoryClient) -> None:
    def inbox(agent: Word) -> str:
        """Mail."""
        return agent

    server.template("inbox://{agent}", inbox, title="Inbox")
    server.resource("a://b", lambda_free, mime_type="text/markdown")
    assert (await client.request("resources/templates/list"))["resourceTemplates"] == [
        {
            "uriTemplate": "inbox://{agent}",
            "name": "inbox",
            "title": "Inbox",
            "description": "Mail.",
            "mimeType": "text/plain",
        }
    ]
    assert (await client.request("resources/list"))["resources"] == [
        {"uri": "a://b", "name": "lambda_free", "description": "Does nothing.", "mimeType": "text/markdown"}
    ]


async def test_suggestions_come_for_what_was_registered_and_not_too_many(
    server: Server, client: InMemoryClient
) -> None:
    def inbox(agent: Word) -> str:
        """Mail."""
        return agent

    async def agents(begun: str, others: dict[str, str]) -> list[str]:
        return [f"{begun}{number}" for number in range(250)]

    server.template("inbox://{agent}", inbox)
    server.completion("inbox://{agent}", "agent", agents)
    ref = {"uri": "inbox://{agent}"}
    asked = {"ref": ref, "argument": {"name": "agent", "value": "a"}}
    found = (await client.request("completion/complete", **asked))["completion"]
    assert (found["values"][0], found["values"][-1], len(found["values"])) == ("a0", "a99", 100)
    assert (found["total"], found["hasMore"]) == (250, True)
    other = {"ref": ref, "argument": {"name": "other", "value": "a"}}
    none = (await client.request("completion/complete", **other))["completion"]
    assert none == {"values": [], "total": 0, "hasMore": False}


async def test_a_cancelled_call_ends_at_once_even_if_its_function_does_not(
    server: Server, client: InMemoryClient, caplog: pytest.LogCaptureFixture
) -> None:
    begun, release = threading.Event(), threading.Event()

    def hang() -> None:
        """Hangs."""
        begun.set()
        release.wait(PATIENCE)

    server.tool(hang)
    calling = asyncio.create_task(client.call("hang"))
    await asyncio.to_thread(begun.wait, PATIENCE)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    release.set()
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
