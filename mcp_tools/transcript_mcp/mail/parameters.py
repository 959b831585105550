"""The parameters that several tools share: types, bounds, and what clients are told about each."""

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

__all__ = [
    "MOST",
    "MOST_QUOTED",
    "Ack",
    "Active",
    "Agent",
    "Bcc",
    "Before",
    "Bodies",
    "Body",
    "Cc",
    "Chat",
    "Convert",
    "Embed",
    "Folder",
    "Found",
    "Id",
    "Importance",
    "Inline",
    "Limit",
    "Model",
    "Once",
    "One",
    "Paths",
    "PathsList",
    "Policy",
    "Program",
    "Project",
    "Quoted",
    "Reason",
    "ReplyAll",
    "Task",
    "Token",
    "Ttl",
    "Unread",
    "bounded",
]

MOST: Final = 200
MOST_FOUND: Final = 100
MOST_QUOTED: Final = 50


def _alone(given: Any) -> Any:
    """What is no list becomes a list of one: models write ``to: "BlueLake"``. A list as JSON is read later."""
    return [given] if isinstance(given, str) and not given.lstrip().startswith("[") else given


One: Final = BeforeValidator(_alone)
Project = Annotated[str, Field(description="The project: usually its code's absolute path, the same for all agents.")]
Agent = Annotated[str, Field(description="Name of the agent that you are.")]
Token = Annotated[str | None, Field(description="The agent's token, where the server asks for it.")]
Program = Annotated[str, Field(description="What you run in, such as claude-code.")]
Model = Annotated[str, Field(description="The model you are.")]
Task = Annotated[str, Field(description="What you are working on.")]
Body = Annotated[str, Field(description="In Markdown.")]
Cc = Annotated[list[str] | None, One, Field(description="Further recipients.")]
Bcc = Annotated[list[str] | None, One, Field(description="Recipients that the others do not see.")]
Importance = Annotated[Literal["low", "normal", "high", "urgent"], Field(description="How important it is.")]
Ack = Annotated[bool, Field(description="Whether recipients have to acknowledge it.")]
Bodies = Annotated[bool, Field(description="With the bodies, up to 4 MB of them.")]
Unread = Annotated[bool, Field(description="Only what you have not marked as read.")]
Reason = Annotated[str, Field(description="Why, for those who want to work there, too.")]
Active = Annotated[bool, Field(description="Without those that ran out or were released.")]
Id = Annotated[str, Field(description="Id of the message.")]
Folder = Annotated[str, Field(description="A folder of the git work tree.")]
Policy = Literal["auto", "file", "inline"]
Convert = Annotated[bool, Field(description="Take local images of the body along, as WebP.")]
Embed = Annotated[Policy | None, Field(description="Small images in the text, others as files; or one of both.")]
Inline = Annotated[int | None, Field(ge=0, description="Largest image in the text, in bytes.")]
Once = Annotated[str | None, Field(description="A repeated call with the same key sends nothing again.")]
Chat = Annotated[str | None, Field(description="A group chat (feishu:oc_1) whose newest messages are quoted below.")]
Quoted = Annotated[int, Field(description=f"With context_chat: how many, up to {MOST_QUOTED}.")]
Before = Annotated[str | None, Field(description="As the answer before told it, to read on.")]
ReplyAll = Annotated[bool, Field(description="Reply to everyone named in the message, except yourself.")]
Found = Annotated[int, Field(description=f"How many at the most, up to {MOST_FOUND}.")]
Limit = Annotated[int, Field(description=f"How many at the most, up to {MOST}.")]
Paths = Annotated[
    list[str] | None, One, Field(description="Paths or patterns in the project: *.{ts,tsx}, docs/**, app/")
]
PathsList = Annotated[list[str] | None, One, Field(description="The same as paths.")]
Ttl = Annotated[float | None, Field(description="Seconds that the claim lasts, 3600 if left out.")]


def bounded(limit: int) -> int:
    """How many an answer may have; it says how many more there are."""
    return min(max(1, limit), MOST)
