"""Tokens, the bot's own identity, and where to open the long connection."""

from collections.abc import Sequence
from typing import Any

from transcript_channels.simulator.connections import Gate
from transcript_channels.simulator.rest import ApiCall, Raw, Route
from transcript_channels.simulator.tokens import Tokens

__all__ = ["routes"]


def routes(tokens: Tokens, gate: Gate) -> Sequence[Route]:
    """``auth/v3``, ``bot/v3/info``, ``application/v6`` and ``/callback/ws/endpoint``."""

    def tenant_token(call: ApiCall) -> Raw:
        value, expire = tokens.issue(call.body, "tenant")
        return Raw({"code": 0, "msg": "ok", "expire": expire, "tenant_access_token": value})

    def app_token(call: ApiCall) -> Raw:
        value, expire = tokens.issue(call.body, "app")
        tenant, _ = tokens.issue(call.body, "tenant")
        return Raw(
            {
                "code": 0,
                "msg": "ok",
                "expire": expire,
                "app_access_token": value,
                "tenant_access_token": tenant,
            }
        )

    def endpoint(call: ApiCall) -> Raw:
        app_id, secret = str(call.body.get("AppID", "")), str(call.body.get("AppSecret", ""))
        return Raw(dict(gate.endpoint(app_id, secret, call.request.host)))

    base = "/open-apis/auth/v3"
    return [
        Route("POST", f"{base}/tenant_access_token/internal", tenant_token, token="none"),
        Route("POST", f"{base}/app_access_token/internal", app_token, token="none"),
        Route("POST", "/callback/ws/endpoint", endpoint, token="none"),
        Route("GET", "/open-apis/bot/v3/info", _bot_info, token="any"),
        Route("GET", "/open-apis/application/v6/applications/{app_id}", _application, token="any"),
    ]


def _bot_info(call: ApiCall) -> Raw:
    """The bot stands at the top level, not in ``data``; there is no union_id."""
    bot: dict[str, Any] = {
        "activate_status": 2,
        "app_name": call.app.name,
        "avatar_url": "",
        "ip_white_list": [],
        "open_id": call.app.bot_open_id,
    }
    return Raw({"code": 0, "msg": "ok", "bot": bot})


def _application(call: ApiCall) -> dict[str, Any]:
    return {"app": {"app_id": call.app.app_id, "app_name": call.app.name, "avatar_url": "", "status": 1}}
