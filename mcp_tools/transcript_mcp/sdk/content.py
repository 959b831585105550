"""What tools, prompts and resources return, and its wire format.

A tool may return text, anything that has a JSON form (dict, list, dataclass, pydantic model, msgspec struct), one
of the classes below, or a list with at least one of them in it. Everything that is not text or one of these classes
becomes JSON text: compact, characters as they are, nothing escaped to ASCII.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import msgspec

__all__ = ["Audio", "Content", "Embedded", "Image", "Link", "Message", "Result", "Text"]

Wire: TypeAlias = dict[str, Any]
"""A JSON object with the protocol's own names."""


@dataclass(frozen=True, slots=True)
class Text:
    """Text beside other content."""

    text: str

    def wire(self) -> Wire:
        """The content block."""
        return {"type": "text", "text": clean(self.text)}


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: its bytes and the media type, such as ``image/webp``."""

    data: bytes
    mime_type: str

    def wire(self) -> Wire:
        """The content block."""
        return {"type": "image", "data": _base64(self.data), "mimeType": self.mime_type}


@dataclass(frozen=True, slots=True)
class Audio:
    """Sound: its bytes and the media type, such as ``audio/wav``."""

    data: bytes
    mime_type: str

    def wire(self) -> Wire:
        """The content block."""
        return {"type": "audio", "data": _base64(self.data), "mimeType": self.mime_type}


@dataclass(frozen=True, slots=True)
class Embedded:
    """The content of a resource, text or bytes. A resource returns it to choose its own media type."""

    uri: str
    data: str | bytes
    mime_type: str | None = None

    def wire(self) -> Wire:
        """The content block."""
        return {"type": "resource", "resource": self.contents()}

    def contents(self) -> Wire:
        """The same as ``resources/read`` gives it."""
        head: Wire = {"uri": self.uri}
        if self.mime_type is not None:
            head["mimeType"] = self.mime_type
        if isinstance(self.data, bytes):
            return head | {"blob": _base64(self.data)}
        return head | {"text": clean(self.data)}


@dataclass(frozen=True, slots=True)
class Link:
    """A reference to a resource that the client can read."""

    uri: str
    name: str
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None

    def wire(self) -> Wire:
        """The content block."""
        optional = {"description": self.description, "mimeType": self.mime_type, "size": self.size}
        return {"type": "resource_link", "uri": self.uri, "name": self.name} | {
            name: value for name, value in optional.items() if value is not None
        }


Content: TypeAlias = Text | Image | Audio | Embedded | Link
"""Content that is more than text."""

_CONTENT = (Text, Image, Audio, Embedded, Link)


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's content with ``data`` for programs beside it, or content that is an error."""

    content: str | Sequence[Content]
    data: Wire | None = None
    is_error: bool = False

    def wire(self) -> Wire:
        """The result of a call."""
        data: Wire = {} if self.data is None else {"structuredContent": self.data}
        return {"content": blocks(self.content)} | data | {"isError": self.is_error}


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt."""

    content: str | Content
    role: Literal["user", "assistant"] = "user"

    def wire(self) -> Wire:
        """The prompt message."""
        content = Text(self.content) if isinstance(self.content, str) else self.content
        return {"role": self.role, "content": content.wire()}


def blocks(value: Any) -> list[Wire]:
    """A tool's return value as content blocks. Raises TypeError for what has no JSON form."""
    if value is None:
        return []
    if isinstance(value, str):
        return [Text(value).wire()]
    if isinstance(value, _CONTENT):
        return [value.wire()]
    if isinstance(value, (list, tuple)) and any(isinstance(item, _CONTENT) for item in value):
        return [block for item in value for block in blocks(item)]
    return [Text(json_text(value)).wire()]


def json_text(value: Any) -> str:
    """Compact JSON with all characters as they are. Raises TypeError for what has no JSON form."""
    try:
        return msgspec.json.encode(value, enc_hook=_model).decode()
    except UnicodeEncodeError:  # msgspec refuses lone surrogates; the standard library writes them
        return clean(json.dumps(plain(value), ensure_ascii=False, separators=(",", ":")))


def plain(value: Any) -> Any:
    """Dicts, lists, strings and numbers in place of models, structs and dataclasses."""
    return msgspec.to_builtins(value, enc_hook=_model, str_keys=True)


def clean(text: str) -> str:
    """The text with lone surrogates replaced; UTF-8, and so the protocol, cannot carry them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _model(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)  # pydantic, without importing it
    if dump is not None:
        return dump(mode="json", by_alias=True)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
