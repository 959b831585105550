"""The SDK's own client, over stdio and HTTP, finds everything that the server offers."""

from typing import Any

import pytest
from mcp import types
from support.mcp_client import SERVER, connected, needs_sdk_2, wire
from support.waiting import until

pytestmark = pytest.mark.mcp

PLACES = ("stdio", "http")


@pytest.fixture(params=PLACES)
async def target(request: pytest.FixtureRequest) -> str | list[str]:
    """What to connect to."""
    return SERVER if request.param == "stdio" else request.getfixturevalue("shared_server").url()


async def test_everything_that_is_offered_works(target: str | list[str]) -> None:
    """One test for one connection: a server process costs a second to start."""
    async with connected(target) as client:
        assert client.begun["serverInfo"]["name"] == "test-server"
        assert client.begun["serverInfo"]["version"] == "1.2.3"
        assert client.begun["instructions"] == "For tests."
        assert client.begun["capabilities"]["resources"] == {"subscribe": True, "listChanged": True}

        tools = {tool["name"]: tool for tool in wire(await client.session.list_tools())["tools"]}
        assert tools["echo"]["annotations"]["readOnlyHint"] is True
        assert tools["echo"]["inputSchema"]["required"] == ["text"]
        assert tools["numbers"]["outputSchema"]["properties"]["result"] == {
            "type": "array",
            "items": {"type": "integer"},
        }
        assert all(tool["description"] for tool in tools.values())

        assert await client.text("echo", text="群里说了什么") == "群里说了什么"
        assert (await client.call("numbers", count=3))["structuredContent"] == {"result": [0, 1, 2]}
        assert (await client.call("numbers", count=10))["isError"] is True

        templates = wire(await client.session.list_resource_templates())["resourceTemplates"]
        assert [template["uriTemplate"] for template in templates] == ["chat://{name}{?limit}"]
        assert [each["uri"] for each in wire(await client.session.list_resources())["resources"]] == ["chat://all"]
        assert (await client.read("chat://all"))["contents"][0]["text"] == "one\ntwo"
        read = await client.read("chat://%E5%B0%8F%E6%98%8E?limit=5")
        assert read["contents"][0]["text"] == '{"name":"小明","limit":5}'

        prompt = wire(await client.session.get_prompt("greet", {"name": "Ada"}))
        assert prompt["messages"][0]["content"]["text"] == "Say hello to Ada."
        reference = types.PromptReference(type="ref/prompt", name="greet")
        found = await client.session.complete(reference, {"name": "name", "value": "a"})
        assert wire(found)["completion"]["values"] == ["ada"]


async def test_what_there_is_no_argument_for_is_refused_and_the_nearest_named(target: str | list[str]) -> None:
    async with connected(target) as client:
        answer = await client.call("echo", text="hello", txet="群")
        assert answer["isError"] is True
        assert answer["content"][0]["text"] == "There is no argument txet. Did you mean text?"
        assert wire(await client.session.list_tools())["tools"][0]["inputSchema"]["additionalProperties"] is False
        with pytest.raises(Exception, match=r"There is no argument limitt\. Did you mean limit\?"):
            await client.read("chat://ada?limitt=5")
        with pytest.raises(Exception, match=r"There is no argument nmae\. Did you mean name\?"):
            await client.session.get_prompt("greet", {"name": "Ada", "nmae": "Bo"})


async def test_progress_and_log_arrive_before_the_answer(target: str | list[str]) -> None:
    async with connected(target) as client:
        seen: list[Any] = []

        async def note(done: float, total: float | None, message: str | None) -> None:
            seen.append((done, total, message))

        answer = wire(await client.session.call_tool("work", {}, progress_callback=note))
        assert answer["content"][0]["text"] == "done"
        await until(lambda: seen)
        assert seen == [(1, 2, "half")]
        logged = [params for method, params in client.heard if method == "notifications/message"]
        assert [(each["level"], each["data"], each["logger"]) for each in logged] == [
            ("warning", "careful", "test-server")
        ]


async def test_an_update_reaches_those_who_subscribed(target: str | list[str]) -> None:
    async with connected(target) as client:

        def told() -> list[str]:
            return [params["uri"] for method, params in client.heard if method == "notifications/resources/updated"]

        await client.subscribe("chat://one?limit=5")
        await client.subscribe("chat://two")
        await client.text("touch", uri="chat://one")
        await client.text("touch", uri="chat://three")
        await client.text("touch", uri="chat://two")
        await until(lambda: len(told()) == 2)
        assert told() == ["chat://one?limit=5", "chat://two"]
        await client.unsubscribe("chat://two")
        await client.text("touch", uri="chat://two")
        await client.text("touch", uri="chat://one?limit=5")
        await until(lambda: len(told()) == 3)
        assert told()[2] == "chat://one?limit=5"


async def test_changed_lists_are_told(target: str | list[str]) -> None:
    async with connected(target) as client:
        await client.text("grow")
        names = ("tools", "prompts", "resources")
        wanted = {f"notifications/{name}/list_changed" for name in names}
        await until(lambda: wanted <= set(client.methods()))


async def test_the_client_is_asked_for_its_person_and_its_model(target: str | list[str]) -> None:
    def answer(message: str) -> dict[str, Any]:
        return {"action": "accept", "content": {"word": message.lower()}}

    async with connected(target, elicit=answer, sample=lambda text: text.upper()) as client:
        assert await client.text("ask") == "accept first? accept second?"
        assert await client.text("sample") == "SAY SOMETHING."


async def test_a_client_that_cannot_be_asked_hears_so(target: str | list[str]) -> None:
    async with connected(target) as client:
        for tool in ("ask", "sample"):
            answer = await client.call(tool)
            assert answer["isError"] is True
            assert "This client cannot ask its" in answer["content"][0]["text"]


@needs_sdk_2
class TestNewestProtocol:
    """Requests that stand for themselves, over stdio and HTTP."""

    async def test_questions_come_back_as_results_and_the_tool_runs_again(self, target: str | list[str]) -> None:
        from support.mcp_newest import newest

        async def answer(context: Any, params: Any) -> Any:
            return types.ElicitResult(action="accept", content={"word": params.message.lower()})

        async with newest(target, elicitation_callback=answer) as client:
            assert client.protocol_version == "2026-07-28"
            assert wire(await client.call_tool("ask", {}))["content"][0]["text"] == "accept first? accept second?"

    async def test_updates_come_on_a_stream_of_their_own(self, target: str | list[str]) -> None:
        from support.mcp_newest import first_update, newest

        async with newest(target) as client:
            assert wire(await client.call_tool("echo", {"text": "小"}))["content"][0]["text"] == "小"
            assert await first_update(client, "chat://one", "chat://one?limit=5") == "chat://one?limit=5"
