"""Feishu under `run`: the channels of this process's bots, what they share, and the platform's history."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from nanobot_transcript.conversation.connectors import Seat
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.record import Record
from nanobot_transcript.settings import Settings
from nanobot_transcript.settings.sections.groups import HistorySettings
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from nanobot_transcript.store.gaps import Fallback
from nanobot_transcript.turns import new_holder
from transcript_channels.feishu.channel import Connection, FeishuChannel
from transcript_channels.feishu.client import FEISHU_URL, FeishuClient
from transcript_channels.feishu.fallback import FallbackOptions, HistoryFallback
from transcript_channels.feishu.forwarded_messages import Bundles
from transcript_channels.feishu.history import FeishuHistory
from transcript_channels.feishu.long_connection import LongConnection
from transcript_channels.feishu.settings import FeishuSettings, WebhookSettings
from transcript_channels.feishu.webhook import FeishuWebhook, WebhookServer

__all__ = ["FeishuConnector", "connect"]


def connect(settings: Settings, record: Record, seats: Sequence[Seat]) -> "FeishuConnector":
    """See ``Connect``."""
    section = settings.section(FeishuSettings)
    if section.webhook.listen is None and find_spec("lark_oapi") is None:
        raise ConfigError(
            "The long connection needs the package lark-oapi.", hint="Run `pip install 'nanobot-transcript[feishu]'`."
        )
    return FeishuConnector(section, settings.history, record, seats)


class FeishuConnector:
    """See ``Connector``: a client for each app, and one server where events come by webhook."""

    def __init__(
        self, section: FeishuSettings, history: HistorySettings, record: Record, seats: Sequence[Seat]
    ) -> None:
        self._webhook: WebhookSettings = section.webhook
        base_url = section.base_url or FEISHU_URL
        self._clients: dict[str, FeishuClient] = {
            seat.account: FeishuClient(seat.account, seat.secret("app_secret"), base_url) for seat in seats
        }
        self._server: WebhookServer | None = _server(section.webhook.listen)
        self._bundles: Bundles | None = None
        self.fallback: Fallback | None = None
        if history.enabled and history.calls_per_hour:
            store = AsyncGroupTranscriptStore.over(record.store)
            self._bundles = Bundles(record.leases, record.budgets, store, calls_per_hour=history.calls_per_hour)
            self.fallback = self._history(history, record)

    @property
    def way(self) -> str:
        """See ``Connector``."""
        listen = self._webhook.listen
        return f"listening at {listen}" if listen else "the Feishu SDK takes some seconds to load"

    def channel(self, seat: Seat) -> FeishuChannel:
        """See ``Connector``."""

        def listen(on_event: Any, on_state: Any) -> Connection:
            return self._connection(seat, on_event, on_state)

        client = self._clients[seat.account]
        return FeishuChannel(
            seat.profile,
            client,
            seat.people,
            read=seat.read,
            lists=seat.lists,
            bundles=self._bundles,
            listen=listen,
            on_gap=seat.on_gap,
        )

    async def close(self) -> None:
        """See ``Connector``. A channel that was started has closed its client."""
        for client in self._clients.values():
            await client.close()

    def _connection(self, seat: Seat, on_event: Any, on_state: Any) -> Connection:
        if self._server is None:
            base_url = self._clients[seat.account].base_url
            return LongConnection(seat.account, seat.secret("app_secret"), on_event, base_url, on_state=on_state)
        secrets = seat.secrets
        webhook = FeishuWebhook(
            on_event,
            encrypt_key=secrets.get("encrypt_key", ""),
            verification_token=secrets.get("verification_token", ""),
        )
        path = self._webhook.path.strip("/")
        return self._server.seat(f"/{path}/{seat.account}" if path else f"/{seat.account}", webhook, on_state)

    def _history(self, history: HistorySettings, record: Record) -> Fallback:
        store = record.store
        histories = [FeishuHistory(client, store.members, store=store) for client in self._clients.values()]
        options = FallbackOptions(calls_per_hour=history.calls_per_hour)
        return HistoryFallback(histories, record.leases, record.budgets, new_holder("runner"), options=options)


def _server(listen: str | None) -> WebhookServer | None:
    """The server for ``host:port``. Raises ConfigError for anything else."""
    if listen is None:
        return None
    host, _, port = listen.rpartition(":")
    if not port.isascii() or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ConfigError(
            f"feishu.webhook.listen is {listen!r}, which is not an address and port.", hint="Write 127.0.0.1:9000."
        )
    return WebhookServer(host.strip("[]") or "127.0.0.1", int(port))
