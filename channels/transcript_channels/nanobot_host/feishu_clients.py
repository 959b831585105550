"""Our own clients of Feishu's open API, with the credentials of nanobot's channels."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transcript_channels.feishu.client import FeishuClient

__all__ = ["Clients", "load"]


async def load() -> None:
    """Import the modules that talk to Feishu, in a thread: the first time it takes tens of milliseconds."""
    for name in ("channel", "fallback"):
        await asyncio.to_thread(import_module, f"transcript_channels.feishu.{name}")


@dataclass(slots=True, eq=False)
class Clients:
    """One client per bot, made when it is first needed and kept for the life of the process; for nanobot's event loop.

    ``config_of`` gives the configuration of nanobot's channel by app id; ``base_url`` overrides its domain.
    """

    config_of: Callable[[str], Any]
    base_url: str | None = None
    _clients: "dict[str, FeishuClient]" = field(default_factory=dict, init=False)

    def of(self, app_id: str) -> "FeishuClient | None":
        """The client of a bot; None without credentials. Raises ConfigError for what is no web address."""
        client = self._clients.get(app_id)
        secret = getattr(self.config_of(app_id), "app_secret", None)
        if client is None and app_id and secret:
            from transcript_channels.feishu.client import FeishuClient

            client = self._clients[app_id] = FeishuClient(app_id, str(secret), self._address(app_id))
        return client

    def _address(self, app_id: str) -> str:
        from transcript_channels.feishu.addresses import FEISHU_URL, LARK_URL

        if self.base_url:
            return self.base_url
        return LARK_URL if getattr(self.config_of(app_id), "domain", "") == "lark" else FEISHU_URL
