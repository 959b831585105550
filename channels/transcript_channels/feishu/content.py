"""The readable text of a Feishu message, whatever its type.

Never raises: what cannot be understood becomes a placeholder such as ``[location]``. Pictures and files are named
with the key by which the platform gives them out, as ``attachments`` says.
Types and shapes: https://open.feishu.cn/document/server-docs/im-v1/message-content-description/message_content
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from transcript_channels.feishu.attachments import placeholder
from transcript_channels.feishu.cards import card_text
from transcript_channels.feishu.fields import LOCALES, Mentions, Node

__all__ = ["text_of"]

_Reader = Callable[[Node, Mentions], str]
_LONGEST_CONTENT: Final = 384 * 1024  # characters; the platform takes 150 KB, which escapes may double
_LONGEST_TEXT: Final = 200_000
_TEMPLATE_FIELD: Final = re.compile(r"\{(\w+)\}")


def text_of(msg_type: Any, content: Any, mentions: Any = ()) -> str:
    """The text of a message; never empty, and never more than 200 000 characters.

    ``content`` is the platform's JSON string (an object is taken as well), ``mentions`` the list that stands
    beside it.
    """
    kind = msg_type if isinstance(msg_type, str) and msg_type else "message"
    if isinstance(content, str) and len(content) > _LONGEST_CONTENT:
        return f"[{_LABELS.get(kind, kind)}: too large to be read]"
    body = _decode(content)
    if body is None:
        return _raw(kind, content)
    reader = _READERS.get(kind)
    text = reader(body, Mentions(mentions)) if reader else _unknown(body)
    return _clipped(text.strip()) or f"[{_LABELS.get(kind, kind)}]"


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]} …"


def _decode(content: Any) -> Node | None:
    if isinstance(content, Mapping):
        return content
    if not isinstance(content, str):
        return {} if content is None else None
    try:
        body = json.loads(content) if content.strip() else {}
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, Mapping) else None


def _raw(kind: str, content: Any) -> str:
    """Content that is not the JSON it should be: a text shows it as it came, the rest a placeholder."""
    if isinstance(content, str) and kind in ("text", "post") and content.strip():
        return content.strip()
    return f"[{_LABELS.get(kind, kind)}]"


def _string(body: Node, *keys: str) -> str:
    return next((value for key in keys if isinstance(value := body.get(key), str) and value.strip()), "")


def _seconds(body: Node) -> str:
    duration = body.get("duration")
    if isinstance(duration, bool) or not isinstance(duration, int | float | str):
        return ""
    try:
        return f"{float(duration) / 1000:.0f} s"
    except (ValueError, OverflowError):
        return ""


def _text(body: Node, mentions: Mentions) -> str:
    return mentions.resolve(_string(body, "text"))


def _post(body: Node, mentions: Mentions) -> str:
    block = _post_block(body)
    if block is None:
        return ""
    rows = block.get("content")
    lines = [_post_row(row, mentions) for row in rows] if isinstance(rows, list) else []
    return "\n".join([line for line in [_string(block, "title")] if line] + lines)


def _post_block(body: Node) -> Node | None:
    """The post itself, out of ``{"post": {"zh_cn": {...}}}``, ``{"zh_cn": {...}}`` or the bare form."""
    inner = body.get("post")
    root = inner if isinstance(inner, Mapping) else body
    if isinstance(root.get("content"), list):
        return root
    candidates = [root.get(locale) for locale in LOCALES] + list(root.values())
    blocks = [block for block in candidates if isinstance(block, Mapping)]
    return next((block for block in blocks if isinstance(block.get("content"), list)), None)


def _post_row(row: Any, mentions: Mentions) -> str:
    elements = row if isinstance(row, list) else [row]
    return "".join(_post_element(element, mentions) for element in elements if isinstance(element, Mapping))


def _post_element(element: Node, mentions: Mentions) -> str:
    tag = element.get("tag")
    if tag == "at":
        return mentions.at(element.get("user_id"), element.get("user_name"))
    if tag == "a":
        return _link(_string(element, "text"), _string(element, "href"))
    if tag == "code_block":
        return f"\n```{_string(element, 'language').lower()}\n{_string(element, 'text').rstrip()}\n```\n"
    if tag == "img":
        return placeholder("image", key=element.get("image_key"))
    if tag == "media":
        return placeholder("video", key=element.get("file_key"))
    if tag == "hr":
        return "\n---\n"
    if tag == "emotion":
        return f"[{_string(element, 'emoji_type') or 'emoji'}]"
    return mentions.resolve(_verbatim(element, "text") or _verbatim(element, "content"))


def _verbatim(element: Node, key: str) -> str:
    value = element.get(key)
    return value if isinstance(value, str) else ""


def _link(text: str, href: str) -> str:
    return f"[{text}]({href})" if text and href and text != href else text or href


def _card(body: Node, mentions: Mentions) -> str:
    return card_text(body, mentions)


def _system(body: Node, mentions: Mentions) -> str:
    """A line the platform writes itself: ``{from_user} invited {to_chatters}``, with the names beside it."""
    divider = body.get("params")
    if isinstance(divider, Mapping) and isinstance(divider.get("divider_text"), Mapping):
        return _string(divider["divider_text"], "text")

    def fill(match: re.Match[str]) -> str:
        value = body.get(match[1])
        names = value if isinstance(value, list) else [value]
        return ", ".join(str(name) for name in names if isinstance(name, str | int) and name != "")

    return _TEMPLATE_FIELD.sub(fill, _string(body, "template", "text")).strip()


def _merged(body: Node, mentions: Mentions) -> str:
    """Forwarded messages: the event has only a stub; the API returns the messages, too, when it is asked for one."""
    items = body.get("items") or body.get("messages")
    if not isinstance(items, list):
        return "[forwarded messages]"
    lines = [_merged_line(item) for item in items if isinstance(item, Mapping)]
    return "\n".join(["[forwarded messages]", *lines])


def _merged_line(item: Node) -> str:
    inner = item.get("body")
    content = inner.get("content") if isinstance(inner, Mapping) else item.get("content")
    kind = _string(item, "msg_type", "message_type")
    nested = kind == "merge_forward"
    text = "[forwarded messages]" if nested else text_of(kind, content, item.get("mentions"))
    sender = item.get("sender")
    name = _string(sender, "sender_name").strip() if isinstance(sender, Mapping) else ""
    return "> " + (f"{name}: {text}" if name else text).replace("\n", "\n> ")


def _vote(body: Node, mentions: Mentions) -> str:
    options = body.get("options")
    choices = [option for option in options if isinstance(option, str)] if isinstance(options, list) else []
    return placeholder("vote", _string(body, "topic") + ("".join(f" / {choice}" for choice in choices)))


def _todo(body: Node, mentions: Mentions) -> str:
    summary = body.get("summary")
    text = _post(summary, mentions) if isinstance(summary, Mapping) else _string(body, "summary")
    return placeholder("task", text)


def _detail(label: str, *keys: str) -> _Reader:
    return lambda body, mentions: placeholder(label, _string(body, *keys))


def _file(label: str) -> _Reader:
    return lambda body, mentions: placeholder(label, _string(body, "file_name"), body.get("file_key"))


def _unknown(body: Node) -> str:
    """A type that we do not know: its text or title, if it has one."""
    return _string(body, "text", "title", "summary")


_READERS: Final[dict[str, _Reader]] = {
    "text": _text,
    "post": _post,
    "interactive": _card,
    "system": _system,
    "merge_forward": _merged,
    "vote": _vote,
    "todo": _todo,
    "image": lambda body, mentions: placeholder("image", key=body.get("image_key")),
    "sticker": _detail("sticker"),  # the platform gives none out, so its key is of no use
    "file": _file("file"),
    "folder": _detail("folder", "file_name"),
    "media": _file("video"),
    "audio": lambda body, mentions: placeholder("audio", _seconds(body), body.get("file_key")),
    "share_chat": _detail("shared group", "chat_name", "name", "chat_id"),
    "share_user": _detail("shared contact", "user_name", "name", "user_id"),
    "location": _detail("location", "name"),
    "hongbao": _detail("red packet", "text"),
    "video_chat": _detail("video call", "topic"),
    "calendar": _detail("calendar event", "summary"),
    "general_calendar": _detail("calendar event", "summary"),
    "share_calendar_event": _detail("calendar event", "summary"),
}

_LABELS: Final[dict[str, str]] = {
    "interactive": "card",
    "merge_forward": "forwarded messages",
    "system": "system message",
    "media": "video",
    "todo": "task",
    "hongbao": "red packet",
    "video_chat": "video call",
    "share_chat": "shared group",
    "share_user": "shared contact",
    "calendar": "calendar event",
    "general_calendar": "calendar event",
    "share_calendar_event": "calendar event",
}
