"""How Connect says no: its error codes, with their statuses over HTTP.

Source: https://connectrpc.com/docs/protocol#error-codes
"""

import json
from typing import Final

from aiohttp import web

from nanobot_transcript.errors import (
    InvalidQuestionError,
    StoreError,
    TokenRefusedError,
    TranscriptError,
    UnknownQuestionError,
)

__all__ = ["RefusedError", "refusal", "refusal_of"]

_STATUS: Final = {
    "canceled": 499,
    "invalid_argument": 400,
    "deadline_exceeded": 504,
    "not_found": 404,
    "unauthenticated": 401,
    "resource_exhausted": 413,
    "unimplemented": 404,
    "unavailable": 503,
}
_CODES: Final[tuple[tuple[type[TranscriptError], str], ...]] = (
    (TokenRefusedError, "unauthenticated"),
    (UnknownQuestionError, "not_found"),
    (InvalidQuestionError, "invalid_argument"),
    (StoreError, "unavailable"),
)


class RefusedError(Exception):
    """A call that ends with one of Connect's error codes."""

    def __init__(self, code: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.code = code
        self.headers = headers


def refusal(code: str, message: str, **headers: str) -> web.Response:
    """The answer with an error."""
    body = json.dumps({"code": code, "message": message}, ensure_ascii=False)
    return web.Response(
        status=_STATUS.get(code, 500), text=body, content_type="application/json", headers=headers or None
    )


def refusal_of(error: TranscriptError) -> web.Response:
    """What one of our errors is in Connect's words."""
    code = next((code for kind, code in _CODES if isinstance(error, kind)), "unavailable")
    return refusal(code, f"{error} {error.hint}".strip())
