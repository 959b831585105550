"""Addresses of the resources that change; who watches one is told."""

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from transcript_mcp.mail.values import Sent

__all__ = ["claims_uri", "inbox_uri", "inbox_uris"]


def claims_uri(project_key: str) -> str:
    """The claims of a project."""
    return f"resource://claims/{quote(project_key, safe='/')}"


def inbox_uri(agent: str) -> str:
    """The inbox of an agent."""
    return f"resource://inbox/{agent}"


def inbox_uris(sent: "Sent") -> list[str]:
    """The inboxes that a message came to."""
    return [inbox_uri(name) for names in sent.recipients.values() for name in names]
