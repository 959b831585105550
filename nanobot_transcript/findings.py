"""Findings of a check, as ``doctor`` prints them."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["Finding", "Severity"]

Severity: TypeAlias = Literal["ok", "info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; ``fix`` says what to do about it."""

    check: str
    severity: Severity
    message: str
    fix: str = ""

    def document(self) -> dict[str, Any]:
        """The finding for JSON."""
        return asdict(self)
