"""The names of the MCP servers as commands take them."""

from nanobot_transcript.cli.language import said
from nanobot_transcript.cli.problems import UsageError

__all__ = ["server_names"]


def server_names(text: str) -> tuple[str, ...]:
    """``"transcript,filebox"`` as names, each once. Raises UsageError for one that there is not."""
    from transcript_mcp.rooms import ROOMS

    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in ROOMS]
    if unknown or not names:
        wrong = said("There is no server {name}.", name=repr(unknown[0])) if unknown else said("No server is named.")
        hint = said("The servers: {names}. Separate several with commas.", names=", ".join(ROOMS))
        raise UsageError(wrong, hint=hint)
    return names
