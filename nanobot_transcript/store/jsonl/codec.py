"""Lines to entries and back, tolerant of whatever other programs wrote."""

import json
from typing import Any, cast

import msgspec

from nanobot_transcript.entry import Entry, well_formed
from nanobot_transcript.errors import InvalidEntryError

__all__ = [
    "EDIT_SENT",
    "decode",
    "encode",
    "encode_text",
    "hidden_key",
    "id_keys",
    "ids_of",
    "is_sent",
    "json_fragment",
]

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()
_SENT = frozenset({"send", "stream"})
_LONGEST_TIME = 1e18  # milliseconds; beyond that arithmetic with foreign numbers fails
_HIDDEN = "\0hidden\0"
EDIT_SENT = "\0sent\0"


def encode(entry: Entry) -> bytes:
    """One line with its newline. Lone surrogates become U+FFFD."""
    try:
        return _encoder.encode(entry) + b"\n"
    except UnicodeEncodeError:
        return _encoder.encode(_clean(entry)) + b"\n"
    except (TypeError, RecursionError) as error:
        raise InvalidEntryError(f"An entry holds what JSON cannot: {error}.") from error


def encode_text(value: str) -> bytes:
    """A string as it stands inside a line, quotes included."""
    return _encoder.encode(value)


def json_fragment(query: str) -> bytes:
    """The bytes a text has inside a JSON string of this store."""
    return _encoder.encode(query)[1:-1]


def decode(line: bytes | memoryview) -> Entry | None:
    """The entry in a line, or None for a blank, torn or foreign one. The five keys are always there afterwards."""
    try:
        value = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = _decode_again(bytes(line))
    if type(value) is not dict:
        return None
    return _normal(value)


def _decode_again(line: bytes) -> Any:
    # json.dumps of other programs writes NaN and escaped lone surrogates, which msgspec refuses.
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


def ids_of(entry: Entry) -> list[str]:
    """Every id under which a message is known."""
    first = entry["message_id"]
    ids = [first] if first else []
    if "message_ids" not in entry:
        return ids
    more = entry["message_ids"]
    if type(more) is not list:
        return ids
    return ids + [i for i in more if type(i) is str and i and i not in ids]


def hidden_key(target: str) -> str:
    """The key under which a recall or redact of ``target`` is indexed."""
    return _HIDDEN + target


def is_sent(entry: Entry) -> bool:
    """True for what the sender itself reported, whose text is the one as written."""
    return entry.get("source") in _SENT


def id_keys(entry: Entry) -> list[str]:
    """The keys under which a line stands in the id table."""
    op = entry.get("op")
    if op is None:
        return ids_of(entry)
    target = entry.get("target")
    if type(target) is not str or not target:
        return []
    if op in ("recall", "redact"):
        return [target, hidden_key(target)]
    if op == "edit":
        keys = [i for i in ids_of(entry) if i != target]
        return [*keys, EDIT_SENT + target] if is_sent(entry) else keys
    return []
