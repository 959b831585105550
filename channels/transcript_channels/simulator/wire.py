"""JSON as bytes."""

import json
from typing import Any

__all__ = ["encode"]


def encode(value: Any) -> bytes:
    """UTF-8 JSON with characters as they are; lone surrogates, which UTF-8 cannot hold, make it all escapes."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()
