"""JSON as the simulator sends it."""

import json
from typing import Any

__all__ = ["encode"]


def encode(value: Any) -> bytes:
    """UTF-8 JSON, not escaped; escaped throughout if there is a lone surrogate, which UTF-8 cannot encode."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()
