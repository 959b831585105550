"""The SDK's objects as plain dictionaries, at the edge where they come in."""

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["plain"]

_DEEPEST: Final = 12
_ATOMS: Final = (str, int, float, bool, type(None))


def plain(value: Any, depth: int = 0) -> Any:
    """Dictionaries, lists and scalars from whatever attributes, items and lists ``value`` is made of."""
    if isinstance(value, _ATOMS):
        return value
    if depth > _DEEPEST:
        return None
    if isinstance(value, Mapping):
        return {key: plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    attributes = getattr(value, "__dict__", None)
    if attributes is None:
        return None
    return {key: plain(item, depth + 1) for key, item in attributes.items() if not key.startswith("_")}
