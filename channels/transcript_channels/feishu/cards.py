"""The text of an interactive card: the old layout, card schema 2.0, and the flattened form of events.

The parts are read in the order in which the card shows them. Layout without words (rules, styles) is left out.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from transcript_channels.feishu.attachments import placeholder
from transcript_channels.feishu.fields import LOCALES, Mentions, Node

__all__ = ["card_text"]

_NOT_SHOWN: Final = "请升级至最新版本客户端，以查看内容"
"""What the platform returns for a card that it cannot flatten: "update your client to see this"."""

_DEEPEST: Final = 24
_COLUMNS: Final = 50  # as many as the platform allows
_ROWS: Final = 500
_PICTURES: Final = 20
_WRITTEN: Final = ("user_dsl", "json_card")  # the card as its author wrote it
_WRAPPED: Final = ("card", "data")
_TEXT_TAGS: Final = frozenset({"markdown", "lark_md", "plain_text", "text", "md", "div", "note", "standard_icon"})
_PLACEHOLDERS: Final = {
    "audio": "[audio]",
    "chart": "[chart]",
    "video": "[video]",
}
_INPUTS: Final = frozenset(
    {
        "input",
        "select_static",
        "select_person",
        "multi_select_static",
        "date_picker",
        "picker_time",
        "checker",
    }
)


def card_text(card: Any, mentions: Mentions) -> str:
    """Title and body of a card, one part per line; ``""`` when it has no words (it names a stored card)."""
    text = "\n".join(part for part in (part.strip() for part in _card(card, mentions, 0)) if part)
    return "" if text == _NOT_SHOWN else text


def _card(card: Any, mentions: Mentions, depth: int) -> Iterator[str]:
    node = _object(card)
    if node is None or depth > _DEEPEST:
        return
    inner = _inner(node)
    if inner is not None:
        yield from _card(inner, mentions, depth + 1)
        return
    yield from _heading(node, mentions)
    body = node.get("body")
    for holder in (node, body if isinstance(body, Mapping) else {}):
        yield from _children(_elements(holder), mentions, depth + 1)


def _inner(node: Node) -> Node | None:
    """The card inside an envelope; None if ``node`` is the card. The author's version goes before the flattened copy,
    which may stand beside it and lacks parts.
    """
    written = next((_object(node[key]) for key in _WRITTEN if key in node), None)
    if written is not None or "elements" in node or "body" in node:
        return written
    return next((_object(node[key]) for key in _WRAPPED if key in node), None)


def _object(value: Any) -> Node | None:
    """An object, given as it is or as JSON text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, Mapping) else None


def _elements(holder: Node) -> Any:
    if "elements" in holder:
        return holder["elements"]
    translated = holder.get("i18n_elements")
    if not isinstance(translated, Mapping):
        return None
    choices = [translated.get(locale) for locale in LOCALES] + list(translated.values())
    return next((choice for choice in choices if isinstance(choice, list)), None)


def _heading(card: Node, mentions: Mentions) -> Iterator[str]:
    header = card.get("header")
    holder = header if isinstance(header, Mapping) else card
    for key in ("title", "subtitle"):
        yield _words(holder.get(key), mentions)


def _children(elements: Any, mentions: Mentions, depth: int) -> Iterator[str]:
    """A list of elements; a list inside it is one line of inline elements."""
    if depth > _DEEPEST or not isinstance(elements, list):
        return
    for element in elements:
        if isinstance(element, list):
            yield "".join(part for item in element for part in _element(item, mentions, depth + 1))
        else:
            yield from _element(element, mentions, depth + 1)


def _element(element: Any, mentions: Mentions, depth: int) -> Iterator[str]:
    if not isinstance(element, Mapping) or depth > _DEEPEST:
        return
    tag = element.get("tag")
    if tag == "table":
        yield from _table(element, mentions)
    elif tag == "a":
        yield _link(_words(element.get("text"), mentions), element.get("href"))
    elif tag == "at":
        yield mentions.at(element.get("user_id") or element.get("id"), element.get("user_name"))
    elif tag in ("img", "image"):
        yield _picture(element, mentions)
    elif tag == "img_combination":
        pictures = element.get("img_list")
        listed = pictures[:_PICTURES] if isinstance(pictures, list) else []
        yield "".join(_picture(picture, mentions) for picture in listed if isinstance(picture, Mapping))
    elif tag == "button":
        yield _button(element, mentions)
    elif tag in _PLACEHOLDERS:
        yield _PLACEHOLDERS[tag]
    else:
        yield from _container(element, mentions, depth)


def _container(element: Node, mentions: Mentions, depth: int) -> Iterator[str]:
    """Everything that has words of its own, other elements inside it, or both."""
    tag = element.get("tag")
    if tag in _INPUTS:
        yield _words(element.get("label"), mentions) or _words(element.get("text"), mentions)
        return
    header = element.get("header")
    if isinstance(header, Mapping):
        yield _words(header.get("title"), mentions)
    if tag in _TEXT_TAGS or "text" in element:
        yield _words(element.get("text"), mentions) or _words(element.get("content"), mentions)
    fields = element.get("fields")
    for field in fields if isinstance(fields, list) else ():
        yield _words(field.get("text"), mentions) if isinstance(field, Mapping) else ""
    for key in ("elements", "columns", "actions"):
        yield from _children(element.get(key), mentions, depth + 1)
    yield from _element(element.get("extra"), mentions, depth + 1)


def _words(value: Any, mentions: Mentions) -> str:
    """A text that is given plainly or as ``{"tag": "lark_md", "content": …}``, in one or more languages."""
    if isinstance(value, str):
        return mentions.resolve(value)
    if not isinstance(value, Mapping):
        return ""
    translated = value.get("i18n_content") or value.get("i18n")
    choices = [value.get("content"), value.get("text")]
    if isinstance(translated, Mapping):
        choices += [translated.get(locale) for locale in LOCALES]
    return mentions.resolve(next((choice for choice in choices if isinstance(choice, str) and choice), ""))


def _link(text: str, href: Any) -> str:
    target = href if isinstance(href, str) else ""
    return f"[{text}]({target})" if text and target and text != target else text or target


def _picture(element: Node, mentions: Mentions) -> str:
    """Its author calls the key ``img_key``, the flattened form of events ``image_key``."""
    key = element.get("img_key") or element.get("image_key")
    return placeholder("image", _words(element.get("alt"), mentions), key)


def _button(element: Node, mentions: Mentions) -> str:
    urls = element.get("multi_url")
    url = element.get("url") or (urls.get("url") if isinstance(urls, Mapping) else None)
    text = _words(element.get("text"), mentions)
    return _link(text, url) if url else placeholder("button", text) if text.strip() else ""


def _table(table: Node, mentions: Mentions) -> Iterator[str]:
    columns = table.get("columns")
    listed = columns[:_COLUMNS] if isinstance(columns, list) else []
    named = [column for column in listed if isinstance(column, Mapping)]
    keys = [column["name"] for column in named if isinstance(column.get("name"), str)]
    yield " | ".join(str(column.get("display_name") or column.get("name") or "") for column in named)
    rows = table.get("rows")
    for row in rows[:_ROWS] if isinstance(rows, list) else ():
        if isinstance(row, Mapping):
            yield " | ".join(_cell(row.get(key), mentions) for key in keys)


def _cell(value: Any, mentions: Mentions) -> str:
    if isinstance(value, list):
        return " ".join(_cell(item, mentions) for item in value if not isinstance(item, list))
    if isinstance(value, Mapping):
        return _words(value, mentions)
    return "" if value is None else mentions.resolve(str(value)).strip()
