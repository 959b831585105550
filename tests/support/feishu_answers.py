"""Answers of the open API, for requests that respx catches."""

from typing import Any

import httpx

__all__ = ["TOKEN_PATH", "ok", "refused", "token"]

TOKEN_PATH = "/open-apis/auth/v3/tenant_access_token/internal"


def token(value: str, expire: int = 7200) -> httpx.Response:
    """A token that lasts ``expire`` seconds."""
    return httpx.Response(200, json={"code": 0, "msg": "ok", "tenant_access_token": value, "expire": expire})


def ok(**data: Any) -> httpx.Response:
    """A success."""
    return httpx.Response(200, json={"code": 0, "msg": "success", "data": data})


def refused(code: int, status: int = 400, headers: dict[str, str] | None = None, **more: Any) -> httpx.Response:
    """A failure the platform reports."""
    return httpx.Response(status, json={"code": code, "msg": f"no {code}", **more}, headers=headers)
