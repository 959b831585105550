"""The page of questions. It uses the WebSocket ``/ws`` and nothing below ``/api``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from transcript_mcp.page import WebPage

__all__ = ["QuestionsPage"]


@dataclass(eq=False)
class QuestionsPage(WebPage):
    """``max_attachment``: bytes of all files of an answer together."""

    max_attachment: int

    @property
    def is_for_askers(self) -> bool:
        """See ``WebPage.is_for_askers``."""
        return True

    @property
    def about(self) -> Mapping[str, Any]:
        """See ``WebPage.about``."""
        return {"max_attachment": self.max_attachment}
