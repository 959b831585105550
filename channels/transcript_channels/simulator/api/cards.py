"""CardKit: card entities whose text can be streamed."""

import json
from collections.abc import Sequence
from typing import Any

from transcript_channels.simulator import ids, scopes
from transcript_channels.simulator.api.access import card_of, message_of
from transcript_channels.simulator.api.messages import CARD_BYTES
from transcript_channels.simulator.content import find_element
from transcript_channels.simulator.errors import ApiError
from transcript_channels.simulator.platform import Platform
from transcript_channels.simulator.rest import ApiCall, Route
from transcript_channels.simulator.world import Card

__all__ = ["routes"]

JSON = dict[str, Any]

_WRITE = (scopes.CARDKIT,)


def routes(platform: Platform) -> Sequence[Route]:
    """``cardkit/v1/cards`` and below."""
    api = _Cards(platform)
    base = "/open-apis/cardkit/v1/cards"
    one = base + "/{card_id}"
    return [
        Route("POST", base, api.create, _WRITE),
        Route("POST", base + "/id_convert", api.convert, _WRITE),
        Route("PUT", one, api.update, _WRITE),
        Route("PATCH", one + "/settings", api.settings, _WRITE),
        Route("PUT", one + "/elements/{element_id}", api.element, _WRITE),
        Route("PUT", one + "/elements/{element_id}/content", api.content, _WRITE),
    ]


class _Cards:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._world = platform.world

    def create(self, call: ApiCall) -> JSON:
        """A card entity from card JSON 2.0."""
        body = _card_json(call.body)
        card = Card(ids.new_card_id(), call.app, body)
        self._world.cards[card.card_id] = card
        return {"card_id": card.card_id}

    def convert(self, call: ApiCall) -> JSON:
        """The card entity of a card that was sent as a message."""
        call.params["message_id"] = str(call.body.get("message_id", ""))
        message = message_of(self._world, call, own=True)
        if message.msg_type != "interactive":
            raise ApiError(230054)
        if message.card is None:
            message.card = Card(ids.new_card_id(), call.app, message.content, message=message)
            self._world.cards[message.card.card_id] = message.card
        return {"card_id": message.card.card_id}

    def update(self, call: ApiCall) -> JSON:
        """Replace the whole card."""
        card = self._next(call)
        card.body = _card_json(call.body.get("card") or {})
        return self._changed(card)

    def settings(self, call: ApiCall) -> JSON:
        """Change the card's settings, ``streaming_mode`` above all."""
        card = self._next(call)
        settings = _json_object(call.body.get("settings"))
        card.body.setdefault("config", {}).update(settings.get("config") or {})
        return self._changed(card)

    def element(self, call: ApiCall) -> JSON:
        """Replace one element."""
        card = self._next(call)
        found = _element(card, call.params["element_id"])
        replacement = _json_object(call.body.get("element"))
        found.clear()
        found.update({"element_id": call.params["element_id"], **replacement})
        return self._changed(card)

    def content(self, call: ApiCall) -> JSON:
        """Stream text into an element: the full text each time."""
        card = self._next(call, streaming=True)
        text = call.body.get("content")
        if not isinstance(text, str) or not text:
            raise ApiError(99992402, "content is required")
        found = _element(card, call.params["element_id"])
        found["content"] = text
        return self._changed(card)

    def _next(self, call: ApiCall, *, streaming: bool = False) -> Card:
        """The card, if this operation's ``sequence`` is above the last accepted one."""
        card = card_of(self._world, call.app, call.params["card_id"])
        sequence = call.body.get("sequence")
        if not isinstance(sequence, int) or isinstance(sequence, bool):
            raise ApiError(99992402, "sequence is required")
        if sequence <= card.sequence:
            raise ApiError(300317)
        if streaming and not card.streaming:
            raise ApiError(300309)
        card.sequence = sequence
        return card

    def _changed(self, card: Card) -> JSON:
        if card.message is not None:
            card.message.updated_ms = ids.now_ms()
        self._platform.changes.tell("card", card.message or card)
        return {}


def _element(card: Card, element_id: str) -> JSON:
    found = find_element(card.body, element_id)
    if found is None:
        error = ApiError(300313)
        error.msg = f"ErrMsg: not find elementID : {element_id}; "
        raise error
    return found


def _card_json(card: JSON) -> JSON:
    if card.get("type") != "card_json":
        raise ApiError(99992402, "type must be card_json")
    data = card.get("data")
    if isinstance(data, str) and len(data.encode(errors="surrogatepass")) > CARD_BYTES:
        raise ApiError(230025)
    body = _json_object(data)
    if body.get("schema") != "2.0":
        raise ApiError(99992402, "schema must be 2.0")
    return body


def _json_object(raw: Any) -> JSON:
    try:
        value = json.loads(raw)
    except (TypeError, ValueError) as error:
        raise ApiError(99992402, "not a json object in text form") from error
    if not isinstance(value, dict):
        raise ApiError(99992402, "not a json object in text form")
    return value
