"""Lines to entries and back, tolerant of whatever other programs wrote."""

import json
from typing import Any, cast

import msgspec

from nanobot_transcript.entry import Entry, well_formed
from nanobot_transcript.errors import InvalidEntryError

__all__ = ["decode", "encode", "encode_text", "json_fragment"]

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()
_LONGEST_TIME = 1e18  # milliseconds; arithmetic with larger foreign numbers fails


def encode(entry: Entry) -> bytes:
    """One line with its newline. Lone surrogates become U+FFFD."""
    try:
        return _encoder.encode(entry) + b"\n"
    except UnicodeEncodeError:
        return _encoder.encode(_clean(entry)) + b"\n"
    except (TypeError, RecursionError) as error:
        raise InvalidEntryError(f"An entry holds what JSON cannot: {error}.") from error


def encode_text(value: str) -> bytes:
    """A string as it stands in a line, quotes included."""
    return _encoder.encode(value)


def json_fragment(query: str) -> bytes:
    """The bytes of a text inside a JSON string of this store."""
    return _encoder.encode(query)[1:-1]


def decode(line: bytes | memoryview) -> Entry | None:
    """The entry in a line, or None for a blank, torn or foreign one. An entry always has the five keys."""
    try:
        value = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = _decode_again(bytes(line))
    if type(value) is not dict:
        return None
    return _normal(value)


def _decode_again(line: bytes) -> Any:
    # Python's json.dumps writes NaN and escaped lone surrogates, which msgspec refuses.
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        return _clean(json.loads(line))
    except (ValueError, RecursionError):
        return None


def _normal(value: dict[str, Any]) -> Entry | None:
    get = value.get
    role, content, sender, message_id = get("role"), get("content"), get("sender"), get("message_id")
    if type(role) is not str:
        if "content" not in value and "op" not in value:
            return None
        value["role"] = "user"
    if type(content) is not str:
        value["content"] = _as_text(content)
    if type(sender) is not str:
        value["sender"] = _as_text(sender)
    if message_id is not None and type(message_id) is not str:
        value["message_id"] = str(message_id)
    elif message_id == "" or "message_id" not in value:
        value["message_id"] = None
    if "op" in value:
        _normalise_op(value)
    if type(get("source", "")) is not str:
        del value["source"]
    moment = get("ts")
    if not isinstance(moment, int | float) or not -_LONGEST_TIME < moment < _LONGEST_TIME:
        value["ts"] = _number(moment, get("rts"))
    return cast("Entry", cast("object", value))


def _normalise_op(value: dict[str, Any]) -> None:
    if value["op"] is None:
        del value["op"]
    elif type(value["op"]) is not str:
        value["op"] = ""  # an op that nobody knows
    if type(value.get("target")) is not str:
        value.pop("target", None)


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if type(value) is str else _encoder.encode(value).decode()


def _number(value: Any, fallback: Any) -> float:
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            number = _LONGEST_TIME
        if -_LONGEST_TIME < number < _LONGEST_TIME:
            return number
    usable = type(fallback) in (int, float) and 0 <= fallback < _LONGEST_TIME
    return fallback if usable else 0


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {_clean(k): _clean(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_clean(v) for v in value]
    return value
