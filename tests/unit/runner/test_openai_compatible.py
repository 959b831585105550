"""A model behind an endpoint as a mind: the real openai package against a scripted endpoint on loopback."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from support.memory_chat import profile

from nanobot_transcript.conversation.prompt import Prompt, build_messages
from nanobot_transcript.errors import ConfigError, ResponderError, ResponderTimeoutError
from nanobot_transcript.runner.responders.openai_compatible import OpenAIOptions, OpenAIResponder
from transcript_channels.simulator import Reply, ScriptedModel, ToolCall


def prompt(text: str = "hello") -> Prompt:
    message: Any = {"role": "user", "content": text, "sender": "on_ada", "message_id": "om_1", "ts": 1.0}
    return build_messages(profile("Alpha"), "feishu:oc_1", message, transcript_history=[])


@asynccontextmanager
async def asking(base_url: str, **options: Any) -> AsyncIterator[OpenAIResponder]:
    given: dict[str, Any] = {"model": "scripted", "base_url": base_url, "api_key": "sk-test", "retries": 0, **options}
    responder = OpenAIResponder(OpenAIOptions(**given))
    try:
        yield responder
    finally:
        await responder.close()


async def answer(base_url: str, **options: Any) -> list[str]:
    async with asking(base_url, **options) as responder:
        return [piece async for piece in responder.respond(prompt())]


async def test_the_answer_comes_in_pieces_and_the_prompt_arrives_whole() -> None:
    async with ScriptedModel([Reply("one two three")]) as model:
        pieces = await answer(model.base_url, extra={"temperature": 0.5})
        assert "".join(pieces) == "one two three"
        assert len(pieces) > 1
        (request,) = model.requests
        assert request["model"] == "scripted"
        assert request["temperature"] == 0.5
        assert request["stream"] is True
        assert [message["role"] for message in request["messages"]] == ["system", "user"]
        assert request["messages"][1]["content"].endswith("hello")
        assert request.api_key == "sk-test"


async def test_an_endpoint_without_a_key_needs_none() -> None:
    async with ScriptedModel([Reply("hi")]) as model:
        assert "".join(await answer(model.base_url, api_key=None)) == "hi"


async def test_an_answer_without_text_is_no_answer() -> None:
    async with ScriptedModel([ToolCall("read_file")]) as model:
        assert "".join(await answer(model.base_url)) == ""


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "api_key"), (404, "base_url"), (429, "Too many"), (400, "extra"), (500, "log")]
)
async def test_a_refusal_says_what_to_look_at(status: int, hint: str) -> None:
    async with ScriptedModel([Reply(status=status, error="because of this")]) as model:
        with pytest.raises(ResponderError, match=r"refused: .*because of this") as caught:
            await answer(model.base_url)
    assert hint in caught.value.hint
    assert "sk-test" not in str(caught.value)


async def test_an_endpoint_that_is_not_there_is_told() -> None:
    with pytest.raises(ResponderError, match=r"http://127\.0\.0\.1:9/v1 cannot be reached"):
        await answer("http://127.0.0.1:9/v1")


async def test_an_endpoint_that_says_nothing_is_given_up() -> None:
    async with ScriptedModel([Reply("late", delay=30)]) as model:
        with pytest.raises(ResponderTimeoutError, match=r"nothing for 0\.2 s"):
            await answer(model.base_url, timeout=0.2)


async def test_a_line_that_is_cut_in_the_middle_is_an_error_and_not_an_answer() -> None:
    async with ScriptedModel([Reply("one two three", drop_after=1)]) as model:
        with pytest.raises(ResponderError):
            await answer(model.base_url)


@asynccontextmanager
async def endpoint(body: bytes, content_type: str, status: int = 200) -> AsyncIterator[str]:
    async def handle(_: web.Request) -> web.Response:
        return web.Response(body=body, status=status, headers={"Content-Type": content_type})

    application = web.Application()
    application.router.add_route("*", "/{anything:.*}", handle)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<html>hello</html>", "text/html"),
        (b'{"choices": []}', "application/json"),
        (b"data: this is no json\n\n", "text/event-stream"),
        (b"", "text/event-stream"),
    ],
)
async def test_something_that_is_no_chat_endpoint_is_told(body: bytes, content_type: str) -> None:
    async with endpoint(body, content_type) as url:
        with pytest.raises(ResponderError, match="not like a chat endpoint") as caught:
            await answer(url)
    assert url in str(caught.value)
    assert "/v1" in caught.value.hint


@pytest.mark.parametrize(
    "event",
    [b'{"choices": []}', b'{"choices": [{"delta": null}]}', b'{"choices": [{"delta": {"content": null}}]}', b"{}"],
)
async def test_events_without_text_are_passed_over(event: bytes) -> None:
    body = b"data: " + event + b'\n\ndata: {"choices": [{"delta": {"content": "ok"}}]}\n\ndata: [DONE]\n\n'
    async with endpoint(body, "text/event-stream") as url:
        assert await answer(url) == ["ok"]


async def test_an_error_in_the_middle_of_the_stream_is_told() -> None:
    body = b'data: {"choices": [{"delta": {"content": "ok"}}]}\n\ndata: {"error": {"message": "out of memory"}}\n\n'
    async with endpoint(body, "text/event-stream") as url:
        with pytest.raises(ResponderError, match="out of memory"):
            await answer(url)


async def test_whoever_stops_reading_hangs_up() -> None:
    replies = [Reply("one two three four", chunk_delay=0.01), Reply("next")]
    async with ScriptedModel(replies) as model, asking(model.base_url) as responder:
        async with aclosing(responder.respond(prompt())) as pieces:  # pyright: ignore[reportArgumentType]
            assert await anext(pieces)
        assert "".join([piece async for piece in responder.respond(prompt())]) == "next"


def test_a_model_must_be_named() -> None:
    with pytest.raises(ConfigError):
        OpenAIResponder(OpenAIOptions(""))


def test_the_key_does_not_show_when_options_are_printed() -> None:
    assert "sk-secret" not in repr(OpenAIOptions("m", api_key="sk-secret"))
