"""The part of nanobot's Feishu channel that the plugin overrides or uses, for the type checker."""

from typing import Any

__all__ = ["NanobotChannel"]


class NanobotChannel:
    """See ``nanobot/channels/feishu/runtime.py``; ``seams`` checks that all of this is there."""

    name: str
    config: Any
    _bot_open_id: str | None

    def __init__(self, *args: Any, **options: Any) -> None: ...

    def _on_message_sync(self, data: Any) -> None: ...

    async def _on_message(self, data: Any) -> None: ...

    async def _handle_message(self, *args: Any, **options: Any) -> None: ...

    def is_allowed(self, sender_id: str) -> bool: ...

    def _is_group_message_for_bot(self, message: Any) -> bool: ...

    def _register_optional_event(self, builder: Any, method_name: str, handler: Any) -> Any: ...

    def _fetch_bot_open_id(self) -> str | None: ...

    async def send(self, msg: Any) -> None: ...

    async def send_delta(
        self, chat_id: str, delta: str, metadata: dict[str, Any] | None = None, **options: Any
    ) -> None: ...

    def _stream_key(self, chat_id: str, metadata: dict[str, Any] | None = None) -> str: ...
