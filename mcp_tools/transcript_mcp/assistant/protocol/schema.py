"""All messages of the protocol in one table: the source of the classes in ``proto`` and of ``agentassist.proto``.

``python -m transcript_mcp.assistant.protocol.schema`` writes ``agentassist.proto``, for clients in other languages, and
``proto.pyi``, for the type checker; a test compares.

Names, and field numbers up to 99, are those of existing programs; numbers from 100 on are our own, which the others
skip as unknown fields. Two generations of those programs differ only in names (``TaskFinish`` and ``WorkReport``), so
one message serves both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["MESSAGES", "PACKAGE", "SERVICES", "Field", "proto_text", "stub_text"]

PACKAGE: Final = "agentassistproto"


@dataclass(frozen=True, slots=True)
class Field:
    """One field. ``kind`` as in a .proto file: ``string``, ``repeated Question``, ``optional int32``, ``map<…>``."""

    name: str
    number: int
    kind: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Rpc:
    """One call: the names of its request and its response."""

    name: str
    request: str
    response: str
    comment: str = ""


def _fields(*rows: tuple[str, int, str] | tuple[str, int, str, str]) -> tuple[Field, ...]:
    return tuple(Field(row[0], row[1], row[2], row[3] if len(row) > 3 else "") for row in rows)


_RESPONSE: Final = _fields(
    ("ID", 1, "string"),
    ("IsError", 2, "bool", "there is no answer; in a reply: there will be none"),
    ("Meta", 3, "map<string, string>", "error: timeout, cancelled, withdrawn, refused, …; answered_by; status"),
    ("contents", 4, "repeated McpResultContent"),
)
_WAIT: Final = ("Wait", 100, "optional int32", "seconds that this call waits; absent: as long as the question is open")

MESSAGES: Final[Mapping[str, Sequence[Field]]] = {
    "TextContent": _fields(("type", 1, "string", "text"), ("text", 2, "string")),
    "ImageContent": _fields(
        ("type", 1, "string", "image"), ("data", 2, "string", "base64"), ("mime_type", 3, "string")
    ),
    "AudioContent": _fields(
        ("type", 1, "string", "audio"), ("data", 2, "string", "base64"), ("mime_type", 3, "string")
    ),
    "EmbeddedResource": _fields(
        ("type", 1, "string", "embedded_resource"),
        ("uri", 2, "string"),
        ("mime_type", 3, "string"),
        ("data", 4, "bytes"),
    ),
    "McpResultContent": _fields(
        ("type", 1, "int32", "1 text, 2 image, 3 audio, 4 embedded resource"),
        ("text", 2, "TextContent"),
        ("image", 3, "ImageContent"),
        ("audio", 4, "AudioContent"),
        ("embedded_resource", 5, "EmbeddedResource"),
    ),
    "QuestionOption": _fields(("label", 1, "string"), ("description", 2, "string")),
    "Question": _fields(
        ("question", 1, "string"),
        ("header", 2, "string"),
        ("options", 3, "repeated QuestionOption"),
        ("multiple", 4, "bool", "several options may be chosen"),
        ("custom", 5, "bool", "an answer in own words is welcome, too"),
    ),
    "McpAskQuestionRequest": _fields(
        ("ProjectDirectory", 1, "string"),
        ("Question", 2, "string"),
        ("Timeout", 3, "int32", "seconds; 600 when it is not above 0"),
        ("AgentName", 4, "string"),
        ("ReasoningModelName", 5, "string"),
        ("McpClientName", 6, "string"),
        ("Questions", 7, "repeated Question", "the choices that go with the question"),
        ("Chat", 100, "optional string", "the group in which to ask, too; absent: that of the settings; empty: none"),
    ),
    "McpWorkReportRequest": _fields(
        ("ProjectDirectory", 1, "string"),
        ("Summary", 2, "string"),
        ("Timeout", 3, "int32", "seconds; 600 when it is not above 0"),
        ("AgentName", 4, "string"),
        ("ReasoningModelName", 5, "string"),
        ("McpClientName", 6, "string"),
        ("NotifyOnly", 100, "bool", "nobody has to confirm: the call returns at once"),
    ),
    "AskQuestionRequest": _fields(
        ("ID", 1, "string", "the same ID again joins the question that is open, or gets its answer"),
        ("UserToken", 2, "string", "empty in what the server sends"),
        ("Request", 3, "McpAskQuestionRequest"),
        ("Timestamp", 4, "int64", "set by the server: milliseconds since 1970"),
        _WAIT,
        ("Fetched", 101, "bool", "the caller comes back for the answer: the question outlives its connection"),
    ),
    "WorkReportRequest": _fields(
        ("ID", 1, "string"),
        ("UserToken", 2, "string"),
        ("Request", 3, "McpWorkReportRequest"),
        ("Timestamp", 4, "int64"),
        _WAIT,
        ("Fetched", 101, "bool"),
    ),
    "AskQuestionResponse": _RESPONSE,
    "WorkReportResponse": _RESPONSE,
    "McpClientInfo": _fields(
        ("ProtocolVersion", 1, "string"),
        ("CapabilitiesJson", 2, "string"),
        ("ClientName", 3, "string"),
        ("ClientVersion", 4, "string"),
    ),
    "McpClientInfoRequest": _fields(
        ("ID", 1, "string"),
        ("UserToken", 2, "string"),
        ("Request", 3, "McpClientInfo"),
        ("Timestamp", 4, "int64", "milliseconds since 1970"),
    ),
    "McpClientInfoResponse": _fields(("Success", 1, "bool")),
    "McpHeartbeatRequest": _fields(
        ("SessionId", 1, "string"), ("UserToken", 2, "string"), ("Timestamp", 3, "int64", "milliseconds since 1970")
    ),
    "McpHeartbeatResponse": _fields(("Success", 1, "bool")),
    "CheckMessageValidityRequest": _fields(("request_ids", 1, "repeated string")),
    "CheckMessageValidityResponse": _fields(("validity", 1, "map<string, bool>")),
    "GetPendingMessagesRequest": _fields(("user_token", 1, "string", "not looked at: the login says whose")),
    "PendingMessage": _fields(
        ("message_type", 1, "string", "AskQuestion, WorkReport or TaskFinish"),
        ("ask_question_request", 2, "AskQuestionRequest"),
        ("work_report_request", 3, "WorkReportRequest"),
        ("created_at", 4, "int64", "seconds since 1970"),
        ("timeout", 5, "int32", "seconds"),
    ),
    "GetPendingMessagesResponse": _fields(
        ("pending_messages", 1, "repeated PendingMessage"), ("total_count", 2, "int32")
    ),
    "RequestCancelledNotification": _fields(
        ("request_id", 1, "string"),
        ("reason", 2, "string", "timeout, cancelled or withdrawn"),
        ("message_type", 3, "string"),
        ("reason_code", 4, "string", "the same as reason"),
    ),
    "OnlineUser": _fields(
        ("client_id", 1, "string"), ("nickname", 2, "string"), ("connected_at", 3, "int64", "seconds since 1970")
    ),
    "GetOnlineUsersRequest": _fields(("user_token", 1, "string", "not looked at")),
    "GetOnlineUsersResponse": _fields(
        ("online_users", 1, "repeated OnlineUser", "all but oneself"), ("total_count", 2, "int32")
    ),
    "SendChatMessageRequest": _fields(("receiver_client_id", 1, "string"), ("content", 2, "string")),
    "ChatMessage": _fields(
        ("message_id", 1, "string"),
        ("sender_client_id", 2, "string"),
        ("sender_nickname", 3, "string"),
        ("receiver_client_id", 4, "string"),
        ("receiver_nickname", 5, "string"),
        ("content", 6, "string"),
        ("sent_at", 7, "int64", "seconds since 1970"),
    ),
    "ChatMessageNotification": _fields(("chat_message", 1, "ChatMessage")),
    "UserLoginResponse": _fields(
        ("client_id", 1, "string"),
        ("success", 2, "bool"),
        ("error_message", 3, "string"),
        ("server_time", 100, "int64", "what the server's clock says: milliseconds since 1970"),
    ),
    "UserConnectionStatusNotification": _fields(
        ("user", 1, "OnlineUser"),
        ("status", 2, "string", "connected or disconnected"),
        ("timestamp", 3, "int64", "seconds since 1970"),
    ),
    "AgentMessage": _fields(
        ("id", 1, "string", "the sender's own, so that a repeated frame counts once; made when empty"),
        ("project_directory", 2, "string", "the agent is known by project and name"),
        ("agent_name", 3, "string"),
        ("text", 4, "string"),
        ("contents", 5, "repeated McpResultContent", "pictures and files"),
        ("nickname", 6, "string", "who wrote it"),
        ("written_at", 7, "int64", "milliseconds since 1970"),
        ("state", 8, "string", "waiting or picked_up"),
        ("picked_up_at", 9, "int64", "milliseconds since 1970"),
    ),
    "HistoryRecord": _fields(
        ("kind", 1, "string", "question, report or message"),
        ("id", 2, "string"),
        ("seq", 3, "int64", "grows with each record of the hub"),
        ("ask_question_request", 4, "AskQuestionRequest"),
        ("work_report_request", 5, "WorkReportRequest"),
        ("message", 6, "AgentMessage"),
        ("state", 7, "string", "waiting, answered, refused, timeout, cancelled, withdrawn, notified; picked_up"),
        ("shown", 8, "int32", "how many clients were sent it"),
        ("answered_by", 9, "string"),
        ("answered_where", 10, "string", "web, connect, …"),
        ("asked_at", 11, "int64", "milliseconds since 1970"),
        ("ended_at", 12, "int64", "milliseconds since 1970"),
        ("contents", 13, "repeated McpResultContent", "the answer"),
    ),
    "GetHistoryRequest": _fields(
        ("text", 1, "string", "words to look for"),
        ("project_directory", 2, "optional string"),
        ("agent_name", 3, "optional string"),
        ("before", 4, "int64", "only records with a smaller seq; 0: from the newest"),
        ("limit", 5, "int32", "50 when it is not above 0, 200 at the most"),
        ("ids", 6, "repeated string", "only these records, 200 at the most; none: any"),
        ("words_only", 7, "bool", "answers without their pictures and files"),
    ),
    "GetHistoryResponse": _fields(
        ("records", 1, "repeated HistoryRecord", "the newest first"),
        ("next_before", 2, "int64", "where the next page begins; 0: this is the end"),
    ),
    "ErrorNotification": _fields(
        ("code", 1, "string"), ("message", 2, "string"), ("cmd", 3, "string", "of the frame that caused it")
    ),
    "WebsocketMessage": _fields(
        ("Cmd", 1, "string"),
        ("AskQuestionRequest", 2, "AskQuestionRequest"),
        ("WorkReportRequest", 3, "WorkReportRequest"),
        ("AskQuestionResponse", 4, "AskQuestionResponse"),
        ("WorkReportResponse", 5, "WorkReportResponse"),
        ("StrParam", 12, "string"),
        ("CheckMessageValidityRequest", 13, "CheckMessageValidityRequest"),
        ("CheckMessageValidityResponse", 14, "CheckMessageValidityResponse"),
        ("GetPendingMessagesRequest", 15, "GetPendingMessagesRequest"),
        ("GetPendingMessagesResponse", 16, "GetPendingMessagesResponse"),
        ("RequestCancelledNotification", 17, "RequestCancelledNotification"),
        ("Nickname", 18, "string"),
        ("GetOnlineUsersRequest", 19, "GetOnlineUsersRequest"),
        ("GetOnlineUsersResponse", 20, "GetOnlineUsersResponse"),
        ("SendChatMessageRequest", 21, "SendChatMessageRequest"),
        ("ChatMessageNotification", 22, "ChatMessageNotification"),
        ("UserLoginResponse", 23, "UserLoginResponse"),
        ("UserConnectionStatusNotification", 24, "UserConnectionStatusNotification"),
        ("GetHistoryRequest", 100, "GetHistoryRequest"),
        ("GetHistoryResponse", 101, "GetHistoryResponse"),
        ("AgentMessage", 102, "AgentMessage"),
        ("ErrorNotification", 103, "ErrorNotification"),
    ),
}

_ASK: Final = ("AskQuestionRequest", "AskQuestionResponse")
_REPORT: Final = ("WorkReportRequest", "WorkReportResponse")

SERVICES: Final[Mapping[str, Sequence[Rpc]]] = {
    "SrvAgentAssist": (
        Rpc("AskQuestion", *_ASK),
        Rpc("WorkReport", *_REPORT),
        Rpc("TaskFinish", *_REPORT, "the older name of WorkReport"),
        Rpc("SendMcpClientInfo", "McpClientInfoRequest", "McpClientInfoResponse"),
        Rpc("Heartbeat", "McpHeartbeatRequest", "McpHeartbeatResponse", "questions live with the calls that wait"),
        Rpc("Withdraw", *_ASK, "takes the question with this ID back"),
    ),
    "SrvAgentAssistReply": (
        Rpc("AskQuestionReply", "AskQuestionResponse", "AskQuestionResponse", "ID and contents; the token as bearer"),
        Rpc("WorkReportReply", "WorkReportResponse", "WorkReportResponse"),
        Rpc("TaskFinishReply", "WorkReportResponse", "WorkReportResponse", "the older name of WorkReportReply"),
    ),
}

_HEAD: Final = """\
// What Agent Assistant says over Connect and over its WebSocket; see docs/en/assistant.md.
// Field numbers from 100 on are this server's own. Each WebSocket frame is one WebsocketMessage.
syntax = "proto3";

