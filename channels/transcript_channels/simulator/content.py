"""Contents of messages as the platform keeps them, and how people read them.

A text is ``{"text": "@_user_1 hello"}``, a post ``{"title": "", "content": [[{"tag": "text", "text":
"hello"}]]}``, a card its own JSON. Mentions stand as keys (``@_user_1``); who is behind a key depends on who
looks.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["CARD_PLACEHOLDER", "card_strings", "card_texts", "degraded_card", "find_element", "readable"]

CARD_PLACEHOLDER = "请升级至最新版本客户端，以查看内容"
"""What the history gives instead of a card of schema 2.0 when nobody asks for the card's content."""

_KEY = re.compile(r"@_user_\d+|@_all")


def readable(msg_type: str, content: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """The text of a message as people see it: names instead of keys, a card's texts line by line."""
    if msg_type == "text":
        return _with_names(str(content.get("text", "")), names)
    if msg_type == "post":
        return _readable_post(content, names)
    if msg_type == "interactive":
        return "\n".join(card_texts(content))
    return f"[{msg_type}]"


def _with_names(text: str, names: Mapping[str, str]) -> str:
    def name(match: re.Match[str]) -> str:
        key = match.group()
        return "@all" if key == "@_all" else "@" + names.get(key, key.removeprefix("@"))

    return _KEY.sub(name, text)


def _readable_post(content: Mapping[str, Any], names: Mapping[str, str]) -> str:
    lines = [str(content["title"])] if content.get("title") else []
    for row in content.get("content", []):
        parts: list[str] = []
        for node in row:
            if node.get("tag") == "at":
                parts.append(_with_names(str(node.get("user_id", "")), names))
            else:
                parts.append(_with_names(str(node.get("text", "")), names))
        lines.append("".join(parts))
    return "\n".join(lines)


def card_texts(node: Any) -> list[str]:
    """The visible strings of a card: its title, markdown, plain text, button labels, in order."""
    if isinstance(node, list):
        return [text for child in node for text in card_texts(child)]
    if not isinstance(node, dict):
        return []
    own = [node[key] for key in ("content", "text") if isinstance(node.get(key), str) and node.get(key)]
    nested = ("header", "title", "text", "body", "elements", "actions", "fields", "columns")
    children = [text for key in nested for text in card_texts(node.get(key))]
    return [str(text) for text in own] + children


def card_strings(node: Any) -> Iterator[str]:
    """Every string in a card, visible or not."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, list):
        for child in node:
            yield from card_strings(child)
    elif isinstance(node, dict):
        for child in node.values():
            yield from card_strings(child)


def degraded_card(card: Mapping[str, Any]) -> dict[str, Any]:
    """A card as events and plain history calls show it: a placeholder for schema 2.0, bare texts for older
    ones.
    """
    title = _title(card)
    if card.get("schema") == "2.0":
        return {"title": title, "elements": [[{"tag": "text", "text": CARD_PLACEHOLDER}]]}
    texts = card_texts({key: value for key, value in card.items() if key != "header"})
    return {"title": title, "elements": [[{"tag": "text", "text": text}] for text in texts]}


def _title(card: Mapping[str, Any]) -> str | None:
    texts = card_texts(card.get("header"))
    return texts[0] if texts else None


def find_element(node: Any, element_id: str) -> dict[str, Any] | None:
    """The element of a card with this ``element_id``."""
    if isinstance(node, dict):
        if node.get("element_id") == element_id:
            return node
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            found = find_element(child, element_id)
            if found is not None:
                return found
    return None
