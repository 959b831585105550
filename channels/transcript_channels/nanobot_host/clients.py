"""Our own clients of Feishu's open API, with the credentials of nanobot's channels."""

import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transcript_channels.feishu.client import FeishuClient

__all__ = ["Clients", "load"]


async def load() -> None:
    """Import what talks to Feishu, in a thread: the first time that takes tens of milliseconds."""
    for name in ("channel", "fallback"):
        await asyncio.to_thread(import_module, f"transcript_channels.feishu.{name}")


class Clients:
    """One client per bot, made when it is first needed; for nanobot's event loop. They live as long as the process.

    ``config_of`` gives the configuration of nanobot's channel by app id; ``base_url`` goes before its domain.
    """

    def __init__(self, config_of: Callable[[str], Any], base_url: str | None = None) -> None:
        self._config_of: Callable[[str], Any] = config_of
        self._base_url: str | None = base_url
        self._clients: dict[str, FeishuClient] = {}

    def of(self, app_id: str) -> "FeishuClient | None":
        """The client of a bot; None without credentials. Raises ConfigError for an address that cannot be."""
        client = self._clients.get(app_id)
        secret = getattr(self._config_of(app_id), "app_secret", None)
        if client is None and app_id and secret:
            from transcript_channels.feishu.client import FeishuClient

            client = self._clients[app_id] = FeishuClient(app_id, str(secret), self._address(app_id))
        return client

    def _address(self, app_id: str) -> str:
        from transcript_channels.feishu.addresses import FEISHU_URL, LARK_URL

        if self._base_url:
            return self._base_url
        return LARK_URL if getattr(self._config_of(app_id), "domain", "") == "lark" else FEISHU_URL