package agentassistproto;
"""


def proto_text() -> str:
    """The table as a .proto file, for clients in other languages."""
    parts = [_HEAD]
    for name, fields in MESSAGES.items():
        parts.append(f"message {name} {{\n{''.join(map(_line, fields))}}}\n")
    for name, calls in SERVICES.items():
        parts.append(f"service {name} {{\n{''.join(map(_call, calls))}}}\n")
    return "\n".join(parts)


def _call(rpc: Rpc) -> str:
    return f"  rpc {rpc.name}({rpc.request}) returns ({rpc.response});{_comment(rpc.comment)}\n"


def _line(field: Field) -> str:
    # Qualified: inside a message, a field's name shadows a message of the same name.
    return f"  {_qualified(field)} {field.name} = {field.number};{_comment(field.comment)}\n"


def _qualified(field: Field) -> str:
    label, _, kind = field.kind.rpartition(" ")
    return f"{label} .{PACKAGE}.{kind}".strip() if kind in MESSAGES else field.kind


def _comment(text: str) -> str:
    return f"  // {text}" if text else ""


_STUB_HEAD: Final = '''\
"""What the messages have, for the type checker: written by ``schema`` from its table."""
# ruff: noqa: N802, N803, PLW0406 - names of the protocol; by its module, where a field has a message's name

from collections.abc import Iterable, Mapping
from typing import Literal

from google.protobuf.internal.containers import RepeatedCompositeFieldContainer, RepeatedScalarFieldContainer, ScalarMap
from google.protobuf.message import Message

from transcript_mcp.assistant.protocol import proto
'''
_PYTHON: Final = {"string": "str", "bytes": "bytes", "bool": "bool", "int32": "int", "int64": "int"}


def stub_text() -> str:
    """The table as the stub of ``proto``: a class for each message, with its fields and constructor."""
    return "\n".join([_STUB_HEAD, *(_class(name, fields) for name, fields in MESSAGES.items())])


def _class(name: str, fields: Sequence[Field]) -> str:
    lines = [f"class {name}(Message):"]
    for field in fields:
        lines += _attribute(field)
    lines += ["    def __init__(", "        self,", "        *,"]
    lines += [f"        {field.name}: {_accepted(field.kind)} = ...," for field in fields]
    lines += ["    ) -> None: ..."]
    absent = [f'"{field.name}"' for field in fields if _can_be_absent(field.kind)]
    if len(absent) > 1:
        absent = ["", *(f"            {each}," for each in absent), "        "]
    if absent:
        names = "\n".join(absent)
        lines += ["    def HasField(", "        self,", f"        field_name: Literal[{names}],", "    ) -> bool: ..."]
    return "\n".join(lines) + "\n"


def _attribute(field: Field) -> list[str]:
    """Only scalars can be assigned; messages, lists and maps are read-only properties."""
    held = _container_type(field.kind)
    if field.kind.removeprefix("optional ") in _PYTHON:
        return [f"    {field.name}: {held}"]
    return ["    @property", f"    def {field.name}(self) -> {held}: ..."]


def _container_type(kind: str) -> str:
    label, _, one = kind.rpartition(" ")
    if kind.startswith("map<"):
        return f"ScalarMap[{_key_and_value(kind)}]"
    if label == "repeated":
        which = "RepeatedScalarFieldContainer" if one in _PYTHON else "RepeatedCompositeFieldContainer"
        return f"{which}[{_type(one)}]"
    return _type(one)


def _accepted(kind: str) -> str:
    label, _, one = kind.rpartition(" ")
    if kind.startswith("map<"):
        return f"Mapping[{_key_and_value(kind)}]"
    if label == "repeated":
        return f"Iterable[{_type(one)}]"
    return f"{_type(one)} | None" if _can_be_absent(kind) else _type(one)


def _key_and_value(kind: str) -> str:
    return ", ".join(_PYTHON[each] for each in kind.removeprefix("map<").removesuffix(">").split(", "))


def _type(kind: str) -> str:
    # With the module's name: inside a class, a field's name shadows a message of the same name.
    return _PYTHON.get(kind) or f"proto.{kind}"


def _can_be_absent(kind: str) -> bool:
    return kind in MESSAGES or kind.startswith("optional ")


if __name__ == "__main__":
    for _name, _text in (("agentassist.proto", proto_text()), ("proto.pyi", stub_text())):
        Path(__file__).with_name(_name).write_text(_text, encoding="utf-8")
