"""A mind that follows a script."""

from typing import Any

from support.memory_chat import profile

from nanobot_transcript.conversation.prompt import Prompt, build_messages
from nanobot_transcript.runner.responders.scripted import ScriptedResponder, ScriptLine


def prompt(text: str, sender: str = "Ada") -> Prompt:
    message: Any = {
        "role": "user",
        "content": text,
        "sender": "on_1",
        "sender_name": sender,
        "message_id": "m",
        "ts": 1,
    }
    return build_messages(profile("Alpha"), "feishu:oc_1", message, transcript_history=[])


async def said(responder: ScriptedResponder, text: str, sender: str = "Ada") -> str:
    return "".join([piece async for piece in responder.respond(prompt(text, sender))])


async def test_the_first_line_that_fits_is_said_and_its_blanks_are_filled_once() -> None:
    script = [ScriptLine("Hello {sender}: {message}", "hello"), ScriptLine("What?", "?")]
    responder = ScriptedResponder(script)
    assert await said(responder, "HELLO {sender}", "{message}") == "Hello {message}: HELLO {sender}"
    assert await said(responder, "why?") == "What?"
    assert await said(responder, "nothing fits") == ""
    assert [one.message["content"] for one in responder.prompts] == ["HELLO {sender}", "why?", "nothing fits"]


async def test_answers_are_said_in_turn_and_from_the_beginning_again() -> None:
    responder = ScriptedResponder(["one", "two"])
    assert [await said(responder, "x") for _ in range(3)] == ["one", "two", "one"]


async def test_a_function_may_decide() -> None:
    assert await said(ScriptedResponder(lambda prompt: prompt.agent.name * 30), "x") == "Alpha" * 30
