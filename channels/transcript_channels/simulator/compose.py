"""Turns what somebody writes into what the platform keeps: content plus mentions."""

import json
import re
from collections.abc import Sequence
from mimetypes import guess_type
from typing import Any

from transcript_channels.simulator import content as contents
from transcript_channels.simulator.errors import ApiError
from transcript_channels.simulator.world import App, Member, Mention, World

__all__ = ["KNOWN_TYPES", "is_picture", "sent_content", "typed_content"]

KNOWN_TYPES = frozenset(
    {
        "text",
        "post",
        "interactive",
        "image",
        "file",
        "audio",
        "media",
        "sticker",
        "share_chat",
        "share_user",
        "system",
    }
)
_LOCALES = ("zh_cn", "en_us", "ja_jp")
_AT_KEY = re.compile(r'<at key="([^"]*)"></at>')
_AT_USER = re.compile(r'<at\s+user_id="([^"]*)"\s*>(.*?)</at>', re.DOTALL)
_AT_CARD = re.compile(r"<at\s+id=\"?'?([^\s\"'>]+)\"?'?\s*>")
_AT_ALL = re.compile(r"@(?:all(?![A-Za-z0-9_])|所有人)")


def is_picture(name: str) -> bool:
    """True for the name of a file that the platform would show as a picture."""
    return (guess_type(name)[0] or "").startswith("image/")


class _Keys:
    """Hands out ``@_user_1``, ``@_user_2`` …, one per member."""

    def __init__(self) -> None:
        self.mentions: list[Mention] = []

    def of(self, member: Member) -> str:
        for mention in self.mentions:
            if mention.member is member:
                return mention.key
        key = f"@_user_{len(self.mentions) + 1}"
        self.mentions.append(Mention(key, member))
        return key

    def name_of(self, key: str) -> str:
        return next((mention.member.name for mention in self.mentions if mention.key == key), "")


def typed_content(
    msg_type: str, text: str, content: dict[str, Any] | None, members: Sequence[Member], world: World
) -> tuple[dict[str, Any], list[Mention]]:
    """What a person types: ``@Name`` of a chat member, ``member.at`` and ``@all`` become mentions.

    ``content`` is given for messages that are no text; in a post the texts are looked through for mentions.
    """
    typing = _Typing(members, world)
    if msg_type == "text" and content is None:
        return {"text": typing.text(text)}, typing.keys.mentions
    if msg_type == "post":
        return typing.post(text, content), typing.keys.mentions
    return content or {}, []


class _Typing:
    """Turns typed mentions into keys."""

    def __init__(self, members: Sequence[Member], world: World) -> None:
        self.keys = _Keys()
        self._world = world
        self._by_name = {member.name: member for member in reversed(members) if member.name}
        names = sorted(self._by_name, key=len, reverse=True)
        self._names = "|".join(re.escape(name) + (r"(?![A-Za-z0-9_])" if name[-1].isascii() else "") for name in names)

    def text(self, text: str) -> str:
        text = _AT_ALL.sub("@_all", _AT_KEY.sub(self._key_for_at, text))
        if not self._names:
            return text
        return re.sub(rf"(?<![A-Za-z0-9_])(?:@(?:{self._names}))+", self._keys_for_names, text)

    def _key_for_at(self, match: re.Match[str]) -> str:
        member = self._world.member_by_key(match.group(1))
        return self.keys.of(member) if member else match.group()

    def _keys_for_names(self, run: re.Match[str]) -> str:
        return re.sub(f"@({self._names})", lambda one: self.keys.of(self._by_name[one.group(1)]), run.group())

    def post(self, text: str, content: dict[str, Any] | None) -> dict[str, Any]:
        lines = [[{"tag": "text", "text": line}] for line in text.split("\n")]
        post = content or {"title": "", "content": lines}
        rows = [[node for part in row for node in self._split(part)] for row in post.get("content", [])]
        return {"title": post.get("title", ""), "content": rows}

    def _split(self, node: dict[str, Any]) -> list[dict[str, Any]]:
        if node.get("tag") != "text":
            return [node]
        nodes: list[dict[str, Any]] = []
        for part in re.split(r"(@_user_\d+|@_all)", self.text(str(node.get("text", "")))):
            if part.startswith(("@_user_", "@_all")):
                name = self.keys.name_of(part)
                nodes.append({"tag": "at", "user_id": part, "user_name": name, "style": []})
            elif part:
                nodes.append({**node, "text": part})
        return nodes


def sent_content(app: App, msg_type: str, raw: Any, world: World) -> tuple[dict[str, Any], list[Mention]]:
    """What an app sends: ``content`` as a JSON string, mentions as ``<at>`` with its own open ids.

    Raises ApiError for a type or a content that the platform refuses.
    """
    if msg_type not in KNOWN_TYPES:
        raise ApiError(230001, f"invalid msg_type {msg_type}")
    content = _parsed(raw)
    keys = _Keys()
    if msg_type == "text":
        if not isinstance(content.get("text"), str):
            raise ApiError(230001, "text content is not a string")
        return {"text": _sent_text(content["text"], app, world, keys)}, keys.mentions
    if msg_type == "post":
        return _sent_post(content, app, world, keys), keys.mentions
    if msg_type == "interactive":
        _card_mentions(content, app, world, keys)
    return content, keys.mentions


def _parsed(raw: Any) -> dict[str, Any]:
    try:
        content = json.loads(raw)
    except (TypeError, ValueError) as error:
        raise ApiError(230001, "content is not a string in json format") from error
    if not isinstance(content, dict):
        raise ApiError(230001, "content is not a json object")
    return content


def _mentioned(open_id: str, app: App, world: World) -> Member | None:
    """A member by the id under which the sending app knows them; foreign ids mention nobody."""
    return next((member for member in world.members() if member.open_id(app) == open_id), None)


def _sent_text(text: str, app: App, world: World, keys: _Keys) -> str:
    def replace(match: re.Match[str]) -> str:
        if match.group(1) == "all":
            return "@_all"
        member = _mentioned(match.group(1), app, world)
        return keys.of(member) if member else match.group(2)

    return _AT_USER.sub(replace, text)


def _sent_post(content: dict[str, Any], app: App, world: World, keys: _Keys) -> dict[str, Any]:
    body = next((content[name] for name in _LOCALES if isinstance(content.get(name), dict)), content)
    rows = body.get("content")
    if not isinstance(rows, list):
        raise ApiError(230001, "post content has no rows")
    return {
        "title": body.get("title", ""),
        "content": [[_sent_node(node, app, world, keys) for node in row] for row in rows],
    }


def _sent_node(node: dict[str, Any], app: App, world: World, keys: _Keys) -> dict[str, Any]:
    if node.get("tag") == "at":
        wanted = str(node.get("user_id", ""))
        member = _mentioned(wanted, app, world)
        key = "@_all" if wanted == "all" else keys.of(member) if member else wanted
        return {**node, "user_id": key, "user_name": member.name if member else ""}
    if node.get("tag") == "md":
        return {"tag": "text", "text": _sent_text(str(node.get("text", "")), app, world, keys)}
    return node


def _card_mentions(card: dict[str, Any], app: App, world: World, keys: _Keys) -> None:
    for text in contents.card_strings(card):
        for open_id in _AT_CARD.findall(text):
            member = _mentioned(open_id, app, world)
            if member:
                keys.of(member)
