"""The server that the conformance suite asks for: fixed names and answers, built with our own sdk, in our own hub.

python tests/conformance/fixture.py          prints the port on which /mcp is served, and ends with its stdin
"""

import asyncio
import base64
import sys
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from nanobot_transcript.errors import TranscriptError
from transcript_mcp.sdk import Audio, Context, Embedded, Image, Message, Server, Text

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
WAV = b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0D\xac\0\0\x88X\1\0\2\0\x10\0data\0\0\0\0"
STRING: dict[str, Any] = {"type": "string"}
OPTIONS = ["option1", "option2", "option3"]


def titled(*names: str) -> list[dict[str, str]]:
    """Values with what a person is shown for each."""
    return [{"const": f"value{number}", "title": name} for number, name in enumerate(names, 1)]


def fixture() -> Server:
    """Everything that the suite calls by name."""
    server = Server("conformance-fixture", version="1.0.0", instructions="Answers what the conformance suite asks for.")
    add_plain_tools(server)
    add_asking_tools(server)
    add_resources(server)
    add_prompts(server)
    return server


def add_plain_tools(server: Server) -> None:
    """Tools that need nothing of the client, or only tell it something."""

    @server.tool
    def test_simple_text() -> str:
        """Returns text."""
        return "This is a simple text response for testing."

    @server.tool
    def test_image_content() -> Image:
        """Returns a picture of one pixel."""
        return Image(PNG, "image/png")

    @server.tool
    def test_audio_content() -> Audio:
        """Returns a sound without samples."""
        return Audio(WAV, "audio/wav")

    @server.tool
    def test_embedded_resource() -> Embedded:
        """Returns a resource's content."""
        return Embedded("test://embedded-resource", "This is an embedded resource content.", "text/plain")

    @server.tool
    def test_multiple_content_types() -> list[Any]:
        """Returns text, a picture and a resource."""
        data = Embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
        return [Text("Multiple content types test:"), Image(PNG, "image/png"), data]

    @server.tool
    def test_error_handling() -> str:
        """Always fails."""
        raise TranscriptError("This tool intentionally returns an error for testing")

    @server.tool
    async def test_tool_with_logging(ctx: Context) -> str:
        """Sends three lines to the client's log."""
        for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await ctx.log("info", text)
            await asyncio.sleep(0.05)
        return "Logged."

    @server.tool
    async def test_tool_with_progress(ctx: Context) -> str:
        """Tells three times how far it is."""
        for done in (0, 50, 100):
            await ctx.progress(done, 100)
            await asyncio.sleep(0.05)
        return "Done."


def add_asking_tools(server: Server) -> None:
    """Tools that ask the client for something."""

    @server.tool
    async def test_sampling(prompt: Annotated[str, Field(description="What to ask the model.")], ctx: Context) -> str:
        """Asks the client's model."""
        return f"LLM response: {await ctx.sample(prompt, max_tokens=100)}"

    @server.tool
    async def test_elicitation(
        message: Annotated[str, Field(description="What to ask the person.")], ctx: Context
    ) -> str:
        """Asks the client's person."""
        properties = {
            "username": STRING | {"description": "User's response"},
            "email": STRING | {"description": "User's email address"},
        }
        schema = {"type": "object", "properties": properties, "required": ["username", "email"]}
        answer = await ctx.elicit(message, schema)
        return f"User response: action={answer.action}, content={answer.content}"

    @server.tool
    async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
        """Asks with a default for each kind of value."""
        properties = {
            "name": STRING | {"default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": STRING | {"enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": True},
        }
        answer = await ctx.elicit("Please check these values.", {"type": "object", "properties": properties})
        return f"Elicitation completed: action={answer.action}, content={answer.content}"

    @server.tool
    async def test_elicitation_sep1330_enums(ctx: Context) -> str:
        """Asks with each way to offer a choice."""
        properties = {
            "untitledSingle": STRING | {"enum": OPTIONS},
            "titledSingle": STRING | {"oneOf": titled("First Option", "Second Option", "Third Option")},
            "legacyEnum": STRING
            | {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
            "untitledMulti": {"type": "array", "items": STRING | {"enum": OPTIONS}},
            "titledMulti": {
                "type": "array",
                "items": {"anyOf": titled("First Choice", "Second Choice", "Third Choice")},
            },
        }
        answer = await ctx.elicit("Please choose.", {"type": "object", "properties": properties})
        return f"Elicitation completed: action={answer.action}, content={answer.content}"


def add_resources(server: Server) -> None:
    """Fixed resources and one family."""

    def static_text() -> str:
        """Text that never changes."""
        return "This is the content of the static text resource."

    def static_binary() -> bytes:
        """A picture that never changes."""
        return PNG

    def watched() -> str:
        """Text that one can subscribe to."""
        return "Watched resource content"

    def data(id: Annotated[str, Field(description="Which one.")]) -> dict[str, Any]:  # noqa: A002 - the suite's name
        """Data for an id."""
        return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}

    server.resource("test://static-text", static_text)
    server.resource("test://static-binary", static_binary, mime_type="image/png")
    server.resource("test://watched-resource", watched)
    server.template("test://template/{id}/data", data, mime_type="application/json")


def add_prompts(server: Server) -> None:
    """Prompts, and suggestions for the arguments of one."""

    @server.prompt
    def test_simple_prompt() -> str:
        """A prompt without arguments."""
        return "This is a simple prompt for testing."

    @server.prompt
    def test_prompt_with_arguments(
        arg1: Annotated[str, Field(description="First test argument")],
        arg2: Annotated[str, Field(description="Second test argument")],
    ) -> str:
        """A prompt with two arguments."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt
    def test_prompt_with_embedded_resource(
        resourceUri: Annotated[str, Field(description="URI of the resource to embed")],  # noqa: N803 - the suite's name
    ) -> list[Message]:
        """A prompt that carries a resource."""
        resource = Embedded(resourceUri, "Embedded resource content for testing.", "text/plain")
        return [Message(resource), Message("Please process the embedded resource above.")]

    @server.prompt
    def test_prompt_with_image() -> list[Message]:
        """A prompt that carries a picture."""
        return [Message(Image(PNG, "image/png")), Message("Please analyze the image above.")]

    def suggest(begun: str, others: dict[str, str]) -> list[str]:
        return [name for name in ("paris", "park", "party") if name.startswith(begun)]

    server.completion("test_prompt_with_arguments", "arg1", suggest)


async def serve_http() -> None:
    """Until stdin ends."""
    from aiohttp import web

    from nanobot_transcript.settings import Settings
    from transcript_mcp.hub import create_app
    from transcript_mcp.room import OpenRoom
    from transcript_mcp.rooms import open_rooms

    # The product's own servers read nothing of this machine and are asked for their lists only.
    folder = Path(sys.argv[1])
    settings = Settings.model_validate({"store": {"dir": str(folder / "transcripts")}})
    rooms = {"fixture": OpenRoom(fixture()), **open_rooms(settings)}
    runner = web.AppRunner(create_app(settings, rooms), access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)  # noqa: T201
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(serve_http())
