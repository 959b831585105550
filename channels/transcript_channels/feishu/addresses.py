"""Addresses of the open platform, of its console and of its APIs."""

import ipaddress
from typing import Final
from urllib.parse import quote, urlsplit

from nanobot_transcript.errors import ConfigError

__all__ = ["FEISHU_URL", "LARK_URL", "MESSAGES", "console_of", "is_loopback", "message_path", "web_origin"]

FEISHU_URL: Final = "https://open.feishu.cn"
LARK_URL: Final = "https://open.larksuite.com"
MESSAGES: Final = "/open-apis/im/v1/messages"
"""The path of the message API."""


def web_origin(base_url: str) -> str:
    """The address of the API without a slash at its end. Raises ConfigError for what is no web address."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{base_url!r} is not a web address.", hint=f"Feishu: {FEISHU_URL}, Lark: {LARK_URL}.")
    return base_url.rstrip("/")


def message_path(message_id: str) -> str:
    """The path of one message."""
    return f"{MESSAGES}/{quote(message_id, safe='')}"


def console_of(base_url: str) -> str:
    """Where the developer console of an API address is."""
    return LARK_URL if "larksuite" in base_url else FEISHU_URL


def is_loopback(base_url: str) -> bool:
    """True for this machine, which is never reached through a proxy."""
    host = urlsplit(base_url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
