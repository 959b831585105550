"""The page of questions. It talks over ``/ws``, and asks for nothing below ``/api``."""

from collections.abc import Mapping
from typing import Any

from transcript_mcp.page import WebPage

__all__ = ["QuestionsPage"]


class QuestionsPage(WebPage):
    """``max_attachment``: bytes of all files of an answer."""

    def __init__(self, max_attachment: int) -> None:
        self._max_attachment = max_attachment

    @property
    def is_for_askers(self) -> bool:
        """See ``WebPage.is_for_askers``."""
        return True

    @property
    def about(self) -> Mapping[str, Any]:
        """See ``WebPage.about``."""
        return {"max_attachment": self._max_attachment}
