"""What a valid post is."""

import json
from typing import Any, Final

from nanobot_transcript.entry import storable
from nanobot_transcript.errors import InvalidPostError

__all__ = ["card_text", "checked", "lifetime"]

_LONGEST_TEXT: Final = 150_000
_LONGEST_CARD: Final = 100_000
_LONGEST_LIFE: Final = 100 * 366 * 86_400


def checked(session_key: Any, content: Any, card: Any, agent: Any, reply_to: Any, wants_answers: Any) -> dict[str, Any]:
    """The fields of a post as the database stores them. Raises InvalidPostError."""
    for what, value in (("session key", session_key), ("agent", agent), ("reply_to", reply_to)):
        missing = value is None and what != "session key"
        if not missing and not (isinstance(value, str) and value):
            raise InvalidPostError(f"A post's {what} is a text of at least one character, not {value!r}.")
    if content is not None and (not isinstance(content, str) or not content.strip()):
        raise InvalidPostError("The content of a post must be a text that is not empty.")
    if content is None and card is None:
        raise InvalidPostError("A post needs a text or a card.")
    if content is not None and len(content) > _LONGEST_TEXT:
        raise InvalidPostError(f"A post may have at most {_LONGEST_TEXT:,} characters.", hint="Send it in parts.")
    if not isinstance(wants_answers, bool):
        raise InvalidPostError(f"Whether a post wants answers is true or false, not {wants_answers!r}.")
    texts = {"session_key": session_key, "content": content, "agent": agent, "reply_to": reply_to}
    clean = {name: storable(text) if text is not None else None for name, text in texts.items()}
    return {**clean, "card": None if card is None else card_text(card), "wants_answers": int(wants_answers)}


def lifetime(expires_in: Any) -> float:
    """Seconds until a post that nobody sent is dropped. Raises InvalidPostError."""
    number = isinstance(expires_in, int | float) and not isinstance(expires_in, bool)
    if not number or not -_LONGEST_LIFE <= expires_in <= _LONGEST_LIFE:  # NaN is in no range
        raise InvalidPostError(
            f"A post expires in a number of seconds, not in {str(expires_in)[:40]!r}.",
            hint=f"It may be up to {_LONGEST_LIFE:,} seconds.",
        )
    return float(expires_in)


def card_text(card: Any) -> str:
    """A card as the database stores it. Raises InvalidPostError."""
    if not isinstance(card, dict) or not card:
        raise InvalidPostError("A card must be a JSON object that is not empty.")
    try:
        text = json.dumps(card, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidPostError(f"The card cannot be written as JSON: {error}.") from error
    if len(text) > _LONGEST_CARD:
        raise InvalidPostError(f"A card may have at most {_LONGEST_CARD:,} bytes.", hint="Feishu accepts about 30 KB.")
    return text
