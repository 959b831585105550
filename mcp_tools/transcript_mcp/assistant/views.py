"""Converts answers and messages to the content of a tool's result."""

from collections.abc import Sequence
from urllib.parse import quote, unquote

from transcript_mcp.assistant.questions.values import AnswerContent
from transcript_mcp.sdk import Audio, Embedded, Image, Text
from transcript_mcp.sdk import Content as Block

__all__ = ["shown"]


def shown(contents: Sequence[AnswerContent], largest: int) -> list[Block]:
    """One block for each; an attachment of more than ``largest`` bytes is only named."""
    return [_block(number, content, largest) for number, content in enumerate(contents)]


def _block(number: int, content: AnswerContent, largest: int) -> Block:
    if content.kind == "text":
        return Text(content.text)
    if len(content.data) > largest:
        name = _name(content.uri) if content.uri else content.mime_type or content.kind
        return Text(f"({name}: {len(content.data)} bytes, more than assistant.max_attachment allows)")
    if content.kind == "image":
        return Image(content.data, content.mime_type)
    if content.kind == "audio":
        return Audio(content.data, content.mime_type)
    uri = f"attachment://file/{number}/{quote(_name(content.uri), safe='')}"
    return Embedded(uri, _text_or_bytes(content), content.mime_type or None)


def _name(uri: str) -> str:
    """The name of a file: pages send a URI, other programs a plain name."""
    name = uri.rpartition("/")[2] or "file"
    return unquote(name) if "://" in uri else name


def _text_or_bytes(content: AnswerContent) -> str | bytes:
    if content.mime_type.startswith("text/"):
        try:
            return content.data.decode()
        except UnicodeDecodeError:
            return content.data
    return content.data
