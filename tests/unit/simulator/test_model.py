"""The scripted OpenAI-compatible endpoint."""

import json
import logging

import aiohttp
import pytest
from support.waiting import until

from transcript_channels.simulator import ModelRequest, Reply, ScriptedModel, ToolCall

MESSAGES = [
    {"role": "system", "content": "be kind"},
    {"role": "user", "content": [{"type": "text", "text": "hello"}]},
]


async def ask(model: ScriptedModel, path: str = "/chat/completions", **body):
    request = {"model": "m", "messages": MESSAGES, **body}
    headers = {"Authorization": "Bearer key-1"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(model.base_url + path, json=request, headers=headers) as answer,
    ):
        return answer.status, await answer.text()


def events(text: str) -> list[dict]:
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


async def test_replies_are_used_one_by_one_and_requests_recorded() -> None:
    async with ScriptedModel(["one", "two"]) as model:
        first, second = await ask(model), await ask(model)
        status, _ = await ask(model)
    texts = [json.loads(text)["choices"][0]["message"]["content"] for _, text in (first, second)]
    assert texts == ["one", "two"]
    assert status == 500
    assert model.requests[0]["messages"] == MESSAGES
    assert model.requests[0].last_user_text == "hello"
    assert model.requests[0].api_key == "key-1"
    assert len(model.requests) == 3


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_function_answers_what_it_is_asked(is_async: bool) -> None:
    def plain(request: ModelRequest) -> str:
        return f"you said {request.last_user_text}"

    async def later(request: ModelRequest) -> str:
        return plain(request)

    async with ScriptedModel(later if is_async else plain) as model:
        _, text = await ask(model)
    assert json.loads(text)["choices"][0]["message"]["content"] == "you said hello"


async def test_a_streamed_reply_comes_in_chunks_with_usage_when_asked() -> None:
    async with ScriptedModel(["one two", Reply(chunks=["a", "b"])]) as model:
        _, words = await ask(model, stream=True, stream_options={"include_usage": True})
        _, chunks = await ask(model, stream=True)
    got = events(words)
    assert [event["choices"][0]["delta"].get("content") for event in got[:2]] == ["one ", "two"]
    assert got[2]["choices"][0]["finish_reason"] == "stop"
    assert got[3]["usage"]["total_tokens"] > 0
    assert [event["choices"][0]["delta"].get("content") for event in events(chunks)] == ["a", "b", None]


@pytest.mark.parametrize("stream", [False, True])
async def test_tool_calls_are_scripted(stream: bool) -> None:
    call = ToolCall("look_up", {"word": "猫"})
    async with ScriptedModel([call]) as model:
        _, text = await ask(model, stream=stream)
    if stream:
        first, last = events(text)
        calls, finish = first["choices"][0]["delta"]["tool_calls"], last["choices"][0]["finish_reason"]
        assert calls[0]["index"] == 0
    else:
        choice = json.loads(text)["choices"][0]
        calls, finish = choice["message"]["tool_calls"], choice["finish_reason"]
    assert calls[0]["function"]["name"] == "look_up"
    assert json.loads(calls[0]["function"]["arguments"]) == {"word": "猫"}
    assert (calls[0]["id"], finish) == (call.id, "tool_calls")


async def test_errors_and_delays_are_scripted() -> None:
    async with ScriptedModel([Reply(status=429, error="slow down"), Reply("late", delay=0.01)]) as model:
        status, text = await ask(model)
        assert status == 429
        assert json.loads(text)["error"]["message"] == "slow down"
        assert (await ask(model))[0] == 200


@pytest.mark.parametrize(("after", "stream"), [(0, False), (0, True), (1, True)])
async def test_the_line_can_be_cut(after: int, stream: bool) -> None:
    async with ScriptedModel([Reply("one two three", drop_after=after)]) as model:
        with pytest.raises(aiohttp.ClientError):
            await ask(model, stream=stream)


async def test_the_models_are_listed_with_and_without_v1() -> None:
    async with ScriptedModel() as model, aiohttp.ClientSession() as session:
        for base in (model.base_url, model.base_url.removesuffix("/v1")):
            async with session.get(base + "/models") as answer:
                assert (await answer.json())["data"][0]["id"] == "scripted"


async def test_a_body_that_is_no_json_is_refused() -> None:
    async with ScriptedModel() as model, aiohttp.ClientSession() as session:
        async with session.post(model.base_url + "/chat/completions", data=b"{") as answer:
            assert answer.status == 400
        assert model.requests == []


@pytest.mark.parametrize("text", ["hello\n\n{0}", "{0}\nhello", "{0}\n{0}\nhello\n{0}", "hello"])
def test_a_persons_words_are_told_from_what_the_program_added(text: str) -> None:
    block = "[Runtime Context — metadata only, not instructions]\nhow are you?\n[/Runtime Context]"
    whole = text.format(block)
    request = ModelRequest({"messages": [{"role": "user", "content": whole}]}, {})
    assert (request.question, request.last_user_text) == ("hello", whole)


async def test_a_client_may_hang_up_in_the_middle_of_a_stream(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "transcript_channels.simulator.model")
    endless = Reply(chunks=["x" * 10_000] * 100_000, chunk_delay=0.001)
    async with ScriptedModel([endless]) as model, aiohttp.ClientSession() as session:
        body = {"model": "m", "messages": MESSAGES, "stream": True}
        async with session.post(model.base_url + "/chat/completions", json=body) as answer:
            await answer.content.readline()
            answer.close()
        await until(lambda: "hung up" in caplog.text)
    assert [record.levelname for record in caplog.records if record.levelno > logging.INFO] == []


def test_a_request_answers_common_questions() -> None:
    messages = [
        *MESSAGES,
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "content": "found"},
    ]
    body = {"messages": messages, "tools": [{"function": {"name": "look_up"}}]}
    request = ModelRequest(body, {})
    assert request.tool_results == ["found"]
    again = ModelRequest({"messages": [*messages, MESSAGES[1], {"role": "tool", "content": "more"}]}, {})
    assert again.tool_results == ["more"], "what tools said to earlier questions is no news"
    assert request.tool_names == ["look_up"]
    assert request.text == "be kind\nhello\n\nfound"
