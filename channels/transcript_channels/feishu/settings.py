"""What can be set about Feishu: the section ``feishu`` of the settings."""

from typing import Any, Final

from nanobot_transcript.settings.base import Address, Section, setting

__all__ = ["SECTION", "FeishuSettings", "WebhookSettings"]


class WebhookSettings(Section):
    """Receiving events over HTTP (webhook) instead of a long connection."""

    listen: str | None = setting(
        None,
        "Address and port to listen on for the platform's requests (webhook), such as 127.0.0.1:9000; null uses the "
        "long connection.",
        "接收平台请求的监听地址和端口，例如 127.0.0.1:9000；null 表示使用长连接。",
    )
    path: str = setting("/feishu", "Path of the requests; the app id is appended.", "请求路径，后面接 App ID。")


class FeishuSettings(Section):
    """The section ``feishu``."""

    base_url: Address | None = setting(
        None,
        "Address of a private Feishu deployment, for requests and the long connection; null keeps what the host is "
        "set to.",
        "私有化部署的飞书地址，同时用于 API 请求和长连接；null 表示沿用宿主的设置。",
    )
    webhook: WebhookSettings = setting(
        WebhookSettings,
        "Receiving events over HTTP (webhook) instead of a long connection.",
        "用 webhook 代替长连接接收事件。",
    )


SECTION: Final[tuple[type[Section], Any]] = (
    FeishuSettings,
    setting(FeishuSettings, "The platform Feishu (Lark).", "飞书（Lark）平台。"),
)
"""The section and what it is, as `Platform.settings` names it."""
