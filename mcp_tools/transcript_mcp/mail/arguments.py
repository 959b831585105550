"""The parameters that several tools share: types, limits and descriptions."""

from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from transcript_mcp.mail import values
from transcript_mcp.mail.messages.boxes import MOST_FOUND

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
MOST_QUOTED: Final = 50


def _alone(given: Any) -> Any:
    """Wraps a single text in a list: models write ``to: "BlueLake"``. A list as a JSON string is decoded later."""
    return [given] if isinstance(given, str) and not given.lstrip().startswith("[") else given


One: Final = BeforeValidator(_alone)
Project = Annotated[str, Field(description="The project: usually its code's absolute path, the same for all agents.")]
Agent = Annotated[str, Field(description="Your agent name.")]
Token = Annotated[str | None, Field(description="Your agent token, if the server requires one.")]
Program = Annotated[str, Field(description="The program you run in, such as claude-code.")]
Model = Annotated[str, Field(description="Your model.")]
Task = Annotated[str, Field(description="What you are working on.")]
Body = Annotated[str, Field(description="In Markdown.")]
Cc = Annotated[list[str] | None, One, Field(description="Further recipients.")]
Bcc = Annotated[list[str] | None, One, Field(description="Recipients hidden from the others.")]
Importance = Annotated[values.Importance, Field(description="How important it is.")]
Ack = Annotated[bool, Field(description="Whether recipients have to acknowledge it.")]
Bodies = Annotated[bool, Field(description="Include the bodies, up to 4 MB.")]
Unread = Annotated[bool, Field(description="Only what you have not marked as read.")]
Reason = Annotated[str, Field(description="Why, for others who want to work there.")]
Active = Annotated[bool, Field(description="Leave out expired and released claims.")]
Id = Annotated[str, Field(description="Id of the message.")]
Folder = Annotated[str, Field(description="A folder in the git work tree.")]
Convert = Annotated[bool, Field(description="Attach local images from the body, as WebP.")]
Embed = Annotated[
    values.ImagePolicy | None,
    Field(description="auto: small images in the text, others as files. file, inline: only that."),
]
Inline = Annotated[int | None, Field(ge=0, description="Largest image in the text, in bytes.")]
Once = Annotated[str | None, Field(description="A repeated call with the same key sends nothing twice.")]
Chat = Annotated[
    str | None, Field(description="A group chat (feishu:oc_1) whose newest messages are quoted below the body.")
]
Quoted = Annotated[int, Field(description=f"With context_chat: how many, up to {MOST_QUOTED}.")]
Before = Annotated[str | None, Field(description="Value from the previous answer, to read on.")]
ReplyAll = Annotated[bool, Field(description="Reply to everyone named in the message, except yourself.")]
Found = Annotated[int, Field(description=f"How many at most, up to {MOST_FOUND}.")]
Limit = Annotated[int, Field(description=f"How many at most, up to {MOST}.")]
Paths = Annotated[
    list[str] | None, One, Field(description="Paths or patterns in the project: *.{ts,tsx}, docs/**, app/")
]
PathsList = Annotated[list[str] | None, One, Field(description="The same as paths.")]
Ttl = Annotated[float | None, Field(description="Seconds that the claim lasts. Default: 3600.")]


def bounded(limit: int) -> int:
    """The limit of an answer's items, within the allowed range."""
    return min(max(1, limit), MOST)
