"""The platform's error answers."""

from typing import Any

__all__ = ["MESSAGES", "ApiError", "error_body"]

MESSAGES: dict[int, str] = {
    10003: "invalid param",
    10014: "app secret invalid",
    11232: "Create message trigger system rate limit.",
    230001: "Your request contains an invalid request parameter.",
    230002: "The bot can not be outside the group.",
    230006: "Bot ability is not activated.",
    230011: "The message was recalled.",
    230020: "This operation triggers the frequency limit.",
    230025: "The length of the message content reaches its limit.",
    230026: "No permission to recall this message.",
    230027: "Lack of necessary permissions.",
    230028: "The messages do NOT pass the audit.",
    230031: "Operate a card that is too old.",
    230054: "This operation is not supported for this message type.",
    230071: "Operator is not the sender of the message.",
    230072: "The number of edits reaches its limit.",
    230073: "The thread is invisible to the operator.",
    230075: "The message is beyond the time in which it can be edited.",
    230099: "Failed to create card content.",
    230110: "Action unavailable as the message has been deleted.",
    231003: "The message is not found or not visible.",
    231007: "No permission to delete this reaction.",
    232006: "The chat id is invalid.",
    232011: "Operator can NOT be out of the chat.",
    200850: "ErrMsg: card streaming timeout; ",
    300309: "ErrMsg: streaming mode is closed; ",
    300313: "ErrMsg: not find elementID; ",
    300317: "ErrMsg: sequence number compare failed; ",
    234001: "Invalid request param.",
    234003: "File not in msg.",
    234004: "App not in chat.",
    234037: "Downloaded file size exceeds limit.",
    234040: "The message is invisible to the operator.",
    234043: "Unsupported message type.",
    41012: "invalid user id",
    99991400: "request trigger frequency limit",
    99991403: "This month's API call quota has been exceeded",
    99991661: "Missing access token for authorization. Please make a test attempt to obtain a new token.",
    99991663: "Invalid access token for authorization. Please make a test attempt to obtain a new token.",
    99991664: "Invalid access token for authorization. Please make a test attempt to obtain a new token.",
    99991672: "Access denied.",
    99992361: "open_id cross app",
    99992402: "field validation failed",
}
"""The sentence for each code the simulator knows."""

_OTHER_STATUS = {99991400: 429, 99991403: 429}


class ApiError(Exception):
    """An answer with a code other than 0. ``status`` is the HTTP status, 400 unless the platform uses
    another.
    """

    def __init__(
        self, code: int, detail: str = "", *, status: int | None = None, extra: dict[str, Any] | None = None
    ) -> None:
        self.code = code
        self.msg = MESSAGES.get(code, "internal error") + (f" ext={detail}" if detail else "")
        self.status = status if status is not None else _OTHER_STATUS.get(code, 400)
        self.extra = extra or {}
        super().__init__(f"{code}: {self.msg}")

    @classmethod
    def scope_missing(cls, app_id: str, wanted: list[str]) -> "ApiError":
        """99991672 with the address where the scope can be applied for."""
        grant = f"https://open.feishu.cn/app/{app_id}/auth?q={','.join(wanted)}&op_from=openapi&token_type=tenant"
        error = cls(99991672)
        error.msg = f"Access denied. One of the following scopes is required: [{', '.join(wanted)}]. {grant}"
        violations = [{"type": "action_scope_required", "subject": name} for name in wanted]
        error.extra = {"permission_violations": violations}
        return error


def error_body(code: int, msg: str, log_id: str, extra: dict[str, Any] | None = None) -> dict[str, Any]:
    """The JSON of an error answer."""
    return {"code": code, "msg": msg, "error": {"log_id": log_id, **(extra or {})}}
