"""Checks and cleans arguments: session ids, keys, texts, and query parameters."""

import json
import re
import unicodedata
from typing import Final

from nanobot_transcript.entry import storable
from nanobot_transcript.errors import InvalidItemError

__all__ = ["MOST_ID", "checked_key", "checked_session", "checked_text", "flag", "input_text", "seconds"]

MOST_ID: Final = 200
"""Characters of a session id, and of an idempotency key."""

_MOST_WAIT: Final = 60.0
"""Seconds for which a reader may hold a request open."""

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_NUMBER: Final = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")
_FLAGS: Final = {"1": True, "true": True, "": True, "0": False, "false": False}
_ID_HINT: Final = f"Use up to {MOST_ID} letters, digits and marks such as - _ . : @, for example a UUID."


def checked_session(session: str) -> str:
    """The id in Unicode's composed form (NFC), so that different encodings of a character give the same id.

    Raises InvalidItemError for an id that is empty, too long, has control characters or slashes, or begins or ends with
    a space.
    """
    if len(session) > 4 * MOST_ID:
        raise InvalidItemError(f"A session id of {len(session)} characters is too long.", hint=_ID_HINT)
    if _is_half(session):
        raise InvalidItemError("The session id contains an incomplete character.", hint=_ID_HINT)
    session = unicodedata.normalize("NFC", session)
    if not session.strip():
        raise InvalidItemError("The session id is empty.", hint=_ID_HINT)
    if len(session) > MOST_ID:
        raise InvalidItemError(f"A session id of {len(session)} characters is too long.", hint=_ID_HINT)
    if session in {".", ".."} or session != session.strip() or {"/", "\\"} & set(session):
        raise InvalidItemError("The session id is a path, or begins or ends with a space.", hint=_ID_HINT)
    if any(unicodedata.category(character) in _HIDDEN for character in session):
        raise InvalidItemError("The session id contains invisible characters.", hint=_ID_HINT)
    return session


def checked_key(key: str | None) -> str | None:
    """An idempotency key. Raises InvalidItemError."""
    if key is None:
        return None
    if not key.strip() or len(key) > MOST_ID or _is_half(key):
        raise InvalidItemError(
            "The idempotency key is empty, too long, or not a text.",
            hint=f"Use up to {MOST_ID} characters, such as a UUID.",
        )
    return storable(key)


def checked_text(text: str, what: str) -> str:
    """The text with NUL, which PostgreSQL cannot store, as U+FFFD. Raises InvalidItemError."""
    if _is_half(text):
        raise InvalidItemError(f"The {what} contains an incomplete character.", hint="Send valid Unicode.")
    return storable(text)


def input_text(body: bytes, content_type: str) -> str:
    """The input in an HTTP body: ``data`` of a JSON object, other JSON unchanged, or plain text.

    A string in JSON may be empty. curl declares its body a form unless told otherwise, so the body is tried as JSON
    whatever its type, except ``text/plain``. Raises InvalidItemError for an empty body, null, what is not UTF-8, and
    what is declared as JSON but is not.
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidItemError("The input is not UTF-8 text.", hint="Send text or JSON in UTF-8.") from None
    said = text if text.strip() else None
    if said is not None and content_type != "text/plain":
        said = _of_json(text, is_json=content_type == "application/json" or content_type.endswith("+json"))
    if said is None:
        raise InvalidItemError("The input is empty.", hint='Send {"data": "..."}, other JSON, or plain text.')
    return checked_text(said, "input")


def seconds(value: str | None) -> float:
    """The ``wait`` of a reader. Raises InvalidItemError."""
    if value is None:
        return 0.0
    if not _NUMBER.fullmatch(value) or float(value) > _MOST_WAIT:
        raise InvalidItemError(
            "wait is not an allowed number of seconds.", hint=f"Use 0 to {_MOST_WAIT:g}, and ask again afterwards."
        )
    return float(value)


def flag(value: str | None, name: str) -> bool:
    """A switch of a query, such as ``peek=1``. Raises InvalidItemError."""
    if value is None:
        return False
    if value.lower() not in _FLAGS:
        raise InvalidItemError(f"{name} is neither 1 nor 0.", hint=f"Write {name}=1.")
    return _FLAGS[value.lower()]


def _of_json(text: str, *, is_json: bool) -> str | None:
    """The input in a JSON text; None for null."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        if is_json:
            raise InvalidItemError(
                "The input is sent as JSON but is not valid JSON.",
                hint="Correct it, or send it with Content-Type: text/plain.",
            ) from None
        return text
    if isinstance(value, dict) and "data" in value:
        value = value["data"]
        text = json.dumps(value, ensure_ascii=False)
    return value if value is None or isinstance(value, str) else text


def _is_half(text: str) -> bool:
    """True for a text with a lone surrogate, which UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
